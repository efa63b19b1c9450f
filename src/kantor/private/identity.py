"""Who is who: a certificate for each party and for the market, and the roster that everybody knows them by.

A party, and the market, makes a key of its own and a certificate that vouches for itself. The *roster* is the public
list of those certificates with the parties' addresses: whoever holds the right roster talks to the right parties, and
no certificate authority has to be trusted. Owners need no certificate: the market names each by a secret token, of
which parties know only the hash.
"""

from __future__ import annotations

import hashlib
import json
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kantor.errors import InputError, MissingExtraError
from kantor.evidence.signing import write_secret
from kantor.private.sharing import PARTIES

__all__ = ["MARKET", "Address", "Identity", "Roster", "client_context", "make_keys", "server_context", "token_hash"]

MARKET = "market"
_ROSTER = "roster.json"


@dataclass(frozen=True)
class Address:
    """Where a party listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Roster:
    """The parties' addresses, their certificates, and the market's."""

    addresses: tuple[Address, ...]
    certificates: tuple[str, ...]
    market: str

    @classmethod
    def read(cls, folder: Path) -> Roster:
        """From a folder that `make_keys` has made."""
        file = folder / _ROSTER
        try:
            return cls.parse(json.loads(file.read_text(encoding="utf-8")))
        except FileNotFoundError as fault:
            raise InputError(
                "there is no roster", remedy="Make one with: kantor party keys FOLDER", file=file
            ) from fault
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise InputError(
                f"this is no roster of {PARTIES} parties ({fault})",
                remedy="Make one with: kantor party keys FOLDER",
                file=file,
            ) from fault

    @classmethod
    def parse(cls, content: Any) -> Roster:
        """From what `write` has written; ValueError, KeyError or TypeError if that is no roster."""
        parties = content["parties"]
        if len(parties) != PARTIES:
            raise ValueError(f"{len(parties)} parties")
        return cls(
            tuple(Address(str(party["host"]), int(party["port"])) for party in parties),
            tuple(str(party["certificate"]) for party in parties),
            str(content["market"]),
        )

    def write(self, folder: Path) -> None:
        """As public JSON."""
        parties = [
            {"host": address.host, "port": address.port, "certificate": certificate}
            for address, certificate in zip(self.addresses, self.certificates, strict=True)
        ]
        text = json.dumps({"parties": parties, "market": self.market}, indent=2)
        (folder / _ROSTER).write_text(text + "\n", encoding="utf-8")

    def who(self, certificate: bytes | None) -> str | int | None:
        """The party's number, "market", or None for somebody without a known certificate."""
        if certificate is None:
            return None
        known = {ssl.PEM_cert_to_DER_cert(pem): index for index, pem in enumerate(self.certificates)}
        return MARKET if certificate == ssl.PEM_cert_to_DER_cert(self.market) else known.get(certificate)


@dataclass(frozen=True)
class Identity:
    """A private key with its certificate, in one file."""

    file: Path

    @classmethod
    def of(cls, folder: Path, name: str) -> Identity:
        """A party's ("party1") or the market's."""
        file = folder / f"{name}.pem"
        if not file.exists():
            raise InputError(
                "there is no such key", remedy="Make keys with: kantor party keys FOLDER; give its folder.", file=file
            )
        return cls(file)


def make_keys(folder: Path, addresses: tuple[Address, ...]) -> Roster:
    """Keys for three parties and a market, and their roster. In real use, take each key to its machine and erase it."""
    if len(addresses) != PARTIES:
        raise InputError(f"{len(addresses)} addresses were given", remedy=f"Give {PARTIES}, one for each party.")
    if (folder / _ROSTER).exists():
        raise InputError("there is a roster already", remedy="Use it, or choose another folder.", file=folder / _ROSTER)
    names = [f"party{number + 1}" for number in range(PARTIES)]
    certificates = [_make_key(folder / f"{name}.pem", name) for name in (*names, MARKET)]
    roster = Roster(addresses, tuple(certificates[:PARTIES]), certificates[PARTIES])
    roster.write(folder)
    return roster


def server_context(roster: Roster, own: Identity) -> ssl.SSLContext:
    """Callers may show one of the roster's certificates, and no other."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(own.file)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(cadata="\n".join([*roster.certificates, roster.market]))
    context.num_tickets = 0
    return context


def client_context(certificate: str, own: Identity | None) -> ssl.SSLContext:
    """The called party must show exactly this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    if own is not None:
        context.load_cert_chain(own.file)
    return context


def token_hash(token: str) -> str:
    """What parties know of an owner's token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _make_key(file: Path, name: str) -> str:
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as missing:
        raise MissingExtraError("Making keys", "cryptography", "private") from missing
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"kantor {name}")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=3650))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = certificate.public_bytes(serialization.Encoding.PEM)
    write_secret(file, private + public)
    return public.decode()


def plain(value: Any) -> str:
    """JSON in one form, for hashing."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))

"""Who may do what: accounts with a role, and tokens that act for them.

A token is `kantor_`, its number and a secret of 256 random bits; the store keeps an argon2 hash of the secret alone, so
a stolen database signs nobody in. A token can be narrowed to some of its role's scopes and to one market, can expire,
and can be revoked, which takes effect with the next request. Because the secrets are random, argon2 runs with small
parameters here: there is no dictionary to try; a verified token is remembered by its SHA-256 in memory.

Permissions are by object too: an owner or a buyer is told that a thing does not exist if it is another's.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, TypeAlias, get_args

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import Connection, RowMapping, bindparam, insert, select, update

from kantor.service.failures import ForbiddenError, MissingError, RefusedError, UnauthorisedError
from kantor.service.store import tables as t

__all__ = ["SCOPES", "Caller", "Role", "Tokens"]

Role: TypeAlias = Literal["operator", "buyer", "owner", "auditor", "trustee"]

SCOPES: dict[str, tuple[str, ...]] = {
    "operator": ("read", "accounts", "deposits", "doubts", "cancel"),
    "buyer": ("read", "buy", "purchase", "dispute"),
    "owner": ("read", "enrol", "bid", "deliver", "dispute"),
    "auditor": ("read", "audit"),
    "trustee": ("read", "trustee"),
}
"""What each role may do; a token has all of it, or a part."""

_HASHER = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1)
_REMEMBERED = 20_000
_TEXT = re.compile("kantor_([0-9a-f]{20})_([0-9a-f]{64})")
_SIGN_IN = "Send a token: Authorization: Bearer kantor_..."

_TOKEN = select(t.tokens, t.accounts.c.role).join_from(t.tokens, t.accounts).where(t.tokens.c.id == bindparam("number"))


@dataclass(frozen=True)
class Caller:
    """Who asks: an account, as far as its token goes."""

    account: str
    role: str
    token: str
    scopes: frozenset[str]
    market: str | None

    def need(self, scope: str, market: str | None = None) -> None:
        """Refuse without this scope, or beyond the one market that the token is for."""
        if scope not in self.scopes:
            raise ForbiddenError(
                f"this token does not allow {scope!r}",
                remedy=f"It is {self.role}'s and allows: {', '.join(sorted(self.scopes))}. Use another token.",
            )
        if self.market is not None and market != self.market:
            raise ForbiddenError(
                "this token is for one market, and this is not it", remedy="Use a token without that limit."
            )

    def may_see(self, market: Mapping[str, Any] | RowMapping) -> bool:
        """Whether a market (its row) may be known of: drafts are their buyer's, and the operator's."""
        return market["state"] != "draft" or self.role == "operator" or market["buyer"] == self.account


class Tokens:
    """Making, checking and revoking tokens."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._known: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def add_account(self, connection: Connection, name: str, role: str, by: str | None, now: str) -> dict[str, Any]:
        """A new account."""
        if role not in get_args(Role):
            raise RefusedError(f"{role!r} is no role", remedy=f"Choose one of: {', '.join(SCOPES)}.", value=role)
        account = {"id": secrets.token_hex(10), "name": name, "role": role, "created_at": now, "created_by": by}
        connection.execute(insert(t.accounts), account)
        return account

    def add_token(
        self,
        connection: Connection,
        account: str,
        now: str,
        *,
        label: str = "",
        scopes: tuple[str, ...] | None = None,
        market: str | None = None,
        expires_at: str | None = None,
    ) -> dict[str, Any]:
        """A new token for an account, without its text: `text_of` gives that."""
        role = connection.execute(select(t.accounts.c.role).where(t.accounts.c.id == account)).scalar()
        if role is None:
            raise MissingError("there is no such account", remedy="See the list of accounts.", value=account)
        allowed = SCOPES[role]
        wanted = allowed if scopes is None else tuple(dict.fromkeys(scopes))
        beyond = sorted(set(wanted) - set(allowed))
        if beyond or not wanted:
            raise RefusedError(
                f"that is no scope of {role}", remedy=f"Choose from: {', '.join(allowed)}.", value=beyond
            )
        number = secrets.token_hex(10)
        row = {
            "id": number,
            "account": account,
            "hash": _HASHER.hash(self._secret_of(number)),
            "scopes": " ".join(wanted),
            "market": market,
            "label": label,
            "created_at": now,
            "expires_at": expires_at,
        }
        connection.execute(insert(t.tokens), row)
        return {name: value for name, value in row.items() if name != "hash"}

    def text_of(self, number: str) -> str:
        """A token's text. It is derived, not stored, so that a lost answer can be given again."""
        return f"kantor_{number}_{self._secret_of(number)}"

    def _secret_of(self, number: str) -> str:
        return hmac.new(self._secret, b"token " + number.encode(), hashlib.sha256).hexdigest()

    def revoke(self, connection: Connection, number: str, now: str) -> None:
        """No request is answered to this token any more."""
        changed = connection.execute(
            update(t.tokens).where(t.tokens.c.id == number, t.tokens.c.revoked_at.is_(None)).values(revoked_at=now)
        ).rowcount
        if not changed and connection.execute(select(t.tokens.c.id).where(t.tokens.c.id == number)).scalar() is None:
            raise MissingError(f"there is no token {number!r}", remedy="See the list of tokens.", value=number)

    def caller(self, connection: Connection, text: str | None, now: str) -> Caller:
        """Who a token's text stands for."""
        number, secret = _parts(text)
        row = connection.execute(_TOKEN, {"number": number}).first()
        if row is None or not self._fits(row.hash, number, secret):
            raise UnauthorisedError("the token is not known", remedy=_SIGN_IN)
        if row.revoked_at is not None:
            raise UnauthorisedError("the token was revoked", remedy="Ask the operator for a new one.")
        if row.expires_at is not None and row.expires_at <= now:
            raise UnauthorisedError("the token has expired", remedy="Ask the operator for a new one.")
        return Caller(row.account, row.role, number, frozenset(row.scopes.split()), row.market)

    def _fits(self, stored: str, number: str, secret: str) -> bool:
        seen = hashlib.sha256(f"{number} {secret} {stored}".encode()).hexdigest()
        with self._lock:
            if seen in self._known:
                self._known.move_to_end(seen)
                return True
        try:
            _HASHER.verify(stored, secret)
        except (Argon2Error, InvalidHashError):
            return False
        with self._lock:
            self._known[seen] = number
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return True


def _parts(text: str | None) -> tuple[str, str]:
    found = _TEXT.fullmatch(text or "")
    if found is None:
        raise UnauthorisedError("there is no token", remedy=_SIGN_IN)
    return found[1], found[2]

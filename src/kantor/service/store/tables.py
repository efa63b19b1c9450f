"""What is kept, table by table.

Times are text in UTC with microseconds, so that they sort as they read; amounts are whole minor units; documents are
canonical JSON. Events, transfers, postings, receipts and outcomes are written once and never changed: triggers in the
database refuse it (see the first migration), not only our own code.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = [
    "APPEND_ONLY",
    "METADATA",
    "accounts",
    "answers",
    "bids",
    "deliveries",
    "deposits",
    "doubts",
    "enrolments",
    "events",
    "markets",
    "messages",
    "outcomes",
    "postings",
    "tokens",
    "transfers",
]

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
_ID = String(40)
_TIME = String(27)
_HASH = String(64)

accounts = Table(
    "accounts",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("role", String(20), nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("created_by", _ID),
)

tokens = Table(
    "tokens",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("account", ForeignKey("accounts.id"), nullable=False, index=True),
    Column("hash", String(200), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("market", _ID),
    Column("label", String(200), nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("expires_at", _TIME),
    Column("revoked_at", _TIME),
)

markets = Table(
    "markets",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("buyer", ForeignKey("accounts.id"), nullable=False, index=True),
    Column("state", String(20), nullable=False, index=True),
    Column("terms", Text, nullable=False),
    Column("terms_digest", _HASH, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("enrol_until", _TIME, nullable=False),
    Column("bid_until", _TIME, nullable=False),
    Column("deliver_until", _TIME),
    Column("settle_at", _TIME),
    Column("seq", Integer, nullable=False),
    Column("head", _HASH, nullable=False),
    Column("last_at", _TIME, nullable=False),
    Column("root", _HASH),
    Column("market_key", Text),
    Column("session", Text),
    Column("trouble", Text),
)

events = Table(
    "events",
    METADATA,
    Column("market", ForeignKey("markets.id"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("at", _TIME, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("actor", String(80), nullable=False),
    Column("body", Text, nullable=False),
    Column("previous", _HASH, nullable=False),
    Column("hash", _HASH, nullable=False),
)

deposits = Table(
    "deposits",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("market", ForeignKey("markets.id"), nullable=False, index=True),
    Column("amount", BigInteger, nullable=False),
    Column("reference", String(200), nullable=False),
    Column("announced_at", _TIME, nullable=False),
    Column("confirmed_at", _TIME),
)

enrolments = Table(
    "enrolments",
    METADATA,
    Column("market", ForeignKey("markets.id"), primary_key=True),
    Column("owner", _ID, primary_key=True),
    Column("account", ForeignKey("accounts.id"), nullable=False),
    Column("key", _HASH, nullable=False),
    Column("commitment", _HASH, nullable=False),
    Column("statement", Text, nullable=False),
    Column("signature", String(128), nullable=False),
    Column("at", _TIME, nullable=False),
    Column("distance", String(40)),
    Column("excluded", Text),
    UniqueConstraint("market", "account"),
    UniqueConstraint("market", "key"),
)

bids = Table(
    "bids",
    METADATA,
    Column("market", _ID, primary_key=True),
    Column("owner", _ID, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("state", String(20), nullable=False),
    Column("nonce", String(64), nullable=False),
    Column("envelope", Text, nullable=False),
    Column("signature", String(128), nullable=False),
    Column("digest", _HASH, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("at", _TIME, nullable=False),
    Column("receipt", Text, nullable=False),
    UniqueConstraint("market", "owner", "nonce"),
    ForeignKeyConstraint(["market", "owner"], ["enrolments.market", "enrolments.owner"]),
    Index("ix_bids_market_state", "market", "state"),
)

messages = Table(
    "messages",
    METADATA,
    Column("market", ForeignKey("markets.id"), primary_key=True),
    Column("round", String(20), primary_key=True),
    Column("trustee", Integer, primary_key=True),
    Column("message", Text, nullable=False),
    Column("at", _TIME, nullable=False),
)

outcomes = Table(
    "outcomes",
    METADATA,
    Column("market", ForeignKey("markets.id"), primary_key=True),
    Column("kind", String(20), primary_key=True),
    Column("document", Text, nullable=False),
    Column("at", _TIME, nullable=False),
)

deliveries = Table(
    "deliveries",
    METADATA,
    Column("market", _ID, primary_key=True),
    Column("owner", _ID, primary_key=True),
    Column("statement", Text, nullable=False),
    Column("signature", String(128), nullable=False),
    Column("values", LargeBinary, nullable=False),
    Column("findings", Text, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("at", _TIME, nullable=False),
    Column("receipt", Text, nullable=False),
    ForeignKeyConstraint(["market", "owner"], ["enrolments.market", "enrolments.owner"]),
)

doubts = Table(
    "doubts",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("market", ForeignKey("markets.id"), nullable=False, index=True),
    Column("owner", _ID, nullable=False),
    Column("raised_by", String(80), nullable=False),
    Column("text", Text, nullable=False),
    Column("at", _TIME, nullable=False),
    Column("decision", String(20)),
    Column("reason", Text),
    Column("decided_by", _ID),
    Column("decided_at", _TIME),
)

transfers = Table(
    "transfers",
    METADATA,
    Column("market", ForeignKey("markets.id"), primary_key=True),
    Column("key", String(120), primary_key=True),
    Column("number", Integer, nullable=False),
    Column("salt", String(32), nullable=False),
    Column("at", _TIME, nullable=False),
    UniqueConstraint("market", "number"),
)

postings = Table(
    "postings",
    METADATA,
    Column("market", _ID, primary_key=True),
    Column("key", String(120), primary_key=True),
    Column("account", String(80), primary_key=True),
    Column("amount", BigInteger, nullable=False),
    ForeignKeyConstraint(["market", "key"], ["transfers.market", "transfers.key"]),
)

answers = Table(
    "answers",
    METADATA,
    Column("account", _ID, primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("request", _HASH, nullable=False),
    Column("status", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", _TIME, nullable=False),
)

APPEND_ONLY = ("events", "transfers", "postings", "outcomes", "messages")
"""Rows that nothing may change or delete."""

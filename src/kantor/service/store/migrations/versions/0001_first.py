"""The first tables, and the triggers that keep written history as it was written."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

APPEND_ONLY = ("events", "transfers", "postings", "outcomes", "messages")


def upgrade() -> None:
    """Make the tables; then let nobody change or delete a row of those that are history."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("created_at", sa.String(length=27), nullable=False),
        sa.Column("created_by", sa.String(length=40), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
    )
    op.create_table(
        "answers",
        sa.Column("account", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("request", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("at", sa.String(length=27), nullable=False),
        sa.PrimaryKeyConstraint("account", "key", name=op.f("pk_answers")),
    )
    op.create_table(
        "markets",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("buyer", sa.String(length=40), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("terms", sa.Text(), nullable=False),
        sa.Column("terms_digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.String(length=27), nullable=False),
        sa.Column("enrol_until", sa.String(length=27), nullable=False),
        sa.Column("bid_until", sa.String(length=27), nullable=False),
        sa.Column("deliver_until", sa.String(length=27), nullable=True),
        sa.Column("settle_at", sa.String(length=27), nullable=True),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("head", sa.String(length=64), nullable=False),
        sa.Column("last_at", sa.String(length=27), nullable=False),
        sa.Column("root", sa.String(length=64), nullable=True),
        sa.Column("market_key", sa.Text(), nullable=True),
        sa.Column("session", sa.Text(), nullable=True),
        sa.Column("trouble", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["buyer"], ["accounts.id"], name=op.f("fk_markets_buyer")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_markets")),
    )
    op.create_index(op.f("ix_markets_buyer"), "markets", ["buyer"], unique=False)
    op.create_index(op.f("ix_markets_state"), "markets", ["state"], unique=False)
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("account", sa.String(length=40), nullable=False),
        sa.Column("hash", sa.String(length=200), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("market", sa.String(length=40), nullable=True),
        sa.Column("label", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.String(length=27), nullable=False),
        sa.Column("expires_at", sa.String(length=27), nullable=True),
        sa.Column("revoked_at", sa.String(length=27), nullable=True),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("fk_tokens_account")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
    )
    op.create_index(op.f("ix_tokens_account"), "tokens", ["account"], unique=False)
    op.create_table(
        "deposits",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("market", sa.String(length=40), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("reference", sa.String(length=200), nullable=False),
        sa.Column("announced_at", sa.String(length=27), nullable=False),
        sa.Column("confirmed_at", sa.String(length=27), nullable=True),
        sa.ForeignKeyConstraint(["market"], ["markets.id"], name=op.f("fk_deposits_market")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deposits")),
    )
    op.create_index(op.f("ix_deposits_market"), "deposits", ["market"], unique=False)
    op.create_table(
        "doubts",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("market", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("raised_by", sa.String(length=80), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sa.String(length=27), nullable=False),
        sa.Column("decision", sa.String(length=20), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("decided_by", sa.String(length=40), nullable=True),
        sa.Column("decided_at", sa.String(length=27), nullable=True),
        sa.ForeignKeyConstraint(["market"], ["markets.id"], name=op.f("fk_doubts_market")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_doubts")),
    )
    op.create_index(op.f("ix_doubts_market"), "doubts", ["market"], unique=False)
    op.create_table(
        "enrolments",
        sa.Column("market", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("account", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("commitment", sa.String(length=64), nullable=False),
        sa.Column("statement", sa.Text(), nullable=False),
        sa.Column("signature", sa.String(length=128), nullable=False),
        sa.Column("at", sa.String(length=27), nullable=False),
        sa.Column("distance", sa.String(length=40), nullable=True),
        sa.Column("excluded", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("fk_enrolments_account")),
        sa.ForeignKeyConstraint(["market"], ["markets.id"], name=op.f("fk_enrolments_market")),
        sa.PrimaryKeyConstraint("market", "owner", name=op.f("pk_enrolments")),
        sa.UniqueConstraint("market", "account", name=op.f("uq_enrolments_market_account")),
        sa.UniqueConstraint("market", "key", name=op.f("uq_enrolments_market_key")),
    )
    op.create_table(
        "events",
        sa.Column("market", sa.String(length=40), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(length=27), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("actor", sa.String(length=80), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["market"], ["markets.id"], name=op.f("fk_events_market")),
        sa.PrimaryKeyConstraint("market", "seq", name=op.f("pk_events")),
    )
    op.create_table(
        "messages",
        sa.Column("market", sa.String(length=40), nullable=False),
        sa.Column("round", sa.String(length=20), nullable=False),
        sa.Column("trustee", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("at", sa.String(length=27), nullable=False),
        sa.ForeignKeyConstraint(["market"], ["markets.id"], name=op.f("fk_messages_market")),
        sa.PrimaryKeyConstraint("market", "round", "trustee", name=op.f("pk_messages")),
    )
    op.create_table(
        "outcomes",
        sa.Column("market", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("at", sa.String(length=27), nullable=False),
        sa.ForeignKeyConstraint(["market"], ["markets.id"], name=op.f("fk_outcomes_market")),
        sa.PrimaryKeyConstraint("market", "kind", name=op.f("pk_outcomes")),
    )
    op.create_table(
        "transfers",
        sa.Column("market", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=120), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("salt", sa.String(length=32), nullable=False),
        sa.Column("at", sa.String(length=27), nullable=False),
        sa.ForeignKeyConstraint(["market"], ["markets.id"], name=op.f("fk_transfers_market")),
        sa.PrimaryKeyConstraint("market", "key", name=op.f("pk_transfers")),
        sa.UniqueConstraint("market", "number", name=op.f("uq_transfers_market_number")),
    )
    op.create_table(
        "bids",
        sa.Column("market", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("nonce", sa.String(length=64), nullable=False),
        sa.Column("envelope", sa.Text(), nullable=False),
        sa.Column("signature", sa.String(length=128), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(length=27), nullable=False),
        sa.Column("receipt", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["market", "owner"], ["enrolments.market", "enrolments.owner"], name=op.f("fk_bids_market_owner")
        ),
        sa.PrimaryKeyConstraint("market", "owner", "number", name=op.f("pk_bids")),
        sa.UniqueConstraint("market", "owner", "nonce", name=op.f("uq_bids_market_owner_nonce")),
    )
    op.create_index("ix_bids_market_state", "bids", ["market", "state"], unique=False)
    op.create_table(
        "deliveries",
        sa.Column("market", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=False),
        sa.Column("statement", sa.Text(), nullable=False),
        sa.Column("signature", sa.String(length=128), nullable=False),
        sa.Column("values", sa.LargeBinary(), nullable=False),
        sa.Column("findings", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(length=27), nullable=False),
        sa.Column("receipt", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["market", "owner"], ["enrolments.market", "enrolments.owner"], name=op.f("fk_deliveries_market_owner")
        ),
        sa.PrimaryKeyConstraint("market", "owner", name=op.f("pk_deliveries")),
    )
    op.create_table(
        "postings",
        sa.Column("market", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=120), nullable=False),
        sa.Column("account", sa.String(length=80), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["market", "key"], ["transfers.market", "transfers.key"], name=op.f("fk_postings_market_key")
        ),
        sa.PrimaryKeyConstraint("market", "key", "account", name=op.f("pk_postings")),
    )
    if op.get_bind().dialect.name == "sqlite":
        _protect_sqlite()
    else:
        _protect_postgresql()


def _protect_sqlite() -> None:
    for table in APPEND_ONLY:
        for action in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{action.lower()} BEFORE {action} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} are only added to'); END"
            )


def _protect_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION only_added_to() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '% are only added to', TG_TABLE_NAME; END $$"
    )
    for table in APPEND_ONLY:
        op.execute(
            f"CREATE TRIGGER {table}_only_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION only_added_to()"
        )

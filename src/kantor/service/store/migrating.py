"""Tables of this version: made, or brought up from an older one, by Alembic."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine

__all__ = ["upgrade"]


def upgrade(engine: Engine) -> None:
    """Run the migrations that the database has not seen; one process at a time."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.connect() as connection:
        sqlite = connection.dialect.name == "sqlite"
        connection.exec_driver_sql("BEGIN IMMEDIATE" if sqlite else "BEGIN")
        try:
            if not sqlite:
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(5265782117)")
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.exec_driver_sql("COMMIT")
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise

"""The detector of canaries finds what is planted: a number in any form, in every table, in the log."""

import base64
import logging

import numpy as np
import pytest
import structlog

from kantor.service.logging import configure
from kantor.service.store.store import Store
from kantor.service.store.tables import METADATA
from service.http.leaks import Canary, dump

PRICE = 739_117_391_173_911
FORMS = {
    "text": b"the price is 739117391173911.", "separators": b"739,117,391,173,911", "money": b"EUR 7391173911739.11",
    "integer": b"\x01" + PRICE.to_bytes(8, "little"), "float": np.array([1.0, PRICE]).tobytes(),
    "hexadecimal": b"x" + str(PRICE).encode().hex().upper().encode(),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_number_is_found_in_every_form(form):
    assert Canary(PRICE).within(b"before" + FORMS[form] + b"after")
    assert not Canary(PRICE + 1).within(b"before" + FORMS[form] + b"after")


@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_value_is_found_in_base64_wherever_it_begins(before):
    values = [17.739117391, 18.000317, 0.1]
    content = base64.b64encode(b"x" * before + np.array(values).tobytes())
    assert all(Canary(value).within(content) for value in values)
    assert not Canary(18.5).within(content)


@pytest.mark.parametrize("table", METADATA.sorted_tables, ids=lambda table: table.name)
def test_a_leak_into_any_table_is_found(store, table):
    """Also where the row is gone again, but its bytes are still in a file."""
    written = {str: str(PRICE), int: 99, bytes: np.array([float(PRICE)]).tobytes()}
    row = {column.name: written[column.type.python_type] for column in table.c}
    assert not Canary(PRICE).within(dump(store.url))
    with store.engine.connect() as connection:
        free, held = ("PRAGMA foreign_keys = OFF", "PRAGMA foreign_keys = ON")
        if store.dialect == "postgresql":
            free, held = (f"SET session_replication_role = {role}" for role in ("replica", "origin"))
        connection.exec_driver_sql(free)
        connection.execute(table.insert(), row)
        connection.exec_driver_sql(held)
    assert Canary(PRICE).within(dump(store.url))


@pytest.fixture
def store(url):
    found = Store(url)
    found.migrate()
    yield found
    found.close()


def test_a_leak_into_the_log_is_found(capsys, quiet_again):
    configure()
    log = structlog.get_logger("kantor")
    for leak in (
        lambda: log.info("answered", body=str(PRICE)),
        lambda: logging.getLogger("uvicorn.error").error(f"refused {PRICE}"),
        lambda: logging.getLogger("sqlalchemy").warning(f"{PRICE}"),
    ):
        leak()
        assert Canary(PRICE).within(capsys.readouterr().err.encode())


@pytest.fixture
def quiet_again():
    """Put the log back as the other tests have it."""
    known = structlog.get_config(), list(logging.root.handlers), logging.root.level
    yield
    structlog.configure(**known[0])
    logging.root.handlers[:], logging.root.level = known[1], known[2]
    logging.captureWarnings(False)

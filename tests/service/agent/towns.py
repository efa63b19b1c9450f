"""Other towns than those of `conftest`: with computing parties, or on the one database that shows all there is."""

from collections.abc import Iterator
from contextlib import contextmanager

from kantor.private.trio import local_trio
from service.databases import database
from service.town import RECORDS, Town, town

PRIVATE = {
    "way": "private",
    "method": {"method": "aligned", "low": "0", "high": "20", "length": RECORDS, "bits": 12},
    "target": [],
}


@contextmanager
def private_town(folder) -> Iterator[Town]:
    """A town with three parties, for markets that value data privately."""
    with local_trio() as trio, town(folder, database("sqlite", folder), parties=trio.folder) as found:
        yield found


@contextmanager
def one_town(folder) -> Iterator[Town]:
    """A town on SQLite, for what no database decides."""
    with town(folder, database("sqlite", folder)) as found:
        yield found

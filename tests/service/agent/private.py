"""A town with computing parties, for markets that value data privately."""

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
    """A town with three parties."""
    with local_trio() as trio, town(folder, database("sqlite", folder), parties=trio.folder) as found:
        yield found

"""A server for each kind of database."""

import pytest
import structlog

from service.databases import database
from service.town import town

structlog.configure(logger_factory=structlog.ReturnLoggerFactory())


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The address of an empty database."""
    return database(request.param, tmp_path)


@pytest.fixture
def place(tmp_path, url):
    """A town of its own for one test."""
    with town(tmp_path, url) as found:
        yield found


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared(request, tmp_path_factory):
    """A town for all tests of a module, which leave each other alone."""
    folder = tmp_path_factory.mktemp("town")
    with town(folder, database(request.param, folder)) as found:
        yield found

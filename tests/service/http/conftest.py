"""A town, and a world in it, for the tests of a module; on PostgreSQL too, where there is time."""

import httpx
import pytest

from service.databases import database
from service.http.world import World
from service.town import town

KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]


@pytest.fixture(params=KINDS)
def url(request, tmp_path):
    """The address of an empty database."""
    return database(request.param, tmp_path)


@pytest.fixture(scope="module", params=KINDS)
def shared(request, tmp_path_factory):
    """A town for all tests of a module."""
    folder = tmp_path_factory.mktemp("town")
    with town(folder, database(request.param, folder)) as found:
        yield found


@pytest.fixture(scope="module")
def world(shared):
    """A market in every state."""
    return World(shared)


@pytest.fixture(scope="module")
def http(shared):
    """Requests without a token."""
    with httpx.Client(base_url=shared.url, timeout=30) as found:
        yield found

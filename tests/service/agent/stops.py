"""Stopping an agent where it hurts: after the server has done what was asked, before the agent has heard."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kantor.service.agent.owner import OwnerAgent


class StoppedError(Exception):
    """The machine went out."""


@contextmanager
def stopped_after(client, name: str) -> Iterator[None]:
    """The client's answer to this request never comes."""
    ask = getattr(client, name)

    def lost(*arguments, **more):
        ask(*arguments, **more)
        raise StoppedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, name, lost)
        with pytest.raises(StoppedError):
            yield


@contextmanager
def stopped_before(client, name: str) -> Iterator[None]:
    """This request is never sent."""

    def never(*_, **__):
        raise StoppedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, name, never)
        with pytest.raises(StoppedError):
            yield


def again(agent: OwnerAgent) -> OwnerAgent:
    """The same agent after a restart: it knows what is on its disk, and nothing else."""
    return OwnerAgent(agent.home, agent.client, agent.market)

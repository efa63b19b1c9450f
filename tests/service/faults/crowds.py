"""Many bidders at once, against a real server process: what has to hold, at any number.

`repeated`: half of the requests are sent twice or more, at once: each key has one effect, and every answer to it is the
same. `at_closing`: bids that arrive around the moment of closing: those with a receipt are the closed set, exactly.
"""

from __future__ import annotations

import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.crowd import Answered, Crowd, send, server_process
from sqlalchemy import select

from kantor.service.held import document_of
from kantor.service.settings import Settings
from kantor.service.store import tables as t

__all__ = ["at_closing", "repeated"]


@contextmanager
def crowd_at(folder: Path, url: str, count: int) -> Iterator[Crowd]:
    """A crowd before a server process of its own."""
    settings = Settings(folder / "server", database=url)
    with server_process(settings) as address:
        crowd = Crowd(folder, settings, address, count)
        try:
            yield crowd
        finally:
            crowd.close()


def repeated(folder: Path, url: str, count: int, seed: int) -> list[str]:
    """What went wrong among `count` bidders, half of whose requests are sent again; nothing, if all is well."""
    chance = random.Random(seed)
    with crowd_at(folder, url, count) as crowd:
        market = crowd.open()
        requests = crowd.bids()
        again = [request for request in requests if chance.random() < 0.5 for _ in range(chance.randint(1, 3))]
        everything = requests + again
        chance.shuffle(everything)
        answers = send(crowd.url, market, everything, min(64, count))
        faults = _one_effect(crowd, answers)
        other = requests[0]._replace(body=requests[1].body)
        refused = send(crowd.url, market, [other], 1)[0]
        if refused.status != 422:
            faults.append(f"another request under the same key was answered {refused.status}")
    return faults


def _one_effect(crowd: Crowd, answers: list[Answered]) -> list[str]:
    by_key = defaultdict(list)
    for answer in answers:
        by_key[answer.request.key].append(answer)
    faults = [f"key {key} was answered {each[0].status}" for key, each in by_key.items() if each[0].status != 201]
    faults += [
        f"key {key} has different answers"
        for key, each in by_key.items()
        if len({json.dumps(a.body) for a in each}) > 1
    ]
    with crowd.x.store.read() as connection:
        rows = connection.execute(select(t.bids.c.owner, t.bids.c.number).where(t.bids.c.market == crowd.market)).all()
        events = connection.execute(
            select(t.events.c.seq).where(t.events.c.market == crowd.market, t.events.c.kind == "bid")
        ).all()
    if len(rows) != crowd.count or len(events) != crowd.count:
        faults.append(f"{crowd.count} bids became {len(rows)} rows and {len(events)} events")
    if {row.owner for row in rows} != {answer.request.owner for answer in answers}:
        faults.append("the owners of the bids are not those who sent them")
    return faults


def at_closing(folder: Path, url: str, count: int, seed: int, spread: float = 0.05) -> tuple[list[str], int]:
    """What went wrong with bids sent within `spread` seconds of closing, and how many of them were in time."""
    chance = random.Random(seed)
    with crowd_at(folder, url, count) as crowd:
        seconds = 10 + count / 40
        closing = datetime.now(UTC) + timedelta(seconds=seconds)
        market = crowd.open(
            early=False, enrol_until=_text(datetime.now(UTC) + timedelta(seconds=seconds / 2)), bid_until=_text(closing)
        )
        requests = crowd.bids()
        moment = closing.timestamp()
        starts = sorted(moment + chance.uniform(-spread, spread) for _ in requests)
        if time.time() > moment - spread - 0.5:
            return ["the bids were not sealed in time: this machine is too busy"], 0
        answers = send(crowd.url, market, requests, min(200, count), starts)
        while crowd.operator.market(market)["state"] not in ("closed", "cancelled"):
            time.sleep(0.05)
        with crowd.x.store.read() as connection:
            closed = document_of(connection, market, "closed") or {"leaves": []}
    counted = {leaf["owner"]: leaf["bid"] for leaf in closed["leaves"]}
    receipts = {answer.body["owner"]: answer.body["bid"] for answer in answers if answer.status == 201}
    faults = [f"{len(answers)} of {count} bids were answered"] if len(answers) != count else []
    faults += [
        f"{owner} has a receipt and does not count" for owner in receipts if counted.get(owner) != receipts[owner]
    ]
    faults += [f"{owner} counts and has no receipt" for owner in counted if owner not in receipts]
    refused = [answer for answer in answers if answer.status != 201]
    faults += [f"a late bid was answered {answer.status}: {answer.body}" for answer in refused if not _late(answer)]
    return faults, len(receipts)


def _late(answer: Answered) -> bool:
    return answer.status == 409 and answer.body.get("type") == "urn:kantor:late"


def _text(moment: datetime) -> str:
    return moment.isoformat()

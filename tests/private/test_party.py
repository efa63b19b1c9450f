"""Three party processes: a whole valuation with fifty owner processes, and everything that can go wrong."""

import json
import multiprocessing
import os
import re
import signal
import socket
import ssl
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy

import kantor as kt
from kantor.errors import InputError, PartyError
from kantor.private.client import Market, OwnerSide, send_shares, wait_for_parties
from kantor.private.frames import call
from kantor.private.histogram import Histogram
from kantor.private.identity import MARKET, Identity, Roster, make_keys
from kantor.private.parameters import Parameters
from kantor.private.party import Party
from kantor.private.sharing import split
from kantor.private.trio import free_addresses, local_trio, start_party
from kantor.private.wire import Wire

METHOD = Histogram(0, 10, bins=8, levels=16)


def data_of(count, seed=0, length=16):
    rng = np.random.default_rng(seed)
    return {f"owner {k}": rng.beta(1 + k % 4, 2, length) * 10 for k in range(count)}


@contextmanager
def parties(folder, patience=10.0, kinds=(Party, Party, Party)):
    """Three parties as threads of this process, each with its own listener and TLS."""
    roster = make_keys(folder, free_addresses())
    running = [kinds[index](roster, Identity.of(folder, f"party{index + 1}"), index, patience) for index in range(3)]
    threads = [threading.Thread(target=party.serve, daemon=True) for party in running]
    for thread in threads:
        thread.start()
    try:
        yield roster, Identity.of(folder, MARKET), running
    finally:
        for party in running:
            party.close()


def opened(roster, own, data, method=METHOD, **how):
    market = Market(roster, own, method, data, **how)
    parts = {name: (market.tokens[name], method.encode(values, name)) for name, values in data.items()}
    return market, parts


def test_a_valuation_from_enrolment_to_each_owners_own_distance(tmp_path):
    data = data_of(6)
    with parties(tmp_path) as (roster, own, _):
        market = Market(roster, own, METHOD, list(data)[:-1], references=["owner 5"])
        sides = {name: OwnerSide(roster, market.session, name, market.tokens[name]) for name in data}
        for name, side in sides.items():
            side.submit(data[name])
        with pytest.raises(PartyError, match="the session is open"):
            sides["owner 1"].collect()
        found = market.compute()
        binned = [METHOD.binned(data[name]) for name in list(data)[:-1]]
        expected = kt.distances(binned, aggregate="mixture")
        assert list(found.distances.values()) == pytest.approx(expected, abs=1e-12)
        assert found.references["owner 5"] == pytest.approx(
            kt.wasserstein(METHOD.binned(data["owner 5"]), kt.aggregate(binned, "mixture").values)
        )
        assert sides["owner 2"].collect() == found.distances["owner 2"]
        assert market.compute() == found  # an answer that was lost on the way is given again
        market.close()
        with pytest.raises(PartyError, match="does not know session"):
            market.compute()


def test_owners_compute_their_own_distance_from_opened_sums(tmp_path):
    data = data_of(4)
    method = Parameters(0, 10, 10, reveal="sums", aggregate="euclidean")
    with parties(tmp_path) as (roster, own, _):
        market, parts = opened(roster, own, data, method)
        send_shares(roster, market.session, parts)
        found = market.compute()
        assert found.distances == {}
        side = OwnerSide(roster, market.session, "owner 1", market.tokens["owner 1"])
        exact = kt.distances(
            [scipy.stats.norm(values.mean(), values.std()) for values in data.values()], aggregate="euclidean"
        )
        assert side.collect(data["owner 1"]) == pytest.approx(exact[1], abs=method.error_bound)
        with pytest.raises(InputError, match="Give data"):
            side.collect()


def test_who_drops_out_is_left_out_and_named(tmp_path):
    data = data_of(8)
    with parties(tmp_path) as (roster, own, _):
        market, parts = opened(roster, own, data)
        silent, halfway, torn, false = "owner 0", "owner 1", "owner 2", "owner 3"
        good = {name: part for name, part in parts.items() if name not in (silent, halfway, torn, false)}
        send_shares(roster, market.session, {**good, false: (parts[false][0], np.array([9, 8, 7, 6, 5, 4, 3]))})
        for name, reached in ((halfway, (0, 1)), (torn, (0, 1, 2))):
            for party in reached:
                packed = split(parts[name][1])  # torn: other shares for each party
                first, second = packed[party], packed[(party + 1) % 3]
                header = {
                    "ask": "submit", "session": market.session,
                    "shares": [[name, parts[name][0], len(first), len(second)]],
                }  # fmt: skip
                call(roster, party, None, header, first + second)
        found = market.compute()
        assert found.left_out == {
            silent: "it sent nothing",
            halfway: "its shares have not reached party 3",
            torn: "its shares contradict each other",
            false: "its numbers come from no data",
        }
        expected = kt.distances([METHOD.binned(data[name]) for name in good], aggregate="mixture")
        assert list(found.distances) == sorted(good)
        assert list(found.distances.values()) == pytest.approx(expected, abs=1e-12)
        with pytest.raises(PartyError, match="you were left out: its numbers come from no data"):
            OwnerSide(roster, market.session, false, market.tokens[false]).collect()


def test_too_few_owners_are_not_valued(tmp_path):
    data = data_of(4)
    with parties(tmp_path) as (roster, own, _):
        market, parts = opened(roster, own, data, least_owners=4)
        send_shares(roster, market.session, {name: parts[name] for name in list(parts)[:3]})
        with pytest.raises(PartyError, match="only 3 owners sent their data, and this session needs 4"):
            market.compute()
        with pytest.raises(PartyError, match="the session is failed"):
            market.compute()


def test_who_may_not_ask_is_refused(tmp_path):
    data = data_of(3)
    with parties(tmp_path) as (roster, own, running):
        market, parts = opened(roster, own, data)
        token = market.tokens["owner 0"]
        with pytest.raises(PartyError, match="only the market may ask"):
            call(roster, 0, None, {"ask": "compute", "session": market.session})
        with pytest.raises(PartyError, match="only the market may ask"):
            call(roster, 0, Identity.of(tmp_path, "party2"), {"ask": "open", "session": "x", "terms": {}})
        with pytest.raises(PartyError, match="not enrolled in this session, or the token is another's"):
            OwnerSide(roster, market.session, "owner 1", token).submit(data["owner 1"])
        send_shares(roster, market.session, parts)
        with pytest.raises(PartyError, match="has sent its shares already"):
            OwnerSide(roster, market.session, "owner 0", token).submit(data["owner 0"])
        assert all(len(party.sessions[market.session].shares) == 3 for party in running)
        with pytest.raises(PartyError, match="the request cannot be read"):
            call(roster, 0, own, {"ask": "open", "session": "x", "terms": {"method": 3}})


def test_another_certificate_is_not_talked_to(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with parties(tmp_path / "a") as (roster, _, _):
        strange = make_keys(tmp_path / "b", roster.addresses)
        with pytest.raises(PartyError, match="shows another certificate than the roster's"):
            call(strange, 0, None, {"ask": "ping"})
        with pytest.raises(PartyError, match="party 1"):  # a market that is not this roster's
            call(roster, 0, Identity.of(tmp_path / "b", MARKET), {"ask": "ping"}, patience=2)


def test_rubbish_at_the_door_harms_nobody(tmp_path):
    data = data_of(3)
    with parties(tmp_path, patience=3.0) as (roster, own, _):
        address = roster.addresses[1]
        with socket.create_connection((address.host, address.port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        context = ssl.create_default_context(cadata=roster.certificates[1])
        context.check_hostname = False
        for rubbish in (b"x" * 64, b"KPT1" + b"\xff" * 12, b"KPT1\0\0\0\3\0\0\0\0\0\0\0\0[1]"):
            with (
                socket.create_connection((address.host, address.port)) as plain,
                context.wrap_socket(plain) as stream,
            ):
                stream.sendall(rubbish)
        market, parts = opened(roster, own, data)
        send_shares(roster, market.session, parts)
        assert len(market.compute().distances) == 3


class Rubbish(Party):
    """A party whose tenth message is random bytes."""

    def wire(self, session):
        sound = super().wire(session)
        send, sent = sound.send, [0]

        def spoiled(to, label, content):
            sent[0] += 1
            send(to, label, os.urandom(len(content)) if sent[0] == 10 else content)

        sound.send = spoiled
        return sound


class Unruly(Party):
    """A party that writes no frames."""

    def wire(self, session) -> Wire:
        sound = super().wire(session)
        for outbox in sound._outboxes.values():
            outbox.put = lambda label, content: None
        return sound


@pytest.mark.parametrize("kind", [Rubbish, Unruly])
def test_a_party_that_sends_rubbish_or_nothing_ends_in_a_failure(tmp_path, kind):
    data = data_of(3)
    with parties(tmp_path, patience=1.0, kinds=(Party, kind, Party)) as (roster, own, _):
        market, parts = opened(roster, own, data)
        send_shares(roster, market.session, parts)
        with pytest.raises(PartyError, match="There is no result"):
            market.compute()
        for name in data:
            with pytest.raises(PartyError, match=r"the session is (failed|computing)"):
                OwnerSide(roster, market.session, name, market.tokens[name]).collect()


class TwoFaced(Party):
    """A party that tells one of the others, and not the third, that it lacks an owner."""

    def wire(self, session):
        sound = super().wire(session)
        send = sound.send

        def told(to, label, content):
            if label == "exchange" and to == 2 and b"owner 0" in content:
                said = json.loads(content)
                del said["owner 0"]
                content = json.dumps(said).encode()
            send(to, label, content)

        sound.send = told
        return sound


def test_a_party_that_tells_two_stories_is_found_out(tmp_path):
    data = data_of(5)
    with parties(tmp_path, patience=5.0, kinds=(Party, TwoFaced, Party)) as (roster, own, _):
        market, parts = opened(roster, own, data)
        send_shares(roster, market.session, {name: parts[name] for name in list(parts)[:-1]})
        with pytest.raises(PartyError, match="the parties disagree on who takes part"):
            market.compute()


def own_process(folder, session, name, token, data, found):
    """An owner: a process of its own that knows the roster, its data and its token."""
    side = OwnerSide(Roster.read(folder), session, name, token)
    side.submit(data)
    found.put((name, "sent"))
    while True:
        try:
            distance = side.collect()
        except PartyError as fault:
            if "the session is" not in str(fault):
                raise
            time.sleep(1)
        else:
            found.put((name, distance))
            return


@pytest.mark.slow
def test_fifty_owner_processes_and_three_party_processes(tmp_path):
    data = data_of(50, seed=3, length=64)
    method = Histogram(0, 10, bins=40, levels=64)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kantor.private.client"])
    with local_trio(tmp_path) as trio:
        market = Market(trio.roster, trio.market, method, data)
        found = context.Queue()
        owners = [
            context.Process(
                target=own_process, args=(tmp_path, market.session, name, market.tokens[name], values, found)
            )
            for name, values in data.items()
        ]
        for owner in owners:
            owner.start()
        assert {found.get(timeout=120)[0] for _ in owners} == set(data)
        result = market.compute()
        collected = dict(found.get(timeout=120) for _ in owners)
        for owner in owners:
            owner.join(timeout=60)
            assert owner.exitcode == 0
    assert result.left_out == {}
    binned = {name: method.binned(values) for name, values in data.items()}
    exact = dict(zip(data, kt.distances(binned, aggregate="mixture"), strict=True))
    raw = dict(zip(data, kt.distances(data, aggregate="mixture"), strict=True))
    assert collected == result.distances
    for name in data:
        assert result.distances[name] == pytest.approx(exact[name], abs=1e-12)
        assert abs(result.distances[name] - raw[name]) <= result.error_bound


LONG = Histogram(0, 10, bins=2000, levels=16)


@pytest.mark.slow
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP])
def test_a_party_process_that_dies_or_hangs_in_the_middle(tmp_path, blow):
    data = data_of(40)
    with local_trio(tmp_path, patience=3.0) as trio:
        market, parts = opened(trio.roster, trio.market, data, LONG)
        send_shares(trio.roster, market.session, parts)
        timer = threading.Timer(0.5, trio.processes[2].send_signal, [blow])
        timer.start()
        with pytest.raises(PartyError, match="party 3") as caught:
            market.compute()
        assert caught.value.party == 3
        trio.processes[2].send_signal(signal.SIGCONT)


@pytest.mark.slow
def test_a_party_that_was_restarted_says_that_it_has_forgotten(tmp_path):
    data = data_of(3)
    with local_trio(tmp_path, patience=3.0) as trio:
        market, parts = opened(trio.roster, trio.market, data)
        send_shares(trio.roster, market.session, parts)
        trio.processes[1].kill()
        trio.processes[1].wait()
        with pytest.raises(PartyError, match="party 2 cannot be reached"):
            market.compute()
        trio.processes[1] = start_party(tmp_path, 2, 3.0)
        wait_for_parties(trio.roster)
        with pytest.raises(PartyError, match=r"party 2 does not know session .* start again with a new session"):
            Market.compute(market)
        again, parts = opened(trio.roster, trio.market, data)
        send_shares(trio.roster, again.session, parts)
        assert len(again.compute().distances) == 3


@pytest.mark.parametrize("content", ["", "{}", '{"parties": [1, 2], "market": ""}', '{"parties": [1, 2, 3]}'])
def test_broken_rosters(tmp_path, content):
    with pytest.raises(InputError, match="there is no roster"):
        Roster.read(tmp_path)
    (tmp_path / "roster.json").write_text(content)
    with pytest.raises(InputError, match="this is no roster of 3 parties"):
        Roster.read(tmp_path)
    with pytest.raises(InputError, match="there is a roster already"):
        make_keys(tmp_path, free_addresses())


@pytest.mark.slow
def test_the_guide_to_private_valuation_runs(tmp_path, monkeypatch, capsys):
    """Its session, too, which `tests/test_readme.py` leaves out because it starts processes."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "private-valuation.md").read_text()
    shared = {}
    for block in re.findall(r"```py(?:thon)?\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(block, "private-valuation.md", "exec"), shared)  # noqa: S102
    assert shared["result"].left_out == {"dora": "it sent nothing"}
    assert shared["own"] == shared["result"].distances["carla"]

"""Checking a market from one file, offline, believing nothing that can be worked out again.

What is believed: that the server's key is the market's (compare it with a receipt, or with what the operator
publishes), and that the terms name the right trustees. Everything else follows, step by step: the log is a chain; the
key was made by all trustees; the bids under the root are those that the log counts, each signed by its owner; they were
opened rightly; the outcome is what the rules make of them; the money moved as the outcome says, and nowhere else.

A step that fails ends the check: what comes after would rest on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kantor.clearing.clear import choice
from kantor.clearing.outcome import Rules
from kantor.clearing.recheck import recheck
from kantor.delivery.ledger import DEPOSIT, Book, Transfer
from kantor.errors import EvidenceError, KantorError
from kantor.evidence.canonical import digest, parse
from kantor.evidence.signing import check_signature
from kantor.evidence.tree import root_of
from kantor.sealing.keys import MarketKey
from kantor.service.deciding import bids_for, entries_of, mechanism_of
from kantor.service.opening import opened_by
from kantor.service.reading import Story, read_log
from kantor.service.statements import bid_digest, name_of
from kantor.service.terms import Terms
from kantor.service.trustee_rounds import key_on

__all__ = ["VERSION", "Step", "Verified", "verify"]

VERSION = "kantor bundle 1"
_REMEDY = "The market did not follow its own rules, or the file was changed. Get it again; if it stays so, object."
_PUBLIC = {
    "version",
    "kind",
    "market",
    "server",
    "state",
    "terms",
    "key",
    "board",
    "events",
    "leaves",
    "public",
    "seal",
}
_PRIVATE = {"bids", "enrolments", "valued", "outcome", "handover", "deliveries", "transfers", "opening"}


@dataclass(frozen=True)
class Step:
    """One thing that was checked."""

    name: str
    passed: bool
    said: str


@dataclass(frozen=True)
class Verified:
    """All that was checked, up to the first thing that is wrong."""

    market: str
    kind: str
    server: str
    steps: tuple[Step, ...]

    @property
    def passed(self) -> bool:
        """Whether everything holds."""
        return all(step.passed for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**self.__dict__, "passed": self.passed, "steps": [step.__dict__ for step in self.steps]}


def verify(content: bytes, server: str | None = None) -> Verified:
    """Check a bundle, byte for byte. server: the market's key, where it is known from elsewhere."""
    steps: list[Step] = []
    case = None
    for name, check in _steps(server):
        try:
            if case is None:
                case = _Case(content)
            said = check(case)
        except (KantorError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as fault:
            text = str(fault) if isinstance(fault, KantorError) else f"the bundle is not whole ({fault!r}). {_REMEDY}"
            steps.append(Step(name, False, text))
            break
        if said is not None:
            steps.append(Step(name, True, said))
    about = case.content if case is not None else {}
    return Verified(
        str(about.get("market", "unknown")),
        str(about.get("kind", "unknown")),
        str(about.get("server", "")),
        tuple(steps),
    )


class _Case:
    """A bundle that is read, and what its parts mean."""

    def __init__(self, content: bytes) -> None:
        self.content: dict[str, Any] = parse(content)
        if not isinstance(self.content, dict) or self.content.get("version") != VERSION:
            raise EvidenceError("this is no bundle of this version", remedy="Give a file that a market has exported.")
        if self.content.get("kind") not in ("public", "auditor"):
            raise EvidenceError(f"there are no {self.content.get('kind')!r} bundles", remedy=_REMEDY)
        expected = _PUBLIC | (_PRIVATE if self.full else set())
        odd = sorted(set(self.content) ^ expected)
        if odd:
            raise EvidenceError(f"the bundle lacks, or should not have, {', '.join(odd)}", remedy=_REMEDY)

    @property
    def full(self) -> bool:
        """Whether it is the auditor's."""
        return self.content.get("kind") == "auditor"

    @property
    def market(self) -> str:
        """Which market it is about."""
        return str(self.content["market"])

    @cached_property
    def terms(self) -> Terms:
        """The terms, if they are written as they are signed."""
        found = Terms.model_validate(self.content["terms"])
        if found.plain != self.content["terms"]:
            raise EvidenceError("the terms are not in the form that is signed", remedy=_REMEDY)
        return found

    @cached_property
    def key(self) -> MarketKey:
        """The market's key."""
        return MarketKey.read(self.content["key"])

    @cached_property
    def story(self) -> Story:
        """The log."""
        return read_log(self.content["events"], self.market)

    @cached_property
    def opened(self) -> dict[str, Any]:
        """What the envelopes hold."""
        posted = {int(place): message for place, message in self.content["opening"].items()}
        closed = {"root": self.root, "bids": self.content["bids"]}
        found, faults = opened_by(self.key, closed, posted)
        if found is None:
            raise EvidenceError(f"the bids were not opened rightly: {faults}", remedy=_REMEDY)
        return found

    @property
    def root(self) -> str:
        """The root of the closed set."""
        return str(self.story.only("closed").body["root"])

    @property
    def cleared(self) -> bool:
        """Whether there is an outcome."""
        return bool(self.story.all("cleared"))


def _steps(server: str | None) -> list[tuple[str, Callable[[_Case], str | None]]]:
    return [
        ("seal", lambda case: _seal(case, server)),
        ("log", _log),
        ("terms", _terms),
        ("key", _key),
        ("closed set", _closed),
        ("bids", _bids),
        ("opening", _opening),
        ("distances", _distances),
        ("outcome", _outcome),
        ("optimum and payments", _rechecked),
        ("ledger", _ledger),
        ("deliveries", _deliveries),
    ]


def _same(said: Any, found: Any, what: str) -> None:
    if said != found:
        raise EvidenceError(f"{what} is not what the log says", remedy=_REMEDY)


def _seal(case: _Case, server: str | None) -> str:
    said = dict(case.content)
    signature = said.pop("seal")
    stated = str(said["server"])
    if server is not None and stated != server:
        raise EvidenceError(
            f"the bundle is sealed by {stated[:16]}..., not by the key that you gave",
            remedy="It is another market's, or somebody made it up.",
        )
    check_signature(stated, "bundle", digest("bundle", said), signature)
    known = "the key that you gave" if server else f"{stated[:16]}...: compare it with a receipt"
    return f"sealed by {known}, not a byte changed since"


def _log(case: _Case) -> str:
    story = case.story
    _same(case.content["server"], story.events[0].body["server"], "the server's key")
    _same(case.content["state"], story.state, "the market's state")
    return f"{len(story.events)} events, each following from those before it"


def _terms(case: _Case) -> str:
    _same(case.terms.digest, case.story.only("opened").body["terms"], "the terms' digest")
    return "the terms are those that were published when the market opened"


def _key(case: _Case) -> str:
    posted = {
        stage: {int(place): said for place, said in each.items()} for stage, each in case.content["board"].items()
    }
    key = key_on(posted, case.terms.trustees.sealing(case.market))
    _same(None if key is None else key.as_dict(), case.content["key"], "the market's key")
    _same(case.key.digest, case.story.only("bidding").body["key"], "the digest of the market's key")
    members = case.terms.trustees.members
    return f"made and signed by {len(members)} trustee(s), {case.key.threshold} of whom open bids"


def _closed(case: _Case) -> str:
    root = case.story.check_root()
    _same(case.content["leaves"], case.story.standing, "the list of bids that count")
    _same(root_of([leaf["bid"] for leaf in case.content["leaves"]]), root, "the root")
    return f"{len(case.content['leaves'])} bids count, under one root: each owner's last, unless withdrawn"


def _bids(case: _Case) -> str | None:
    if not case.full:
        return None
    keys = case.story.keys
    for entry in case.content["enrolments"]:
        said = entry["said"]
        owner = name_of(case.market, said["key"])
        _same(said["key"], keys.get(owner), f"the key of owner {owner}")
        _same((said["market"], said["terms"]), (case.market, case.terms.digest), f"what owner {owner} joined")
        check_signature(said["key"], "enrolment", said, entry["signature"])
    joined = [name_of(case.market, entry["said"]["key"]) for entry in case.content["enrolments"]]
    _same(joined, sorted(keys), "the list of owners")
    digests = [bid_digest(entry["bid"]) for entry in case.content["bids"]]
    _same(digests, [leaf["bid"] for leaf in case.content["leaves"]], "the bids")
    for entry in case.content["bids"]:
        check_signature(keys[entry["bid"]["owner"]], "bid", entry["bid"], entry["signature"])
    return f"{len(keys)} owners joined and {len(digests)} bids count, each signed by its owner"


def _opening(case: _Case) -> str | None:
    if not case.full or not case.cleared:
        return None
    return f"{len(case.opened)} envelopes opened again from the trustees' parts, whose proofs hold"


def _distances(case: _Case) -> str | None:
    if not case.full:
        return None
    event = case.story.only("valued").body
    _same(digest("valued", case.content["valued"]), event["distances"], "the list of distances")
    _same(case.content["valued"]["owners"], event["owners"], "the number of owners valued")
    stated = {
        name_of(case.market, each["said"]["key"]): each["said"]["distance"] for each in case.content["enrolments"]
    }
    if case.terms.valuation.way != "private":
        _same(case.content["valued"]["distances"], stated, "a distance")
    return f"{len(case.content['valued']['distances'])} distances, as they were when bidding began"


def _outcome(case: _Case) -> str | None:
    if not case.cleared:
        return "the market was not cleared" if case.full else None
    event = case.story.only("cleared").body
    public = dict(case.content["public"])
    check_signature(
        case.content["server"], "public", {k: v for k, v in public.items() if k != "signature"}, public.pop("signature")
    )
    _same(public, event, "the public outcome")
    _same((public["root"], public["terms"]), (case.root, case.terms.digest), "what was cleared")
    if not case.full:
        return (
            f"{public['bought']} of {public['bids']} bought for {case.terms.money.show(public['spend'])}, as published"
        )
    outcome = case.content["outcome"]
    _same(digest("outcome", outcome), event["outcome"], "the outcome's digest")
    for name in ("market", "terms", "root", "population_size", "excluded", "bought", "spend", "bound", "objective"):
        _same(outcome[name], public[name], f"{name} of the outcome")
    valued = case.content["valued"]
    entries, excluded = entries_of(case.terms, case.opened, valued["distances"])
    _same(excluded, outcome["excluded"], "who was excluded")
    rows = [{**each._asdict(), "total": f"{each.total:f}"} for each in entries]
    stated = [{k: v for k, v in row.items() if k not in ("selected", "payment")} for row in outcome["bids"]]
    _same(rows, stated, "a bid as it was cleared")
    size = max(case.terms.rule.population_size or 0, valued["owners"], len(entries), 1)
    _same(size, outcome["population_size"], "the size of the population")
    _same(sum(row["selected"] for row in outcome["bids"]), outcome["bought"], "the number bought")
    _same(sum(row["payment"] for row in outcome["bids"]), outcome["spend"], "the sum of payments")
    return f"{len(entries)} bids cleared as they were sealed, {len(excluded)} excluded for good reason"


def _rechecked(case: _Case) -> str | None:
    if not case.full or not case.cleared:
        return None
    outcome, rule = case.content["outcome"], case.terms.rule
    entries, _ = entries_of(case.terms, case.opened, case.content["valued"]["distances"])
    if not entries:
        return "there was nothing to buy"
    mechanism = mechanism_of(case.terms)
    rules = Rules(
        mechanism=mechanism,
        confidence=float(rule.confidence),
        population=rule.population,
        population_size=outcome["population_size"],
        payments=choice("payments", rule.payments, mechanism.payment_rules, "threshold"),
        solver="exact",
    )
    found = recheck(
        bids_for(case.terms, case.root, entries),
        rules,
        [row["selected"] for row in outcome["bids"]],
        [row["payment"] for row in outcome["bids"]],
    )
    if not found.passed:
        raise EvidenceError("; ".join(f"{each.name}: {each.said}" for each in found.faults), remedy=_REMEDY)
    return "; ".join(check.said for check in found.checks)


def _ledger(case: _Case) -> str | None:
    if not case.full:
        return None
    booked: dict[str, str] = {}
    for event in case.story.all("booked"):
        booked.update(sorted(event.body["transfers"].items()))
    moves = []
    for each in case.content["transfers"]:
        plain = {name: each[name] for name in ("key", "postings")}
        _same(digest("transfer", {"market": case.market, "salt": each["salt"], **plain}), each["digest"], each["key"])
        _same(each["digest"], booked.get(each["key"]), f"the transfer {each['key']!r}")
        moves.append(Transfer(each["key"], each["postings"]))
    _same([move.key for move in moves], list(booked), "the list of transfers")
    book = Book.of(moves)
    _money(case, moves, book)
    return (
        f"{len(moves)} transfers, debits equal credits, {case.terms.money.show(max(book.balances[DEPOSIT], 0))} unspent"
    )


def _money(case: _Case, moves: list[Transfer], book: Book) -> None:
    """Holds are the payments of the outcome; who delivered and was not refused is paid it, once; nobody else is."""
    owed = {}
    if case.cleared:
        owed = {row["owner"]: row["payment"] for row in case.content["outcome"]["bids"] if row["selected"]}
    known = {move.key: move for move in moves}
    held = {key.partition(":")[2]: move for key, move in known.items() if key.startswith("hold:")}
    _same({owner: move.postings[f"hold:{owner}"] for owner, move in held.items()}, owed, "what was set aside")
    here = {event.body["owner"] for event in case.story.all("delivered")}
    refused = {event.body["owner"] for event in case.story.all("decided") if event.body["decision"] == "refuse"}
    paid = {key.partition(":")[2]: move for key, move in known.items() if key.startswith("pay:")}
    for owner, move in paid.items():
        _same(move.postings, {f"hold:{owner}": -owed[owner], f"owner:{owner}": owed[owner]}, f"the payment of {owner}")
        if owner not in here or owner in refused:
            raise EvidenceError(f"owner {owner} was paid and had not delivered", remedy=_REMEDY)
    if case.story.all("settled"):
        _same(set(paid), (here & set(owed)) - refused, "who was paid")
        if not book.settled:
            raise EvidenceError("the market is settled and money is still set aside", remedy=_REMEDY)
    others = set(known) - {f"hold:{o}" for o in owed} - {f"pay:{o}" for o in owed} - {f"unhold:{o}" for o in owed}
    strange = sorted(key for key in others if key != "refund" and not key.startswith("deposit:"))
    if strange:
        raise EvidenceError(f"there is a transfer {strange[0]!r} that no rule allows", remedy=_REMEDY)


def _deliveries(case: _Case) -> str | None:
    if not case.full:
        return None
    keys = case.story.keys
    events = {
        event.body["owner"]: (event.body["delivery"], event.body["findings"]) for event in case.story.all("delivered")
    }
    found = {}
    for each in case.content["deliveries"]:
        said = each["said"]
        check_signature(keys[said["owner"]], "delivery", said, each["signature"])
        found[said["owner"]] = digest("delivery", said), digest("findings", each["findings"])
    _same(found, events, "a delivery")
    _same([each["said"]["owner"] for each in case.content["deliveries"]], sorted(events), "the list of deliveries")
    over = case.story.all("handed over")
    if over:
        _same(digest("handover", case.content["handover"]), over[0].body["handover"], "the handover")
    return f"{len(found)} deliveries, each signed by its owner"

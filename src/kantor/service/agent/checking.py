"""Whether a market has kept its word to one owner: everything that can be checked without trusting its server.

The log is read whole and its chain computed again. What the owner was told at the time (the terms, its receipts) has to
be in it; its last bid has to be under the published root; its signed result has to fit what it asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kantor.errors import EvidenceError
from kantor.evidence.signing import check_signature
from kantor.evidence.tree import check_inclusion
from kantor.service.agent.receipts import all_receipts, standing_bid
from kantor.service.reading import Story, read_log

if TYPE_CHECKING:
    from kantor.service.agent.owner import OwnerAgent

__all__ = ["check"]

_SHOW = "Keep your receipts, and show them to an auditor."


def check(agent: OwnerAgent) -> list[str]:
    """What was checked, or an `EvidenceError` that says what is wrong."""
    return list(_checks(agent))


def _checks(agent: OwnerAgent) -> Iterator[str]:
    agent.server_key()
    story = read_log(agent.client.log(agent.market), agent.market)
    yield f"the log is whole: {len(story.events)} events, each following from those before it"
    yield _place(agent, story)
    yield _receipts(agent, story)
    if not story.all("closed"):
        return
    root = story.check_root()
    yield "the root that was published is that of the bids in the log"
    yield from _counted(agent, story, root)
    own, about = agent.result(), agent.about()
    if story.all("cleared"):
        yield _published(agent, story)
        yield from _result(agent, own)
    if about["state"] == "settled":
        yield from _paid(agent, own)


def _place(agent: OwnerAgent, story: Story) -> str:
    """The market opened under the terms that this owner has read, and has it on its list with its own key."""
    known = agent.notes.known
    if story.only("opened").body["terms"] != known["terms_digest"]:
        raise EvidenceError("the log opens under other terms than you enrolled under", remedy=_SHOW)
    said = known.get("enrolment")
    own = next((event.body for event in story.all("enrolled") if event.body["owner"] == agent.name), None)
    if own is None or own["key"] != agent.signer.public:
        raise EvidenceError("your enrolment is not in the log", remedy="Ask the operator. " + _SHOW)
    if said is not None and own["commitment"] != said["commitment"]:
        raise EvidenceError("the log has another commitment to your data than yours", remedy=_SHOW)
    return "your enrolment is in it, under the terms that you have read"


def _receipts(agent: OwnerAgent, story: Story) -> str:
    receipts = all_receipts(agent.notes.known)
    for receipt in receipts:
        event = story.events[receipt["seq"] - 1] if receipt["seq"] <= len(story.events) else None
        if event is None or event.hash != receipt["log"]:
            raise EvidenceError(
                f"event {receipt['seq']} of the log is not the one that your receipt quotes",
                remedy="The log was changed after the receipt was signed. Keep the receipt, and show it.",
            )
    return f"all {len(receipts)} receipts are in it, as they were signed"


def _counted(agent: OwnerAgent, story: Story, root: str) -> Iterator[str]:
    """The bid that counts is the last one that there is a receipt for, or none if that was withdrawn."""
    mine = next((leaf for leaf in story.standing if leaf["owner"] == agent.name), None)
    due = standing_bid(agent.notes.known)
    if (mine and mine["bid"]) != (due and due["receipt"]["bid"]):
        raise EvidenceError("the bid that counts is not the last one that you have a receipt for", remedy=_SHOW)
    if mine is None:
        yield "no bid of yours counts, and none should"
        return
    proof = agent.client.inclusion(agent.market)
    if proof["leaf"] != mine["bid"]:
        raise EvidenceError("another bid counts than yours", remedy=_SHOW)
    check_inclusion(root, mine["bid"], proof["index"], proof["size"], proof["proof"])
    yield "your bid counts: it is under that root"


def _published(agent: OwnerAgent, story: Story) -> str:
    """What is published of the outcome is what the log says, signed."""
    public = dict(agent.client.result(agent.market)["public"])
    signature = public.pop("signature")
    check_signature(agent.server_key(), "public", public, signature)
    if public != story.only("cleared").body:
        raise EvidenceError("the published outcome is not the one in the log", remedy=_SHOW)
    return "the published outcome is signed, and the one in the log"


def _result(agent: OwnerAgent, own: dict[str, Any]) -> Iterator[str]:
    """The own result fits what was asked for and stated."""
    bid, said = standing_bid(agent.notes.known), agent.notes.known.get("enrolment") or {}
    if bid is None or "signature" not in own:
        return
    if own["excluded"] is not None:
        raise EvidenceError(f"your bid counted and was then left out: {own['excluded']}", remedy=_SHOW)
    stated = said.get("distance")
    if stated is not None and own["distance"] != stated:
        raise EvidenceError(f"your distance was taken as {own['distance']}, and you stated {stated}", remedy=_SHOW)
    if bid["ask"] is None:
        return
    if own["epsilon"] != bid["ask"]["epsilon"]:
        raise EvidenceError(
            f"your epsilon was taken as {own['epsilon']}, and you bid {bid['ask']['epsilon']}", remedy=_SHOW
        )
    if own["bought"] and own["payment"] < bid["ask"]["reserve"]:
        raise EvidenceError(
            f"you are to be paid {own['payment']}, less than the {bid['ask']['reserve']} that you asked for",
            remedy="Do not deliver. Show your receipt and the signed result to an auditor.",
        )
    yield "you are paid at least what you asked for" if own["bought"] else "your result is signed: you were not bought"


def _paid(agent: OwnerAgent, own: dict[str, Any]) -> Iterator[str]:
    """Who delivered is paid, unless the operator refused it with a reason."""
    if not own.get("bought") or "delivery" not in agent.notes.known:
        return
    refused = [doubt for doubt in own["doubts"] if doubt["decision"] == "refuse"]
    if refused:
        yield f"you were not paid, and were told why: {refused[-1]['reason']}"
    elif own["paid"] != own["payment"]:
        raise EvidenceError(
            f"the market is settled, you delivered, and {own['paid']} of {own['payment']} was paid", remedy=_SHOW
        )
    else:
        yield "you were paid what your signed result says"

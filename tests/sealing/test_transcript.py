import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantor.errors import EvidenceError, PartyError
from kantor.sealing.group import IDENTITY, ORDER, Point, random_scalar, read_point, scalar, subtract, times_base
from kantor.sealing.transcript import COMMITMENTS, SHARES, know, market_key, read_commitments, read_shares, seen, signed
from sealing.planted import NO_POINTS, changed, identities, key_of, messages_of, terms_of

TERMS = terms_of()
_, FIRST, SECOND = messages_of()


def again(kind, message, place, **changes):
    """A message changed by its trustee, and signed again."""
    record = {**{name: part for name, part in message.items() if name != "signature"}, **changes}
    return signed(identities(3)[place - 1].signer, kind, record)


def replaced(messages, place, message):
    return [*messages[: place - 1], message, *messages[place:]]


def fault_of(first=FIRST, second=SECOND):
    with pytest.raises(PartyError) as fault:
        market_key(TERMS, first, second)
    return fault.value


def test_anybody_can_compute_the_key_from_the_messages():
    assert market_key(TERMS, FIRST, SECOND) == key_of()


@given(st.sampled_from([1, 2]), st.integers(1, 3), st.data())
def test_any_change_to_a_message_is_refused(round_, place, data):
    """Nobody is blamed for what it has not signed."""
    messages = [FIRST, SECOND]
    message = data.draw(changed(messages[round_ - 1][place - 1]))
    messages[round_ - 1] = replaced(messages[round_ - 1], place, message)
    fault = fault_of(*messages)
    assert fault.party is None
    assert f"in the name of trustee {place} (trustee {place}) is not signed by it" in str(fault)


@pytest.mark.parametrize("message", [None, [], {}, {"signature": 3}, {"signature": "00" * 64, "x": 0.5}])
def test_what_is_no_message_is_refused(message):
    assert fault_of(replaced(FIRST, 2, message)).party is None


def test_every_trustee_has_spoken_once_and_in_its_place():
    for messages in (FIRST[:2], [*FIRST, FIRST[0]], []):
        with pytest.raises(EvidenceError, match="entries, not 3"):
            market_key(TERMS, messages, SECOND)
    assert "is not signed by it" in str(fault_of(FIRST[::-1]))
    assert "is not signed by it" in str(fault_of([FIRST[0], FIRST[0], FIRST[2]]))


def test_messages_of_another_ceremony_are_refused():
    _, first, second = messages_of(market="market 2")
    for messages in (replaced(FIRST, 2, first[1]), SECOND), (FIRST, replaced(SECOND, 2, second[1])):
        fault = fault_of(*messages)
        assert "is from another ceremony" in str(fault)
        assert fault.party is None


def test_a_message_of_one_round_is_none_of_the_other():
    assert "is not signed by it" in str(fault_of(SECOND, SECOND))
    assert "is not signed by it" in str(fault_of(FIRST, FIRST))


@pytest.mark.parametrize(
    "change",
    [
        {"commitments": FIRST[1]["commitments"][:1]},
        {"commitments": [*FIRST[1]["commitments"], FIRST[0]["commitments"][0]]},
        {"commitments": FIRST[0]["commitments"]},
        {"commitments": FIRST[0]["commitments"], "proof": FIRST[0]["proof"]},
        {"commitments": "no list"},
        {"commitments": [None, None]},
        {"proof": FIRST[0]["proof"]},
        {"proof": {}},
        {"more": 1},
        {"trustee": "2"},
    ],
)
def test_a_signed_wrong_first_message_is_its_trustees_fault(change):
    fault = fault_of(replaced(FIRST, 2, again(COMMITMENTS, FIRST[1], 2, **change)))
    assert fault.party == 2
    assert "trustee 2 (trustee 2) has signed a wrong message" in str(fault)


def test_a_trustee_is_called_by_its_own_number():
    for messages in (
        (replaced(FIRST, 2, again(COMMITMENTS, FIRST[1], 2, trustee=3)), SECOND),
        (FIRST, replaced(SECOND, 2, again(SHARES, SECOND[1], 2, trustee=3))),
    ):
        fault = fault_of(*messages)
        assert fault.party == 2
        assert "calls itself 3" in str(fault)


@pytest.mark.parametrize("point", NO_POINTS, ids=bytes.hex)
@pytest.mark.parametrize("power", [0, 1])
def test_commitments_are_points_of_the_group(point, power):
    """Also if the proof of knowledge holds as far as it can."""
    secret = random_scalar()
    points = [times_base(secret), times_base(scalar(2))]
    points[power] = Point(point)
    proof = know(TERMS, 2, secret, points[0])
    change = {"commitments": [each.hex() for each in points], "proof": proof}
    fault = fault_of(replaced(FIRST, 2, again(COMMITMENTS, FIRST[1], 2, **change)))
    assert fault.party == 2
    assert "not a point of the group" in str(fault)


def test_nobody_cancels_the_contributions_of_others():
    """A trustee that speaks last would own the key, if it had not to know what it contributes."""
    wanted = random_scalar()
    own = times_base(wanted)
    for place in (1, 2):
        own = subtract(own, read_point(FIRST[place - 1]["commitments"][0], ""))
    commitments = [own.hex(), FIRST[2]["commitments"][1]]
    for proof in (know(TERMS, 3, wanted, own), know(TERMS, 3, wanted, times_base(wanted)), FIRST[2]["proof"]):
        message = again(COMMITMENTS, FIRST[2], 3, commitments=commitments, proof=proof)
        fault = fault_of(replaced(FIRST, 3, message))
        assert fault.party == 3
        assert "a proof does not hold" in str(fault)


def test_a_proof_of_knowledge_is_for_one_trustee_of_one_ceremony():
    secret = random_scalar()
    image = times_base(secret)
    commitments = [image.hex(), FIRST[1]["commitments"][1]]
    right = again(COMMITMENTS, FIRST[1], 2, commitments=commitments, proof=know(TERMS, 2, secret, image))
    read_commitments(TERMS, replaced(FIRST, 2, right))
    for terms, place in ((TERMS, 1), (terms_of(3), 2), (terms_of(market="market 2"), 2)):
        proof = know(terms, place, secret, image)
        message = again(COMMITMENTS, FIRST[1], 2, commitments=commitments, proof=proof)
        assert fault_of(replaced(FIRST, 2, message)).party == 2


@pytest.mark.parametrize(
    "change",
    [
        {"shares": SECOND[1]["shares"][:2]},
        {"shares": [None, None, SECOND[1]["shares"][2]]},
        {"shares": [SECOND[1]["shares"][0], SECOND[1]["shares"][0], SECOND[1]["shares"][2]]},
        {"shares": [SECOND[1]["shares"][0] + "00", None, SECOND[1]["shares"][2]]},
        {"shares": [SECOND[1]["shares"][0].upper(), None, SECOND[1]["shares"][2]]},
        {"seen": 3},
        {"more": 1},
    ],
)
def test_a_signed_wrong_second_message_is_its_trustees_fault(change):
    assert fault_of(second=replaced(SECOND, 2, again(SHARES, SECOND[1], 2, **change))).party == 2


def test_trustees_that_saw_different_commitments_notice():
    fault = fault_of(second=replaced(SECOND, 2, again(SHARES, SECOND[1], 2, seen="00" * 32)))
    assert "trustee 2 (trustee 2) saw other commitments" in str(fault)
    assert fault.party is None
    read_shares(TERMS, FIRST, SECOND)


def test_contributions_that_cancel_make_no_key():
    """Two trustees together can do this; it costs them the key, which has no secret then."""
    secret = random_scalar()
    terms = terms_of(1, 2)
    both = []
    for place, one in ((1, secret), (2, subtract_from_zero(secret))):
        record = {"terms": terms.digest, "trustee": place, "commitments": [times_base(one).hex()]}
        record["proof"] = know(terms, place, one, times_base(one))
        both.append(signed(identities(2)[place - 1].signer, COMMITMENTS, record))
    assert subtract(IDENTITY, times_base(secret)).hex() == both[1]["commitments"][0]
    everybody, _, second = messages_of(1, 2)
    assert everybody
    seen_now = [again_in(terms, place, both, message) for place, message in enumerate(second, 1)]
    with pytest.raises(EvidenceError, match="not a point of the group"):
        market_key(terms, both, seen_now)


def subtract_from_zero(one):
    return scalar(ORDER - int.from_bytes(one, "little"))


def again_in(terms, place, first, message):
    record = {name: part for name, part in message.items() if name != "signature"}
    return signed(identities(2)[place - 1].signer, SHARES, {**record, "terms": terms.digest, "seen": seen(first)})

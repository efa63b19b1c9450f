import json
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kantor.errors import EvidenceError, InputError, PartyError
from kantor.sealing.envelope import SECOND, open_envelope, seal
from kantor.sealing.group import Point, add, read_unchecked, scalar, subtract, times_base, weighted_sum
from kantor.sealing.keys import KeyShare, MarketKey
from kantor.sealing.opening import Opening, check_envelopes, check_partials, combine, open_set, partials
from kantor.sealing.polynomials import value_at, weights_at_zero
from sealing.planted import NO_POINTS, changed, context, key_of, sealed_set, shares_of, shifted

KEY = key_of()
SET = sealed_set()
STATEMENT = "ab" * 32
GIVEN = {share.trustee: partials(share, KEY, SET, STATEMENT) for share in shares_of()}


def blamed(trustee, given, envelopes=SET, statement=STATEMENT, key=KEY):
    with pytest.raises(PartyError, match=f"the partials of trustee {trustee} are wrong") as fault:
        check_partials(key, envelopes, statement, trustee, given)
    assert fault.value.party == trustee
    return True


def messages(key, envelopes, points):
    return [open_envelope(key, *each, point) for each, point in zip(envelopes, points, strict=True)]


@settings(max_examples=12)
@given(st.sampled_from([(1, 1), (1, 3), (2, 2), (2, 3), (3, 5), (4, 5)]))
def test_any_threshold_opens_and_all_give_the_same_points(size):
    key, envelopes = key_of(*size), sealed_set(2, *size)
    checked = {
        share.trustee: check_partials(key, envelopes, "s", share.trustee, partials(share, key, envelopes, "s"))
        for share in shares_of(*size)
    }
    found = {
        tuple(combine(key, {place: checked[place] for place in some}))
        for count in range(size[0], size[1] + 1)
        for some in combinations(checked, count)
    }
    assert len(found) == 1
    assert messages(key, envelopes, found.pop()) == [b"bid 0", b"bid 1"]


@pytest.mark.parametrize("size", [(2, 3), (3, 5)])
def test_fewer_do_not_open(size):
    key, envelopes = key_of(*size), sealed_set(2, *size)
    few = {
        share.trustee: check_partials(key, envelopes, "s", share.trustee, partials(share, key, envelopes, "s"))
        for share in shares_of(*size)[: size[0] - 1]
    }
    with pytest.raises(PartyError, match=f"{size[0] - 1} of {size[1]} trustees have answered"):
        combine(key, few)
    weights = weights_at_zero(few)
    guess = weighted_sum(weights.values(), [few[place][0] for place in weights])
    with pytest.raises(EvidenceError, match="holds no bid"):
        open_envelope(key, *envelopes[0], guess.hex())


def test_an_auditor_repeats_it_from_what_was_published():
    """Everything passes through a file; the auditor holds no secret."""
    published = json.dumps(
        {"key": KEY.as_dict(), "set": [list(each) for each in SET], "statement": STATEMENT, "partials": GIVEN}
    )
    read = json.loads(published)
    key, envelopes = MarketKey.read(read["key"]), [tuple(each) for each in read["set"]]
    check_envelopes(key, envelopes)
    opening = open_set(key, envelopes, read["statement"], {int(i): given for i, given in read["partials"].items()})
    assert opening.used == (1, 2)
    assert opening.faulty == {}
    assert messages(key, envelopes, opening.points) == [b"bid 0", b"bid 1", b"bid 2"]


def test_partials_are_given_again_to_the_same_bytes():
    assert partials(shares_of()[0], KEY, SET, STATEMENT) == GIVEN[1]


def test_a_bid_that_is_not_in_the_set_stays_sealed():
    withdrawn, rest = SET[0], SET[1:]
    given = {share.trustee: partials(share, KEY, rest, STATEMENT) for share in shares_of()}
    opening = open_set(KEY, rest, STATEMENT, given)
    assert messages(KEY, rest, opening.points) == [b"bid 1", b"bid 2"]
    for point in opening.points:
        with pytest.raises(EvidenceError, match="holds no bid"):
            open_envelope(KEY, *withdrawn, point)
    assert blamed(1, given[1], envelopes=SET)
    with pytest.raises(EvidenceError, match="envelope 2"):  # handed in again, as somebody else's bid
        partials(shares_of()[0], KEY, [*rest, (withdrawn[0], {**withdrawn[1], "owner": "a thief"})], STATEMENT)


@given(st.sampled_from([1, 2, 3]), st.data())
def test_any_change_to_partials_is_refused_and_blamed(trustee, data):
    assert blamed(trustee, data.draw(changed(GIVEN[trustee])))


@pytest.mark.parametrize(
    "given", [None, [], {}, {**GIVEN[1], "more": 1}, {**GIVEN[1], "points": GIVEN[1]["points"][:2]}]
)
def test_what_is_no_answer_is_refused(given):
    assert blamed(1, given)


def test_partials_are_bound_to_trustee_set_statement_and_market():
    assert blamed(2, GIVEN[1])
    assert blamed(2, {**GIVEN[1], "trustee": 2})
    assert blamed(0, {**GIVEN[1], "trustee": 0})
    assert blamed(4, {**GIVEN[1], "trustee": 4})
    assert blamed(1, GIVEN[1], statement="cd" * 32)
    assert blamed(1, {**GIVEN[1], "statement": "cd" * 32}, statement="cd" * 32)
    assert blamed(1, GIVEN[1], envelopes=SET[::-1])
    assert blamed(1, {**GIVEN[1], "points": GIVEN[1]["points"][::-1]}, envelopes=SET[::-1])
    assert blamed(1, {**GIVEN[1], "points": GIVEN[1]["points"][::-1]})
    assert blamed(1, GIVEN[1], envelopes=[*SET, SET[0]])
    other = key_of(market="market 2")
    other_set = sealed_set(market="market 2")
    theirs = partials(shares_of(market="market 2")[0], other, other_set, STATEMENT)
    check_partials(other, other_set, STATEMENT, 1, theirs)
    assert blamed(1, GIVEN[1], envelopes=other_set, key=other)
    assert blamed(1, theirs)


@pytest.mark.parametrize("point", NO_POINTS, ids=bytes.hex)
def test_partials_are_points_of_the_group(point):
    with pytest.raises(PartyError, match="not a point of the group"):
        check_partials(KEY, SET, STATEMENT, 1, {**GIVEN[1], "points": [*GIVEN[1]["points"][:2], point.hex()]})


def test_partials_are_for_the_whole_key_and_not_only_its_points():
    posed = MarketKey("another", KEY.terms, KEY.transcript, KEY.commitments, KEY.trustees)
    envelopes = [(seal(posed, b"bid", context(k)), context(k)) for k in range(3)]
    envelopes = [({**envelope, "point": SET[k][0]["point"]}, about) for k, (envelope, about) in enumerate(envelopes)]
    with pytest.raises(EvidenceError, match="envelope 0"):
        check_partials(posed, envelopes, STATEMENT, 1, GIVEN[1])


def test_a_trustee_with_the_same_share_has_other_partials():
    """With a threshold of one, all shares are equal; each trustee still answers for itself."""
    key, envelopes = key_of(1, 3), sealed_set(2, 1, 3)
    given = partials(shares_of(1, 3)[0], key, envelopes, STATEMENT)
    check_partials(key, envelopes, STATEMENT, 1, given)
    assert blamed(2, {**given, "trustee": 2}, envelopes=envelopes, key=key)


def test_wrong_values_that_cancel_are_found():
    values = [read_unchecked(point, "") for point in GIVEN[1]["points"]]
    wrong = [add(values[0], SECOND), subtract(values[1], SECOND), values[2]]
    assert blamed(1, {**GIVEN[1], "points": [point.hex() for point in wrong]})
    assert blamed(1, {**GIVEN[1], "points": [shifted(Point(values[0])).hex(), *GIVEN[1]["points"][1:]]})


def test_a_wrong_share_cannot_prove_itself():
    share = KeyShare(KEY.digest, 1, shares_of()[1].secret)
    with pytest.raises(EvidenceError, match="belongs to another key"):
        partials(share, KEY, SET, STATEMENT)
    with pytest.raises(EvidenceError, match="belongs to another key"):
        partials(shares_of(market="market 2")[0], KEY, SET, STATEMENT)


def test_a_trustee_opens_nothing_unchecked():
    """A copied point with a proof that does not hold: the trustee refuses the set, and says which envelope."""
    copied = {**seal(KEY, b"", context(9)), "point": SET[0][0]["point"]}
    with pytest.raises(EvidenceError, match="envelope 3") as fault:
        partials(shares_of()[0], KEY, [*SET, (copied, context(9))], STATEMENT)
    assert fault.value.where == {"envelope": 3}


@pytest.mark.parametrize("point", NO_POINTS, ids=bytes.hex)
def test_a_trustee_multiplies_no_point_outside_the_group(point):
    planted = {**SET[0][0], "point": point.hex()}
    with pytest.raises(EvidenceError, match="envelope 0"):
        partials(shares_of()[0], KEY, [(planted, SET[0][1])], STATEMENT)


def test_no_trustee_is_blamed_for_a_wrong_envelope():
    for name, wrong in (("point", NO_POINTS[0].hex()), ("sealed", SET[1][0]["sealed"])):
        planted = [({**SET[0][0], name: wrong}, SET[0][1]), *SET[1:]]
        with pytest.raises(EvidenceError, match="envelope 0"):
            check_partials(KEY, planted, "cd" * 32, 1, GIVEN[1])


def test_an_empty_set_needs_no_opening():
    with pytest.raises(InputError, match="there are no envelopes"):
        partials(shares_of()[0], KEY, [], STATEMENT)


def test_a_set_is_opened_without_the_faulty():
    wrong = {**GIVEN[1], "points": GIVEN[2]["points"]}
    opening = open_set(KEY, SET, STATEMENT, {**GIVEN, 1: wrong})
    assert opening.used == (2, 3)
    assert list(opening.faulty) == [1]
    assert "the partials of trustee 1 are wrong" in opening.faulty[1]
    assert opening.points == open_set(KEY, SET, STATEMENT, GIVEN).points
    with pytest.raises(PartyError, match="1 of 3 trustees have answered rightly"):
        open_set(KEY, SET, STATEMENT, {1: wrong, 3: GIVEN[3]})
    assert isinstance(opening, Opening)


def test_trustees_whose_shares_are_equal_are_combined():
    """A polynomial with f(1) = f(2), which two of three trustees could arrange."""
    square = 5
    polynomial = [scalar(number) for number in (11, -3 * square, square)]
    assert value_at(polynomial, 1) == value_at(polynomial, 2)
    key = MarketKey("m", "00" * 32, "00" * 32, tuple(times_base(each).hex() for each in polynomial), 3)
    envelopes = [(seal(key, b"bid", {}), {})]
    shares = [KeyShare(key.digest, place, value_at(polynomial, place).hex()) for place in (1, 2, 3)]
    given = {share.trustee: partials(share, key, envelopes, "s") for share in shares}
    assert messages(key, envelopes, open_set(key, envelopes, "s", given).points) == [b"bid"]


def test_the_same_envelope_twice_is_opened_twice():
    twice = [SET[0], SET[0]]
    given = {share.trustee: partials(share, KEY, twice, STATEMENT) for share in shares_of()}
    opening = open_set(KEY, twice, STATEMENT, given)
    assert messages(KEY, twice, opening.points) == [b"bid 0", b"bid 0"]

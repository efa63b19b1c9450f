import json

import pytest
from hypothesis import given

from kantor.errors import EvidenceError
from kantor.sealing.group import IDENTITY, plus, product, random_scalar, scalar, subtract, times_base
from kantor.sealing.keys import KIND, KeyShare, MarketKey, check_market_key
from kantor.sealing.polynomials import weights_at_zero
from sealing.planted import NO_POINTS, changed, identities, key_of, messages_of, shares_of, terms_of

KEY = key_of()
SIGNATURES = [each.sign() for each in messages_of()[0]]


def made_of(*commitments, trustees=3):
    return MarketKey("market", "00" * 32, "11" * 32, tuple(point.hex() for point in commitments), trustees)


def test_a_key_is_read_as_it_was_written():
    assert MarketKey.read(json.loads(json.dumps(KEY.as_dict()))) == KEY
    assert (KEY.threshold, KEY.trustees, KEY.market) == (2, 3, "market 1")


def test_shares_are_of_the_key_and_two_of_them_are_its_secret():
    for share, point in zip(shares_of(), KEY.verifying, strict=True):
        assert times_base(share.scalar_for(KEY)) == point
    for places in ((1, 2), (1, 3), (2, 3)):
        weights = weights_at_zero(places)
        first, second = (product(weights[i], shares_of()[i - 1].scalar_for(KEY)) for i in places)
        assert times_base(plus(first, second)) == KEY.point


def test_all_trustees_have_signed():
    check_market_key(KEY, SIGNATURES, terms_of())
    for place in range(3):
        for wrong in ("", "00" * 64, SIGNATURES[place - 1], SIGNATURES[place].upper(), None):
            with pytest.raises(EvidenceError, match=rf"trustee {place + 1} \(trustee {place + 1}\) has not signed"):
                check_market_key(KEY, [*SIGNATURES[:place], wrong, *SIGNATURES[place + 1 :]], terms_of())
    for number in (0, 2):
        with pytest.raises(EvidenceError, match=f"has {number} entries, not 3"):
            check_market_key(KEY, SIGNATURES[:number], terms_of())


@given(changed(KEY.as_dict()))
def test_any_change_to_a_key_is_refused(plain):
    with pytest.raises(EvidenceError):
        check_market_key(MarketKey.read(plain), SIGNATURES, terms_of())


@pytest.mark.parametrize("terms", [terms_of(3), terms_of(2, 4), terms_of(market="market 2")])
def test_a_key_is_for_its_terms(terms):
    with pytest.raises(EvidenceError, match="was not made under the terms"):
        check_market_key(KEY, SIGNATURES, terms)


def test_a_key_that_all_have_signed_for_other_terms_is_refused():
    """As if the trustees of one market had been put in the place of another's."""
    other = key_of(market="market 2")
    posed = MarketKey(KEY.market, other.terms, other.transcript, other.commitments, other.trustees)
    signatures = [identity.signer.sign(KIND, posed.as_dict()) for identity in identities(3)]
    with pytest.raises(EvidenceError, match="was not made under the terms"):
        check_market_key(posed, signatures, terms_of())


def test_a_key_of_a_lower_threshold_is_refused():
    alone = MarketKey(KEY.market, KEY.terms, KEY.transcript, KEY.commitments[:1], 3)
    signatures = [identity.signer.sign(KIND, alone.as_dict()) for identity in identities(3)]
    with pytest.raises(EvidenceError, match="was not made under the terms"):
        check_market_key(alone, signatures, terms_of())


@pytest.mark.parametrize("point", NO_POINTS, ids=bytes.hex)
def test_a_key_is_made_of_points_of_the_group(point):
    good = times_base(scalar(5))
    for commitments in ((point, good), (good, point)):
        with pytest.raises(EvidenceError, match="not a point of the group"):
            made_of(*commitments)


def test_a_key_has_no_more_commitments_than_trustees_and_no_more_trustees_than_a_hundred():
    good = times_base(scalar(5))
    for key in ((good, good, good, good), ()):
        with pytest.raises(EvidenceError, match="for 3 trustees is none"):
            made_of(*key)
    with pytest.raises(EvidenceError, match="for 1000000000 trustees is none"):
        made_of(good, trustees=10**9)


def test_no_share_is_zero():
    good = times_base(random_scalar())
    with pytest.raises(EvidenceError, match="a share of this market key is zero"):
        made_of(good, subtract(IDENTITY, good))


def test_a_share_is_for_its_key():
    first = shares_of()[0]
    assert KeyShare.read(json.loads(json.dumps(first.as_dict()))) == first
    assert first.secret not in repr(first)
    wrong = [
        (first, key_of(market="market 2")),
        (KeyShare(first.key, 2, first.secret), KEY),
        (KeyShare(first.key, 0, first.secret), KEY),
        (KeyShare(first.key, 4, first.secret), KEY),
        (KeyShare("00" * 32, 1, first.secret), KEY),
        (KeyShare(first.key, 1, scalar(7).hex()), KEY),
    ]
    for share, key in wrong:
        with pytest.raises(EvidenceError, match="belongs to another key"):
            share.scalar_for(key)

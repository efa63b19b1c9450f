import json
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kantor.errors import EvidenceError, InputError, PartyError
from kantor.sealing import ceremony
from kantor.sealing.ceremony import Ceremony
from kantor.sealing.group import plus, product, scalar, times_base
from kantor.sealing.keys import check_market_key
from kantor.sealing.polynomials import weights_at_zero
from kantor.sealing.terms import Terms, Trustee
from kantor.sealing.transcript import SHARES, market_key, seen, signed
from sealing.planted import begin, changed, identities, key_of, messages_of, shares_of, terms_of

TERMS = terms_of()


def nowhere(_):
    """A store that keeps nothing."""


@settings(max_examples=15)
@given(st.integers(1, 5).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))), st.data())
def test_any_number_of_trustees_makes_a_key_that_any_threshold_holds(size, data):
    threshold, number = size
    everybody = messages_of(threshold, number)[0]
    key = everybody[0].key
    assert {each.key for each in everybody} == {key}
    check_market_key(key, [each.sign() for each in everybody], terms_of(threshold, number))
    places = data.draw(st.permutations(range(1, number + 1)))[:threshold]
    total = scalar(0)
    for place, weight in weights_at_zero(places).items():
        total = plus(total, product(weight, everybody[place - 1].share.scalar_for(key)))
    assert times_base(total) == key.point
    assert not any(each.share.secret == total.hex() for each in everybody) or threshold == 1


def test_another_ceremony_makes_another_key():
    commitments = [each.commit() for each in begin(TERMS)]
    assert not {point for each in commitments for point in each["commitments"]} & {
        point for each in messages_of()[1] for point in each["commitments"]
    }


def test_a_trustee_that_is_killed_anywhere_comes_back_and_says_the_same():
    kept = [[] for _ in range(3)]
    everybody = [Ceremony.begin(own, TERMS, store.append) for own, store in zip(identities(3), kept, strict=True)]
    commitments = [each.commit() for each in everybody]
    shares = [each.deal(commitments) for each in everybody]
    secrets = [each.finish(shares) for each in everybody]
    for own, store, before, secret in zip(identities(3), kept, everybody, secrets, strict=True):
        assert len(store) == 3
        for state in json.loads(json.dumps(store)):
            after = Ceremony.load(own, state, nowhere)
            assert after.dump() == state
            assert after.commit() == before.commit()
            assert after.deal(commitments) == before.deal(commitments)
            assert after.finish(shares) == secret
            assert after.key == before.key
            assert after.sign() == before.sign()
            assert after.dump() == before.dump() == store[-1]


def test_a_file_keeps_a_ceremony(tmp_path):
    files = [tmp_path / f"{place}.json" for place in range(3)]

    def everybody():
        return [Ceremony.at(file, own, TERMS) for file, own in zip(files, identities(3), strict=True)]

    commitments = [each.commit() for each in everybody()]
    shares = [each.deal(commitments) for each in everybody()]
    secrets = [each.finish(shares) for each in everybody()]
    assert [each.share for each in everybody()] == secrets
    check_market_key(everybody()[0].key, [each.sign() for each in everybody()], TERMS)
    with pytest.raises(InputError, match="under other terms"):
        Ceremony.at(files[0], identities(3)[0], terms_of(3))


def test_nothing_leaves_before_it_is_stored():
    """A store that fails once: the step fails, and is stored before its message leaves on the second attempt."""
    kept, broken = [], [True]

    def store(state):
        if broken:
            broken.pop()
            raise OSError("disk full")
        kept.append(state)

    with pytest.raises(OSError, match="disk full"):
        Ceremony.begin(identities(3)[0], TERMS, store)
    everybody = [Ceremony.begin(identities(3)[0], TERMS, store), *begin(TERMS)[1:]]
    own = everybody[0]
    commitments = [each.commit() for each in everybody]
    broken.append(True)
    with pytest.raises(OSError, match="disk full"):
        own.deal(commitments)
    assert not own.dump()["commitments"]
    own.deal(commitments)
    assert kept[-1] == own.dump()
    assert kept[-1]["commitments"] == commitments
    shares = [each.deal(commitments) for each in everybody]
    broken.append(True)
    with pytest.raises(OSError, match="disk full"):
        own.finish(shares)
    with pytest.raises(InputError, match="not finished"):
        own.sign()
    own.finish(shares)
    assert kept[-1]["shares"] == shares


def test_what_was_dumped_is_the_callers_own():
    everybody, commitments, shares = deepcopy(messages_of())
    own = everybody[0]
    own.dump()["commitments"].clear()
    commitments.clear()
    shares.clear()
    assert len(own.dump()["commitments"]) == 3


def test_steps_come_in_their_order():
    own = begin(TERMS)[0]
    with pytest.raises(InputError, match="not dealt yet"):
        own.finish(messages_of()[2])
    for step in (own.sign, lambda: own.key, lambda: own.share):
        with pytest.raises(InputError, match="not finished"):
            step()


@given(changed(messages_of()[0][0].dump()))
@settings(max_examples=40)
def test_a_changed_state_is_refused(state):
    with pytest.raises((EvidenceError, InputError, PartyError)):
        Ceremony.load(identities(3)[0], state, nowhere)


def test_a_state_is_for_its_trustee():
    with pytest.raises(PartyError, match="has signed another message"):
        Ceremony.load(identities(3)[1], messages_of()[0][0].dump(), nowhere)


@pytest.mark.parametrize("round_", [1, 2])
@given(place=st.integers(1, 3), data=st.data())
@settings(max_examples=20)
def test_any_change_on_the_way_is_refused(round_, place, data):
    everybody, first, second = messages_of()
    fresh = Ceremony.load(identities(3)[0], {**everybody[0].dump(), "commitments": [], "shares": []}, nowhere)
    if round_ == 2:
        fresh.deal(first)
    messages = [first, second][round_ - 1]
    message = data.draw(changed(messages[place - 1]))
    step = fresh.deal if round_ == 1 else fresh.finish
    with pytest.raises(PartyError):
        step([*messages[: place - 1], message, *messages[place:]])
    step(messages)


def wrong_dealer(monkeypatch, **replaced):
    """Everybody's second messages, where trustee 2 deals with something replaced."""
    everybody = begin(TERMS)
    commitments = [each.commit() for each in everybody]
    shares = [each.deal(commitments) for each in everybody]
    with monkeypatch.context() as patch:
        for name, what in replaced.items():
            patch.setattr(ceremony, name, what)
        shares[1] = everybody[1].deal(commitments)
    return everybody, commitments, shares


def test_a_share_that_does_not_fit_is_its_dealers_fault(monkeypatch):
    """Only trustee 3 is dealt a wrong one: it finds it, and names trustee 2; nobody has a key that all have signed."""
    right = ceremony.value_at

    def value_at(polynomial, place):
        return plus(right(polynomial, place), scalar(1)) if place == 3 else right(polynomial, place)

    everybody, _, shares = wrong_dealer(monkeypatch, value_at=value_at)
    with pytest.raises(PartyError, match=r"share that trustee 2 \(trustee 2\) dealt .* does not fit") as fault:
        everybody[2].finish(shares)
    assert fault.value.party == 2
    everybody[0].finish(shares)
    with pytest.raises(InputError, match="not finished"):
        everybody[2].sign()


@pytest.mark.parametrize("posted", ["00" * 80, "11" * 80, "09" + "00" * 79])
def test_a_share_that_cannot_be_read_is_its_dealers_fault(monkeypatch, posted):
    everybody, _, shares = wrong_dealer(monkeypatch, post=lambda *_: posted)
    with pytest.raises(PartyError, match=r"share that trustee 2 \(trustee 2\) dealt .* cannot be read") as fault:
        everybody[0].finish(shares)
    assert fault.value.party == 2


def test_a_share_meant_for_another_cannot_be_read():
    """The shares for trustees 1 and 3, exchanged by their dealer."""
    everybody, _, shares = messages_of()
    record = {name: part for name, part in shares[1].items() if name != "signature"}
    swapped = signed(identities(3)[1].signer, SHARES, {**record, "shares": record["shares"][::-1]})
    fresh = Ceremony.load(identities(3)[0], {**everybody[0].dump(), "shares": []}, nowhere)
    with pytest.raises(PartyError, match="cannot be read") as fault:
        fresh.finish([shares[0], swapped, shares[2]])
    assert fault.value.party == 2


def test_shares_cannot_be_replayed_from_another_ceremony():
    """The same trustees, terms and dealer's seed, but other commitments by a third: the shares are locked anew."""
    everybody, first, second = messages_of()
    other = begin(TERMS)[2]
    commitments = [first[0], first[1], other.commit()]
    fresh = [
        Ceremony.load(own, {**each.dump(), "commitments": [], "shares": []}, nowhere)
        for own, each in zip(identities(3)[:2], everybody[:2], strict=True)
    ]
    shares = [each.deal(commitments) for each in (*fresh, other)]
    record = {name: part for name, part in second[1].items() if name != "signature"}
    replayed = signed(identities(3)[1].signer, SHARES, {**record, "seen": seen(commitments)})
    with pytest.raises(PartyError, match="cannot be read") as fault:
        fresh[0].finish([shares[0], replayed, shares[2]])
    assert fault.value.party == 2
    fresh[0].finish(shares)


def test_a_trustee_answers_only_once():
    """The market shows trustee 1 other messages than before; both are properly signed."""
    everybody, first, second = messages_of()
    third = begin(TERMS)[2]
    commitments = [first[0], first[1], third.commit()]
    with pytest.raises(PartyError, match="shows other messages now"):
        everybody[0].deal(commitments)
    record = {name: part for name, part in second[2].items() if name != "signature"}
    other = signed(identities(3)[2].signer, SHARES, {**record, "shares": [*record["shares"][:1], "00" * 80, None]})
    for own in (everybody[0], Ceremony.load(identities(3)[0], everybody[0].dump(), nowhere)):
        with pytest.raises(PartyError, match="shows other messages now"):
            own.finish([*second[:2], other])
    assert everybody[0].deal(first) == second[0]


def test_trustees_that_saw_different_messages_sign_different_keys():
    """Trustee 3 posts one set of shares to trustee 1 and another to trustee 2; each by itself is right."""
    _, first, second = messages_of()
    everybody = [
        Ceremony.load(own, {**each.dump(), "shares": []}, nowhere)
        for own, each in zip(identities(3), messages_of()[0], strict=True)
    ]
    record = {name: part for name, part in second[2].items() if name != "signature"}
    other = signed(identities(3)[2].signer, SHARES, {**record, "shares": [record["shares"][0], "00" * 80, None]})
    everybody[0].finish([*second[:2], other])
    everybody[1].finish(second)
    everybody[2].finish(second)
    assert everybody[0].key.point == everybody[1].key.point
    with pytest.raises(EvidenceError, match=r"trustee 1 .* has not signed"):
        check_market_key(everybody[1].key, [each.sign() for each in everybody], TERMS)
    assert market_key(TERMS, first, second) == everybody[1].key == key_of()


def test_a_trustee_that_began_twice_notices():
    everybody = begin(TERMS)
    twice = begin(TERMS)[0]
    commitments = [each.commit() for each in everybody]
    with pytest.raises(PartyError, match="has signed another message") as fault:
        twice.deal(commitments)
    assert fault.value.party == 1


def test_a_trustee_whose_key_keeps_no_secrets_is_named():
    weak = Trustee("weak", TERMS.trustees[1].signing, "00" * 32)
    terms = Terms("market", (TERMS.trustees[0], weak), 2)
    own = Ceremony.begin(identities(3)[0], terms, nowhere)

    class Weak(Ceremony):
        def __init__(self):
            self.terms, self.place, self._identity, self._seed = terms, 2, identities(3)[1], bytes(32)

    with pytest.raises(PartyError, match=r"nothing can be sent to trustee 2 \(weak\)") as fault:
        own.deal([own.commit(), Weak().commit()])
    assert fault.value.party == 2


def test_shares_depend_on_every_trustee():
    assert len({share.secret for share in shares_of()}) == 3
    assert len({share.secret for share in shares_of(1, 3)}) == 1
    with pytest.raises(InputError, match="no trustee of market"):
        Ceremony.begin(identities(4)[3], TERMS, nowhere)

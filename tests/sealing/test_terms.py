import json

import pytest

from kantor.errors import EvidenceError, InputError
from kantor.sealing.terms import Terms, Trustee
from sealing.planted import identities, terms_of

PEOPLE = tuple(identity.public(name) for identity, name in zip(identities(3), "abc", strict=True))


def test_terms_are_read_as_they_were_written():
    terms = terms_of()
    assert Terms.read(json.loads(json.dumps(terms.as_dict()))) == terms
    assert Terms("market", PEOPLE).threshold == 2


def test_every_part_of_the_terms_is_in_their_digest():
    others = [
        Terms("market", PEOPLE),
        Terms("another", PEOPLE),
        Terms("market", PEOPLE, 3),
        Terms("market", PEOPLE[:2]),
        Terms("market", PEOPLE[::-1]),
        Terms("market", (Trustee("x", PEOPLE[0].signing, PEOPLE[0].receiving), *PEOPLE[1:])),
    ]
    assert len({terms.digest for terms in others}) == len(others)


@pytest.mark.parametrize(("threshold", "number"), [(0, 3), (4, 3), (-1, 1), (1, 0)])
def test_a_threshold_is_within_the_number_of_trustees(threshold, number):
    with pytest.raises(InputError, match="is no threshold") as fault:
        Terms("market", PEOPLE[:number], threshold)
    assert fault.value.where == {"argument": "threshold"}


@pytest.mark.parametrize("what", ["name", "signing", "receiving"])
def test_nobody_is_a_trustee_twice(what):
    twice = Trustee(**{**PEOPLE[1].as_dict(), what: getattr(PEOPLE[0], what)})
    with pytest.raises(InputError, match=f"the same {what}"):
        Terms("market", (PEOPLE[0], twice))


@pytest.mark.parametrize("what", ["signing", "receiving"])
def test_keys_are_keys(what):
    with pytest.raises(EvidenceError, match=f"the {what} key of trustee a"):
        Terms("market", (Trustee(**{**PEOPLE[0].as_dict(), what: PEOPLE[0].signing.upper()}), *PEOPLE[1:]))


@pytest.mark.parametrize("change", [{"market": 3}, {"threshold": True}, {"trustees": [{}]}, {"more": 1}])
def test_what_is_no_terms_is_refused(change):
    with pytest.raises(EvidenceError):
        Terms.read({**terms_of().as_dict(), **change})


def test_a_trustee_is_found_by_its_keys():
    terms = terms_of()
    assert [identity.place(terms) for identity in identities(3)] == [1, 2, 3]
    with pytest.raises(InputError, match="no trustee of market"):
        identities(4)[3].place(terms)
    mixed = Trustee("x", terms.trustees[0].signing, terms.trustees[1].receiving)
    with pytest.raises(InputError, match="no trustee of market"):
        terms.place(mixed.signing, mixed.receiving)

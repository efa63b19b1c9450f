import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantor.errors import EvidenceError
from kantor.evidence.canonical import tagged
from kantor.sealing import proofs
from kantor.sealing.group import (
    BASE,
    ORDER,
    ZERO,
    add,
    hash_bytes,
    product,
    random_scalar,
    scalar,
    subtract,
    times,
    times_base,
    weighted_sum,
)
from kantor.sealing.proofs import check, check_many, prove, prove_many
from sealing.planted import NO_POINTS, changed, shifted

SECRET = scalar(12345)
OTHER = times_base(scalar(77))
BASES = (BASE, OTHER)
IMAGES = tuple(times(SECRET, base) for base in BASES)
STATEMENT = {"about": "this", "number": 3}
PROOF = prove("kind", SECRET, BASES, IMAGES, STATEMENT)

POINTS = [times_base(scalar(number)) for number in (2, 3, 5, 7, 11)]
PUBLIC = times_base(SECRET)
IMAGES_OF_MANY = [times(SECRET, point) for point in POINTS]
PROOF_OF_MANY = prove_many("kind", SECRET, PUBLIC, POINTS, IMAGES_OF_MANY, STATEMENT)


def refused(kind="kind", bases=BASES, images=IMAGES, statement=STATEMENT, proof=PROOF):
    with pytest.raises(EvidenceError):
        check(kind, bases, images, statement, proof)
    return True


def refused_of_many(kind="kind", public=PUBLIC, points=POINTS, images=IMAGES_OF_MANY, statement=STATEMENT, proof=None):
    with pytest.raises(EvidenceError):
        check_many(kind, public, points, images, statement, proof or PROOF_OF_MANY)
    return True


def test_a_proof_holds_and_is_made_again_to_the_same_bytes():
    check("kind", BASES, IMAGES, STATEMENT, PROOF)
    check_many("kind", PUBLIC, POINTS, IMAGES_OF_MANY, STATEMENT, PROOF_OF_MANY)
    assert prove("kind", SECRET, BASES, IMAGES, STATEMENT) == PROOF
    assert prove("kind", SECRET, BASES, IMAGES, {"about": "that"})["response"] != PROOF["response"]


def commitments_of(bases, images, proof):
    challenge, response = (bytes.fromhex(proof[name]) for name in ("challenge", "response"))
    return [subtract(times(response, base), times(challenge, image)) for base, image in zip(bases, images, strict=True)]


def written(points):
    return [point.hex() for point in points]


def test_the_challenge_covers_everything():
    """By the formula, written again here: hashing less would let images be chosen after the challenge."""
    record = {"bases": written(BASES), "images": written(IMAGES), "statement": STATEMENT}
    record["commitments"] = written(commitments_of(BASES, IMAGES, PROOF))
    assert hash_bytes(tagged("kind", record)).hex() == PROOF["challenge"]


def test_the_weights_cover_everything():
    record = {"public": PUBLIC.hex(), "points": written(POINTS), "images": written(IMAGES_OF_MANY)}
    seed = hashlib.sha512(tagged("kind weights", {**record, "statement": STATEMENT})).digest()
    weights = [hash_bytes(seed + number.to_bytes(8, "little")) for number in range(5)]
    composite = weighted_sum(weights, POINTS)
    images = (PUBLIC, weighted_sum(weights, IMAGES_OF_MANY))
    check("kind", (BASE, composite), images, {"weights": seed.hex()}, PROOF_OF_MANY)


def test_an_image_cannot_be_chosen_after_the_challenge():
    """What goes wrong if images are not hashed: P = (s B - A) / c, for any A and s, and nobody knows its logarithm."""
    start, response = OTHER, scalar(999)
    record = {"bases": written([BASE]), "commitments": written([start]), "statement": STATEMENT}
    for hashed in (record, {**record, "images": []}):
        challenge = hash_bytes(tagged("kind", hashed))
        inverse = scalar(pow(int.from_bytes(challenge, "little"), -1, ORDER))
        image = times(inverse, subtract(times_base(response), start))
        forged = {"challenge": challenge.hex(), "response": response.hex()}
        assert commitments_of([BASE], [image], forged) == [start]
        assert refused(bases=(BASE,), images=(image,), proof=forged)


def test_two_proofs_do_not_give_the_secret_away():
    """With one nonce for two challenges, the secret is (s - s') / (c - c')."""
    other = prove("kind", SECRET, BASES, IMAGES, {"about": "that"})
    third = prove("another", SECRET, BASES, IMAGES, STATEMENT)
    fourth = prove("kind", SECRET, BASES[:1], IMAGES[:1], STATEMENT)
    nonces = [commitments_of(BASES[:1], IMAGES[:1], proof)[0] for proof in (PROOF, other, third, fourth)]
    assert len(set(nonces)) == 4


def test_a_proof_is_bound_to_all_that_it_says():
    assert refused(kind="another")
    assert refused(statement={"about": "that", "number": 3})
    assert refused(bases=(OTHER, BASE))
    assert refused(bases=(BASE, BASE))
    assert refused(images=IMAGES[::-1])
    assert refused(bases=(BASE,), images=IMAGES[:1])
    assert refused(images=(IMAGES[0], add(IMAGES[1], BASE)))


def test_no_secret_no_proof():
    assert refused(proof=prove("kind", scalar(54321), BASES, IMAGES, STATEMENT))
    two_secrets = (times(SECRET, BASE), times(scalar(1), OTHER))
    assert refused(images=two_secrets, proof=prove("kind", SECRET, BASES, two_secrets, STATEMENT))


@given(changed(PROOF))
def test_any_change_to_a_proof_is_refused(proof):
    assert refused(proof=proof)


@given(changed(PROOF_OF_MANY))
def test_any_change_to_a_proof_of_many_is_refused(proof):
    assert refused_of_many(proof=proof)


@pytest.mark.parametrize("proof", [None, [], {}, {"challenge": 1, "response": 2}, {**PROOF, "more": ""}])
def test_what_is_no_proof_is_refused(proof):
    assert refused(proof=proof)


@pytest.mark.parametrize("point", NO_POINTS, ids=bytes.hex)
def test_images_outside_the_group_are_refused(point):
    with pytest.raises(EvidenceError, match="not a point of the group"):
        check("kind", BASES, (point, IMAGES[1]), STATEMENT, PROOF)
    with pytest.raises(EvidenceError, match="not a point of the group"):
        check_many("kind", PUBLIC, POINTS, [*IMAGES_OF_MANY[:4], point], STATEMENT, PROOF_OF_MANY)


def test_a_challenge_of_zero_proves_nothing(monkeypatch):
    monkeypatch.setattr(proofs, "hash_to_scalar", lambda *_: ZERO)
    assert refused(proof={"challenge": ZERO.hex(), "response": scalar(3).hex()})


@given(st.integers(0, 4))
def test_one_wrong_image_among_many_is_found(place):
    images = list(IMAGES_OF_MANY)
    images[place] = add(images[place], BASE)
    assert refused_of_many(images=images)
    assert refused_of_many(images=images, proof=prove_many("kind", SECRET, PUBLIC, POINTS, images, STATEMENT))


def test_a_proof_of_many_is_bound_to_all_that_it_says():
    assert refused_of_many(kind="another")
    assert refused_of_many(statement={})
    assert refused_of_many(public=OTHER)
    assert refused_of_many(points=POINTS[::-1])
    assert refused_of_many(points=POINTS[::-1], images=IMAGES_OF_MANY[::-1])
    assert refused_of_many(points=POINTS[:4], images=IMAGES_OF_MANY[:4])


def test_errors_that_would_cancel_do_not():
    """In a plain sum, and in one weighted by what was hashed before the images were chosen."""
    plain = [add(IMAGES_OF_MANY[0], OTHER), subtract(IMAGES_OF_MANY[1], OTHER), *IMAGES_OF_MANY[2:]]
    seed = proofs._seed("kind", PUBLIC, POINTS, IMAGES_OF_MANY, STATEMENT)
    first, second = list(proofs._weights(seed, 2))
    up, down = times(second, OTHER), times(first, OTHER)
    known = [add(IMAGES_OF_MANY[0], up), subtract(IMAGES_OF_MANY[1], down), *IMAGES_OF_MANY[2:]]
    assert add(times(first, known[0]), times(second, known[1])) == add(
        times(first, IMAGES_OF_MANY[0]), times(second, IMAGES_OF_MANY[1])
    )
    for images in (plain, known):
        assert refused_of_many(images=images)
        assert refused_of_many(images=images, proof=prove_many("kind", SECRET, PUBLIC, POINTS, images, STATEMENT))


def test_weights_differ_from_each_other_and_have_full_length():
    weights = list(proofs._weights(bytes(64), 50))
    assert len(set(weights)) == 50
    assert weights[3] == hash_bytes(bytes(64) + (3).to_bytes(8, "little"))
    assert max(int.from_bytes(weight, "little").bit_length() for weight in weights) > 250


def test_an_image_shifted_by_a_small_order_is_not_the_same_image():
    """Without the check of the group, one challenge in eight would let this pass."""
    for number in range(24):
        image = shifted(times_base(SECRET))
        assert refused(bases=(BASE,), images=(image,), proof=prove("kind", SECRET, (BASE,), (image,), {"n": number}))


def test_a_proof_about_a_random_secret_holds():
    secret = random_scalar()
    image = times_base(secret)
    check("kind", (BASE,), (image,), {}, prove("kind", secret, (BASE,), (image,), {}))
    assert refused(bases=(BASE,), images=(times_base(product(secret, scalar(2))),), proof=PROOF)

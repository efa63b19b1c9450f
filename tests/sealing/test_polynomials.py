from hypothesis import given
from hypothesis import strategies as st

from kantor.sealing.group import ORDER, product, scalar, times_base
from kantor.sealing.polynomials import value_at, value_in_exponent, weights_at_zero

coefficients = st.lists(st.integers(1, ORDER - 1), min_size=1, max_size=5)


def whole(one):
    return int.from_bytes(one, "little")


@given(coefficients, st.integers(0, 100))
def test_values_are_those_of_the_polynomial(numbers, place):
    value = value_at([scalar(number) for number in numbers], place)
    assert whole(value) == sum(number * place**power for power, number in enumerate(numbers)) % ORDER


@given(coefficients, st.integers(1, 100))
def test_values_in_the_exponent_are_values(numbers, place):
    polynomial = [scalar(number) for number in numbers]
    commitments = [times_base(each) for each in polynomial]
    assert value_in_exponent(commitments, place) == times_base(value_at(polynomial, place))


@given(coefficients, st.data())
def test_as_many_places_as_coefficients_give_the_secret(numbers, data):
    size = len(numbers)
    places = data.draw(st.lists(st.integers(1, 100), min_size=size, max_size=size + 2, unique=True))
    assert _at_zero([scalar(number) for number in numbers], places) == numbers[0]


@given(coefficients, st.integers(0, ORDER - 1), st.data())
def test_fewer_places_fit_every_secret(numbers, secret, data):
    size = len(numbers) - 1
    places = data.draw(st.lists(st.integers(1, 100), min_size=size, max_size=size, unique=True))
    others = _through_zero_at(places)
    factor = (secret - numbers[0]) * pow(others[0], -1, ORDER)
    another = [scalar(own + factor * other) for own, other in zip(numbers, others, strict=True)]
    assert whole(value_at(another, 0)) == secret
    for place in places:
        assert value_at(another, place) == value_at([scalar(number) for number in numbers], place)


def _through_zero_at(places):
    """The product of x - place."""
    product_ = [1]
    for place in places:
        shifted = [0, *product_]
        product_ = [high - place * low for high, low in zip(shifted, [*product_, 0], strict=True)]
    return product_


def _at_zero(polynomial, places):
    weights = weights_at_zero(places)
    return sum(whole(product(weight, value_at(polynomial, place))) for place, weight in weights.items()) % ORDER


def test_weights_add_up_to_one():
    assert sum(whole(weight) for weight in weights_at_zero([2, 3, 7]).values()) % ORDER == 1
    assert [whole(weight) for weight in weights_at_zero([2, 1]).values()] == [2, ORDER - 1]

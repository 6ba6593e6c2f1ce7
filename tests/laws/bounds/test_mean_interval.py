"""The interval of a mean against its definition in fractions, and what it refuses."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import mean_interval
from replical.errors import ValueOutOfRange

SHARES = st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(1)])


def wealth(values, m):
    """Mean over the stakes of the product of 1 + s(X/m - 1), in fractions."""
    products = []
    for k in range(1, 13):
        product = Fraction(1)
        for x in values:
            product *= 1 + Fraction(1, 2**k) * (x / m - 1)
        products.append(product)
    return sum(products) / 12


@pytest.mark.claim("handicap")
@given(st.lists(SHARES, max_size=30), st.sampled_from([Fraction(1, 20), Fraction(1, 4)]))
@settings(max_examples=40)
def test_it_is_its_twin(values, level):
    low, high = mean_interval(values, float(level))
    step, enough = Fraction(1, 10**6), 2 / level
    ends = Fraction(str(low)), 1 - Fraction(str(high))
    for end, some in zip(ends, (values, [1 - x for x in values]), strict=True):
        assert end == 0 or wealth(some, end) >= enough
        assert wealth(some, end + step) < enough


@given(st.lists(SHARES, min_size=1, max_size=50))
def test_it_holds_the_average_and_mirrors(values):
    low, high = mean_interval(values)
    assert low <= sum(values) / len(values) <= high
    assert mean_interval([1 - x for x in values]) == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_it_gets_narrow():
    widths = [high - low for low, high in (mean_interval([0.1, 0.3] * n) for n in (50, 500, 50_000))]
    assert widths[0] < 0.3
    assert widths[1] < 0.06
    assert widths[2] < 0.004
    assert mean_interval([]) == (0.0, 1.0)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), "0.5", None])
def test_what_is_no_share_is_refused(value):
    with pytest.raises(ValueOutOfRange, match="the values are numbers from 0 to 1, got"):
        mean_interval([0.5, value])


@pytest.mark.parametrize("level", [0, 1, -1, 2])
def test_levels_are_shares(level):
    with pytest.raises(ValueOutOfRange, match="level must be"):
        mean_interval([0.5], level)

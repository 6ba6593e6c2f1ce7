"""Bounds in print."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical.core.exact import (
    clopper_pearson,
    lower_tail,
    round_down,
    round_down_to,
    round_up,
    round_up_to,
    upper_tail,
)
from replical.errors import ValueOutOfRange
from support.reference import binomial_upper


@given(st.floats(0, 1), st.integers(0, 6))
def test_a_bound_in_print_is_on_the_safe_side_by_less_than_one_digit(x, digits):
    exact = Fraction(repr(x))
    assert 0 <= Fraction(round_up(x, digits)) - exact < Fraction(1, 10**digits)
    assert 0 <= exact - Fraction(round_down(x, digits)) < Fraction(1, 10**digits)


@given(st.floats(1e-9, 1e30) | st.integers(1, 10**40), st.integers(1, 6))
def test_significant_figures_are_on_the_safe_side_too(x, figures):
    exact = Fraction(repr(x))
    assert Fraction(round_down_to(x, figures)) <= exact <= Fraction(round_up_to(x, figures))
    assert Fraction(round_up_to(x, figures)) - exact <= exact / 10 ** (figures - 1)


@pytest.mark.parametrize("x", [0.1, 0.034, 0.29, 1.0, 0.0])
def test_a_bound_that_fits_is_printed_as_it_is(x):
    assert float(round_up(x, 3)) == float(round_down(x, 3)) == float(round_up_to(x, 3)) == x


@pytest.mark.parametrize(
    ("count", "trials", "p"), [(0, 5, 0.25), (3, 5, 0.25), (5, 5, 0.5), (6, 5, 0.5), (44, 200, 0.125)]
)
def test_tails_equal_the_sum_of_terms(count, trials, p):
    expected = float(binomial_upper(count, trials, p))
    assert upper_tail(count, trials, p) == pytest.approx(expected, rel=1e-10, abs=1e-300)
    assert lower_tail(count - 1, trials, p) == pytest.approx(1 - expected, rel=1e-10, abs=1e-15)


@pytest.mark.parametrize("successes", [0, 1, 50, 100])
def test_clopper_pearson_inverts_the_tails(successes):
    low, high = clopper_pearson(successes, 100)
    assert successes == 0 or upper_tail(successes, 100, low) == pytest.approx(0.025)
    assert successes == 100 or lower_tail(successes, 100, high) == pytest.approx(0.025)


def test_clopper_pearson_refuses_nonsense():
    with pytest.raises(ValueOutOfRange, match="5 of 3"):
        clopper_pearson(5, 3)

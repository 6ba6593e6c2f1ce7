"""Bounds in print."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical.core.exact import down, down_to, up, up_to


@given(st.floats(0, 1), st.integers(0, 6))
def test_a_bound_in_print_is_on_the_safe_side_by_less_than_one_digit(x, digits):
    exact = Fraction(repr(x))
    assert 0 <= Fraction(up(x, digits)) - exact < Fraction(1, 10**digits)
    assert 0 <= exact - Fraction(down(x, digits)) < Fraction(1, 10**digits)


@given(st.floats(1e-9, 1e30) | st.integers(1, 10**40), st.integers(1, 6))
def test_significant_figures_are_on_the_safe_side_too(x, figures):
    exact = Fraction(repr(x))
    assert Fraction(down_to(x, figures)) <= exact <= Fraction(up_to(x, figures))
    assert Fraction(up_to(x, figures)) - exact <= exact / 10 ** (figures - 1)


@pytest.mark.parametrize("x", [0.1, 0.034, 0.29, 1.0, 0.0])
def test_a_bound_that_fits_is_printed_as_it_is(x):
    assert float(up(x, 3)) == float(down(x, 3)) == float(up_to(x, 3)) == x

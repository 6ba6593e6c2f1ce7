"""Numbers in sentences: bounds stay bounds, small is not nothing, and one is not plural."""

from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from replical.core.text import about, at_least, at_most, confidence, count, percent

SHARES = st.floats(0, 1, allow_subnormal=False)
DIGITS = st.integers(1, 6)


@given(SHARES, DIGITS)
def test_bounds_in_print_stay_bounds_and_are_near(share, digits):
    low, high = Fraction(at_least(share, digits)), Fraction(at_most(share, digits))
    exact = Fraction(repr(share))
    assert low <= exact <= high
    assert high - low <= Fraction(1, 10**digits)


@given(SHARES, DIGITS)
def test_what_is_not_nothing_is_not_written_as_nothing(share, digits):
    text = about(share, digits)
    assert (text == "0") == (share == 0)
    assert set(text) - set("0.") or share == 0  # no bare 0.000
    if text.startswith("< "):
        assert share < float(text[2:])
    else:
        assert abs(float(text) - share) <= 0.51 * 10**-digits


@given(SHARES)
@example(0.005)
@example(0.995)
def test_estimates_in_percent_claim_neither_none_nor_all(share):
    text = percent(share)
    assert text not in ("0%", "100%")
    assert abs(float(text.strip("<>% ")) - 100 * share) <= 1


@given(st.floats(0.0001, 0.9999))
def test_confidence_is_never_larger_than_it_is(level):
    assert Fraction(confidence(level).rstrip("%")) / 100 <= 1 - Fraction(repr(level))


@given(st.integers(0, 10**9))
def test_one_is_not_plural(many):
    number, word = count(many, "hypothesis", "hypotheses").split()
    assert int(number.replace(",", "")) == many
    assert word == ("hypothesis" if many == 1 else "hypotheses")

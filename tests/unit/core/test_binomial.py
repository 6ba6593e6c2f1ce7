"""Exact binomial tails and intervals."""

import pytest

from replical.core.exact import clopper_pearson, lower_tail, upper_tail
from replical.errors import ValueOutOfRange
from support.reference import binomial_upper


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

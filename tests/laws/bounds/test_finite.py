"""What a finite list loses: the closed form, and the cuts themselves."""

from math import ceil, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical.bounds.finite import quantile_loss, step
from replical.core.exact import lower_tail
from replical.errors import ReplicalError
from replical.lab.schema import quantile_cuts

ROWS, BINS = st.integers(1, 3000), st.integers(1, 3000)
LEVELS = st.sampled_from([0.2, 0.05, 0.001])


@pytest.mark.claim("finite")
@given(rows=ROWS, bins=BINS, level=LEVELS)
def test_the_loss_is_the_least_share_with_enough_rows(rows, bins, level):
    eta, k = quantile_loss(rows, bins, level), step(rows, bins)
    assert lower_tail(k - 1, rows, min(eta, 1.0)) <= level
    assert lower_tail(k - 1, rows, eta - 2.1e-6) > level
    assert eta <= quantile_loss(rows, max(1, bins // 2), level) + 1e-12


@given(rows=st.integers(2, 3000), level=LEVELS)
def test_with_every_row_a_cut_it_is_a_logarithm(rows, level):
    assert quantile_loss(rows, rows, level) <= log(1 / level) / rows + 1e-6


@given(values=st.lists(st.integers(-20, 20) | st.floats(-1e6, 1e6), min_size=1, max_size=60), bins=st.integers(1, 70))
def test_consecutive_values_have_a_cut_among_them(values, bins):
    ranked, cuts = sorted(map(float, values)), quantile_cuts(np.array(values, dtype=float), bins)
    k = step(len(values), bins)
    assert k == ceil(len(values) / min(bins, len(values)))
    assert cuts == sorted(set(cuts))
    assert len(cuts) <= bins + 1
    assert cuts[-1] > ranked[-1]
    assert ranked[-1] in cuts
    for start in range(len(ranked) - k + 1):
        assert set(ranked[start : start + k]) & set(cuts)


def test_the_last_cut_is_a_number_or_refused():
    assert quantile_cuts(np.array([1e308, 1.7e308]), 1)[-1] > 1.7e308
    assert quantile_cuts(np.array([1e300]), 5) == [1e300, np.nextafter(1e300, np.inf)]
    with pytest.raises(ReplicalError, match="no number is larger"):
        quantile_cuts(np.array([np.finfo(float).max]), 3)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: quantile_loss(0, 5, 0.05), "at least one row"),
        (lambda: quantile_loss(5, 0, 0.05), "at least one row"),
        (lambda: quantile_loss(5, 5, 1.0), "level"),
    ],
)
def test_nonsense_is_refused(call, says):
    with pytest.raises(ReplicalError, match=says):
        call()

"""What a finite list loses: closed forms against counting, and monotone in everything."""

from math import ceil, cos, log, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.bounds.finite import cap_share, net_reach, net_share, net_size, quantile_loss, step
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


def test_caps_are_those_of_the_circle_and_the_sphere():
    for eta in (0.01, 0.05, 0.2, 0.4):
        assert cap_share(2, eta) == pytest.approx(eta, rel=1e-12)
        assert cap_share(3, eta) == pytest.approx((1 - cos(pi * eta)) / 2, rel=1e-12)
    needed = {d: log(20) / cap_share(d, 0.05) for d in (2, 3, 5, 10)}
    assert {d: f"{size:.2g}" for d, size in needed.items()} == {2: "60", 3: "4.9e+02", 5: "2.6e+04", 10: "4.1e+08"}


@pytest.mark.claim("finite")
@pytest.mark.parametrize(("dimensions", "eta"), [(2, 0.1), (3, 0.2), (5, 0.3)])
def test_shares_of_nets_are_what_counting_finds(dimensions, eta):
    """Brute force: directions and offsets as the class draws them, distances counted on normal items."""
    generator = np.random.default_rng(dimensions)
    items, w = generator.standard_normal((2000, dimensions)), generator.standard_normal((6000, dimensions))
    w /= np.sqrt((w**2).sum(axis=1, keepdims=True))
    says = items @ w.T >= generator.standard_normal(6000)
    near = (says != (items[:, :1] >= 0)).mean(axis=0) <= eta
    share = net_share(dimensions, eta)
    assert abs(near.mean() - share) < 6 * np.sqrt(share / 6000) + 0.002
    assert net_share(dimensions, eta) < cap_share(dimensions, eta)
    farther = (says != (items[:, :1] >= 1)).mean(axis=0) <= eta  # not the middle: more of a net are near
    assert farther.mean() > share


@settings(max_examples=5)
@given(dimensions=st.integers(2, 40), eta=st.floats(0.01, 0.45), beta=LEVELS)
def test_reach_and_size_belong_together(dimensions, eta, beta):
    size = net_size(dimensions, eta, beta)
    reach = net_reach(dimensions, size, beta)
    assert reach <= eta + 1e-7
    assert size * net_share(dimensions, reach) == pytest.approx(log(1 / beta), rel=1e-3)
    assert net_size(dimensions, min(0.49, eta * 1.05), beta) <= size
    assert net_size(dimensions + 1, eta, beta) >= size


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: quantile_loss(0, 5, 0.05), "at least one row"),
        (lambda: quantile_loss(5, 0, 0.05), "at least one row"),
        (lambda: quantile_loss(5, 5, 1.0), "level"),
        (lambda: net_share(1, 0.05), "two dimensions"),
        (lambda: net_share(2, 0.5), "eta"),
        (lambda: net_size(2, 0.05, 0.0), "beta"),
    ],
)
def test_nonsense_is_refused(call, says):
    with pytest.raises(ReplicalError, match=says):
        call()

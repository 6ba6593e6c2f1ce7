"""Cuts at public quantiles lose no more than they say, ties or not, and mutants do (docs/claims/finite.md)."""

from itertools import count

import numpy as np
import pytest

from replical.bounds.finite import quantile_loss
from replical.lab.schema import quantile_cuts
from support.sequential import Promise

LEVEL, ROWS = 0.05, 60
POINTS = np.arange(2000)  # an almost continuous law, ties and a heavy point on either side of the best cut
LAWS = {
    "smooth": np.full(2000, 1 / 2000),
    "a fifth at the end": np.append(np.full(1999, 0.8 / 1999), 0.2),
    "three points": np.where(np.isin(POINTS, [400, 1000, 1999]), 1 / 3, 0.0),
}
BEST = 2000  # above everybody: the rule that never says the second label


def lost(law, best, cuts):
    """The mass between the best cut and the nearest of `cuts`: what a rule without noise errs more."""
    below = np.concatenate(([0.0], np.cumsum(law)))
    places = np.searchsorted(POINTS, cuts)
    return float(np.abs(below[places] - below[best]).min())


def worse(law, best, bins, eta, seed, make=quantile_cuts):
    """Draws of public rows: do their cuts lose more than `eta`?"""
    generator = np.random.default_rng(seed)
    for _ in count():
        yield lost(LAWS[law], best, make(generator.choice(POINTS, ROWS, p=LAWS[law]).astype(float), bins)) > eta + 1e-12


@pytest.mark.claim("finite")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("best", "bins"), [(0, ROWS), (1200, 20), (BEST, 10)])
def test_cuts_at_quantiles_lose_little(law, best, bins, alarm, record_property):
    promise = Promise(LEVEL, 400, alarm)
    for failed in worse(law, best, bins, quantile_loss(ROWS, bins, LEVEL), 1):
        if not promise.open:
            break
        promise.hear(failed)
    record_property("power", promise.told("tables lose more"))
    assert not promise.broken


def without_the_last(values, bins):
    """No rule that never says the second label."""
    return quantile_cuts(values, bins)[:-1]


@pytest.mark.claim("finite")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("law", "best", "eta", "make"),
    [
        ("smooth", 0, 0.5 * quantile_loss(ROWS, ROWS, LEVEL), quantile_cuts),
        ("a fifth at the end", BEST, quantile_loss(ROWS, ROWS, LEVEL), without_the_last),
    ],
    ids=["half the loss", "no cut above all"],
)
def test_a_smaller_loss_is_noticed(law, best, eta, make, alarm, record_property):
    promise = Promise(LEVEL, 400, alarm)
    for failed in worse(law, best, ROWS, eta, 1, make):
        if not promise.open:
            break
        promise.hear(failed)
    record_property("power", promise.told("tables lose more"))
    assert promise.broken

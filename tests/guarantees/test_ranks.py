"""Lemmas R and N at the sizes of the plans named tight, in the worst worlds known (docs/claims/ranks.md).

The number of hypotheses within g grows like a power of n, and hypotheses err independently of each other, so what crosses
a threshold is new at every threshold. Counts are drawn, threshold and order are integrated over exactly.
"""

import numpy as np
import pytest
from scipy.stats import binom

from replical import mean_interval, plan
from replical.bounds.ranks import agreement_bound, crossing

RHO, DRAWS = 0.1, 400
TASK = {"delta": 0.05, "rho": RHO, "theta": 2.0}


def growth(n, start):
    """Distances between 0 and 1, from `start` on ever more of them, at a constant rate in ln n."""
    return np.concatenate(([0.0], start + (0.97 - start) * np.log(np.arange(2, n + 1)) / np.log(n)))


def shares(made, generator, by, labs=2, opposite=False):
    """How often hypotheses err on the last sample, in each lab; of two opposite labs one has what the other lacks."""
    M, d = made.integer("k_final") // by, float(made["G"]) * growth(made.n, 0.5)
    if not opposite:
        return generator.binomial(M, d, size=(labs, made.n)) / M
    drawn = generator.random(made.n)
    return np.stack([binom.ppf(drawn, M, d), binom.ppf(1 - drawn, M, d)]) / M * (d > 0)


def noisy(made, generator, by):
    """Errors above the fewest: whoever is not the best is right where the best errs, and wrong elsewhere a little more often."""
    M, nu = made.integer("k_final") // by, float(made["nu_bar"])
    excess = float(made["excess_high"]) * growth(made.n, 0.0)
    elsewhere = np.where(excess > 0, (excess + nu) / (1 - nu), 0.0)
    hard = generator.binomial(M, nu, size=2)[:, None]
    scores = generator.binomial(M - hard, elsewhere, size=(2, made.n)) + np.where(excess > 0, 0, 1) * hard
    return (scores - scores.min(axis=1, keepdims=True)) / M


def world(name):
    """The plan, the end of the range of thresholds, and how scores are drawn."""
    if name == "noise":
        made = plan("replica2", 1000, epsilon=0.02, nu=0.2, **TASK)
        return made, float(made["excess_high"]), noisy
    made = plan("replical", 100 if name == "opposite" else 1000, epsilon=0.05, **TASK)
    if name == "opposite":
        return made, float(made["G"]), lambda *drawn: shares(*drawn, opposite=True)
    return made, float(made["G"]), lambda *drawn: shares(*drawn, labs=5 if name == "five" else 2)


def splits(name, alarm, by=1):
    """How often labs do not all return the same, threshold and order integrated over, and an interval for the mean."""
    made, G, draw = world(name)
    generator, found = np.random.default_rng(37), []
    for _ in range(DRAWS):
        scores = draw(made, generator, by)  # all return the same if the first that any keeps is kept by all
        found.append(agreement_bound(scores.min(axis=0), scores.max(axis=0), (0, G)).exact)
    return float(np.mean(found)), mean_interval(found, alarm)


def promised(name):
    return RHO if name != "five" else 0.9 * RHO * float(crossing(5) / crossing(2)) + 2.5 * RHO * 0.0803


@pytest.mark.claim("ranks", "replical", "replica2")
@pytest.mark.parametrize("name", ["own samples", "opposite", "five", "noise"])
def test_labs_in_the_worst_worlds_split_no_more_often_than_promised(name, alarm, record_property):
    mean, (low, _) = splits(name, alarm)
    record_property("power", f"{mean:.4f} of strings split labs, {promised(name):.4g} promised")
    assert low <= promised(name)


@pytest.mark.claim("ranks", "replical", "replica2")
@pytest.mark.mutant
@pytest.mark.parametrize("name", ["own samples", "opposite", "five", "noise"])
def test_a_hundredth_of_the_items_breaks_the_promise(name, alarm, record_property):
    mean, (low, _) = splits(name, alarm, by=100)
    record_property("power", f"{mean:.4f} of strings split labs with M/100")
    assert low > promised(name)

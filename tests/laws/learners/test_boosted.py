"""Boosting's numbers and strings, whatever is asked for (docs/claims/boosting.md)."""

from fractions import Fraction
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical import (
    Boosted,
    Population,
    PrivateRandomness,
    SharedRandomness,
    Thresholds,
    learn,
    plan,
)
from replical.learners.boosted import FREQUENT
from replical.learners.result import Boosting
from support import reference
from support.mutants import Scattered, Tosses

C = Thresholds(9)  # eight cells
TASK = {"epsilon": 0.2, "delta": 0.1, "rho": 0.1}
ERM = {"nu": 0.0, "k_final": 5}
CERTAIN, FAIR = ((1, 8),), ((1, 4),)


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.claim("boosting")
@given(st.integers(1, 999).map(lambda i: i / 1000), st.integers(1, 999).map(lambda i: i / 1000))
def test_strings_and_runs_are_what_the_proof_asks_for(rho, delta):
    """Not the formulas once more, but each failure the proof adds up."""
    made = plan("boosted-replicable-erm", 100, epsilon=0.1, delta=delta, rho=rho, nu=0.0)
    K, T, base = made.strings, made.runs, made.base
    assert rho / 4 * (1 + 1e-12) >= 25.0**-K
    assert K == 1 or rho / 4 * (1 - 1e-12) < 25.0 ** (1 - K)
    t = 0.15 * rho / (8 * K)  # a threshold within t of a mode's probability: 2t/.15 a string, ρ/4 in all
    assert 2 * K * 2 * exp(-2 * T * t**2) <= rho / 4 * (1 + 1e-9)  # both labs, all strings
    assert 2 * K * 3 * exp(-2 * T * 0.05**2) <= rho / 1e6  # a rare value above .55
    assert 2 * K * float(made["delta_base"]) <= delta / 2 * (1 + 1e-12)  # some string is mostly inaccurate
    assert 3 * K * exp(-2 * T * 0.05**2) <= delta / 2 * (1 + 1e-9)
    needed = max(log(16 * K / rho) / (2 * t**2), 200 * log(6 * K / delta))
    assert needed * (1 - 1e-9) <= T < needed * (1 + 1e-9) + 1
    assert (made["rho_base"], made["low"], made["high"]) == (Fraction(1, 100), Fraction(11, 20), Fraction(7, 10))
    again = plan("replicable-erm", 100, epsilon=0.1, delta=float(made["delta_base"]), rho=0.01, nu=0.0)
    assert base.k == again.k
    assert made.labels_most == K * T * base.k


# --- the books --------------------------------------------------------------------------------------------------------


def boosted(kinds=None, **options):
    """Boosting of a base learner whose strings are of the given kinds; of one that scatters if none is given."""
    made = plan("boosted-replicable-erm", C, **TASK, **ERM, **options)
    return Boosted(Scattered(made.base) if kinds is None else Tosses(made.base, kinds), made)


def run(learner, seed="x", size=None, target=4):
    world, private = Population(C, target=target), PrivateRandomness.simulated(seed)
    pool = world.pool(learner.plan.strings * learner.plan.runs if size is None else size, private)
    return learn(learner, pool, world.labels(pool, private), SharedRandomness(seed))


@given(st.text(max_size=5))
def test_the_first_string_that_wins_ends_it(seed):
    result = run(boosted(CERTAIN, strings=3, runs=20), seed)
    mode = SharedRandomness(seed).derived("string", 0).integer("mode", high=9)
    assert result.hypothesis == result.unrounded == mode
    assert result.boosting == Boosting(runs=20, strings=1, frequency=Fraction(1))
    assert result.V.indices.tolist() == [mode]
    assert [c.held for c in result.conditions if c.name == FREQUENT] == [True]
    assert result.stopped


@given(st.text(max_size=5))
def test_the_threshold_is_shared_and_between_its_ends(seed):
    """Ours has one for all strings, the paper's one a string."""
    for boosting, name in (("modes", ("frequency",)), ("heavy-hitters", ("frequency", 3))):
        made = plan("boosted-replicable-erm", C, **TASK, **ERM, boosting=boosting)
        position = Fraction(reference.shared_word(seed, name, 0) >> 11, 2**53)
        assert made.frequency(SharedRandomness(seed), 3) == Fraction(55, 100) + Fraction(15, 100) * position

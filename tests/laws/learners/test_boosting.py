"""Boosting's numbers and strings, whatever is asked for (docs/claims/boosting.md)."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import Pool, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
from replical.errors import EmptyVersionSpace, PoolExhausted
from replical.learners.planning import learner_for
from support import reference
from support.runs import Overheard

C = Thresholds(9)  # eight cells
TASK = {"epsilon": 0.2, "delta": 0.1, "rho": 0.1}
ERM = {"nu": 0.0, "k_final": 5}


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.claim("boosting")
@given(st.integers(1, 999).map(lambda i: i / 1000), st.integers(1, 999).map(lambda i: i / 1000))
def test_the_paper_s_data_sets_are_what_the_proof_asks_for(rho, delta):
    """Not the formulas once more, but each failure the proof adds up."""
    made = plan("boosted-replicable-erm", 100, epsilon=0.1, delta=delta, rho=rho, nu=0.0)
    K, Q1, Q2 = made.strings, made.integer("Q1"), made.integer("Q2")
    rho_hh, low, high, half = (
        float(x) for x in (made["rho_hh"], made["low"], made["high"], made["high"] - made["low"])
    )
    half /= 2
    assert made.runs == Q1 + Q2
    bad = 25.0**-K
    eta = rho_hh * half / 3
    missed = 2 * (1 - low) ** Q1  # the one value of probability .55 or more, by either lab
    miscounted = 2 * Q1 * 2 * exp(-2 * Q2 * eta**2)
    near = 2 * eta / (2 * half) + eta / (2 * half)  # v' within η of that value, or within η of its lower end
    assert bad + K * (missed + miscounted + near) < rho
    assert missed + miscounted + near < rho_hh
    assert 0.75 - eta > high  # a good string's mode is counted above every threshold
    assert K * (Q1 + Q2) * made["delta_base"] == Fraction(str(delta))  # a union bound over all runs
    again = plan("replicable-erm", 100, epsilon=0.1, delta=float(made["delta_base"]), rho=0.01, nu=0.0)
    assert abs(made.base.k - again.k) <= 1  # δ' has more digits than a double
    assert made.labels_most == K * (Q1 + Q2) * made.base.k


# --- the paper's way against its twin ---------------------------------------------------------------------------------

FINITE = {
    "boosted-replicable-erm": {"nu": 0.0, "k_final": 12},
    "boosted-replical": {"theta": 1.0, "k_loop": 4, "k_final": 6, "name": "paper"},
    "boosted-replica2": {"theta": 1.0, "nu": 0.02, "k_loop": 6, "k_final": 8},
}


@pytest.mark.claim("boosting")
@settings(max_examples=15)
@given(st.sampled_from(sorted(FINITE)), st.integers(0, 10**6), st.text(max_size=5))
def test_heavy_hitters_against_brute_force(name, number, seed):
    """Every string answers on the same data sets; what it answers is the base learner's own run on the part."""
    K, runs, part, D = 3, 12, 120, Thresholds(12)
    generator, size = np.random.default_rng(number), runs * part
    x = generator.integers(11, size=size)
    truth = ((x >= 5) ^ (generator.random(size) < (0.02 if name == "boosted-replica2" else 0.0))).astype(int)
    made = plan(name, D, **TASK, **FINITE[name], pool="finite", strings=K, runs=runs)
    pool, shared = Pool(D, x, PrivateRandomness.simulated("twin", number)), SharedRandomness(seed)
    learner, labels = learner_for(made), Overheard(D, truth)

    def single(string, i):
        own = Pool.in_order(D, pool.items, pool.ids, pool.order[part * i : part * (i + 1)], pool.predictions)
        heard = Overheard(D, truth)
        found = learn(learner.base, own, heard, shared.derived("string", string)).hypothesis
        return found, {int(item) for items in heard.asked for item in items}

    try:
        told = [[single(string, i) for i in range(runs)] for string in range(K)]
        result = learn(learner, pool, labels, shared)
    except (PoolExhausted, EmptyVersionSpace):
        return  # a part is too small, or a string's few runs kept nobody
    thresholds = [
        Fraction(11, 20) + Fraction(3, 20) * Fraction(reference.shared_word(seed, ("frequency", j), 0) >> 11, 2**53)
        for j in range(K)
    ]
    table = [[h for h, _ in row] for row in told]
    assert result.hypothesis == reference.heavy_hitters_boosting(table, made.integer("Q1"), thresholds)
    asked = np.concatenate(labels.asked).tolist()
    tried = told[: result.boosting.strings]
    assert sorted(asked) == sorted(set().union(*(items for row in tried for _, items in row)))  # each paid once


@given(st.text(max_size=5))
def test_the_threshold_is_shared_and_between_its_ends(seed):
    """Every string has one of its own."""
    made = plan("boosted-replicable-erm", C, **TASK, **ERM)
    position = Fraction(reference.shared_word(seed, ("frequency", 3), 0) >> 11, 2**53)
    assert made.frequency(SharedRandomness(seed), 3) == Fraction(55, 100) + Fraction(15, 100) * position

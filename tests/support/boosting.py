"""Learners that are run in bulk and one by one, on worlds of a dozen hypotheses."""

from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from replical import Population, PredictionTable, Prior, PrivateRandomness, SharedRandomness, Thresholds, plan
from replical.bounds.subroutines import HeavyHitters, heavy_hitters
from replical.core.exact import fraction

TABLE = PredictionTable([f"m{i}" for i in range(12)], labels=("a", "b", "c"))


@cache
def table_world(noise):
    """Candidate i of three labels is wrong in i of 16 cells of unequal weight."""
    generator = np.random.default_rng(8)
    codes = np.zeros((16, 12), dtype=int)
    for h in range(12):
        codes[generator.permutation(16)[:h], h] = generator.integers(1, 3, size=h)
    cells = TABLE.items(np.array(TABLE.labels, dtype=object)[codes])
    return Population(TABLE, target=0, cells=cells, weights=generator.integers(1, 9, size=16), noise=noise)


@cache
def line_world(noise):
    """Thresholds on eleven cells, one of which never occurs."""
    return Population(Thresholds(12), target=5, weights=[1, 2, 1, 3, 1, 2, 0, 1, 2, 1, 1], noise=noise)


LINE = {"epsilon": 0.2, "delta": 0.1, "rho": 0.3, "theta": 1.0}


REALIZABLE, AGNOSTIC = {"epsilon": 0.4, "k_loop": 8}, {"epsilon": 0.1, "nu": 0.05, "k_loop": 80, "k_final": 100}


# What runs, where, with how much noise and which sizes; the number of the plan that decides its final threshold; a string.
CASES = {
    "replical paper": ("replical", line_world, 0.0, {"name": "paper", "T": 0.4, "k_loop": 12, "k_final": 40}, "v_max", "two"),
    "replical tight": ("replical", line_world, 0.0, REALIZABLE | {"k_final": 100}, "G", "one"),
    "replica2 paper": ("replica2", line_world, 0.02, AGNOSTIC | {"name": "paper"}, "excess_high", "two"),
    "replica2 tight": ("replica2", line_world, 0.02, AGNOSTIC, "excess_high", "one"),
    "replica2 in two rounds": ("replica2", line_world, 0.02, AGNOSTIC | {"epsilon": 0.05, "k_final": 60}, "excess_high", "one"),
    "erm realizable": ("replicable-erm", line_world, 0.0, {"k_final": 40, "nu": 0.0}, "high", "one"),
    "erm agnostic": ("replicable-erm", line_world, 0.05, {"k_final": 40, "nu": 0.05}, "high", "one"),
    "replical, three labels": ("replical", table_world, 0.0, REALIZABLE | {"k_final": 60}, "G", "one"),
    "replica2, three labels": ("replica2", table_world, 0.02, AGNOSTIC | {"k_final": 30}, "excess_high", "one"),
    "erm agnostic, three labels": ("replicable-erm", table_world, 0.05, {"k_final": 40, "nu": 0.05, "name": "paper"}, "high", "one"),
}  # fmt: skip


@cache
def setting(case):
    """The survivor of largest error wins: it differs from run to run, whatever the string."""
    learner, world, noise, options, _, string = CASES[case]
    at, task = world(noise), LINE | options
    if learner == "replicable-erm":
        task.pop("theta")
    worst = Prior.order(at.C, sorted(range(12), key=at.error, reverse=True))
    return at, plan(learner, at.C, **task, prior=worst), SharedRandomness(string)


def lab(world, *name):
    private = PrivateRandomness.simulated(*name)
    pool = world.pool("exact", private)
    return pool, world.labels(pool, private)


def rheavyhitters(draw, shared, *, rho, v, epsilon):
    """What `heavy_hitters` lists of whole numbers that a lab draws by itself, with a threshold that `shared` draws."""

    def tally(count):
        yield from ()
        return Counter(draw(count).tolist())

    threshold = fraction(v) - fraction(epsilon) + 2 * fraction(epsilon) * Fraction(shared.uniform("heavy hitters"))
    conversation = heavy_hitters(tally, HeavyHitters.of(rho=rho, v=v, epsilon=epsilon), threshold)
    with pytest.raises(StopIteration) as ended:  # nobody is asked
        next(conversation)
    return ended.value.value[0]

"""A run along a line is the run of the conversation: every figure of the result, whatever the world."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import (
    CAL,
    Intervals,
    Population,
    Prior,
    PrivateRandomness,
    SharedRandomness,
    Thresholds,
    Yardstick,
    learn,
    plan,
)  # fmt: skip
from replical.learners.planning import learner_for
from replical.learners.rounded.line import along_a_line

FIGURES = ("hypothesis", "unrounded", "labels", "rounds", "conditions")


def lab(C, made, size, seed, **world):
    population = Population(C, target=seed % len(C), **world)
    private = PrivateRandomness.simulated("line", seed)
    pool = population.pool(size, private)
    return learner_for(made), pool, population.labels(pool, private), SharedRandomness(f"line {seed}")


def compare(learner, pool, labels, shared):
    quick, whole = along_a_line(learner, pool, labels.truth, shared), learn(learner, pool, labels, shared)
    for name in FIGURES:
        assert getattr(quick, name) == getattr(whole, name), name
    assert np.array_equal(quick.V.indices, whole.V.indices)
    assert quick.rounding.figures() == whole.rounding.figures()
    assert np.array_equal(quick.rounding.scores, whole.rounding.scores)


@settings(max_examples=60, deadline=None)
@given(
    n=st.sampled_from([2, 3, 20, 300, 5000]),
    size=st.sampled_from([30, 500, 3000, 30_000]),
    seed=st.integers(0, 10**6),
    epsilon=st.sampled_from([0.05, 0.1, 0.3]),
    rho=st.sampled_from([0.1, 0.5, 0.9]),
    kappa=st.sampled_from([None, 0.01]),
    share=st.sampled_from([0.5, 1.0, None]),
    uneven=st.booleans(),
)
def test_the_same_result(n, size, seed, epsilon, rho, kappa, share, uneven):
    C = Thresholds(n)
    items = None if share is None else max(1, int(share * size))
    made = plan("rounded-cal", C, epsilon=epsilon, delta=0.1, rho=rho, pool="finite", items=items, kappa=kappa)
    weights = np.random.default_rng(seed).integers(0, 4, n - 1) + (np.arange(n - 1) == 0) if uneven else None
    compare(*lab(C, made, size, seed, weights=weights))


@pytest.mark.parametrize("kind", ["weights", "order"])
def test_the_same_result_with_a_prior(kind):
    C = Thresholds(50)
    given = np.arange(1.0, 51.0) if kind == "weights" else np.roll(np.arange(50), 7)
    prior = Prior.weights(C, given) if kind == "weights" else Prior.order(C, given)
    made = plan("rounded-cal", C, epsilon=0.2, delta=0.1, rho=0.5, pool="finite", prior=prior)
    for seed in range(10):
        compare(*lab(C, made, 2000, seed))


@settings(max_examples=25, deadline=None)
@given(
    n=st.sampled_from([2, 20, 3000]),
    size=st.sampled_from([30, 3000]),
    seed=st.integers(0, 10**6),
    rho=st.sampled_from([0.1, 0.5]),
    drawn=st.booleans(),
)
def test_the_same_result_with_a_yardstick(n, size, seed, rho, drawn):
    C = Thresholds(n)
    yardstick = Yardstick.drawn(C, 500, SharedRandomness(f"{seed}")) if drawn else Yardstick.cells(C)
    made = plan("rounded-cal", C, epsilon=0.1, delta=0.1, rho=rho, pool="finite", yardstick=yardstick)
    compare(*lab(C, made, size, seed))


def test_other_runs_are_left_to_the_conversation():
    C, public = Thresholds(30), {"epsilon": 0.2, "delta": 0.1, "pool": "finite"}
    rounded = plan("rounded-cal", C, rho=0.5, **public)
    assert along_a_line(*other(C, rounded)) is not None
    assert along_a_line(*other(C, rounded, noise=0.1)) is None
    assert along_a_line(*other(C, plan("cal", C, **public))) is None
    assert along_a_line(*other(C, plan("rounded-a2", C, rho=0.5, **public))) is None
    assert along_a_line(*other(C, plan("rounded-cal", C, rho=0.5, query="halving", **public))) is None
    assert along_a_line(*other(C, plan("rounded-cal", C, rho=0.5, max_labels=5, **public))) is None
    intervals = Intervals(6)
    assert along_a_line(*other(intervals, plan("rounded-cal", intervals, rho=0.5, **public))) is None


def other(C, made, **world):
    learner, pool, labels, shared = lab(C, made, 500, 3, **world)
    return learner, pool, labels.truth, shared


def test_a_pool_with_items_nobody_can_label_is_left_to_the_conversation():
    C = Thresholds(30)
    made = plan("rounded-cal", C, epsilon=0.2, delta=0.1, rho=0.5, pool="finite")
    learner, pool, labels, shared = lab(C, made, 500, 3)
    assert along_a_line(learner, pool.without(pool.order[:3]), labels.truth, shared) is None
    assert isinstance(learner.base, CAL)

"""A², ReplicA² and what they say of their own conditions."""

import numpy as np
import pytest

from replical import (
    A2,
    KnownLabels,
    Pool,
    Population,
    PrivateRandomness,
    ReplicA2,
    SharedRandomness,
    Star,
    Thresholds,
    learn,
    plan,
)
from replical.classes.predictions.base import predictions_of
from replical.errors import EmptyVersionSpace, PlanMismatch, PoolExhausted
from replical.learners.planning import learner_for

LAB, SHARED = PrivateRandomness.simulated("lab"), SharedRandomness("published")


def run(learner, world, size="exact"):
    pool = world.pool(size, LAB)
    return learn(learner, pool, world.labels(pool, LAB), SHARED)


@pytest.mark.parametrize("learner", ["a2-rounds", "replica2"])
def test_a_loop_that_never_runs_is_said(learner):
    C = Thresholds(50)
    made = plan(learner, C, epsilon=0.1, delta=0.1, rho=0.3, theta=2.0, nu=0.1)
    result = run(learner_for(made), Population(C, target=20, noise=0.1))
    assert len(result.rounds) == 1
    condition = next(c for c in result.conditions if "loop runs" in c.name)
    assert (condition.held, condition.value) == (False, pytest.approx(1.6))


def test_two_equally_good_far_apart_hypotheses_end_honestly():
    C = Star(1)  # two hypotheses that differ everywhere, labels are coin flips
    world = Population(C, law=[[0.5, 0.5]])
    for size, budget in ((400, None), ("exact", 300)):
        made = plan("a2", C, epsilon=0.1, delta=1e-6, max_labels=budget, pool="finite" if size == 400 else "exact")
        result = run(A2(made), world, size)
        assert result.V.size == 2
        assert not result.stopped
        assert not result.sound
        assert result.labels <= (budget or 360)


def test_noise_beyond_what_was_told_names_the_assumption():
    C = Thresholds(50)
    made = plan("replica2", C, epsilon=0.001, delta=0.1, rho=0.3, theta=2.0, nu=0.001, k_loop=20_000, k_final=100)
    with pytest.raises(EmptyVersionSpace, match="larger nu"):
        run(ReplicA2(made), Population(C, target=20, noise=0.4))


C50, TASK = Thresholds(50), {"epsilon": 0.1, "delta": 0.1, "rho": 0.3, "theta": 2.0, "nu": 0.0}


@pytest.mark.parametrize(
    ("pool", "name", "size", "kind", "sentence"),
    [
        ("finite", "paper", 10_000, PlanMismatch, r"would take about 1e\+16 items of a finite pool: use"),
        ("finite", "tight", 10_000, PoolExhausted, r"at least 978,375 items and 978,375 would do, 97\.8 times the pool of 10,000"),
        ("finite", "tight", "exact", PlanMismatch, "make it with pool='exact'"),
        ("exact", "tight", 10_000, PlanMismatch, "make it with pool='finite'"),
    ],
)  # fmt: skip
def test_a_pool_that_replica2_cannot_use_is_refused_before_a_label(pool, name, size, kind, sentence):
    made = plan("replica2", C50, **TASK, pool=pool, name=name)
    with pytest.raises(kind, match=sentence):
        run(ReplicA2(made), Population(C50, target=20), size)


def test_replica2_on_a_pool_too_small_for_its_last_sample_says_how_much_is_missing():
    made = plan("replica2", C50, **TASK | {"theta": 1.0}, pool="finite")
    assert made.rounds_most == 1  # whose items the last sample lacks
    with pytest.raises(PoolExhausted, match=r"\d+ fresh items are needed, but the pool has only \d+ left"):
        run(ReplicA2(made), Population(C50, target=20), made.pool_least)


def test_replica2_looks_at_the_last_items_even_where_no_measured_one_is_disputed():
    """Δ̂ = 0 does not say that Δ is: two hypotheses that differ in a cell which the measuring part has not met."""
    C = Thresholds(2)
    made = plan("replica2", C, **TASK | {"theta": 1.0, "rho": 0.9}, pool="finite", k_final=3_000)
    x = np.repeat([0, 5], [3_000, made.measuring])
    pool = Pool.in_order(C, x, np.arange(len(x)), np.arange(len(x)), predictions_of(C, x))
    result = learn(ReplicA2(made), pool, KnownLabels(C, np.ones(len(x), dtype=int)), SHARED)
    assert result.rounds[0].disagreement[0] == 0
    assert (result.labels, result.hypothesis, result.V.size) == (3_000, 0, 1)


def test_a2_stops_at_epsilon_and_asks_in_batches():
    C = Thresholds(400)
    world = Population(C, target=100, noise=0.05)
    fine = run(A2(plan("a2", C, epsilon=0.02, delta=0.1, pool="finite")), world, 20_000)
    coarse = run(A2(plan("a2", C, epsilon=0.1, delta=0.1, pool="finite")), world, 20_000)
    assert fine.V.mass <= 0.02
    assert fine.labels > coarse.labels
    many = run(A2(plan("a2", C, epsilon=0.1, delta=0.1, batch=7, pool="finite")), world, 20_000)
    assert all(each.drawn == 7 for each in many.rounds)


@pytest.mark.parametrize(
    ("learner", "more", "bound"),
    [("a2", {"epsilon": 0.02}, 0.02), ("a2-rounds", {"theta": 1.0, "nu": 0.1}, 0.8), ("cal", {}, 0.1)],
)
def test_the_stop_condition_states_the_bound_it_was_held_to(learner, more, bound):
    C = Thresholds(200)
    result = run(learner_for(plan(learner, C, **{"epsilon": 0.1, "delta": 0.1} | more)), Population(C, target=50))
    condition = next(c for c in result.conditions if "at the stop" in c.name)
    assert condition.bound == pytest.approx(bound)
    assert condition.held == (condition.value <= condition.bound)

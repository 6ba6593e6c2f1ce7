"""The stop test looks at fresh items (docs/claims/subroutines.md)."""

from fractions import Fraction
from math import log

import numpy as np
import pytest

from replical import Pool, PrivateRandomness, ReplicA2, RepliCAL, SharedRandomness, Thresholds, learn, plan
from replical.errors import BadSpec, PoolExhausted, ValueOutOfRange
from replical.subroutines import Statistic
from support.runs import Overheard

SHARED = SharedRandomness("published")


def small(learner, more=0):
    """A finite pool just large enough for a first stop test and `more` items."""
    C = Thresholds(40)
    made = plan(
        learner,
        C,
        epsilon=0.4 if learner == "replical" else 0.05,  # the loops run from mass .4 on
        delta=0.9,
        rho=0.9,
        theta=1.0,
        nu=0.0 if learner == "replica2" else None,
        stop="rstat",
        pool="finite",
        k_loop=30,
        k_final=200,
    )
    size = made.integer("stop_items") + made.measuring + more
    x = np.random.default_rng(3).integers(39, size=size)
    private = PrivateRandomness.simulated("stop test")
    kind = RepliCAL if learner == "replical" else ReplicA2
    order = private.permutation(size)
    return kind(made), Pool(C, x, private), Overheard(C, (x >= 20).astype(int)), order


@pytest.mark.parametrize("learner", ["replical", "replica2"])
def test_the_stop_test_looks_at_fresh_items_and_asks_for_none(learner):
    """Everything is disputed at first, so the test says yes; the first labels come from the items behind it."""
    chosen, pool, labels, order = small(learner, more=400_000)
    learn(chosen, pool, labels, SHARED)
    behind = order[chosen.plan.integer("stop_items") :]
    assert labels.asked[0].tolist() == behind[:30].tolist()
    asked = np.concatenate(labels.asked)
    assert len(np.unique(asked)) == len(asked)


@pytest.mark.parametrize("learner", ["replical", "replica2"])
def test_a_pool_too_small_for_the_stop_test_says_so(learner):
    chosen, pool, labels, _ = small(learner, more=-1)
    tested = chosen.plan.integer("stop_items")
    said = f"{tested} fresh items are needed" if learner == "replical" else f"at least {tested + 200:,} items"
    with pytest.raises(PoolExhausted, match=said):
        learn(chosen, pool, labels, SHARED)


# ---- plans ----


def is_least(size, wanted):
    """`size` is the least integer from `wanted` on; `wanted` was computed in doubles."""
    return wanted * (1 - 1e-12) <= size < wanted * (1 + 1e-12) + 1


@pytest.mark.parametrize(
    ("learner", "options", "kind", "sentence"),
    [
        ("replical", {"stop": "rstat", "stop_delta": 0.05}, ValueOutOfRange, "stop_delta is spent up to .* got 0.05"),
        ("replica2", {"stop": "rstat", "stop_delta": 0.05}, ValueOutOfRange, "stop_delta is spent up to .* got 0.05"),
        ("replical", {"stop": "rstat", "stop_delta": 0}, ValueOutOfRange, r"stop_delta must be in \(0, 1\), got 0"),
        ("replical", {"stop": "never"}, BadSpec, "unknown stop 'never'; it is one of mass, rstat"),
        ("cal", {"stop": "rstat"}, BadSpec, "cal has no stop"),
        ("replicable-erm", {"stop": "rstat"}, BadSpec, "replicable-erm has no stop"),
        ("boosted-replical", {"stop": "rstat"}, BadSpec, "boosted-replical has no stop"),
        ("a2-rounds", {"stop_delta": 0.01}, BadSpec, "a2-rounds has no stop_delta"),
    ],
)
def test_stop_tests_that_cannot_be(learner, options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        plan(learner, 100, epsilon=0.2, delta=0.1, rho=0.1, theta=1.0, nu=0.01, **options)


# --- the stop test in a plan ------------------------------------------------------------------------------------------
TASK = {"epsilon": 0.05, "delta": 0.1, "rho": 0.1, "theta": 2.0, "stop": "rstat"}


def test_the_stop_test_is_paid_from_delta_and_rho():
    """N tests a lab: what they may fail is taken from δ once and from ρ twice, and every size follows from the rest."""
    n, made = 1000, plan("replical", 1000, **TASK)
    N, stop_delta = made.rounds_most, made["stop_delta"]
    assert abs(stop_delta - Fraction(1, 10) / (8 * N)) < Fraction(1, 10**40)  # it is a decimal
    left_delta, left_rho = 0.1 - N * float(stop_delta), 0.1 - 2 * N * float(stop_delta)
    assert is_least(made.k, 64 * 2 * log(2 * N * n / min(left_delta, left_rho / 16)))
    l, l2 = 1 + log(n), 1 + log(2 * n)
    assert is_least(made.integer("k_final"), 8.67 * l**2 * l2 / (float(made["G"]) * (0.9 * left_rho) ** 2))
    assert abs(made["stop_rho"] - Fraction(1, 10) / (2 * N)) < Fraction(1, 10**40)
    statistic = Statistic.of(tau=float(made["stop_tau"]), rho=float(made["stop_rho"]), delta=float(stop_delta))
    assert made.stop_test.statistic == statistic
    assert made.integer("stop_items") == statistic.samples


@pytest.mark.parametrize("name", ["paper", "tight"])
def test_replica2_with_a_stop_test_is_replica2_with_what_is_left(name):
    """Every other number is that of the plan for δ - Nδ' and ρ - 2Nδ'; only the largest last sample grows."""
    task = {"epsilon": 0.01, "theta": 1.0, "nu": 0.01, "name": name}
    stopped = plan("replica2", 1000, **task, delta=0.1, rho=0.2, stop="rstat", stop_delta=0.001)
    N = stopped.rounds_most
    plain = plan("replica2", 1000, **task, delta=round(0.1 - N * 0.001, 6), rho=round(0.2 - 2 * N * 0.001, 6))
    mine = {number.name: number.value for number in stopped.numbers if not number.name.startswith("stop_")}
    assert mine == {number.name: number.value for number in plain.numbers}
    assert stopped.labels_most - plain.labels_most == plain.final_size(2 * plain.stop_mass) - plain.final_size(
        plain.stop_mass
    )


@pytest.mark.parametrize("learner", ["replical", "replica2"])
@pytest.mark.parametrize("name", ["paper", "tight"])
def test_no_round_is_run_below_the_mass_the_loop_is_made_for(learner, name):
    """An estimate within its tolerance goes on only from `stop` on, and ends the loop for certain below it."""
    made = plan(learner, 1000, **(TASK | {"theta": 1.0}), nu=0.05 if learner == "replica2" else None, name=name)
    test = made.stop_test
    assert made.stop_mass == (made.epsilon if learner == "replical" else Fraction(2, 5))
    assert test.bound - test.tolerance >= made.stop_mass
    assert made.stop_mass <= made.reach == test.bound + test.tolerance <= 2 * made.stop_mass
    assert test.tolerance == made["stop_tau"]

"""RepliCAL keeps its promise, on worlds where its mutants do not (docs/claims/replical.md)."""

import pytest

from replical import RepliCAL, Thresholds, plan
from support.pairs import assert_broken, assert_promise
from support.sequential import Promise

# Cells of mass at most ε/(160Θ): several dozen hypotheses survive, so agreement is not forced by the data.
C, TASK = Thresholds(10_000), {"epsilon": 0.05, "delta": 0.05, "rho": 0.1, "theta": 2.0}
PAIRS = 1000


@pytest.mark.claim("replical")
@pytest.mark.parametrize("name", ["paper", "tight"])
def test_two_labs_agree_and_are_accurate(name, alarm, request, record_property):
    learner = RepliCAL(plan("replical", C, **TASK, name=name))
    assert Promise(TASK["rho"], PAIRS, alarm / 2).found <= 2 * TASK["rho"]
    assert_promise(learner, C, TASK, PAIRS, alarm, request.node.name, record_property)


@pytest.mark.claim("replical")
@pytest.mark.mutant
@pytest.mark.parametrize("mutant", ["threshold", "order"])
@pytest.mark.parametrize("name", ["paper", "tight"])
def test_the_same_test_catches_mutants(name, mutant, alarm, request):
    """A private threshold, or a private order, fails where RepliCAL passes."""
    learner = RepliCAL(plan("replical", C, **TASK, name=name))
    assert_broken(learner, C, TASK, PAIRS, alarm, request.node.name, mutant)


FINITE, FINITE_TASK = Thresholds(1_200), {"epsilon": 0.3, "delta": 0.3, "rho": 0.5, "theta": 2.0}


@pytest.mark.claim("replical")
@pytest.mark.mutant
@pytest.mark.parametrize("mutant", [None, "order"])
def test_finite_pools_at_the_tight_plan_s_own_sizes(mutant, alarm, request, record_property):
    """Pools of 760,000 items, some set aside to measure Δ. At ρ=.5 only the private order is a mutant bad enough."""
    learner = RepliCAL(plan("replical", FINITE, **FINITE_TASK, pool="finite"))
    made = learner.plan
    size = made.measuring + made.integer("k_final") + 8 * made.k * made.rounds_most
    task, pairs, seed = FINITE_TASK, 120, request.node.name
    if mutant:
        assert_broken(learner, FINITE, task, pairs, alarm, seed, mutant, pool_size=size)
    else:
        assert_promise(learner, FINITE, task, pairs, alarm, seed, record_property, pool_size=size)

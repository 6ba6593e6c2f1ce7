"""RepliCAL keeps its promise, on worlds where its mutants do not (docs/claims/replical.md)."""

import pytest

from replical import Population, PrivateRandomness, RepliCAL, SharedRandomness, Thresholds, plan
from replical.auditing import pair_string, run_lab
from replical.binomial import detects, rejects_at
from support.mutants import PrivateFor

# Cells of mass at most ε/(160Θ): several dozen hypotheses survive, so agreement is not forced by the data (theory §7).
C, TASK = Thresholds(10_000), {"epsilon": 0.05, "delta": 0.05, "rho": 0.1, "theta": 2.0}
PAIRS = 1000


def failures(learner, C, pool_size, pairs, seed, mutant=None):
    """Pairs that differ, labs above ε, mean survivors."""
    differ = above = survivors = 0
    for number in range(pairs):
        target = int(PrivateRandomness.simulated(seed, number, "world").generator().integers(len(C)))
        world, string = Population(C, target=target), pair_string(seed, number)
        labs = []
        for lab in "AB":
            shared = PrivateFor(string, f"{string} {lab}", mutant) if mutant else SharedRandomness(string)
            labs.append(run_lab(learner, world, pool_size, shared, (seed, number, lab)))
        differ += labs[0].result.hypothesis != labs[1].result.hypothesis
        above += sum(lab.excess_error > learner.plan.epsilon for lab in labs)
        survivors += sum(lab.result.V.size for lab in labs)
    return differ, above, survivors / (2 * pairs)


@pytest.mark.parametrize("name", ["paper", "tight"])
def test_two_labs_agree_and_are_accurate(name, alarm, request, record_property):
    learner = RepliCAL(plan("replical", C, **TASK, name=name))
    differ, above, survivors = failures(learner, C, "exact", PAIRS, request.node.name)
    power = detects(PAIRS, TASK["rho"], alarm / 2)
    record_property("power", f"{differ} of {PAIRS} pairs differ; would find a failure probability of {power:.3f}")
    assert power <= 2 * TASK["rho"]
    assert survivors >= 20
    assert differ < rejects_at(PAIRS, TASK["rho"], alarm / 2)
    assert above < rejects_at(2 * PAIRS, TASK["delta"], alarm / 2)


@pytest.mark.parametrize("mutant", ["threshold", "order"])
@pytest.mark.parametrize("name", ["paper", "tight"])
def test_the_same_test_catches_mutants(name, mutant, alarm, request):
    """A private threshold, or a private order, fails where RepliCAL passes."""
    learner = RepliCAL(plan("replical", C, **TASK, name=name))
    differ, _, _ = failures(learner, C, "exact", PAIRS // 2, request.node.name, mutant)
    assert differ >= rejects_at(PAIRS // 2, TASK["rho"], alarm / 2)


FINITE, FINITE_TASK = Thresholds(1_200), {"epsilon": 0.3, "delta": 0.3, "rho": 0.5, "theta": 2.0}


@pytest.mark.parametrize("mutant", [None, "order"])
def test_finite_pools_at_the_tight_plan_s_own_sizes(mutant, alarm, request):
    """Pools of 760,000 items, some set aside to measure Δ. At ρ=.5 only the private order is a mutant bad enough."""
    learner = RepliCAL(plan("replical", FINITE, **FINITE_TASK, pool="finite"))
    made = learner.plan
    size = made.measuring + made.integer("k_final") + 8 * made.k * made.rounds_most
    pairs = 120
    differ, above, survivors = failures(learner, FINITE, size, pairs, request.node.name, mutant)
    assert survivors >= 20
    if mutant:
        assert differ >= rejects_at(pairs, FINITE_TASK["rho"], alarm / 2)
    else:
        assert differ < rejects_at(pairs, FINITE_TASK["rho"], alarm / 2)
        assert above < rejects_at(2 * pairs, FINITE_TASK["delta"], alarm / 2)

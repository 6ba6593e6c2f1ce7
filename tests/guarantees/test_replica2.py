"""ReplicA² keeps its promise where its mutants do not (docs/claims/replica2.md)."""

from fractions import Fraction

import pytest

from replical import Population, ReplicA2, Thresholds, plan, theta
from support.counts import CountedPopulation
from support.mutants import scaled
from support.pairs import assert_broken, assert_promise
from support.sequential import Promise

C, PAIRS = Thresholds(1000), 1000
TASK = {"epsilon": 0.05, "delta": 0.05, "rho": 0.1}
NOISE = 0.05
CASES = {"replica2": {"theta": 2.0, "nu": NOISE}}


def setting(case, name):
    return ReplicA2(plan("replica2", C, **TASK, **CASES[case], name=name))


@pytest.mark.claim("replica2")
@pytest.mark.parametrize("name", ["paper", "tight"])
@pytest.mark.parametrize("case", CASES)
def test_two_labs_agree_and_are_accurate(case, name, alarm, request, record_property):
    assert Promise(TASK["rho"], PAIRS, alarm / 2).found <= 2 * TASK["rho"]
    assert_promise(setting(case, name), C, TASK, PAIRS, alarm, request.node.name, record_property, NOISE)


@pytest.mark.claim("replica2")
@pytest.mark.mutant
@pytest.mark.parametrize("mutant", ["threshold", "order"])
@pytest.mark.parametrize("name", ["paper", "tight"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_test_catches_mutants(case, name, mutant, alarm, request):
    """On [ε/3, 2ε/3] two private thresholds differ by a factor of at most two: about 19% disagreement takes most pairs."""
    assert_broken(setting(case, name), C, TASK, PAIRS, alarm, request.node.name, mutant, NOISE)


# --- finite pools -----------------------------------------------------------------------------------------------------

# Cells of mass ε/40: some two dozen survive. Θ is that of the class. Two rounds and the last sample, but for targets at an
# end of the line. Where ε is at most ν̄/2 rounds are smaller.
WORLDS = {"nu = epsilon": (Thresholds(10_001), 0.004, 0.004), "nu = 2 epsilon": (Thresholds(20_001), 0.002, 0.004)}
COUNTED = {"worlds": CountedPopulation, "pool_size": "counted", "exchanges": 2.9}


def on_pools(world):
    D, epsilon, nu = WORLDS[world]
    task = TASK | {"epsilon": epsilon, "theta": theta(D, Population(D, target=len(D) // 3)).value}
    made = plan("replica2", D, **task, nu=nu, pool="finite")
    assert made.rounds_most >= 3
    assert (made.k < 10_000) == (nu == 2 * epsilon)
    return D, task, nu, made


@pytest.mark.claim("replica2")
@pytest.mark.parametrize("world", ["nu = epsilon", pytest.param("nu = 2 epsilon", marks=pytest.mark.slow)])
def test_two_labs_with_pools_agree_and_are_accurate(world, alarm, request, record_property):
    """The plan's own sizes, pools of 10¹⁰ items by counts."""
    D, task, nu, made = on_pools(world)
    assert made.measuring > 0
    assert_promise(ReplicA2(made), D, task, PAIRS, alarm, request.node.name, record_property, nu, **COUNTED)


@pytest.mark.claim("replica2")
@pytest.mark.mutant
@pytest.mark.parametrize("mutant", ["order", "sizes", pytest.param("threshold", marks=pytest.mark.slow)])
def test_the_same_test_on_pools_catches_mutants(mutant, alarm, request):
    """A private order, a private threshold, and all labs' last samples divided by a million."""
    D, task, nu, made = on_pools("nu = epsilon")
    learner = ReplicA2(scaled(made, "k_final", Fraction(1, 10**6)) if mutant == "sizes" else made)
    private = None if mutant == "sizes" else mutant
    assert_broken(learner, D, task, PAIRS, alarm, request.node.name, private, nu, **COUNTED)


SMALL, SMALL_TASK = Thresholds(600), {"epsilon": 0.06, "delta": 0.2, "rho": 0.5, "theta": 2.0}


@pytest.mark.claim("replica2")
@pytest.mark.mutant
@pytest.mark.slow
@pytest.mark.parametrize("mutant", [None, "order"])
def test_labs_with_items_of_their_own(mutant, alarm, request, record_property):
    """No counts: pools of five million items, set aside, scanned and asked one by one."""
    learner = ReplicA2(plan("replica2", SMALL, **SMALL_TASK, nu=0.06, pool="finite"))
    task, pairs, seed, how = SMALL_TASK, 120, request.node.name, {"pool_size": 5_000_000, "exchanges": 2}
    if mutant:
        assert_broken(learner, SMALL, task, pairs, alarm, seed, mutant, 0.06, **how)
    else:
        assert_promise(learner, SMALL, task, pairs, alarm, seed, record_property, 0.06, **how)

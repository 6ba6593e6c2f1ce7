"""ReplicableERM keeps its promise where its mutants do not, realizable and agnostic (docs/claims/replicable_erm.md)."""

import pytest

from replical import Thresholds, plan
from replical.learners.planning import learner_for
from support.pairs import assert_broken, assert_promise
from support.sequential import Promise

C, PAIRS = Thresholds(1000), 1000
TASK = {"epsilon": 0.05, "delta": 0.05, "rho": 0.1}
CASES = {"replicable-erm": 0.0, "replicable-erm agnostic": 0.05}  # the rate of the noise, which is ν


def setting(case, name):
    return learner_for(plan("replicable-erm", C, **TASK, nu=CASES[case], name=name))


@pytest.mark.claim("replicable_erm")
@pytest.mark.parametrize("name", ["paper", "tight"])
@pytest.mark.parametrize("case", CASES)
def test_two_labs_agree_and_are_accurate(case, name, alarm, request, record_property):
    assert Promise(TASK["rho"], PAIRS, alarm / 2).found <= 2 * TASK["rho"]
    assert_promise(setting(case, name), C, TASK, PAIRS, alarm, request.node.name, record_property, CASES[case])


@pytest.mark.claim("replicable_erm")
@pytest.mark.mutant
@pytest.mark.parametrize("mutant", ["threshold", "order"])
@pytest.mark.parametrize("name", ["paper", "tight"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_test_catches_mutants(case, name, mutant, alarm, request):
    """On [ε/3, 2ε/3] two private thresholds differ by a factor of at most two: about 19% disagreement takes most pairs."""
    assert_broken(setting(case, name), C, TASK, PAIRS, alarm, request.node.name, mutant, CASES[case])

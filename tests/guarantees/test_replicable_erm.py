"""ReplicableERM keeps its promise where its mutants do not, realizable and agnostic (docs/claims/replicable_erm.md)."""

import pytest

from replical import Thresholds, plan
from replical.core.binomial import rejects_at
from replical.learners.catalogue import learner_for
from support.pairs import assert_promise, failures

C, PAIRS = Thresholds(1000), 1000
TASK = {"epsilon": 0.05, "delta": 0.05, "rho": 0.1}
CASES = {
    "replicable-erm": ("replicable-erm", {"nu": 0.0}, 0.0),
    "replicable-erm agnostic": ("replicable-erm", {"nu": 0.05}, 0.05),
}


def setting(case, name):
    learner, more, noise = CASES[case]
    return learner_for(plan(learner, C, **TASK, **more, name=name)), noise


@pytest.mark.parametrize("name", ["paper", "tight"])
@pytest.mark.parametrize("case", CASES)
def test_two_labs_agree_and_are_accurate(case, name, alarm, request, record_property):
    learner, noise = setting(case, name)
    assert_promise(learner, C, TASK, PAIRS, alarm, request.node.name, record_property, noise)


@pytest.mark.parametrize("mutant", ["threshold", "order"])
@pytest.mark.parametrize("name", ["paper", "tight"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_test_catches_mutants(case, name, mutant, alarm, request):
    learner, noise = setting(case, name)
    # On [ε/3, 2ε/3] two private thresholds differ by a factor of at most two: about 19% disagreement, which needs more pairs.
    pairs = PAIRS if (mutant, name) == ("threshold", "paper") else PAIRS // 2
    differ, _, _ = failures(learner, C, "exact", pairs, request.node.name, mutant, noise)
    assert differ >= rejects_at(pairs, TASK["rho"], alarm / 2)

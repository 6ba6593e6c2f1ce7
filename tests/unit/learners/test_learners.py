"""ERM, CAL and RepliCAL: conditions, budgets, caps, and what they refuse."""

import numpy as np
import pytest

from replical import (
    A2,
    CAL,
    ERM,
    KnownLabels,
    Pool,
    Population,
    PrivateRandomness,
    RepliCAL,
    SharedRandomness,
    Thresholds,
    learn,
    plan,
)
from replical.errors import EmptyVersionSpace, PlanMismatch, ValueOutOfRange

LAB, SHARED = PrivateRandomness.simulated("lab"), SharedRandomness("published")
TASK = {"epsilon": 0.1, "delta": 0.1, "rho": 0.3, "theta": 2.0}


def run(learner, world, size="exact", lab=LAB):
    pool = world.pool(size, lab)
    return learn(learner, pool, world.labels(pool, lab), SHARED)


@pytest.mark.parametrize("size", ["exact", 500])
@pytest.mark.parametrize("name", ["erm", "cal", "cal-rounds", "replical"])
def test_a_class_of_one_hypothesis_simply_works(name, size):
    from replical.learners.planning import learner_for

    C = Thresholds(1)
    sizes = {"replical": {"k_loop": 5, "k_final": 5}}.get(name, {})
    whose = "tight" if name == "cal" else "paper"  # the paper has no CAL one item at a time
    made = plan(name, C, **TASK, pool="exact" if size == "exact" else "finite", name=whose, **sizes)
    result = run(learner_for(made), Population(C, target=0), size)
    assert (result.hypothesis, result.V.size) == (0, 1)
    assert result.labels == (made.labels_most if name == "erm" else 0)


def test_labels_that_contradict_realizability_name_the_broken_assumption():
    C = Thresholds(5)
    pool = Pool(C, np.repeat(np.arange(4), 50), LAB)
    labels = KnownLabels(C, np.tile([0, 1], 100))
    with pytest.raises(EmptyVersionSpace, match="what was assumed of them does not hold"):
        learn(CAL(plan("cal-rounds", C, epsilon=0.01, delta=0.1, theta=2.0, k_loop=30)), pool, labels, SHARED)


def test_erm_survives_noise_and_keeps_all_minimisers():
    C = Thresholds(5)
    pool = Pool(C, np.repeat(np.arange(4), 50), LAB)
    result = learn(
        ERM(plan("erm", C, epsilon=0.1, delta=0.1, k_final=200)), pool, KnownLabels(C, np.tile([0, 1], 100)), SHARED
    )
    assert result.V.size == 5


def test_a_budget_ends_cal_with_an_honest_result():
    C = Thresholds(1000)
    result = run(
        CAL(plan("cal", C, epsilon=0.001, delta=0.1, pool="finite", max_labels=3)), Population(C, target=500), 5000
    )
    assert result.labels == 3
    assert not result.sound
    assert not result.stopped


def test_replical_reports_rounds_and_conditions():
    C = Thresholds(2000)
    result = run(RepliCAL(plan("replical", C, **TASK)), Population(C, target=700))
    assert result.sound
    assert result.stopped
    assert result.labels == sum(each.drawn for each in result.rounds)
    sizes = [each.survivors for each in result.rounds]
    assert sizes == sorted(sizes, reverse=True)
    assert all(each.disagreement[1] == 1999 for each in result.rounds)


def test_a_loop_that_cannot_halve_stops_at_its_cap_and_says_so():
    """One label a round, threshold 3/(8Θ) < 1: wrong hypotheses survive unless that one label hits them."""
    C = Thresholds(10**5)
    made = plan("replical", C, epsilon=0.001, delta=0.1, rho=0.3, theta=2.0, k_loop=1, k_final=1)
    results = [
        run(RepliCAL(made), Population(C, target=700), lab=PrivateRandomness.simulated("lab", i)) for i in range(40)
    ]
    assert all(len(r.rounds) <= made.rounds_most + 1 for r in results)
    short = [r for r in results if not r.stopped]
    assert short
    assert all(not r.sound for r in results)


def test_final_filter_is_skipped_when_it_would_keep_everyone():
    """Nothing is disputed after the loop; or v' is above 1, and a pool that could not pay for the filter is enough."""
    task = TASK | {"epsilon": 0.9, "theta": 1.0, "name": "paper"}
    result = run(RepliCAL(plan("replical", 2, **task)), Population(Thresholds(2), target=1))
    assert (len(result.rounds), result.V.mass) == (1, 0)
    made = plan("replical", 2, **task, pool="finite", k_loop=5, k_final=50)
    pool = Pool(Thresholds(2), [0] + [5] * 99, LAB)  # one item is disputed
    assert made.epsilon * made.threshold(SHARED) >= pool.version_space().mass > 0
    result = learn(RepliCAL(made), pool, KnownLabels(Thresholds(2), [1] * 100), SHARED)
    assert (result.labels, result.V.size) == (0, 2)


def test_shared_and_private_randomness_cannot_be_swapped():
    C = Thresholds(10)
    world = Population(C, target=5)
    pool = world.pool(100, LAB)
    cal = CAL(plan("cal", C, epsilon=0.1, delta=0.1, pool="finite"))
    with pytest.raises(ValueOutOfRange, match="published text, got PrivateRandomness"):
        learn(cal, pool, world.labels(pool, LAB), LAB)


@pytest.mark.parametrize(("kind", "learner"), [(ERM, "cal"), (CAL, "erm"), (RepliCAL, "erm"), (A2, "cal"), (CAL, "a2")])
def test_a_plan_for_another_learner_is_refused(kind, learner):
    with pytest.raises(PlanMismatch, match=learner):
        kind(plan(learner, 10, epsilon=0.1, delta=0.1))

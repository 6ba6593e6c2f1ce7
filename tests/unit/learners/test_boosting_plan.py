"""Plans of boosting: the bill, numbers of your own, and what is refused (docs/claims/boosting.md)."""

from fractions import Fraction

import pytest

from replical import Thresholds, plan
from replical.errors import BadSpec, ValueOutOfRange
from replical.learners.plan import Setting

C = Thresholds(9)  # eight cells
TASK = {"epsilon": 0.2, "delta": 0.1, "rho": 0.1}
ERM = {"nu": 0.0, "k_final": 5}


@pytest.mark.parametrize(
    ("rho", "strings", "Q1", "Q2", "delta"),
    [(0.5, 1, 7, 36_367, 1.4e-6), (0.1, 2, 11, 5_203_653, 4.8e-9), (0.01, 2, 15, 669_001_134, 3.7e-11)],
)
def test_the_paper_s_data_sets(rho, strings, Q1, Q2, delta):
    made = plan("boosted-replical", 1000, epsilon=0.2, delta=0.05, rho=rho, theta=2.0)
    assert (made.strings, made.integer("Q1"), made.integer("Q2"), made.runs) == (strings, Q1, Q2, Q1 + Q2)
    assert float(made["delta_base"]) == pytest.approx(delta, rel=0.03)
    assert made.labels_most == strings * (Q1 + Q2) * made.base.labels_most


def test_data_sets_are_looked_at_once_and_runs_are_paid_with_every_string():
    setting = Setting(n=1000, epsilon=0.2, delta=0.1, rho=0.1, nu=0.0)
    for pool, paid in (("exact", 2), ("finite", 1)):  # a passive learner on a pool asks the same with every string
        made = plan("boosted-replicable-erm", 1000, **TASK, nu=0.0, pool=pool)
        cost, k = made.cost(setting), made.base.k
        assert (made.strings, cost.unlabelled, cost.labels) == (2, made.runs * k, paid * made.runs * k)
        assert made.labels_most == cost.labels
        assert (
            cost.note == f"{made.runs} data sets, run with each of 2 strings; labels that strings share are paid once"
        )
    active = plan("boosted-replical", 1000, **TASK, theta=2.0, pool="finite")
    assert active.labels_most == 2 * active.runs * active.base.labels_most


@pytest.mark.parametrize(("runs", "shared_out"), [(2, (1, 1)), (9, (4, 5)), (22, (11, 11)), (100, (11, 89))])
def test_own_runs_are_shared_out_between_candidates_and_counts(runs, shared_out):
    made = plan("boosted-replicable-erm", C, **TASK, **ERM, runs=runs)
    assert (made.integer("Q1"), made.integer("Q2")) == shared_out
    assert made["delta_base"] == Fraction(1, 10) / (2 * runs)
    (enough, _) = made.conditions
    assert (enough.held, enough.value, enough.bound) == (False, runs, 5_203_664)


@pytest.mark.parametrize(
    ("options", "held"),
    [
        ({}, []),
        ({"strings": 2}, [True]),
        ({"strings": 1}, [False]),
        ({"runs": 6_000_000}, [True]),
        ({"runs": 30, "strings": 2}, [True, False]),
    ],
)
def test_numbers_of_your_own_say_what_they_break(options, held):
    made = plan("boosted-replicable-erm", C, **TASK, nu=0.0, **options)
    assert [condition.held for condition in made.conditions] == held


@pytest.mark.parametrize(
    ("learner", "options", "kind", "sentence"),
    [
        ("boosted-replicable-erm", {"strings": 0}, ValueOutOfRange, "strings must be a whole number of at least 1, got 0"),
        ("boosted-replicable-erm", {"runs": 0}, ValueOutOfRange, "runs must be a whole number of at least 1, got 0"),
        ("boosted-replicable-erm", {"runs": 2.5}, ValueOutOfRange, "runs must be a whole number of at least 1, got 2.5"),
        ("boosted-replicable-erm", {"nu": None}, ValueOutOfRange, "boosted-replicable-erm needs nu"),
        ("replicable-erm", {"runs": 3}, BadSpec, "replicable-erm has no runs"),
        ("boosted-cal", {}, BadSpec, "unknown learner 'boosted-cal': boosting starts from a replicable learner, one of replicable-erm, replica2, replical"),
        ("boosted-replicable-erm", {"runs": 1}, ValueOutOfRange, "needs runs of at least 2, one to name a candidate and one to count it, got 1"),
        ("boosted-replicable-erm", {"runs": 4, "strings": 2, "max_labels": 39}, ValueOutOfRange, "40 labels, more than max_labels = 39"),
    ],
)  # fmt: skip
def test_bad_numbers_are_refused(learner, options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        plan(learner, C, **TASK, **(ERM | options))

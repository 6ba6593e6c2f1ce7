"""Plans of boosting: the bill, numbers of your own, and what is refused (docs/claims/boosting.md)."""

import pytest

from replical import (
    Thresholds,
    plan,
)
from replical.errors import BadSpec, ValueOutOfRange

C = Thresholds(9)  # eight cells
TASK = {"epsilon": 0.2, "delta": 0.1, "rho": 0.1}
ERM = {"nu": 0.0, "k_final": 5}


def test_the_bill_is_beyond_anybody_s_means():
    made = {rho: plan("boosted-replical", 1000, **(TASK | {"rho": rho}), theta=2.0) for rho in (0.1, 0.5)}
    assert [(each.strings, each.runs) for each in made.values()] == [(2, 3_281_534), (1, 19_717)]
    assert min(each.labels_most for each in made.values()) > 10**12


@pytest.mark.parametrize(
    ("options", "held"),
    [
        ({}, []),
        ({"strings": 2}, [True]),
        ({"strings": 1}, [False]),
        ({"runs": 4_000_000}, [True]),
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
        ("boosted-cal", {}, BadSpec, "unknown learner 'boosted-cal'"),
        ("boosted-replicable-erm", {"runs": 4, "strings": 2, "max_labels": 39}, ValueOutOfRange, "40 labels, more than max_labels = 39"),
    ],
)  # fmt: skip
def test_bad_numbers_are_refused(learner, options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        plan(learner, C, **TASK, **(ERM | options))

"""Plans of Settled: what they refuse, in one sentence, wherever it is said."""

import numpy as np
import pytest

from replical import KnownLabels, Pool, PredictionTable, PrivateRandomness, SharedRandomness, learn, learner_for, plan
from replical.errors import ReplicalError, ValueOutOfRange
from replical.lab.protocol import Protocol
from support.lab import content
from support.studies import based

TASK = {"epsilon": 0.1, "delta": 0.05, "rho": 0.1}
BAD = [
    ({"labs": 1}, "labs must be a whole number of at least 2, got 1"),
    ({"labs": 0}, "labs must be a whole number of at least 2, got 0"),
    ({"b": 0.2}, "b must be at most epsilon = 0.1, got 0.2: the answer may err b more than the best"),
    ({"a": 0.09, "b": 0.08}, "a must be above 0 and at most b = 0.08, got 0.09"),
    ({"a": 0.2}, "a must be above 0 and at most b = 0.1, got 0.2"),
    ({"a": 0.0}, "a must be in (0, 1), got 0"),
    ({"a": -0.1}, "a must be in (0, 1), got -0.1"),
    ({"batch": 16, "max_labels": 15}, "max_labels = 15 is below batch = 16"),
    ({"max_labels": 0}, "max_labels must be a whole number of at least 1, got 0"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_numbers_are_one_sentence(changes, message):
    """In Python and in a protocol."""
    with pytest.raises(ValueOutOfRange) as caught:
        plan("settled", 6, **TASK, **changes)
    assert str(caught.value).startswith(message)
    with pytest.raises(ReplicalError) as caught:
        Protocol.of(content("settled", **TASK | changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_study_does_not_run_such_cells(sweep):
    """It says why in the words of the plan, and runs the others."""
    pytest.importorskip("pyarrow")
    bad = [(changes, message) for changes, message in BAD if min(changes.values()) > 0]  # a count or share at all
    cell = {"class": "thresholds:9", "learner": "settled", "epsilon": 0.1, "pool_size": 50}
    rows = sweep(based(stop={"pairs": 1}, grid=[cell | changes for changes, _ in [({}, ""), *bad]])).rows
    reasons = [row["reason"] for row in rows if row["status"] == "refused"]
    assert len(rows) == len(bad) + 1
    assert len(reasons) == len(bad)
    for _, message in bad:
        assert sum(reason.startswith(message) for reason in reasons) == 1, message


def test_a_budget_of_one_batch_is_enough():
    assert plan("settled", 6, **TASK, batch=16, max_labels=16).opens(0) == 16


@pytest.mark.parametrize(("said", "right"), [([[1, 0, 0]], 1), ([[0, 0, 0]], 0), ([[1, 1, 0]], 1)])
def test_a_pool_of_one_item_has_an_uncertified_answer(said, right):
    C = PredictionTable(["a", "b", "c"])
    pool = Pool(C, np.array(said), PrivateRandomness.simulated("one"))
    made = learner_for(plan("settled", C, **TASK, pool="finite"))
    result = learn(made, pool, KnownLabels(C, [right]), SharedRandomness("s"))
    assert (result.hypothesis in range(3), result.settling.certified) == (True, False)
    assert result.labels == (1 if len(set(said[0])) > 1 else 0)

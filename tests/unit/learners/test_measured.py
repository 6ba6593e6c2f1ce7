"""The answer's own error, measured on items that the run has not looked at."""

from itertools import pairwise

import numpy as np
import pytest

from replical import (
    KnownLabels,
    Measured,
    Pool,
    PredictionTable,
    PrivateRandomness,
    SharedRandomness,
    learn,
    learner_for,
    plan,
)
from replical.bounds.betting import share_interval
from replical.errors import PlanMismatch, ValueOutOfRange

U, RATES = 2000, (0.05, 0.06, 0.3)
C = PredictionTable(["m0", "m1", "m2"])


def lab(learner="handicap", unasked=(), **options):
    """A learner, a pool whose labels are all 0, and which predictions are wrong."""
    private = PrivateRandomness.simulated("measured")
    wrong = (private.generator("errors").random((U, 3)) < RATES).astype(int)
    pool = Pool(C, wrong, private)
    pool = pool.without(np.array(unasked, dtype=np.int64)) if len(unasked) else pool
    options = {"epsilon": 0.1, "delta": 0.05, "rho": 0.1, "pool": "finite"} | options
    return learner_for(plan(learner, C, **options)), pool, wrong


def run(learner, pool):
    return learn(learner, pool, KnownLabels(C, np.zeros(U, dtype=int)), SharedRandomness("measured"))


@pytest.mark.parametrize("batch", [1, 7])
def test_the_run_is_the_same_and_fresh_items_are_asked_after_it(batch):
    learner, pool, wrong = lab(batch=batch)
    plain, measured = run(learner, pool), run(Measured(learner, 50), pool)
    assert plain.answer_error.of == "excess"
    assert (measured.hypothesis, measured.proof) == (plain.hypothesis, plain.proof)
    assert measured.labels == plain.labels + 50 == plain.proof.asked + 50
    fresh, passed = pool.unscanned(plain.proof.scanned, 50)
    assert passed == 0
    assert not set(fresh.tolist()) & set(pool.order[: plain.proof.scanned].tolist())
    count = int(wrong[fresh, plain.hypothesis].sum())
    found = measured.answer_error
    assert (found.of, found.labels, found.level) == ("error", 50, 0.05)
    assert found.estimate == round(count / 50, 6)
    assert (found.low, found.high) == share_interval(count, 50, 0.05)


def test_what_nobody_can_label_is_left_out():
    learner, pool, _ = lab()
    skipped = pool.unscanned(run(learner, pool).proof.scanned, 20)[0][::2]
    learner, pool, _ = lab(unasked=sorted(skipped.tolist()))
    fresh, passed = pool.unscanned(run(learner, pool).proof.scanned, 20)
    assert (len(fresh), passed) == (20, 10)
    assert run(Measured(learner, 20), pool).answer_error.skipped == 10
    assert not set(fresh.tolist()) & set(skipped.tolist())


def test_a_budget_is_for_the_answer_and_a_pool_may_end():
    learner, pool, _ = lab(max_labels=10)
    assert run(Measured(learner, 30), pool).labels == 40
    learner, pool, _ = lab(epsilon=0.001)
    assert run(learner, pool).proof.scanned == U
    assert run(Measured(learner, 30), pool).answer_error is None
    learner, pool, _ = lab()
    scanned = run(learner, pool).proof.scanned
    assert run(Measured(learner, 10 * U), pool).answer_error.labels == U - scanned


@pytest.mark.parametrize("items", [0, -3, True, 2.5])
def test_how_many_is_a_whole_number(items):
    with pytest.raises(ValueOutOfRange, match=f"at least 1 label, got {items!r}"):
        Measured(lab()[0], items)


def test_a_learner_that_looks_at_everything_leaves_nothing_fresh():
    with pytest.raises(PlanMismatch, match="a2 looks at the whole pool"):
        Measured(lab("a2", rho=None)[0], 10)


def test_intervals_narrow_and_hold_their_estimate():
    for wrong, items in ((0, 1), (1, 1), (0, 0), (0, 50), (50, 50), (3, 40), (123, 1000)):
        low, high = share_interval(wrong, items, 0.05)
        assert 0 <= low <= (wrong / items if items else 0.5) <= high <= 1
        assert share_interval(items - wrong, items, 0.05) == pytest.approx((1 - high, 1 - low), abs=3e-6)
    widths = [high - low for low, high in (share_interval(n // 10, n, 0.05) for n in (10, 100, 1000, 10_000))]
    assert all(after < before for before, after in pairwise(widths))
    assert share_interval(10, 100, 0.01)[0] < share_interval(10, 100, 0.1)[0]

"""Priors: ties, names, masses, and what is refused (docs/claims/ranks.md)."""

import numpy as np
import pytest

from replical import PredictionTable, SharedRandomness, Thresholds
from replical.classes.prior import UNIFORM, Prior, exponentials
from replical.errors import PlanMismatch, ValueOutOfRange

TABLE = PredictionTable(["linear", "forest", "boosted"])


def test_equal_ranks_are_broken_by_the_smaller_word_then_the_smaller_index():
    class Near(SharedRandomness):
        def ranks(self, *name, indices):
            return np.array([{7: 5, 3: 4, 9: 4}[int(h)] for h in indices], dtype=np.uint64)  # one interval of u

    prior = Prior.weights(Thresholds(10), np.ones(10))
    assert prior.first(Near("s"), "order", indices=np.array([7, 9, 3])) == 3
    assert prior.first(Near("s"), "order", indices=np.array([7, 9])) == 9


def test_the_first_of_nobody_is_refused():
    nobody = np.array([], dtype=np.int64)
    for prior in (UNIFORM, Prior.weights(Thresholds(3), [1, 2, 3]), Prior.order(Thresholds(3), [0, 1, 2])):
        with pytest.raises(ValueOutOfRange):
            prior.first(SharedRandomness("s"), "order", indices=nobody)


def test_exponentials_are_frozen():
    """To the last bit: labs on different machines must find the same order."""
    frozen = {
        0x0000000000000000: "0x1.0000000000000p-53",
        0x0000000000001000: "0x1.8000000000002p-52",
        0x123456789ABCDEF0: "0x1.2e256a2d4b8b5p-4",
        0x8000000000000000: "0x1.62e42fefa39f1p-1",
        0xFEDCBA9876543210: "0x1.5aa16394d4834p+2",
        0xFFFFFFFFFFFFFFFF: "0x1.25e4f7b2737fap+5",
    }
    found = exponentials(np.array(list(frozen), dtype=np.uint64))
    assert [value.hex() for value in found.tolist()] == list(frozen.values())


def test_candidates_go_by_name():
    weights = Prior.weights(TABLE, {"boosted": 3, "linear": 1, "forest": 2})
    assert weights.masses(3).tolist() == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert weights.fingerprint == Prior.weights(TABLE, [1, 2, 3]).fingerprint
    order = Prior.order(TABLE, ["boosted", "linear", "forest"])
    assert order.fingerprint == Prior.order(TABLE, [2, 0, 1]).fingerprint
    assert order.first(SharedRandomness("s"), "order", indices=np.array([0, 1])) == 0


def test_masses_add_up_and_the_spread_is_that_of_the_least_likely():
    prior = Prior.weights(Thresholds(4), [1, 1, 2, 4])
    assert prior.masses(4).sum() == 1
    assert prior.spread(4) == 8
    assert UNIFORM.masses(4).tolist() == [0.25] * 4
    assert UNIFORM.spread(4) == Prior.order(Thresholds(4), [0, 1, 2, 3]).spread(4) == 4
    with pytest.raises(ValueOutOfRange, match="no weights"):
        Prior.order(Thresholds(4), [0, 1, 2, 3]).masses(4)


def test_fingerprints_tell_priors_apart():
    C = Thresholds(3)
    made = [UNIFORM, Prior.weights(C, [1, 2, 3]), Prior.weights(C, [1, 2, 4]), Prior.order(C, [0, 1, 2])]
    made += [Prior.order(C, [0, 2, 1]), Prior.weights(TABLE, [1, 2, 3]), Prior.weights(C, np.arange(1.0, 4.0))]
    assert len({prior.fingerprint for prior in made}) == len(made) - 1  # the last one is the second again


def test_a_prior_belongs_to_one_class():
    C = Thresholds(3)
    for prior in (Prior.weights(C, [1, 2, 3]), Prior.order(C, [0, 1, 2])):
        prior.check(C)
        for other in (TABLE, Thresholds(4)):
            with pytest.raises(PlanMismatch, match="the prior is for the class"):
                prior.check(other)
    UNIFORM.check(TABLE)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 0, 1], r"weight of hypothesis 1 \(.*forest.*\) must be a positive number, got 0"),
        ([1, 1, -2], r"hypothesis 2 .* got -2"),
        ([float("nan"), 1, 1], "hypothesis 0 .* got nan"),
        ([1, float("inf"), 1], "hypothesis 1 .* got inf"),
        ([1, 1, 1e101], "hypothesis 2 .* got 1e[+]101"),
        ([1, 1e-101, 1], "hypothesis 1 .* got 1e-101"),
        ([1, 2], "needs 3 weights, one a hypothesis, got 2"),
        ([[1, 2, 3]], "needs 3 weights"),
        (5, "needs 3 weights, one a hypothesis, got 1"),
        (["one", "two", "three"], "must be numbers"),
        ([1, None, {}], "must be numbers"),
        ({"linear": 1, "forest": 2}, "no weight for 'boosted'"),
        ({"linear": 1, "forest": 2, "boosted": 3, "tree": 4}, "'tree', which is no candidate"),
        ({"linear": 1, "forest": 0, "boosted": 3}, "hypothesis 1 .* got 0"),
    ],
)
def test_weights_that_are_none(weights, message):
    with pytest.raises(ValueOutOfRange, match=message):
        Prior.weights(TABLE, weights)


@pytest.mark.parametrize(
    ("preferred", "message"),
    [
        (["linear", "forest"], "each of the 3 hypotheses once: .*boosted.* is missing"),
        (["linear", "forest", "forest"], "'forest' is listed 2 times and 'boosted' is missing"),
        ([0, 1, 2, 2], "once: 'boosted' is listed 2 times"),
        ([0, 1, 2, 7], "once: 7 is none of 0 to 2"),
        ([0, 1, -1], "once: -1 is none of 0 to 2"),
        (["linear", "forest", "tree"], "names 'tree', which is no candidate"),
        ([0, 1, 2.0], "by index or candidates by name"),
        ([False, True, 2], "by index or candidates by name"),
        ([], "is missing"),
    ],
)
def test_orders_that_are_none(preferred, message):
    with pytest.raises(ValueOutOfRange, match=message):
        Prior.order(TABLE, preferred)

"""Priors: the exponential race, its frozen logarithm, and what is refused (docs/claims/rounded.md)."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical import PredictionTable, SharedRandomness, Thresholds
from replical.classes.prior import UNIFORM, Prior, exponentials
from replical.core.binomial import lower_tail, upper_tail
from replical.errors import PlanMismatch, ValueOutOfRange

words = st.integers(0, 2**64 - 1)
seeds = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
TABLE = PredictionTable(["linear", "forest", "boosted"])


def exponential(word):
    """-ln(1-u), u the middle of one of 2**52 intervals, in 40 digits."""
    with localcontext(prec=40):
        return -(1 - (Decimal(word >> 12) + Decimal("0.5")) / 2**52).ln()


# --- the race ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [[0, 1, 2, 3, 4], [0, 2, 3], [1, 4]])
def test_the_first_of_a_set_is_chosen_by_weight(kept, alarm):
    """Each member is first with probability μ_h/μ(S): a two-sided exact test a member."""
    weights, strings = np.array([1.0, 2.0, 4.0, 0.5, 9.0]), 3000
    prior, indices = Prior.weights(Thresholds(5), weights), np.array(kept)
    chosen = [
        prior.first(SharedRandomness(f"race {kept} {number}"), "order", indices=indices) for number in range(strings)
    ]
    for h in kept:
        share, count = weights[h] / weights[kept].sum(), chosen.count(h)
        assert upper_tail(count, strings, share) > alarm / (2 * len(kept))
        assert lower_tail(count, strings, share) > alarm / (2 * len(kept))
    assert set(chosen) <= set(kept)


@given(seeds, st.sets(st.integers(0, 199), min_size=1, max_size=20), st.floats(1e-90, 1e90))
def test_equal_weights_give_the_uniform_order(seed, members, weight):
    indices, shared = np.array(sorted(members)), SharedRandomness(seed)
    prior = Prior.weights(Thresholds(200), np.full(200, weight))
    assert prior.first(shared, "order", indices=indices) == shared.first("order", indices=indices)
    assert UNIFORM.first(shared, "order", indices=indices) == shared.first("order", indices=indices)


@given(seeds, st.lists(st.integers(0, 29), min_size=1, max_size=12, unique=True), st.integers(0, 2**32))
def test_the_first_is_the_smallest_rank(seed, members, weight_seed):
    """rank(h) = E_h/μ_h, whatever the order in which members are listed."""
    weights = np.random.default_rng(weight_seed).choice([0.5, 1.0, 2.0, 1e6], size=30)
    prior, shared = Prior.weights(Thresholds(30), weights), SharedRandomness(seed)
    expected = min(members, key=lambda h: exponential(shared.word("order", index=h)) / Decimal(float(weights[h])))
    assert prior.first(shared, "order", indices=np.array(members)) == expected


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


# --- the frozen logarithm ---------------------------------------------------------------------------------------------


@given(
    st.one_of(
        words,
        st.integers(0, 2**20),
        st.integers(1, 2**20).map(lambda i: 2**64 - i),
        st.integers(0, 52).map(lambda i: 2**64 - 2 ** (i + 12)),
    )
)
def test_exponentials_equal_the_logarithm(word):  # fmt: skip
    found = Decimal(float(exponentials(np.array([word], dtype=np.uint64))[0]))
    assert abs(found / exponential(word) - 1) < Decimal("1e-14")


@given(st.integers(0, 2**52 - 2))
def test_exponentials_grow_with_the_word(interval):
    one, two = exponentials(np.array([interval, interval + 1], dtype=np.uint64) << np.uint64(12))
    assert 0 < one < two < 40


@given(words)
def test_the_lowest_bits_are_left_to_the_tie_break(word):
    one, two = exponentials(np.array([word, word | 0xFFF], dtype=np.uint64))
    assert one == two


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


# --- strict order, names, books ---------------------------------------------------------------------------------------


@given(seeds, st.permutations(range(8)), st.sets(st.integers(0, 7), min_size=1))
def test_a_strict_order_takes_the_most_preferred(seed, preferred, members):
    prior = Prior.order(Thresholds(8), preferred)
    found = prior.first(SharedRandomness(seed), "order", indices=np.array(sorted(members)))
    assert found == next(h for h in preferred if h in members)
    assert prior.places is not None
    assert prior.places[np.array(preferred)].tolist() == list(range(8))


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
        (["linear", "forest", "forest"], "boosted.* is missing"),
        ([0, 1, 2, 2], "listed twice or unknown"),
        ([0, 1, 2, 7], "listed twice or unknown"),
        ([0, 1, -1], "is missing"),
        (["linear", "forest", "tree"], "names 'tree', which is no candidate"),
        ([0, 1, 2.0], "by index or candidates by name"),
        ([False, True, 2], "by index or candidates by name"),
        ([], "is missing"),
    ],
)
def test_orders_that_are_none(preferred, message):
    with pytest.raises(ValueOutOfRange, match=message):
        Prior.order(TABLE, preferred)

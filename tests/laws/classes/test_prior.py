"""Priors: the exponential race and its frozen logarithm (docs/claims/ranks.md)."""

from decimal import Decimal, localcontext
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import Prior, SharedRandomness, Thresholds
from replical.classes import prior as priors
from replical.classes.prior import UNIFORM, exponentials
from replical.core import randomness
from replical.core.bits import numbers_in
from replical.core.exact import lower_tail, upper_tail

words = st.integers(0, 2**64 - 1)
seeds = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


def exponential(word):
    """-ln(1-u), u the middle of one of 2**52 intervals, in 40 digits."""
    with localcontext(prec=40):
        return -(1 - (Decimal(word >> 12) + Decimal("0.5")) / 2**52).ln()


# --- the race ---------------------------------------------------------------------------------------------------------


@pytest.mark.claim("ranks")
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


# --- strict order, names, books ---------------------------------------------------------------------------------------


@given(seeds, st.permutations(range(8)), st.sets(st.integers(0, 7), min_size=1))
def test_a_strict_order_takes_the_most_preferred(seed, preferred, members):
    prior = Prior.order(Thresholds(8), preferred)
    found = prior.first(SharedRandomness(seed), "order", indices=np.array(sorted(members)))
    assert found == next(h for h in preferred if h in members)
    assert prior.places is not None
    assert prior.places[np.array(preferred)].tolist() == list(range(8))


# ---- in blocks ----


class Tied(SharedRandomness):
    """A string whose words are only a few different ones."""

    def words(self, *name, start=0, count):
        return super().words(*name, start=start, count=count) >> np.uint64(62)

    def word(self, *name, index=0):
        return super().word(*name, index=index) >> 62

    def ranks(self, *name, indices):
        return super().words(*name, count=int(max(indices, default=0)) + 1)[indices] >> np.uint64(62)


@st.composite
def worlds(draw):
    """A string, a prior, how many hypotheses, and some of them as ranges."""
    n = draw(st.integers(1, 60))
    shared = draw(st.sampled_from([SharedRandomness, Tied]))(draw(st.text("ab", max_size=3)))
    C = Thresholds(n)
    kind = draw(st.sampled_from(["uniform", "weights", "order"]))
    weights = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n))
    prior = {
        "uniform": Prior(),
        "weights": Prior.weights(C, weights),
        "order": Prior.order(C, draw(st.permutations(range(n)))),
    }[kind]
    chosen = sorted(draw(st.sets(st.integers(0, n - 1), min_size=1)))
    return shared, prior, n, chosen


def ranges_of(chosen):
    found = []
    for each in chosen:
        if found and found[-1][1] == each - 1:
            found[-1] = (found[-1][0], each)
        else:
            found.append((each, each))
    return found


blocks = st.integers(1, 9)


@settings(max_examples=40)
@given(worlds(), blocks)
def test_the_first_of_ranges_is_the_first_of_all(world, block):
    shared, prior, _, chosen = world
    with mock.patch.object(priors, "_BLOCK", block):
        found = prior.first_in(shared, "order", ranges=ranges_of(chosen))
    assert found == prior.first(shared, "order", indices=np.array(sorted(chosen)))


@settings(max_examples=40)
@given(worlds(), blocks, st.integers(1, 70))
def test_the_lowest_words_are_those_that_sorting_finds(world, block, count):
    shared, _, n, _ = world
    words = shared.words("summary", count=n)
    wanted = sorted(range(n), key=lambda h: (int(words[h]), h))[:count]
    with mock.patch.object(randomness, "_BLOCK", block):
        assert shared.lowest("summary", n=n, count=count).tolist() == sorted(wanted)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 30)), max_size=8), blocks)
def test_blocks_of_ranges_hold_every_number_once_and_no_more_than_they_may(steps, most):
    ranges, end = [], 0
    for gap, length in steps:
        ranges.append((end + gap, end + gap + length - 1))
        end = ranges[-1][1] + 1
    cut = [block.tolist() for block in numbers_in(ranges, most)]
    assert [each for block in cut for each in block] == [each for low, high in ranges for each in range(low, high + 1)]
    assert all(len(block) == most for block in cut[:-1])
    assert all(0 < len(block) <= most for block in cut)

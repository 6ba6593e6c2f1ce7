"""What a verifier computes in blocks is what it would compute at once, also where words are equal."""

from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import Prior, SharedRandomness, Thresholds
from replical.classes import prior as priors
from replical.core import randomness
from replical.core.bits import numbers_in
from replical.lab.certificate.file import within


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
    shared, prior, n, chosen = world
    order = prior.order_of(shared, "order", n=n).tolist()
    with mock.patch.object(priors, "_BLOCK", block):
        found = prior.first_in(shared, "order", ranges=ranges_of(chosen))
    assert found == min(chosen, key=order.index)


@settings(max_examples=40)
@given(worlds(), blocks, st.data())
def test_the_place_of_a_hypothesis_is_where_it_stands_in_the_order(world, block, data):
    shared, prior, n, _ = world
    h = data.draw(st.integers(0, n - 1))
    with mock.patch.object(priors, "_BLOCK", block):
        assert prior.place_of(h, shared, "order", n=n) == prior.order_of(shared, "order", n=n).tolist().index(h)


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


@settings(max_examples=40)
@given(st.sets(st.integers(0, 12)), st.sets(st.integers(0, 12)))
def test_ranges_lie_within_ranges_as_sets_do(inner, outer):
    assert within(ranges_of(sorted(inner)), ranges_of(sorted(outer))) == (inner <= outer)
    assert within(ranges_of(sorted(inner)), ranges_of(sorted(inner | outer)))

"""Blocks: every item scanned counts, asked or not, labelled or not."""

import numpy as np
import pytest

from replical import Pool, Population, PrivateRandomness, Thresholds

C = Thresholds(11)


def pool(items):
    made = Pool(C, items, PrivateRandomness.simulated("blocks"))
    return Pool.in_order(C, made.items, made.ids, np.arange(len(items)), made.predictions)


def between(V, low, high):
    """The version space of the cuts low..high: items low..high-1 are disputed."""
    return V.keep((V.indices >= low) & (V.indices <= high))


def test_a_block_ends_at_its_last_label_or_after_idle_items():
    made = pool([0, 5, 0, 0, 0, 0, 5, 5, 0])
    V, blocks = between(made.version_space(), 5, 6), made.blocks()
    heard = [blocks.next(V, 1, idle=3) for _ in range(5)]
    assert [query.items.tolist() for query in heard] == [[1], [], [6], [7], []]
    assert [query.scanned for query in heard] == [2, 3, 2, 1, 1]
    assert blocks.next(V, 1, idle=3).scanned == 0


def test_a_batch_is_several_labels_with_less_than_idle_items_between_them():
    made = pool([5, 0, 5, 0, 0, 5])
    V, blocks = between(made.version_space(), 5, 6), made.blocks()
    first, second = blocks.next(V, 5, idle=2), blocks.next(V, 5, idle=2)
    assert (first.items.tolist(), first.scanned) == ([0, 2], 5)
    assert (second.items.tolist(), second.scanned) == ([5], 1)


def test_items_that_nobody_can_label_are_scanned_and_not_asked():
    made = pool([5, 5, 0, 5]).without(np.array([0]))
    V, blocks = between(made.version_space(), 5, 6), made.blocks()
    query = blocks.next(V, 2, idle=16)
    assert (query.items.tolist(), query.scanned) == ([1, 3], 4)


def test_on_a_distribution_unasked_items_are_as_many_as_the_mass_says():
    world, private = Population(C, target=3), PrivateRandomness.simulated("exact blocks")
    made = world.pool("exact", private)
    V, blocks = between(made.version_space(), 5, 6), made.blocks()  # one cell of ten
    heard = [blocks.next(V, 1, idle=16) for _ in range(3000)]
    asked, scanned = sum(query.total for query in heard), sum(query.scanned for query in heard)
    assert {int(item) for query in heard for item in query.items} == {5}
    assert asked / scanned == pytest.approx(0.1, abs=5 * (0.09 / scanned) ** 0.5)  # five standard errors, seed fixed
    assert max(query.scanned for query in heard) <= 16

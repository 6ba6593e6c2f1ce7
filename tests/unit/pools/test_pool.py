"""Pools are scanned once, in private order; answers match their query."""

import numpy as np
import pytest

from replical import CAL, KnownLabels, Pool, Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
from replical.errors import BadLabel, PoolExhausted, ReplicalError
from replical.pools.query import Answers
from support.worlds import random_table

LAB = PrivateRandomness.simulated("lab")


def test_a_pool_is_scanned_once_in_private_order():
    C = Thresholds(8)
    pool = Pool(C, np.arange(7), LAB)
    V, scan = pool.version_space(), pool.scan()
    items = np.concatenate([scan.draw(V, 3).items, scan.draw(V, 4).items])
    assert sorted(items) == list(range(7))
    assert items.tolist() == pool.scan().draw(V, 7).items.tolist() == LAB.permutation(7).tolist()
    other = Pool(C, np.arange(7), PrivateRandomness.simulated("other lab"))
    assert other.scan().draw(V, 7).items.tolist() != items.tolist()


def test_a_short_pool_says_how_many_items_are_missing():
    pool = Pool(Thresholds(8), np.arange(7), LAB)
    V = pool.version_space()
    with pytest.raises(PoolExhausted, match="10 fresh items .* only 7 left: 3 missing"):
        pool.scan().draw(V, 10)
    with pytest.raises(PoolExhausted, match="9 fresh items are needed, .* only 7 left: 2 missing"):
        pool.scan().anywhere(V, 9)
    with pytest.raises(PoolExhausted, match="only 7 left"):
        pool.scan().among(V, 8)
    with pytest.raises(PoolExhausted, match="at least 1 more"):
        pool.reserve(7)


def test_reserved_items_measure_and_are_never_asked():
    C = Thresholds(101)
    pool = Pool(C, np.arange(100), LAB).reserve(30)
    V = pool.version_space()
    asked = pool.scan().draw(V, 70).items
    measured = np.flatnonzero(pool.weights)
    assert V.total == len(measured) == 30
    assert not set(asked) & set(measured)
    assert set(asked) | set(measured) == set(range(100))


def test_weighted_items_stand_for_separate_items():
    pool = Pool(Thresholds(4), [0, 1, 2], LAB, weights=[2, 0, 3])
    V = pool.version_space()
    assert len(pool) == V.total == 5
    assert sorted(pool.scan().draw(V, 5).items) == [0, 0, 2, 2, 2]


def test_nothing_disputed_means_nothing_asked():
    for size in ("exact", 50):
        pool = Population(Thresholds(4), target=0).pool(size, LAB)
        V = pool.version_space()
        V = V.keep(V.indices == 2)
        assert pool.scan().draw(V, 10).total == 0
        assert pool.scan().among(V, 10).total == 0


def test_answers_must_match_the_query():
    pool = Pool(Thresholds(8), np.arange(7), LAB)
    query = pool.scan().draw(pool.version_space(), 3)
    wrong = [
        Answers(items=query.items, counts=np.ones((3, 2), dtype=np.int64)),
        Answers(items=query.items[::-1], counts=np.array([[1, 0]] * 3)),
        Answers(items=query.items, counts=np.array([[1, 0]] * 2)),
        Answers(items=query.items, counts=np.array([[2, -1]] * 3)),
    ]
    for answers in wrong:
        with pytest.raises(BadLabel):
            answers.check(query, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Pool(Thresholds(4), [], LAB), "one-dimensional array of numbers|at least one item"),
        (lambda: Pool(Thresholds(4), np.empty(0), LAB), "at least one item"),
        (lambda: Pool(Thresholds(4), [0], SharedRandomness("s")), "private order, got SharedRandomness"),
        (lambda: Pool(Thresholds(4), [0, 1], LAB, weights=[1]), "2 whole numbers"),
        (lambda: Pool(Thresholds(4), [0, 1], LAB, weights=[1, -1]), "non-negative"),
        (lambda: Pool(Thresholds(4), [0, 1], LAB, weights=[0.5, 1]), "whole numbers"),
        (lambda: Population(Thresholds(4), target=4), "one of the 4 hypotheses, got 4"),
        (lambda: Population(Thresholds(4), target=0, noise=0.5), "noise must be in"),
        (lambda: Population(Thresholds(4), target=0, noise=float("nan")), "got nan"),
        (lambda: Population(random_table(3, 4)[0], target=0), "does not list its cells"),
        (lambda: Population(Thresholds(4), target=0).pool(0, LAB), "got 0"),
        (lambda: Population(Thresholds(4), target=0).pool("huge", LAB), "got 'huge'"),
        (lambda: Population(Thresholds(4), target=0).pool(5, SharedRandomness("s")), "private randomness"),
        (lambda: KnownLabels(Thresholds(4), [0, 2]), "2 at position 1 is not in the label set"),
        (lambda: KnownLabels(Thresholds(4), [0, None]), "position 1 is missing"),
        (lambda: PrivateRandomness(b"short"), "at least 16 bytes"),
        (lambda: SharedRandomness(7), "must be text, got int"),
        (lambda: SharedRandomness("\ud800"), "valid Unicode"),
    ],
)
def test_bad_input_is_one_sentence(make, message):
    with pytest.raises(ReplicalError, match=message):
        make()


def test_small_float_types_do_not_lose_the_cut():
    assert Pool(Thresholds(2050), np.array([60000], np.float16), LAB).version_space().mass == 0
    assert Pool(Thresholds(2**24 + 2), np.array([1e9], np.float32), LAB).version_space().mass == 0


# ---- blocks ----


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


# ---- known labels ----


@pytest.mark.parametrize("column", [[0, 1], [0, 1, 1, 0, 0], []])
def test_a_label_column_of_the_wrong_length_is_refused(column):
    C = Thresholds(4)
    with pytest.raises(BadLabel, match=f"{len(column)} labels were given for 3 items"):
        learn(
            CAL(plan("cal", C, epsilon=0.1, delta=0.1)),
            Pool(C, [0, 1, 2], LAB),
            KnownLabels(C, column),
            SharedRandomness("s"),
        )

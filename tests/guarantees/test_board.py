"""A leaderboard's bounds and survivors hold, on worlds with exact ties and near ones (docs/claims/board.md)."""

from itertools import count

import numpy as np
import pytest

from replical.evals.board import board, choose
from support.sequential import Promise

LEVEL, TRIALS = 0.1, 300


def ties(generator, items):
    """Twenty models that are equally good, and independent of each other."""
    return (generator.random((items, 20)) < 0.3).astype(float)


def nested(generator, items):
    """The second errs .02 more than the best, on few items of its own; others are far behind, or nearly as good."""
    hard = generator.random(items)
    shares = np.array([0.2, 0.22, 0.205, 0.5, 0.3])
    return (hard[:, None] < shares).astype(float)


def graded(generator, items):
    """Grades in quarters, of three models with one mean and one that is worse."""
    return generator.choice([0, 0.25, 0.5, 1], p=[0.4, 0.2, 0.2, 0.2], size=(items, 4)) * [1, 1, 1, 0.6] + [
        0,
        0,
        0,
        0.3,
    ]


WORLDS = {  # items, the truth's distance of each model from the best, a model that is the best
    "ties": (ties, 150, np.zeros(20), 7),
    "nested": (nested, 800, np.array([0, 0.02, 0.005, 0.3, 0.1]), 0),
    "graded": (graded, 200, np.array([0, 0, 0, 0.6 * 0.35 + 0.3 - 0.35]), 1),
}


def false(found, distances, best):
    """Which statements about the best model and the one after it are false."""
    other = (best + 1) % len(distances)
    return [
        found.low[other] > distances[other] + 1e-12,
        found.high[other] < distances[other] - 1e-12,
        best not in found.survivors,
        bool(found.better[other, best]),
    ]


def judge(world, alarm, change=lambda table, found: found, copies=1):
    """Four promises, one a statement, each at its share of the alarm: those that were found broken, or None while open."""
    make, items, distances, best = WORLDS[world]
    promises = [Promise(LEVEL, TRIALS, alarm / 4) for _ in range(4)]
    for number in count():
        table = np.repeat(make(np.random.default_rng([len(world), number]), items // copies), copies, axis=0)
        found = board([f"m{h}" for h in range(len(distances))], table, level=LEVEL, seed=f"{world} {number}")
        for promise, wrong in zip(promises, false(change(table, found), distances, best), strict=True):
            promise.hear(wrong)
        if any(promise.broken for promise in promises) or not any(promise.open for promise in promises):
            return promises
    raise AssertionError("draws do not end")


@pytest.mark.claim("board")
@pytest.mark.parametrize("world", WORLDS)
def test_bounds_and_survivors_hold(world, alarm, record_property):
    promises = judge(world, alarm)
    record_property("power", "; ".join(promise.told() for promise in promises))
    assert [promise.broken for promise in promises] == [False] * 4


class Estimates:
    """What a board without bounds would say: distances as they look."""

    def __init__(self, table, found):
        self.low = self.high = found.losses - found.losses.min()
        self.survivors = [int(found.losses.argmin())]
        self.better = found.losses[:, None] < found.losses[None, :]


@pytest.mark.claim("board")
@pytest.mark.mutant
@pytest.mark.parametrize("world", WORLDS)
def test_estimates_in_their_place_are_noticed(world, alarm):
    assert any(promise.broken for promise in judge(world, alarm, Estimates))


@pytest.mark.claim("board")
@pytest.mark.mutant
def test_items_that_were_counted_several_times_are_noticed(alarm):
    """Each item ten times, as if that were ten items."""
    assert any(promise.broken for promise in judge("ties", alarm, copies=10))


@pytest.mark.claim("board")
def test_the_answer_of_a_text_is_the_ideal_one_where_it_is_proven(alarm, record_property):
    """Twenty ties: the ideal answer has the smallest handicap, whatever the items are."""
    promise, names = Promise(LEVEL, TRIALS, alarm), [f"m{h}" for h in range(20)]
    for number in count():
        table = ties(np.random.default_rng([3, number]), 1500)
        found = choose(names, table, tolerance=0.2, string=f"text {number % 7}", level=LEVEL, seed=str(number))
        ideal = choose(names, np.zeros((2, 20)), tolerance=0.2, string=f"text {number % 7}", level=LEVEL).answer
        promise.hear(ideal not in found.survivors)
        if not promise.open:
            break
    record_property("power", promise.told())
    assert promise.broken is False

"""With items that belong together the ideal answer hardly ever leaves; whoever ignores groups drops it (docs/claims/groups.md)."""

from dataclasses import replace
from itertools import count
from typing import NamedTuple

import numpy as np
import pytest

from replical import (
    Groups,
    Handicaps,
    KnownLabels,
    Pool,
    PredictionTable,
    Prior,
    PrivateRandomness,
    SharedRandomness,
    learn,
    learner_for,
    plan,
)
from replical.learners.handicap.bets import Bets
from replical.pools.groups import SINGLE
from support.sequential import Promise, dropped

V, BETA, BEST = 0.05, 0.05, 0.1
RUNS = 200


class World(NamedTuple):
    """Sizes of groups, equally frequent, for each how often candidates err there, and their handicaps.

    Candidates err on a group as a whole (`alike`) or on each of its items by itself; number 0 is ideal, alone or tied.
    """

    sizes: list[int]
    errors: list[list[float]]
    handicap: list[float]
    weights: str = "item"
    alike: bool = True
    items: int = 1500


TIE = [[BEST, BEST + V]]
WORLDS = {
    "pairs": World([2], TIE, [V, 0.0]),
    "fives": World([5], TIE, [V, 0.0]),
    "fives without likeness": World([5], TIE, [V, 0.0], alike=False),
    "fives, by group": World([5], TIE, [V, 0.0], "group"),
    "fives, rare errors": World([5], [[0.0, V]], [V, 0.0], items=3000),
    "five ties in twenties": World([20], [[BEST] + [BEST + V] * 5], [V] + [0.0] * 5, items=2000),
    # by items both err equally often, by groups the first errs .045 more
    "ones and tens": World([1, 10], [[0.2, 0.1], [0.1, 0.11]], [0.0, 0.0]),
    # by groups both err equally often, by items the second errs less
    "ones and tens, by group": World([1, 10], [[0.1, 0.2], [0.2, 0.1]], [0.0, 0.0], "group"),
}
FAST = ("fives, rare errors", "ones and tens", "fives, by group")


def drawn(world, private):
    """Which group every item is in, and who is wrong on it."""
    generator = private.generator("groups")
    kinds = generator.integers(0, len(world.sizes), world.items)
    sizes = np.array(world.sizes)[kinds]
    last = (
        int(np.searchsorted(np.cumsum(sizes), world.items)) + 1
    )  # whole groups, as many items as wanted or a few more
    groups = np.repeat(np.arange(last), sizes[:last])
    rates = np.array(world.errors)[kinds[:last]][groups]
    luck = generator.random((last, rates.shape[1]))[groups] if world.alike else generator.random(rates.shape)
    return groups, (luck < rates).astype(int)


def labs(world, seed, *, handicaps=True, ignore=False, weights=None):
    """Labs with items of their own, of which some `ignore` what belongs together, or take other `weights`."""
    C = PredictionTable([f"m{place}" for place in range(len(world.handicap))])
    options = {} if ignore else {"groups": Groups(max(world.sizes), weights or world.weights)}
    if handicaps:
        options["handicaps"] = Handicaps.of(C, world.handicap)
    else:
        options["prior"] = Prior.order(C, list(range(len(C))))
    made = plan("handicap", C, epsilon=V, delta=BETA, rho=2 * BETA, pool="finite", **options)
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        groups, wrong = drawn(world, private)
        pool = Pool(C, wrong, private, groups=None if ignore else groups.tolist())
        labels = KnownLabels(C, np.zeros(len(wrong), dtype=int))
        yield learn(learner_for(made), pool, labels, SharedRandomness(f"{seed} {0 if handicaps else number}"))


@pytest.mark.claim("groups")
@pytest.mark.parametrize(
    "world", [pytest.param(each, marks=() if each in FAST else pytest.mark.slow) for each in WORLDS]
)
def test_the_ideal_answer_stays(world, alarm, request, record_property):
    promise = Promise(BETA, RUNS, alarm)
    dropped(labs(WORLDS[world], request.node.name), 0, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert not promise.broken


@pytest.mark.claim("groups")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("world", "mutant"),
    [("five ties in twenties", {"ignore": True}), ("ones and tens", {"weights": "group"})],
    ids=["groups ignored", "means of groups"],
)
def test_whoever_ignores_groups_or_their_sizes_is_noticed(world, mutant, alarm, request, record_property):
    promise = Promise(BETA, RUNS, alarm)
    dropped(labs(WORLDS[world], request.node.name, **mutant), 0, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert promise.broken


SETTLE = Bets.settle


def item_by_item(self, m, block):
    """A factor for every item of a group."""
    sizes = np.array(block.sizes, dtype=np.int64)
    losses = np.repeat(block.losses // sizes[:, None], sizes, axis=0)  # in these worlds all items of a group are alike
    quiet = ((1, sum(size * times for size, times in block.quiet)),)
    groups, self._groups = self._groups, SINGLE
    SETTLE(self, m, replace(block, losses=losses, sizes=(1,) * len(losses), quiet=quiet))
    self._groups = groups


@pytest.mark.claim("groups")
@pytest.mark.mutant
@pytest.mark.parametrize("world", ["fives, rare errors", pytest.param("pairs", marks=pytest.mark.slow)])
def test_a_factor_for_every_item_is_noticed(world, alarm, monkeypatch, request, record_property):
    monkeypatch.setattr(Bets, "settle", item_by_item)
    promise = Promise(BETA, 2 * RUNS, alarm)
    dropped(labs(WORLDS[world], request.node.name), 0, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert promise.broken


SHARP = World([50], [[0.043, 0.0]], [0.0] * 2, items=1800)


def told(what, level, ignore, alarm, request, record_property):
    """Labs whose bound on the excess error is too small."""

    def missed(result):
        bound = getattr(result.proof, what)
        first = 0 if what == "tolerance" else result.hypothesis
        return bound is not None and 0.043 * (first == 0) > bound

    promise = Promise(level, RUNS, alarm)
    for result in labs(SHARP, request.node.name, handicaps=False, ignore=ignore):
        if not promise.open:
            break
        promise.hear(missed(result))
    record_property("power", promise.told(f"labs have too small an {what}"))
    return promise


BOUNDS = pytest.mark.parametrize(("what", "level"), [("excess_upper", 2 * BETA), ("tolerance", BETA)])


@pytest.mark.claim("groups")
@BOUNDS
def test_bounds_on_the_excess_error_hold(what, level, alarm, request, record_property):
    assert not told(what, level, False, alarm, request, record_property).broken


@pytest.mark.claim("groups")
@pytest.mark.mutant
@BOUNDS
def test_bounds_that_ignore_groups_are_noticed(what, level, alarm, request, record_property):
    assert told(what, level, True, alarm, request, record_property).broken

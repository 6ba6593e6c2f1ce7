"""A² keeps a best hypothesis with probability at least 1-δ at every stop (docs/claims/a2.md)."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from replical import (
    A2,
    A2Rounds,
    KnownLabels,
    Pool,
    Population,
    PredictionTable,
    PrivateRandomness,
    SharedRandomness,
    Thresholds,
    learn,
    plan,
    theta,
)
from replical.learners.paper.a2 import Betting
from support.mutants import scaled
from support.sequential import Promise

DELTA = 0.05
SHARED = SharedRandomness("a2")


def judged(learner, worlds, runs, alarm):
    """Run until it is known, with the power of so many runs, how often the best hypothesis is not there at the end."""
    kept = Promise(DELTA, runs, alarm)
    while kept.open:
        pool, labels, best = next(worlds)
        kept.hear(best not in learn(learner, pool, labels, SHARED).V.indices)
    return kept


# --- all hypotheses equally good: labels are coin flips, and any hypothesis is a best one -----------------------------

COINS = Thresholds(40)


def coins(seed, size=400):
    world = Population(COINS, law=np.full((39, 2), 0.5))
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        pool = world.pool(size, private)
        yield pool, world.labels(pool, private), 20


@dataclass(frozen=True)
class AfterTheLabel(A2):
    """Mutant: the opponent is chosen after the label is known."""

    def test(self, V, tail):
        class Cheating(Betting):
            def after(self, V, S):
                self.heard = S
                return super().after(V, S)

            def opponents(self, V):
                right = int(np.argmin(V.errors(self.heard)))  # somebody who is
                return lambda wrong: np.full(V.size, wrong[right])

        return Cheating(V, V.predictions.nearness(tail), self.plan)


@pytest.mark.claim("a2")
@pytest.mark.parametrize(
    ("name", "runs", "labels"), [("a2", 2000, 50), pytest.param("a2", 2000, 250, marks=pytest.mark.slow)]
)
def test_the_best_is_kept(name, runs, labels, alarm, request, record_property):
    learner = A2(plan(name, COINS, epsilon=0.05, delta=DELTA, pool="finite", max_labels=labels))
    kept = judged(learner, coins(request.node.name), runs, alarm)
    record_property("power", kept.told("lost"))
    assert kept.broken is False


@pytest.mark.claim("a2")
@pytest.mark.mutant
def test_an_opponent_chosen_after_the_label_loses_it(alarm, request):
    runs = 300
    learner = AfterTheLabel(plan("a2", COINS, epsilon=0.05, delta=DELTA, pool="finite", max_labels=250))
    assert judged(learner, coins(request.node.name), runs, alarm).broken


@pytest.mark.claim("a2")
@pytest.mark.mutant
@pytest.mark.parametrize("twice", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_items_used_twice_lose_it(twice, alarm, request):
    """Labels of 120 items, each asked at most once, or drawn with replacement again and again."""
    runs = 100
    learner = A2(plan("a2", COINS, epsilon=0.05, delta=DELTA, pool="finite", max_labels=500))

    def worlds():
        for number in count():
            generator = np.random.default_rng([number, len(request.node.name)])
            items = generator.integers(39, size=120)
            order = generator.integers(120, size=4000) if twice else generator.permutation(120)
            fixed = Pool(COINS, items, PrivateRandomness.simulated("x")).predictions
            pool = Pool.in_order(COINS, items, np.arange(120), order.astype(np.int64), fixed)
            labels = KnownLabels(COINS, generator.integers(2, size=120))
            yield pool, SimpleNamespace(answer=labels.answer), 20  # `learn` refuses known labels that are heard twice

    assert judged(learner, worlds(), runs, alarm).broken == twice


# --- the pool trap: 300 tied rivals, each wrong on a small region of its own ------------------------------------------

RIVALS, SHARE = 300, 6
TRAP = PredictionTable(["best"] + [f"rival {i}" for i in range(RIVALS)])


def trap(seed, size=4000):
    """Cell 0 is Z: all rivals are right, the best is wrong. Cell i is X_i: only rival i is wrong. Then everyone is right."""
    codes = np.zeros((RIVALS + 2, RIVALS + 1), dtype=int)
    codes[np.arange(RIVALS + 1), np.arange(RIVALS + 1)] = 1
    cells = TRAP.items(codes)
    weights = np.full(RIVALS + 2, SHARE)
    weights[-1] = size - weights[:-1].sum()
    law = np.tile([1.0, 0.0], (RIVALS + 2, 1))
    world = Population(TRAP, cells=cells, weights=weights, law=law)
    assert world.error(0) == world.error(1) == world.nu
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        pool = world.pool(size, private)
        yield pool, world.labels(pool, private), 0


class WholePool:
    """Distances measured on every item of the pool, those still to be scanned included."""

    def __init__(self, V, pool):
        counts = pool.weights[: RIVALS + 1].astype(float)  # the best and rival i differ on Z and on X_i
        self._from = counts[0] + counts

    def nearest_marks(self, alive, among, marks):
        return np.full(len(alive), marks[among[np.argmin(self._from[alive[among]])]])


@dataclass(frozen=True)
class LooksAhead(A2):
    """Mutant: the nearest rival of the best hypothesis is found on the whole pool."""

    def run(self, pool, shared):
        object.__setattr__(self, "pool", pool)
        return super().run(pool, shared)

    def test(self, V, tail):
        return Betting(V, WholePool(V, self.pool), self.plan)


@pytest.mark.slow
@pytest.mark.claim("a2")
@pytest.mark.mutant
@pytest.mark.parametrize("kind", [A2, LooksAhead])
def test_nearness_that_looks_ahead_falls_into_the_trap(kind, alarm, request):
    runs = 200
    learner = kind(plan("a2", TRAP, epsilon=0.001, delta=DELTA, pool="finite", batch=8))
    assert judged(learner, trap(request.node.name), runs, alarm).broken == (kind is LooksAhead)


# --- Algorithm 2: 300 rivals that are a little too bad, and that only the last sample may tell from the best ----------

CROWD = PredictionTable(["best", "far", *(f"rival {i}" for i in range(RIVALS))])
CELLS, NU, TINY = 12, Fraction(1, 20), Fraction(1, 1000)


@cache
def crowd():
    """The best is wrong on Z alone, "far" also on F, each rival on half of the cells of Z and half of those of X.

    A rival's error is 1.1ε above the best, and on half of what it disputes with the best it is the one that is right.
    """
    generator, codes = np.random.default_rng(1), np.zeros((2 * CELLS + 2, len(CROWD)), dtype=int)  # 1: wrong
    codes[:CELLS, :2] = codes[2 * CELLS, 1] = 1
    for rival in range(2, len(CROWD)):
        for region in (0, CELLS):
            codes[region + generator.permutation(CELLS)[: CELLS // 2], rival] = 1
    weights = [5000] * CELLS + [5220] * CELLS + [880_000]  # of 1,200,000
    world = Population(
        CROWD,
        cells=CROWD.items(codes),
        weights=[*weights, 1_200_000 - sum(weights)],
        law=np.tile([1.0, 0.0], (2 * CELLS + 2, 1)),
    )
    assert world.nu == world.error(0) == NU
    assert {world.error(rival) - world.nu for rival in range(2, len(CROWD))} == {TINY * 11 / 10}
    assert theta(CROWD, world, centre=0).value == 2
    return world


def in_rounds(made, seed, alarm, runs=200):
    """How often Algorithm 2 returns an error above ν+ε, and how many went into each last sample."""
    world, accurate, survivors = crowd(), Promise(DELTA, runs, alarm), []
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        pool = world.pool("exact", private)
        result = learn(A2Rounds(made), pool, world.labels(pool, private), SharedRandomness(f"{seed} {number}"))
        accurate.hear(world.error(result.hypothesis) > world.nu + TINY)
        survivors.append(result.rounds[-1].survivors)
        if not accurate.open:
            return accurate, survivors
    raise AssertionError("numbers do not end")


@pytest.mark.claim("a2")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("number", "factor"), [(None, 1), ("width", Fraction(1, 10)), ("final_scale", Fraction(1, 100))]
)
def test_algorithm_2_is_accurate_where_many_survive(number, factor, alarm, request, record_property):
    """At its own sizes; mutants: confidence bounds a tenth as wide lose the best, a last sample of a hundredth misses it."""
    made = plan("a2-rounds", CROWD, epsilon=float(TINY), delta=DELTA, theta=2.0, nu=float(NU))
    broken, survivors = in_rounds(made if number is None else scaled(made, number, factor), request.node.name, alarm)
    record_property("power", broken.told("above ν+ε"))
    assert min(survivors) > 1
    assert broken.broken == (number is not None)
    if number != "width":
        assert min(survivors) > RIVALS / 2  # "far" is gone, nearly all rivals are not

"""Settled is never sure of the wrong answer, and mutants of its bets are (docs/claims/settled.md)."""

from itertools import count, islice
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import beta

from replical import (
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
from replical.bounds.betting import share_interval
from replical.learners.settled import learner as learners_settled
from replical.learners.settled.bets import Purses
from replical.learners.settled.candidates import Tally
from replical.learners.settled.outcome import Ending
from replical.learners.settled.plan import SettledPlan
from support.sequential import Promise
from support.sure import surely_different, wrongly_sure
from support.wrong_bets import NoZeros, by_estimate

V, BETA, BEST = 0.05, 0.05, 0.1
RUNS, FULL = 200, 400  # the power of so many runs, in the fast and in the slow suite
ABOVE = V + 1e-9  # as good as v, and yet not good enough

FAST = ("one just above v", "the ideal answer at v")


class World(NamedTuple):
    """Labs with one public order and one threshold.

    `excess` errors are in the public order, `ideal` is the place of the ideal answer. Errors are independent of each other;
    where they are `rare`, everybody errs on the same items and only what exceeds the best is apart.
    """

    excess: list[float]
    ideal: int
    items: int
    v: float = V
    best: float = BEST
    rare: bool = False
    twice: bool = False


WORLDS = {
    "one just above v": World([ABOVE, 0.0], 1, 1500),
    "the ideal answer at v": World([V, 0.0], 0, 1500),
    "one just above v, long": World([ABOVE, 0.0], 1, 6000),
    "ten just above v": World([ABOVE] * 10 + [0.0], 10, 3000),
    "a hundred just above v": World([ABOVE] * 100 + [0.0], 100, 3000),
    "twenty just above v, twenty tied": World([ABOVE] * 20 + [0.0] * 20, 20, 3000),
    "the ideal answer at v, thirty tied rivals": World([V] + [0.0] * 30, 0, 1500),
    "bad ones, the ideal answer at v, tied rivals": World([3 * V] * 5 + [V] + [0.0] * 5, 5, 3000),
    "fifteen just above v, the ideal answer at v": World([ABOVE] * 15 + [V, 0.0], 15, 3000),
    "rare disagreement": World([0.8 * V] + [0.0] * 5, 0, 3000, rare=True),
    "rare disagreement, one just above v": World([ABOVE] + [0.0] * 5, 1, 3000, rare=True),
    "everybody twice": World([ABOVE, ABOVE, 0.2 * V, 0.2 * V, 0.0, 0.0], 2, 3000, twice=True),
    "v of .3, one just above": World([0.3 + 1e-9, 0.0], 1, 600, v=0.3),
    "v of .3, the ideal answer at v": World([0.3, 0.0], 0, 600, v=0.3),
    "v of .9, one just above": World([0.9 + 1e-9, 0.0], 1, 300, v=0.9, best=0.05),
    "v of .9, the ideal answer at v": World([0.9, 0.0], 0, 300, v=0.9, best=0.05),
}


def runs(world, seed, **options):
    """Labs that follow one public order and one threshold, each with items of its own."""
    n, U, v = len(world.excess), world.items, world.v
    C = PredictionTable([f"m{place}" for place in range(n)])
    options |= {"a": v, "b": v, "epsilon": v, "prior": Prior.order(C, list(range(n)))}
    made = plan("settled", C, delta=BETA, rho=2 * BETA, pool="finite", **options)
    learner, labels, shared = learner_for(made), KnownLabels(C, np.zeros(U, dtype=int)), SharedRandomness("settled")
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        generator = private.generator("errors")
        if world.rare:
            wrong = (generator.random((U, 1)) < world.best) | (
                generator.random((U, n)) < np.array(world.excess) / (1 - world.best)
            )
        else:
            wrong = generator.random((U, n)) < world.best + np.array(world.excess)
        if world.twice:
            wrong[:, 1::2] = wrong[:, ::2]
        yield learn(learner, Pool(C, wrong.astype(int), private), labels, shared)


@pytest.mark.claim("settled")
@pytest.mark.parametrize(
    "world", [pytest.param(each, marks=() if each in FAST else pytest.mark.slow) for each in WORLDS]
)
def test_a_certified_answer_is_the_ideal_one(world, alarm, request, record_property):
    promise = Promise(BETA, RUNS if world in FAST else FULL, alarm)
    share = wrongly_sure(runs(WORLDS[world], request.node.name), WORLDS[world].ideal, promise)
    record_property("power", f"{promise.told('labs are sure and wrong')}; {100 * share:.0f}% are sure")
    assert not promise.broken


def generous(plan_, v):
    """Bets that the favourite's excess is at most half as large again."""
    return PURSES(plan_, v * 3 / 2)


PURSES = SettledPlan.purses


@pytest.mark.claim("settled")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("mutant", "world"),
    [
        ("unasked items forgotten", "the ideal answer at v"),
        ("settled by an estimate", "one just above v"),
        pytest.param("acceptance at 1.5 v", "one just above v", marks=pytest.mark.slow),
    ],
)
def test_the_same_test_catches_mutants(mutant, world, alarm, request, record_property, monkeypatch):
    if mutant == "unasked items forgotten":
        monkeypatch.setattr(learners_settled, "Charges", NoZeros)
    elif mutant == "settled by an estimate":
        monkeypatch.setattr(learners_settled, "Purses", by_estimate(V))
    else:
        monkeypatch.setattr(SettledPlan, "purses", generous)
    promise = Promise(BETA, RUNS, alarm)
    wrongly_sure(runs(WORLDS[world], request.node.name), WORLDS[world].ideal, promise)
    record_property("power", promise.told("labs are sure and wrong"))
    assert promise.broken


@pytest.mark.claim("settled")
@pytest.mark.parametrize(
    "world",
    ["one just above v", pytest.param("bad ones, the ideal answer at v, tied rivals", marks=pytest.mark.slow)],
)
def test_any_favourite_and_any_opponent_keep_the_promise(world, alarm, request, record_property, monkeypatch):
    """Who is compared is chosen from the past, here by private coins: the proof needs no more."""
    coins = PrivateRandomness.simulated(request.node.name).generator("coins")

    def favourite(plan_, tally, heads, v, is_open, m):
        return int(coins.choice(heads[is_open[heads]])) if coins.random() < 0.05 or not is_open[m] else m

    monkeypatch.setattr(learners_settled, "favourite", favourite)
    monkeypatch.setattr(learners_settled, "opponent", lambda plan_, tally, heads, o: int(coins.choice(heads)))
    promise = Promise(BETA, RUNS, alarm)
    share = wrongly_sure(runs(WORLDS[world], request.node.name), WORLDS[world].ideal, promise)
    record_property("power", f"{promise.told('labs are sure and wrong')}; {100 * share:.0f}% are sure")
    assert not promise.broken


class Forgetful(Tally):
    """Whoever is not compared any more collects no errors."""

    def add(self, heads, S, errors, scanned, favourite):
        super().add(S, S, errors, scanned, favourite)


@pytest.mark.claim("settled")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("U", "labs", "times"), [(3000, 2, 3), pytest.param(20_000, 3, 10, marks=pytest.mark.slow)], ids=["fast", "long"]
)
def test_bad_rivals_that_left_do_not_come_back(U, labs, times, request, record_property, monkeypatch):
    """Labels, not truth: one to reject, a clear winner, twenty bad ones. Those who forget take most of the pool."""
    world, labels = World([2 * V, 0.0] + [6 * V] * 20, 1, U), {}
    for kind in (Tally, Forgetful):
        monkeypatch.setattr(learners_settled, "Tally", kind)
        results = list(islice(runs(world, request.node.name), labs))
        labels[kind] = sum(result.labels for result in results)
        if kind is Tally:
            assert all(result.settling.certified and result.hypothesis == 1 for result in results)
    record_property("power", f"{labels[Tally] / labs:.0f} a lab, {labels[Forgetful] / labs:.0f} by those who forget")
    assert times * labels[Tally] < labels[Forgetful]


class CarriedBack(Purses):
    """What a rival's purse earned on later favourites pays for earlier places too."""

    def _about(self, m, rivals):
        return sum((np.where(k < rivals, logs[rivals], 0.0) for k, logs in self._logs.items()), np.zeros(len(rivals)))

    def _suffices(self, m, g):
        return True


@pytest.mark.slow
@pytest.mark.claim("settled")
@pytest.mark.mutant
@pytest.mark.parametrize("broken", [False, True])
def test_gains_on_later_favourites_do_not_pay_for_earlier_places(broken, alarm, request, record_property, monkeypatch):
    """The purse trap: long pools, a favourite just above v, a good one behind it, the best last."""
    if broken:
        monkeypatch.setattr(learners_settled, "Purses", CarriedBack)
    monkeypatch.setitem(WORLDS, "trap", World([ABOVE, 0.2 * V, 0.0], 1, 20_000))
    promise = Promise(BETA, 150, alarm)
    wrongly_sure(runs(WORLDS["trap"], request.node.name), WORLDS["trap"].ideal, promise)
    record_property("power", promise.told("labs are sure and wrong"))
    assert promise.broken == broken


@pytest.mark.claim("settled")
@pytest.mark.mutant
@pytest.mark.parametrize("private", [False, True])
def test_certified_labs_agree(private, alarm, request, record_property):
    """Two labs with one string, and with a string each."""
    excess = [0.0, 0.0, 0.01, 0.01, 0.0, 0.0, 0.01, 0.0]
    C, U = PredictionTable([f"m{place}" for place in range(8)]), 4000
    learner = learner_for(plan("settled", C, epsilon=V, delta=BETA, rho=2 * BETA, pool="finite"))
    labels, promise = KnownLabels(C, np.zeros(U, dtype=int)), Promise(2 * BETA, 60, alarm)

    def run(own, shared):
        wrong = own.generator("errors").random((U, 8)) < BEST + np.array(excess)
        return learn(learner, Pool(C, wrong.astype(int), own), labels, shared)

    both = surely_different(run, request.node.name, promise, private=private)
    record_property("power", f"{promise.told()}; both are sure in {both} of {promise.trials}")
    assert promise.broken == private


class Hopeful(Ending):
    """The excess bound without a margin: where the bets break even."""

    def _excess_upper(self):
        counts = self.purses.counts(self.place)[:, self.place + 1 :]
        return float(((counts[1] - counts[2]) / counts.sum(axis=0)).max())


@pytest.mark.claim("settled")
@pytest.mark.mutant
@pytest.mark.parametrize("broken", [False, True])
def test_the_excess_bound_holds(broken, alarm, request, record_property, monkeypatch):
    """The ideal answer at .6 v, one rival: certified, and yet its excess above the bound, at most 2β of the time."""
    if broken:
        monkeypatch.setattr(learners_settled, "Ending", Hopeful)
    promise, certified = Promise(2 * BETA, 100, alarm), 0
    for result in runs(World([0.6 * V, 0.0], 0, 5000), request.node.name):
        if not promise.open:
            break
        settling = result.settling
        certified += settling.certified
        promise.hear(settling.certified and result.hypothesis == 0 and settling.excess_upper < 0.6 * V)
    record_property("power", f"{promise.told('bounds are too small')}; {certified} of {promise.trials} are sure")
    assert promise.broken == broken
    assert certified


def fixed_number(wrong, items, level):
    """The exact interval for a number of items that was fixed beforehand."""
    low = beta.ppf(level / 2, wrong, items - wrong + 1) if wrong else 0.0
    return low, beta.ppf(1 - level / 2, wrong + 1, items - wrong) if wrong < items else 1.0


@pytest.mark.claim("settled")
@pytest.mark.mutant
@pytest.mark.parametrize("broken", [False, True])
def test_the_interval_of_the_error_holds_whenever_one_stops(broken, alarm, request, record_property):
    """Who looks after every item and stops when the interval misses the truth does so with probability .05 at most."""
    interval, promise, p = fixed_number if broken else share_interval, Promise(0.05, 200, alarm), 0.1
    for run in count():
        if not promise.open:
            break
        coins = PrivateRandomness.simulated(request.node.name, run).generator("coins").random(400) < p
        missed = False
        for items, wrong in enumerate(np.cumsum(coins).tolist(), start=1):
            if items % 5 == 0:
                low, high = interval(wrong, items, 0.05)
                missed = missed or not low <= p <= high
        promise.hear(missed)
    record_property("power", promise.told("intervals miss the error"))
    assert promise.broken == broken

"""The ideal answer hardly ever leaves the survivors of Handicap, and mutants of its bets drop it (docs/claims/handicap.md)."""

from dataclasses import replace
from itertools import count
from typing import NamedTuple

import numpy as np
import pytest

from replical import (
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
from replical.learners.handicap.bets import Accounts, Bets
from replical.learners.handicap.order import Inquiry
from support.mutants import generous
from support.sequential import Promise, dropped

V, BETA, BEST = 0.05, 0.05, 0.1
RUNS, FULL = 200, 400
TIED = V  # a handicap that an error of V more makes up for


class World(NamedTuple):
    """Candidates by `excess` error and `handicap`; `ideal` has the smallest sum, alone or tied.

    Errors are independent of each other; where they are `rare`, everybody errs on the same items beside its excess.
    """

    excess: list[float]
    handicap: list[float]
    ideal: int
    items: int = 1500
    best: float = BEST
    rare: bool = False


WORLDS = {
    "a tie, the better one": World([0.0, V], [TIED, 0.0], 0),
    "a tie, the preferred one": World([0.0, V], [TIED, 0.0], 1),
    "a tie without handicaps": World([0.0, 0.0], [0.0, 0.0], 0),
    "ten ties": World([0.0] + [V] * 10, [TIED] + [0.0] * 10, 0, 3000),
    "a hundred ties": World([V] + [0.0] * 100, [0.0] + [TIED] * 100, 0, 3000),
    "rare disagreement, a tie": World([0.0, V], [TIED, 0.0], 0, 3000, rare=True),
    "rare disagreement, the preferred one": World([0.0, V], [TIED, 0.0], 1, 3000, rare=True),
    "a ladder of ties": World([0.0, V / 4, V / 2, V], [V, 3 * V / 4, V / 2, 0.0], 2, 3000),
    "a large handicap": World([0.0, 0.5], [0.5, 0.0], 0, 400, best=0.05),
}
FAST = ("a tie, the better one", "a tie, the preferred one", "rare disagreement, the preferred one")


def errors(world, private):
    """Who is wrong on which item of a lab's own."""
    generator, n = private.generator("errors"), len(world.excess)
    if world.rare:
        everybody = generator.random((world.items, 1)) < world.best
        return everybody | (generator.random((world.items, n)) < np.array(world.excess) / (1 - world.best))
    return generator.random((world.items, n)) < world.best + np.array(world.excess)


def runs(world, seed, **options):
    """Labs with the public handicaps of a world, each with items of its own."""
    C = PredictionTable([f"m{place}" for place in range(len(world.excess))])
    handicaps = Handicaps.of(C, world.handicap)
    epsilon = max(V, *world.handicap)
    made = plan("handicap", C, epsilon=epsilon, delta=BETA, rho=2 * BETA, pool="finite", handicaps=handicaps, **options)
    learner, labels = learner_for(made), KnownLabels(C, np.zeros(world.items, dtype=int))
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        yield learn(learner, Pool(C, errors(world, private).astype(int), private), labels, SharedRandomness("handicap"))


@pytest.mark.claim("handicap")
@pytest.mark.parametrize(
    "world", [pytest.param(each, marks=() if each in FAST else pytest.mark.slow) for each in WORLDS]
)
def test_the_ideal_answer_stays(world, alarm, request, record_property):
    promise = Promise(BETA, RUNS if world in FAST else FULL, alarm)
    share = dropped(runs(WORLDS[world], request.node.name), WORLDS[world].ideal, promise)
    record_property("power", f"{promise.told('labs drop the ideal answer')}; {100 * share:.0f}% are sure")
    assert not promise.broken


SETTLE, LEAD = Bets.settle, Bets.lead


def forgetful(self, m, block):
    """Bets on asked items alone."""
    SETTLE(self, m, replace(block, quiet=()))
    self.scanned += sum(times for _, times in block.quiet)


def by_estimate(self, m, block):
    """Whoever looks worse by a few errors is taken to be worse."""
    SETTLE(self, m, block)
    self.mean = np.where(self.scores > self.scores.min() + 3, np.inf, 0.0)


@pytest.mark.claim("handicap")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("mutant", "world"),
    [
        (generous, "a tie, the better one"),
        (forgetful, "rare disagreement, the preferred one"),
        (by_estimate, "a tie, the better one"),
    ],
    ids=["acceptance at 1.5 theta", "unasked items forgotten", "a point estimate"],
)
def test_wrong_bets_are_noticed(mutant, world, alarm, monkeypatch, request, record_property):
    monkeypatch.setattr(Bets, "settle", mutant)
    promise = Promise(BETA, RUNS, alarm)
    dropped(runs(WORLDS[world], request.node.name), WORLDS[world].ideal, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert promise.broken


@pytest.mark.claim("handicap")
@pytest.mark.mutant
def test_a_favourite_chosen_with_a_look_ahead_is_noticed(alarm, monkeypatch, request, record_property):
    """Who is favourite may depend on the past alone; here it is who does best on the next hundred items."""
    world, labs = World([0.0] * 21, [0.0] * 21, 0, 600), count(-1)

    def lead(bets, m, patience):
        if m is None:
            lead.private = PrivateRandomness.simulated(request.node.name, next(labs) + 1)
            lead.wrong = errors(world, lead.private)[lead.private.permutation(world.items)]
        ahead = lead.wrong[bets.scanned : bets.scanned + 100].sum(axis=0)
        return int(ahead[bets.places].argmin())

    monkeypatch.setattr(Bets, "lead", lead)
    promise = Promise(BETA, RUNS, alarm)
    dropped(runs(world, request.node.name), world.ideal, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert promise.broken


def by_public_errors(seed, *, overlap, many=3000, public=140):
    """Labs whose public order comes from labelled items of their own pool, or of nobody's: the last one is ideal."""
    world = World([V * 0.998] * many + [0.0], [], many, 600, best=0.0)
    C = PredictionTable([f"m{place:04}" for place in range(many + 1)])
    labels = KnownLabels(C, np.zeros(world.items, dtype=int))
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        wrong = errors(world, private)
        pool = Pool(C, wrong.astype(int), private)
        seen = wrong[pool.order[:public]] if overlap else errors(world, private.derived("public"))[:public]
        prior = Prior.by_errors(C, seen.sum(axis=0))
        made = plan("handicap", C, epsilon=V, a=V, b=V, delta=BETA, rho=2 * BETA, pool="finite", prior=prior)
        yield learn(learner_for(made), pool, labels, SharedRandomness(f"{seed} {number}"))


@pytest.mark.claim("handicap")
def test_an_order_from_items_that_nobody_scans_keeps_the_promise(alarm, request, record_property):
    promise = Promise(BETA, RUNS, alarm)
    dropped(by_public_errors(request.node.name, overlap=False, many=100), 100, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert not promise.broken


@pytest.mark.claim("handicap")
@pytest.mark.mutant
def test_public_items_that_are_scanned_again_are_noticed(alarm, request, record_property):
    promise = Promise(BETA, RUNS, alarm)
    dropped(by_public_errors(request.node.name, overlap=True), 3000, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert promise.broken


def by_asked_labels(seed, *, again, items=520):
    """Labs whose public order is from labels asked where two candidates differ, from somebody who wants the worse one.

    They scan items of their own or, `again`, those of the public ones that were not asked. The better one is ideal: it ties.
    """
    world = World([0.0, V], [], 0, items)
    C = PredictionTable(["better", "worse"])
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        public = errors(world, private.derived("public")).astype(int)
        inquiry = Inquiry(C=C, items=C.items(public), walk=np.arange(items))
        for turn, row in enumerate(inquiry.rows()):
            inquiry.hear(row, int(public[row, 1 if turn == 0 or turn % 2 else 0]))  # both stay in play
        first = int(inquiry.prior.values.argmin())
        unasked = np.setdiff1d(np.arange(items), [each.item for each in inquiry.asked])
        scanned = public[unasked] if again else errors(world, private).astype(int)
        handicaps = Handicaps.of(C, [0.0 if h == first else V for h in range(2)])
        made = plan("handicap", C, epsilon=V, delta=BETA, rho=2 * BETA, pool="finite", handicaps=handicaps)
        pool, labels = Pool(C, scanned, private), KnownLabels(C, np.zeros(len(scanned), dtype=int))
        yield learn(learner_for(made), pool, labels, SharedRandomness(f"{seed} {number}"))


@pytest.mark.claim("handicap")
@pytest.mark.mutant
@pytest.mark.parametrize("again", [False, True], ids=["items of their own", "what was not asked"])
def test_no_item_that_was_looked_at_is_scanned_asked_or_not(again, alarm, request, record_property):
    """What was passed because candidates agreed on it is no sample of the population: who scans it drops the ideal one."""
    promise = Promise(BETA, RUNS, alarm)
    dropped(by_asked_labels(request.node.name, again=again), 0, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert promise.broken == again


def bounds_missed(world, results, promise, what):
    """Hear labs until it is known how often a bound on the excess error is too small."""
    best = min(world.excess)
    for result in results:
        if not promise.open:
            return
        bound = getattr(result.proof, what)
        h = 0 if what == "tolerance" else result.hypothesis  # the first of the order, or the answer
        promise.hear(bound is not None and world.excess[h] - best > bound)


SHARP = World([0.4 * V, 0.0, 0.0], [0.0, V, V], 0, 5000)


def ordered(world, seed):
    C = PredictionTable([f"m{place}" for place in range(len(world.excess))])
    prior = Prior.order(C, list(range(len(world.excess))))
    made = plan("handicap", C, epsilon=V, delta=BETA, rho=2 * BETA, pool="finite", prior=prior)
    labels = KnownLabels(C, np.zeros(world.items, dtype=int))
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        pool = Pool(C, errors(world, private).astype(int), private)
        yield learn(learner_for(made), pool, labels, SharedRandomness(f"{seed} {number}"))


@pytest.mark.claim("handicap")
@pytest.mark.parametrize(("what", "level"), [("excess_upper", 2 * BETA), ("tolerance", BETA)])
def test_bounds_on_the_excess_error_hold(what, level, alarm, request, record_property):
    promise = Promise(level, RUNS, alarm)
    bounds_missed(SHARP, ordered(SHARP, request.node.name), promise, what)
    record_property("power", promise.told(f"labs have too small an {what}"))
    assert not promise.broken


def optimistic(self, x, enough):
    """Whose observed mean is below x."""
    Z = np.array(self._plan.values, dtype=float)
    return Z @ self.counts <= float(x) * self.counts.sum(axis=0)


@pytest.mark.claim("handicap")
@pytest.mark.mutant
@pytest.mark.parametrize(("what", "level"), [("excess_upper", 2 * BETA), ("tolerance", BETA)])
def test_estimates_in_place_of_bounds_are_noticed(what, level, alarm, monkeypatch, request, record_property):
    monkeypatch.setattr(Accounts, "reach", optimistic)
    promise = Promise(level, RUNS, alarm)
    bounds_missed(SHARP, ordered(SHARP, request.node.name), promise, what)
    record_property("power", promise.told(f"labs have too small an {what}"))
    assert promise.broken

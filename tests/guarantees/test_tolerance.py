"""The tolerance of the first of a public order holds whenever one stops, and mutants promise too much (docs/claims/handicap.md)."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

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
from replical.learners.handicap import proof as proof_module
from replical.learners.handicap.proof import History
from support.sequential import Promise

V, BETA = 0.1, 0.05
RUNS, ITEMS = 200, 6000
BEHIND = 0.02  # by so much the first of the order errs more than the best


def far(generator):
    """Errors of the first, of the best, who differs from it on few items, and of two that are worse, and differ on many."""
    first = generator.random(ITEMS) < 0.4
    best = first & (generator.random(ITEMS) >= BEHIND / 0.4)
    return np.column_stack([first, best, generator.random((ITEMS, 2)) < 0.41])


def near(generator):
    """Errors of the first, and of two that are better by so much; all of them differ on many items."""
    return generator.random((ITEMS, 3)) < 0.1 - np.array([0.0, BEHIND, BEHIND])


def least(world, seed, monkeypatch):
    """Labs that spend what they have: the least tolerance that each could have published."""
    C = PredictionTable([f"m{place}" for place in range(world(np.random.default_rng(0)).shape[1])])
    prior = Prior.order(C, list(range(len(C))))
    made = plan("handicap", C, epsilon=V, delta=BETA, rho=2 * BETA, pool="finite", prior=prior, batch=40)
    labels, learner = KnownLabels(C, np.zeros(ITEMS, dtype=int)), learner_for(made.spending(ITEMS))
    told: list[float] = []
    compare = History.compare

    def noted(history, T, observation):
        compare(history, T, observation)
        told.append(history.tolerance())

    monkeypatch.setattr(History, "compare", noted)
    for number in count():
        told.clear()
        private = PrivateRandomness.simulated(seed, number)
        pool = Pool(C, world(private.generator("errors")).astype(int), private)
        result = learn(learner, pool, labels, SharedRandomness(f"{seed} {number}"))
        yield min([*told, result.proof.tolerance])


def broken(world, alarm, request, monkeypatch, record_property):
    promise = Promise(BETA, RUNS, alarm)
    for tolerance in least(world, request.node.name, monkeypatch):
        if not promise.open:
            break
        promise.hear(tolerance < BEHIND)
    record_property("power", promise.told("labs promise too much"))
    return promise.broken


@pytest.mark.claim("handicap")
@pytest.mark.parametrize("world", [far, near])
def test_the_tolerance_holds_whenever_one_stops(world, alarm, request, monkeypatch, record_property):
    assert not broken(world, alarm, request, monkeypatch, record_property)


COMPARE, ADD = History.compare, proof_module.Accounts.add


def with_a_look_at_the_item(self, columns, m, block):
    """Whoever was right where the first was wrong is not compared on half of these items."""
    losses = block.losses.copy()
    worse = losses[:, [m]] > losses
    worse[::2] = False
    ADD(self, columns, m, replace(block, losses=np.where(worse, losses[:, [m]], losses)))


def with_items_nobody_compared(self, T, observation):
    """Whoever was not compared is taken to have agreed."""
    COMPARE(self, T, observation)
    others = np.setdiff1d(np.arange(self.whole.size), np.searchsorted(self.whole.indices, T.indices))
    self._first.counts[0, others] += observation.scanned


def by_estimate(self, x, enough):
    """Whoever looks nearer than x is."""
    return np.array(self._plan.values, dtype=float) @ self.counts <= float(x) * self.counts.sum(axis=0)


@pytest.mark.claim("handicap")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("owner", "name", "mutant", "world"),
    [
        (proof_module.Accounts, "add", with_a_look_at_the_item, near),
        (History, "compare", with_items_nobody_compared, far),
        (proof_module.Accounts, "reach", by_estimate, near),
    ],
    ids=["a gate chosen after the item", "items behind a closed gate counted", "an estimate"],
)
def test_tolerances_that_promise_too_much_are_noticed(
    owner, name, mutant, world, alarm, request, monkeypatch, record_property
):
    monkeypatch.setattr(owner, name, mutant)
    assert broken(world, alarm, request, monkeypatch, record_property)

"""On a table that is the whole population the ideal answer hardly ever leaves (docs/claims/handicap.md)."""

from itertools import count
from typing import NamedTuple

import numpy as np
import pytest

from replical import (
    Handicaps,
    KnownLabels,
    Pool,
    PredictionTable,
    PrivateRandomness,
    SharedRandomness,
    learn,
    learner_for,
    plan,
)
from replical.learners.handicap.bets import Bets
from replical.learners.handicap.table import TableBets
from support.sequential import Promise, dropped

V, BETA, RUNS = 0.05, 0.05, 200


class World(NamedTuple):
    """How many of the rows candidates err on, each on rows of its own, and their handicaps; number 0 is ideal, or ties."""

    errors: list[int]
    handicap: list[float]
    rows: int = 300


WORLDS = {
    "a tie": World([30, 30], [0.0, 0.0]),
    "ten ties": World([20] * 11, [0.0] * 11),
    "one error less": World([29, 30, 30], [0.0, 0.0, 0.0]),
    "as good as its handicap": World([15, 30], [V, 0.0]),
    "rare errors": World([2, 2], [0.0, 0.0]),
}


def runs(world, seed, *, table=True):
    """Labs that have one table and scan it in orders of their own."""
    C = PredictionTable([f"m{place}" for place in range(len(world.errors))])
    wrong, ends = np.zeros((world.rows, len(C)), dtype=int), np.cumsum(world.errors)
    for place, end in enumerate(ends.tolist()):
        wrong[end - world.errors[place] : end, place] = 1
    handicaps = Handicaps.of(C, world.handicap)
    made = plan("handicap", C, epsilon=V, delta=BETA, rho=2 * BETA, pool="finite", table=table, handicaps=handicaps)
    labels = KnownLabels(C, np.zeros(world.rows, dtype=int))
    for number in count():
        pool = Pool(C, wrong, PrivateRandomness.simulated(seed, number))
        yield learn(learner_for(made), pool, labels, SharedRandomness("table"))


@pytest.mark.claim("handicap")
@pytest.mark.parametrize("world", WORLDS)
def test_the_ideal_answer_stays_on_a_table(world, alarm, request, record_property):
    promise = Promise(BETA, RUNS, alarm)
    share = dropped(runs(WORLDS[world], request.node.name), 0, promise)
    record_property("power", f"{promise.told('labs drop the ideal answer')}; {100 * share:.0f}% are sure")
    assert not promise.broken
    assert share == 1 or world != "one error less"


def at_least(self, m, leaves_at):
    """Drops at 1, too: whoever is exactly as good."""
    owed = self._debt(m)
    return Bets.stays(self, m, leaves_at) & ((owed < self._items - self.scanned) | (np.arange(len(owed)) == m))


OWED = TableBets._debt


def too_much(self, m):
    """Two errors more than are owed."""
    return OWED(self, m) + 2.0 * (np.arange(len(self.c)) != m)


@pytest.mark.claim("handicap")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("name", "mutant"), [("stays", at_least), ("_debt", too_much)], ids=["drops at 1", "two errors more"]
)
def test_wrong_rules_for_a_table_are_noticed(name, mutant, alarm, monkeypatch, request, record_property):
    monkeypatch.setattr(TableBets, name, mutant)
    promise = Promise(BETA, RUNS, alarm)
    dropped(runs(WORLDS["a tie"], request.node.name), 0, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert promise.broken

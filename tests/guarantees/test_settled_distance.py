"""Settled by distance is never sure of the wrong answer, and mutants of its decisions are (docs/claims/settled_distance.md)."""

from itertools import count

import pytest

from replical import Population, Prior, PrivateRandomness, SharedRandomness, Thresholds, learn, learner_for, plan
from replical.learners.settled.distance import Decisions
from replical.learners.settled.plan import SettledDistancePlan
from support.sequential import Promise
from support.sure import surely_different, wrongly_sure

BETA, RUNS, TARGET = 0.05, 200, 100
C = Thresholds(200)  # neighbouring cuts are 1/199 apart
FAST = ("one just above v", "one is far")
# How many cuts from the best the first in the order is, v in units of 1/199, which of the order is the ideal answer.
WORLDS = {
    "one just above v": (11, 10.99, 1),
    "the ideal answer at v": (11, 11.01, 0),
    "the ideal answer is near": (5, 11.0, 0),
    "one is far": (30, 11.0, 1),
}


def order_of(world):
    """The first lies so many cuts from the best, the second is near it."""
    steps = WORLDS[world][0]
    return [TARGET + steps, TARGET + 2, *(h for h in range(200) if h not in (TARGET + steps, TARGET + 2))]


def runs(world, seed):
    """Labs without end."""
    v, order = WORLDS[world][1] / 199, order_of(world)
    made = plan(
        "settled-distance", C, epsilon=v, delta=BETA, rho=2 * BETA, a=v, b=v, pool="finite", prior=Prior.order(C, order)
    )
    learner, population = learner_for(made), Population(C, target=TARGET, noise=0.05)
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        pool = population.pool(3000, private)
        yield learn(learner, pool, population.labels(pool, private), SharedRandomness("distance"))


def ideal(world):
    return order_of(world)[WORLDS[world][2]]


@pytest.mark.claim("settled_distance")
@pytest.mark.parametrize(
    "world", [pytest.param(each, marks=() if each in FAST else pytest.mark.slow) for each in WORLDS]
)
def test_a_certified_answer_is_the_ideal_one(world, alarm, request, record_property):
    promise = Promise(BETA, RUNS, alarm)
    share = wrongly_sure(runs(world, request.node.name), ideal(world), promise)
    record_property("power", f"{promise.told('labs are sure and wrong')}; {100 * share:.0f}% are sure")
    assert not promise.broken
    assert share > 0.5 or "v" in world.split()


def one_of_them(self, V):
    """The first of V speaks for all."""
    return ALIKE(self, V.keep(V.indices == V.indices[0]))


ALIKE = Decisions.alike


@pytest.mark.claim("settled_distance")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("mutant", "world"), [("one of V decides", "one is far"), ("near by an estimate", "one just above v")]
)
def test_the_same_test_catches_mutants(mutant, world, alarm, request, record_property, monkeypatch):
    if mutant == "one of V decides":
        monkeypatch.setattr(Decisions, "alike", one_of_them)
    else:
        monkeypatch.setattr(SettledDistancePlan, "nearer", lambda plan_, v, items, place: int(v * items))
    promise = Promise(BETA, RUNS, alarm)
    wrongly_sure(runs(world, request.node.name), ideal(world), promise)
    record_property("power", promise.told("labs are sure and wrong"))
    assert promise.broken


@pytest.mark.claim("settled_distance")
@pytest.mark.mutant
@pytest.mark.parametrize("private", [False, True])
def test_certified_labs_agree(private, alarm, request, record_property):
    """Two labs with one string, and with a string each."""
    learner = learner_for(plan("settled-distance", C, epsilon=0.1, delta=0.1, rho=0.1, pool="finite"))
    promise, world = Promise(0.1, 60, alarm), Population(C, target=TARGET, noise=0.05)

    def run(own, shared):
        pool = world.pool(20_000, own)
        return learn(learner, pool, world.labels(pool, own), shared)

    both = surely_different(run, request.node.name, promise, private=private)
    record_property("power", f"{promise.told()}; both are sure in {both} of {promise.trials}")
    assert promise.broken == private
    assert both

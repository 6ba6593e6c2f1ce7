"""Settled over CAL is never sure of the wrong answer, and those who infer too much are (docs/claims/settled_cal.md)."""

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
from replical.learners.settled import learner as learners_settled_cal
from replical.learners.settled.bets import Known
from replical.learners.settled.learner import Consistent
from support.sequential import Promise
from support.sure import surely_different, wrongly_sure

V, BETA, U = 0.05, 0.05, 1500
ABOVE = V + 1e-9  # as good as v, and yet not good enough
RUNS = 200  # the power of so many runs


def independent(*rates):
    """Candidates err at these rates, independently of each other."""
    return lambda generator: generator.random((U, len(rates))) < np.array(rates)


def alike(generator):
    """Five candidates that err together, a little too often, then the one that is right."""
    wrong = np.repeat(generator.random((U, 1)) < 1.4 * V, 6, axis=1)
    wrong[:, 5] = False
    return wrong


def apart(generator):
    """One that errs too often, one that is right, and thirty that err a little, each on items of its own."""
    whose = np.searchsorted(np.cumsum([1.4 * V, 0.0, *[0.01] * 30]), generator.random(U), side="right")
    wrong: np.ndarray = whose[:, None] == np.arange(32)
    return wrong


FAST = ("five alike", "nobody can label its errors")
# Who errs, the place of the ideal answer, and whether nobody can label the items on which the first one errs.
WORLDS = {
    "one just above v": (independent(ABOVE, 0.0), 1, False),
    "the ideal answer at v": (independent(V, 0.0), 0, False),
    "ten just above v": (independent(*[ABOVE] * 10, 0.0), 10, False),
    "five alike": (alike, 5, False),
    "nobody can label its errors": (apart, 1, True),
}


def runs(world, seed):
    """Labs without end."""
    make, _, skips = WORLDS[world]
    n = make(np.random.default_rng(0)).shape[1]
    C = PredictionTable([f"m{place}" for place in range(n)])
    made = plan(
        "settled-cal", C, epsilon=V, delta=BETA, rho=2 * BETA, a=V, b=V, pool="finite",
        prior=Prior.order(C, list(range(n))),
    )  # fmt: skip
    learner, labels = learner_for(made), KnownLabels(C, np.zeros(U, dtype=int))
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        wrong = make(private.generator("errors"))
        pool = Pool(C, wrong.astype(int), private).without(np.flatnonzero(wrong[:, 0] & skips))
        yield learn(learner, pool, labels, SharedRandomness("settled"))


@pytest.mark.claim("settled_cal")
@pytest.mark.parametrize(
    "world", [pytest.param(each, marks=() if each in FAST else pytest.mark.slow) for each in WORLDS]
)
def test_a_certified_answer_is_the_ideal_one(world, alarm, request, record_property):
    promise = Promise(BETA, RUNS, alarm)
    share = wrongly_sure(runs(world, request.node.name), WORLDS[world][1], promise)
    record_property("power", f"{promise.told('labs are sure and wrong')}; {100 * share:.0f}% are sure")
    assert not promise.broken


class ByMajority(Consistent):
    """A label is inferred as soon as four fifths agree: whoever is among fewer on some item is not heard."""

    def __init__(self, V):
        votes = V.predictions.votes(V.indices, V.disputed)
        rows = np.arange(len(votes))
        alone = [votes[rows, V.predictions.codes(int(h), V.disputed)].min() < V.size / 5 for h in V.indices]
        super().__init__(V.keep(~np.array(alone)))


@pytest.mark.claim("settled_cal")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("mutant", "world"), [("by a majority", "five alike"), ("skipped, not counted", "nobody can label its errors")]
)
def test_the_same_test_catches_mutants(mutant, world, alarm, request, record_property, monkeypatch):
    if mutant == "by a majority":
        monkeypatch.setattr(learners_settled_cal, "Consistent", ByMajority)
    else:
        monkeypatch.setattr(Consistent, "unknown", Known.unknown)
    promise = Promise(BETA, RUNS, alarm)
    wrongly_sure(runs(world, request.node.name), WORLDS[world][1], promise)
    record_property("power", promise.told("labs are sure and wrong"))
    assert promise.broken


@pytest.mark.claim("settled_cal")
@pytest.mark.mutant
@pytest.mark.parametrize("private", [False, True])
def test_certified_labs_agree(private, alarm, request, record_property):
    """Two labs with one string, and with a string each; eight candidates, all of them good enough."""
    C, make = PredictionTable([f"m{place}" for place in range(8)]), independent(0.0, *[0.01] * 7)
    learner = learner_for(plan("settled-cal", C, epsilon=V, delta=BETA, rho=2 * BETA, pool="finite"))
    labels, promise = KnownLabels(C, np.zeros(U, dtype=int)), Promise(2 * BETA, 60, alarm)

    def run(own, shared):
        return learn(learner, Pool(C, make(own.generator("errors")).astype(int), own), labels, shared)

    both = surely_different(run, request.node.name, promise, private=private)
    record_property("power", f"{promise.told()}; both are sure in {both} of {promise.trials}")
    assert promise.broken == private
    assert both

"""With weights and abstaining candidates Settled is never sure of the wrong answer; whoever forgets them is."""

from itertools import count
from typing import NamedTuple

import numpy as np
import pytest

from replical import (
    KnownLabels,
    Losses,
    Pool,
    PredictionTable,
    Prior,
    PrivateRandomness,
    SharedRandomness,
    learn,
    learner_for,
    plan,
)
from replical.plans.settled import SettledPlan
from support.sequential import Promise
from support.sure import wrongly_sure

V, BETA = 0.05, 0.05
ABOVE = V + 1e-9
CHEAP, PRICE = 0.25, 0.2  # an error where the label is 0 costs a quarter of one where it is 1, abstaining a fifth


class Model(NamedTuple):
    """How often a candidate errs where the label is 0, where it is 1, and how often it abstains instead of answering."""

    zero: float = 0.1
    one: float = 0.1
    away: float = 0.0

    @property
    def loss(self):
        """Both labels are equally frequent."""
        return (1 - self.away) * (self.zero * CHEAP + self.one) / 2 + self.away * PRICE

    @property
    def error(self):
        return (1 - self.away) * (self.zero + self.one) / 2


BEST = Model()


def with_excess(excess, **kind):
    """A candidate that errs on ones so often that its excess loss is this."""
    return Model(one=2 * (BEST.loss + excess - kind.get("away", 0.0) * PRICE) / (1 - kind.get("away", 0.0))
                 - kind.get("zero", 0.1) * CHEAP, **kind)  # fmt: skip


class World(NamedTuple):
    """Candidates in the public order, and the place of the ideal answer."""

    models: list[Model]
    ideal: int
    items: int = 1500


WORLDS = {
    "cheap errors, just above v": World([with_excess(ABOVE, zero=0.3), BEST], 1),
    "abstains, at v": World([with_excess(V, away=0.2), BEST], 0),
    "abstains, just above v": World([with_excess(ABOVE, away=0.2)] * 5 + [BEST], 5),
    "fewer errors, but costly ones": World([Model(zero=0.0, one=0.3), Model(zero=0.3, one=0.02)], 1),
    "hardly an error, but away": World([Model(zero=0.02, one=0.02, away=0.8), BEST], 1, 600),
}


def runs(world, seed):
    """Labs with one public order and one threshold, each with items of its own."""
    models, _, items = WORLDS[world]
    n = len(models)
    C = PredictionTable([f"m{place}" for place in range(n)], labels=(0, 1, 9))
    losses = Losses.of((0, 1), weights={0: CHEAP, 1: 1}, abstain=9, price=PRICE)
    made = plan("settled", C, epsilon=V, delta=BETA, rho=2 * BETA, batch=8, a=V, b=V, pool="finite", losses=losses,
                prior=Prior.order(C, list(range(n))))  # fmt: skip
    learner, shared = learner_for(made), SharedRandomness("losses")
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        generator = private.generator("world")
        truth = generator.integers(0, 2, items)
        rates = np.array([[model.zero, model.one] for model in models])[:, truth].T
        says = truth[:, None] ^ (generator.random((items, n)) < rates)
        says[generator.random((items, n)) < [model.away for model in models]] = 9
        yield learn(learner, Pool(C, says, private), KnownLabels(C, truth), shared)


@pytest.mark.claim("settled")
def test_the_worlds_are_what_they_are_called():
    for world in WORLDS.values():
        losses = [model.loss for model in world.models]
        assert next(place for place, loss in enumerate(losses) if loss <= min(losses) + V + 1e-12) == world.ideal
        assert all(0 <= rate <= 1 for model in world.models for rate in model)
    first, best = WORLDS["fewer errors, but costly ones"].models
    assert first.error < best.error
    assert first.loss > best.loss + V
    first, best = WORLDS["hardly an error, but away"].models
    assert first.error < best.error
    assert first.loss > best.loss + V


@pytest.mark.slow
@pytest.mark.claim("settled")
@pytest.mark.parametrize("world", WORLDS)
def test_a_certified_answer_is_ideal_by_its_loss(world, alarm, request, record_property):
    promise = Promise(BETA, 200, alarm)
    share = wrongly_sure(runs(world, request.node.name), WORLDS[world].ideal, promise)
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
        pytest.param("weights forgotten", "fewer errors, but costly ones", marks=pytest.mark.slow),
        ("abstaining is free", "hardly an error, but away"),
        pytest.param("acceptance at 1.5 v", "cheap errors, just above v", marks=pytest.mark.slow),
    ],
)
def test_whoever_forgets_what_predictions_cost_is_noticed(mutant, world, alarm, request, record_property, monkeypatch):
    said = Losses.of
    if mutant == "weights forgotten":
        monkeypatch.setattr(Losses, "of", lambda labels, weights, **rest: said(labels, **rest))
    elif mutant == "abstaining is free":
        monkeypatch.setattr(Losses, "of", lambda labels, **rest: said(labels, **rest | {"price": 0.0}))
    else:
        monkeypatch.setattr(SettledPlan, "purses", generous)
    promise = Promise(BETA, 200, alarm)
    wrongly_sure(runs(world, request.node.name), WORLDS[world].ideal, promise)
    record_property("power", promise.told("labs are sure and wrong"))
    assert promise.broken

"""With weights and abstaining candidates Handicap keeps the ideal answer and Confirm is rarely wrong; whoever forgets them is not right."""

from itertools import count
from typing import NamedTuple

import numpy as np
import pytest

from replical import (
    Handicaps,
    KnownLabels,
    Losses,
    Pool,
    PredictionTable,
    PrivateRandomness,
    SharedRandomness,
    confirm,
    learn,
    learner_for,
    plan,
)
from replical.learners.handicap.bets import Bets
from support.mutants import generous
from support.sequential import Promise, dropped

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
    """Candidates, of which the last has a handicap of v and the others none, and the place of the ideal answer."""

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


def labs(world, seed):
    """Losses, and labs with items of their own: pool and labels."""
    models, _, items = WORLDS[world]
    n = len(models)
    C = PredictionTable([f"m{place}" for place in range(n)], labels=(0, 1, 9))
    losses = Losses.of((0, 1), weights={0: CHEAP, 1: 1}, abstain=9, price=PRICE)

    def each():
        for number in count():
            private = PrivateRandomness.simulated(seed, number)
            generator = private.generator("world")
            truth = generator.integers(0, 2, items)
            rates = np.array([[model.zero, model.one] for model in models])[:, truth].T
            says = truth[:, None] ^ (generator.random((items, n)) < rates)
            says[generator.random((items, n)) < [model.away for model in models]] = 9
            yield Pool(C, says, private), KnownLabels(C, truth)

    return C, losses, each()


def handicaps_of(models):
    """v for the last."""
    return [0.0] * (len(models) - 1) + [V]


def runs(world, seed):
    """Labs with the same public handicaps, each with items of its own."""
    C, losses, each = labs(world, seed)
    handicaps = Handicaps.of(C, handicaps_of(WORLDS[world].models))
    made = plan("handicap", C, epsilon=V, delta=BETA, rho=2 * BETA, batch=8, pool="finite", losses=losses,
                handicaps=handicaps)  # fmt: skip
    learner, shared = learner_for(made), SharedRandomness("losses")
    for pool, truth in each:
        yield learn(learner, pool, truth, shared)


@pytest.mark.claim("handicap")
def test_the_worlds_are_what_they_are_called():
    for world in WORLDS.values():
        sums = [model.loss + c for model, c in zip(world.models, handicaps_of(world.models), strict=True)]
        assert sums[world.ideal] <= min(sums) + 1e-12
        assert all(0 <= rate <= 1 for model in world.models for rate in model)
    first, best = WORLDS["fewer errors, but costly ones"].models
    assert first.error < best.error
    assert first.loss > best.loss + V
    first, best = WORLDS["hardly an error, but away"].models
    assert first.error < best.error
    assert first.loss > best.loss + V


@pytest.mark.slow
@pytest.mark.claim("handicap")
@pytest.mark.parametrize("world", WORLDS)
def test_the_ideal_answer_by_loss_stays(world, alarm, request, record_property):
    promise = Promise(BETA, 200, alarm)
    share = dropped(runs(world, request.node.name), WORLDS[world].ideal, promise)
    record_property("power", f"{promise.told('labs drop the ideal answer')}; {100 * share:.0f}% are sure")
    assert not promise.broken


@pytest.mark.claim("handicap")
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
        monkeypatch.setattr(Bets, "settle", generous)
    promise = Promise(BETA, 200, alarm)
    dropped(runs(world, request.node.name), WORLDS[world].ideal, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert promise.broken


def wrongly_decided(world, wrong, seed, promise):
    """Hear labs that check the first candidate until it is known how often they come to the wrong outcome."""
    _, losses, each = labs(world, seed)
    for pool, truth in each:
        if not promise.open:
            return
        promise.hear(confirm(0, pool, truth, margin=V, level=BETA, batch=8, losses=losses).outcome == wrong)


@pytest.mark.slow
@pytest.mark.claim("confirm")
@pytest.mark.parametrize(
    ("world", "wrong"), [("cheap errors, just above v", "confirmed"), ("abstains, at v", "refuted")]
)
def test_an_outcome_about_losses_is_rarely_wrong(world, wrong, alarm, request, record_property):
    promise = Promise(BETA, 200, alarm)
    wrongly_decided(world, wrong, request.node.name, promise)
    record_property("power", promise.told(f"are {wrong}"))
    assert not promise.broken


@pytest.mark.slow
@pytest.mark.claim("confirm")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("changed", "world", "wrong"),
    [
        ({"price": 0.0}, "hardly an error, but away", "confirmed"),
        ({"price": 1.0}, "abstains, at v", "refuted"),
        ({"weights": None}, "fewer errors, but costly ones", "confirmed"),
    ],
)
def test_a_confirmation_with_other_costs_is_noticed(
    changed, world, wrong, alarm, request, record_property, monkeypatch
):
    said = Losses.of
    monkeypatch.setattr(Losses, "of", lambda labels, **rest: said(labels, **rest | changed))
    promise = Promise(BETA, 200, alarm)
    wrongly_decided(world, wrong, request.node.name, promise)
    record_property("power", promise.told(f"are {wrong}"))
    assert promise.broken

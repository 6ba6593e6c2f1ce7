"""With a loss of outputs on a grid Handicap keeps the ideal answer; whoever counts errors, or trusts a clip too small, does not."""

from itertools import count
from typing import NamedTuple

import pytest

from replical import (
    Gold,
    Handicaps,
    KnownGold,
    OutputTable,
    Pool,
    PrivateRandomness,
    SharedRandomness,
    learn,
    learner_for,
    plan,
)
from replical.learners.handicap.bets import Bets
from support.sequential import Promise

V, BETA = 0.05, 0.05
ABOVE = V + 1e-3  # on a grid of a thousandth the least that is above
CLIP = 100


class Model(NamedTuple):
    """How often a candidate is off, by how much then, and whether all who are off by so much say the same."""

    often: float
    by: int

    @property
    def loss(self):
        return self.often * min(self.by, CLIP) / CLIP


BEST = Model(0.4, 20)


def with_excess(excess, by):
    """A candidate that is off by so much, so often that its excess loss is this."""
    return Model((BEST.loss + excess) * CLIP / min(by, CLIP), by)


class World(NamedTuple):
    """Candidates, of which the last has a handicap of v and the others none, and the place of the ideal answer."""

    models: list[Model]
    ideal: int
    items: int = 1500


WORLDS = {
    "often a little, at v": World([with_excess(V, by=15), BEST], 0),
    "seldom a lot, just above v": World([with_excess(ABOVE, by=250)] * 4 + [BEST], 4),
    "fewer errors, but large ones": World([Model(0.3, 90), BEST], 1, 600),
}


def labs(world, seed, grid=1000):
    """Labs with the same public handicaps, each with items of its own."""
    models, _, items = WORLDS[world]
    n = len(models)
    C = OutputTable([f"m{place}" for place in range(n)], loss=Gold.of("absolute", clip=CLIP, grid=grid))
    handicaps = Handicaps.given(C, [0.0] * (n - 1) + [V])
    made = plan("handicap", C, epsilon=V, delta=BETA, rho=2 * BETA, batch=8, pool="finite", handicaps=handicaps)
    learner, shared = learner_for(made), SharedRandomness("gold")
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        generator = private.generator("world")
        truth = generator.integers(-500, 500, items)
        off = generator.random((items, n)) < [model.often for model in models]
        sign = generator.choice([-1, 1], (items, n))
        pool = Pool(C, truth[:, None] + off * sign * [model.by for model in models], private)
        yield learn(learner, pool, KnownGold(pool, truth), shared)


def dropped(results, ideal, promise):
    """Hear labs until it is known how often the ideal answer has left; the share that is certified."""
    certified = 0
    for result in results:
        if not promise.open:
            return certified / promise.trials
        certified += result.proof.certified
        promise.hear(ideal not in result.survivors.indices)
    raise AssertionError("runs never end")


@pytest.mark.claim("handicap")
def test_the_worlds_are_what_they_are_called():
    for models, ideal, _ in WORLDS.values():
        c = [0.0] * (len(models) - 1) + [V]
        sums = [model.loss + each for model, each in zip(models, c, strict=True)]
        assert sums[ideal] <= min(sums) + 1e-12
        assert all(0 <= model.often <= 1 for model in models)
    first, best = WORLDS["fewer errors, but large ones"].models
    assert first.often < best.often
    assert first.loss > best.loss + V


@pytest.mark.slow
@pytest.mark.claim("handicap")
@pytest.mark.parametrize("world", WORLDS)
def test_the_ideal_answer_by_a_gold_loss_stays(world, alarm, request, record_property):
    promise = Promise(BETA, 200, alarm)
    share = dropped(labs(world, request.node.name), WORLDS[world].ideal, promise)
    record_property("power", f"{promise.told('labs drop the ideal answer')}; {100 * share:.0f}% are sure")
    assert not promise.broken


SETTLE = Bets.settle


def generous(self, m, block):
    """Bets about half as much again as the handicaps allow."""
    c = self.c
    self.c = c[m] + (3 * (c - c[m])) // 2
    try:
        SETTLE(self, m, block)
    finally:
        self.c = c


@pytest.mark.claim("handicap")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("mutant", "world"),
    [
        ("errors counted", "fewer errors, but large ones"),
        pytest.param("acceptance at 1.5 v", "seldom a lot, just above v", marks=pytest.mark.slow),
    ],
)
def test_whoever_forgets_how_far_an_output_is_off_is_noticed(
    mutant, world, alarm, request, record_property, monkeypatch
):
    if mutant == "errors counted":
        monkeypatch.setattr(
            Gold, "row", lambda self, answer, outputs: [self.unit * (each != answer) for each in outputs]
        )
    else:
        monkeypatch.setattr(Bets, "settle", generous)
    promise = Promise(BETA, 200, alarm)
    dropped(labs(world, request.node.name), WORLDS[world].ideal, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert promise.broken

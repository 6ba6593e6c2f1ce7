"""With losses of outputs Handicap keeps the ideal answer: by right answers on a grid, by scores of noisy judges, and by duels."""

from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import numpy as np
import pytest

from replical import (
    Gold,
    Handicaps,
    KnownGold,
    OutputTable,
    Pool,
    PrivateRandomness,
    Scores,
    SharedRandomness,
    learn,
    learner_for,
    plan,
)
from replical.learners.handicap.bets import Bets, Block
from support.mutants import generous
from support.sequential import Promise, dropped

V, BETA, CLIP = 0.1, 0.05, 100
DISTANCE = Gold.of("absolute", clip=CLIP)
SCALE = Scores.on({"pass": 0, "fail": 1, "cannot tell": 1})
# What judges say of each output: the chance that it fails, and that nobody can tell.
JUDGED = {"plain": (0.2, 0.0), "odd": (0.7, 0.0), "obscure": (0.1, 0.6)}


class World(NamedTuple):
    """Candidates with these losses, the last with a handicap of v and the others none, and the place of the ideal answer.

    `draw` says for so many items what each candidate says, and what is said of that.
    """

    loss: Gold
    means: list[float]
    ideal: int
    draw: Callable
    items: int = 1000


def numbers(*models, ideal, **options):
    """Candidates that are off so often by so much."""

    def draw(generator, items):
        truth = generator.integers(-500, 500, items)
        off = generator.random((items, len(models))) < [often for often, _ in models]
        sign = generator.choice([-1, 1], (items, len(models)))
        return truth[:, None] + off * sign * [by for _, by in models], truth

    return World(DISTANCE, [often * min(by, CLIP) / CLIP for often, by in models], ideal, draw, **options)


def judged(*models, ideal):
    """Candidates whose outputs are so often odd, and obscure; else they are plain."""

    def draw(generator, items):
        u = generator.random((items, len(models), 1))
        kinds = (u < np.cumsum(np.array(models), axis=1)).sum(axis=2)
        said = np.array(["plain", "obscure", "odd"])[kinds].tolist()
        return said, [{output: score(output, generator.random()) for output in sorted(set(row))} for row in said]

    mean = {output: sum(chances) for output, chances in JUDGED.items()}
    means = [(1 - sum(each)) * mean["plain"] + each[0] * mean["odd"] + each[1] * mean["obscure"] for each in models]
    return World(SCALE, means, ideal, draw)


def score(output, u):
    return "fail" if u < JUDGED[output][0] else "cannot tell" if u < sum(JUDGED[output]) else "pass"


def duel(first, second, ideal):
    """Two candidates that say something else on half of the items; so often one of them is preferred there."""

    def draw(generator, items):
        said = np.where(generator.random((items, 1)) < 0.5, [["one", "two"]], [["same", "same"]])
        preferred = np.searchsorted(np.cumsum([first, second]), generator.random(items))
        return said.tolist(), np.where(said[:, 0] == "same", "tie", np.array(["one", "two", "tie"])[preferred])

    return World(Gold.of("duel"), [0.5 + (second - first) / 4, 0.5 - (second - first) / 4], ideal, draw)


def slightly(excess, models, by):
    """Several that are worse by that much than the last, and the last: off by so much, or odd."""
    rate = (0.08 + excess) * CLIP / min(by, CLIP) if by else 0.1 + 2 * excess
    return [(rate, by) if by else (rate, 0.0)] * models + [(0.4, 20) if by else (0.1, 0.0)]


WORLDS = {
    "often a little, at v": numbers(*slightly(V, 1, 25), ideal=0),
    "seldom a lot, just above v": numbers(*slightly(V + 1e-3, 4, 250), ideal=4),  # on the grid the least above
    "fewer errors, but large ones": numbers((0.3, 90), (0.4, 20), ideal=1, items=600),
    "odd, at v": judged(*slightly(V, 1, 0), ideal=0),
    "odd, just above v": judged(*slightly(V + 1e-9, 4, 0), ideal=4),
    "obscure, clearly worse": judged((0.0, 0.6), (0.1, 0.0), ideal=1),
    "a duel, at v": duel(0.3, 0.5, ideal=0),
    "a duel, clearly lost": duel(0.1, 0.8, ideal=1),
}


def handicaps(n):
    return [0.0] * (n - 1) + [V]


def labs(world, seed):
    """Labs with the same public handicaps, each with items and judges of its own."""
    loss, means, _, draw, items = WORLDS[world]
    C = OutputTable([f"m{place}" for place in range(len(means))], loss=loss)
    given = Handicaps.of(C, handicaps(len(C)))
    made = plan("handicap", C, epsilon=V, delta=BETA, rho=2 * BETA, batch=8, pool="finite", handicaps=given)
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        said, told = draw(private.generator("world"), items)
        pool = Pool(C, said, private)
        yield learn(learner_for(made), pool, KnownGold(pool, told), SharedRandomness("outputs"))


@pytest.mark.claim("handicap")
@pytest.mark.parametrize("world", WORLDS)
def test_the_worlds_are_what_they_are_called(world):
    loss, means, ideal, draw, _ = WORLDS[world]
    sums = np.add(means, handicaps(len(means)))
    assert sums[ideal] <= sums.min() + 1e-12
    said, told = draw(np.random.default_rng(1), 4000)
    C = OutputTable([f"m{place}" for place in range(len(means))], loss=loss)
    rows = C.items(said)
    lost = [
        np.array(loss.row(loss.read(each), outputs))[codes]
        for codes, outputs, each in zip(rows.tolist(), rows.outputs, told, strict=True)
    ]
    assert np.mean(lost, axis=0) / loss.unit == pytest.approx(means, abs=0.03)


@pytest.mark.slow
@pytest.mark.claim("handicap")
@pytest.mark.parametrize("world", WORLDS)
def test_the_ideal_answer_by_a_loss_of_outputs_stays(world, alarm, request, record_property):
    promise = Promise(BETA, 200, alarm)
    share = dropped(labs(world, request.node.name), WORLDS[world].ideal, promise)
    record_property("power", f"{promise.told('labs drop the ideal answer')}; {100 * share:.0f}% are sure")
    assert not promise.broken


ROW, ROWS = Scores.row, Gold.row


def count_errors(self, answer, outputs):
    return [self.unit * (each != answer) for each in outputs]


COIN = np.random.default_rng(0)


def forget_sides(self, answer, outputs):
    """Who was shown first is forgotten, so each is as likely as the other to be the one that was preferred."""
    return ROWS(self, answer, outputs)[:: 1 if COIN.random() < 0.5 else -1]


def pass_over(self, answer, outputs):
    """Items on which some output cannot be told tell nobody apart."""
    return [0] * len(outputs) if "cannot tell" in answer.values() else ROW(self, answer, outputs)


@pytest.mark.claim("handicap")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("world", "of", "name", "mutant"),
    [
        pytest.param("fewer errors, but large ones", Gold, "row", count_errors, id="errors counted"),
        pytest.param("obscure, clearly worse", Scores, "row", pass_over, id="outputs skipped"),
        pytest.param("a duel, clearly lost", Gold, "row", forget_sides, id="sides forgotten"),
        *(
            pytest.param(world, Bets, "settle", generous, id=f"1.5 v, {world}", marks=pytest.mark.slow)
            for world in ("seldom a lot, just above v", "odd, just above v")
        ),
    ],
)
def test_wrong_uses_of_losses_are_noticed(world, of, name, mutant, alarm, request, record_property, monkeypatch):
    monkeypatch.setattr(of, name, mutant)
    promise = Promise(BETA, 200, alarm)
    dropped(labs(world, request.node.name), WORLDS[world].ideal, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert promise.broken


def circle(private, beats):
    """Who is left of three where everybody `beats` the next in so many duels, and wealth is carried from favourite to favourite."""
    bets, left, generator = (
        Bets(np.zeros(3, dtype=np.int64), np.arange(3), (0.8, 0.4, 0.2, 0.1, 0.05), 1),
        np.arange(3),
        None,
    )
    generator, m = private.generator("duels"), 0
    for _ in range(2000):
        if len(left) == 1:
            break
        wins = np.where((left - left[m]) % 3 == 1, beats, 1 - beats)  # of the favourite, against everybody
        lost = np.where(generator.random(len(left)) < wins, 1, -1)
        lost[m] = 0
        bets.settle(
            m, Block(losses=lost[None], disputed=np.zeros((0, len(left)), dtype=np.uint16), sizes=(1,), quiet=())
        )
        stays = bets.stays(m, 1 / BETA)
        old = int(np.count_nonzero(stays[:m]))
        bets.keep(stays)
        left, m = left[stays], bets.lead(old, 2)
    return left


@pytest.mark.claim("handicap")
@pytest.mark.mutant
def test_three_that_duel_in_a_circle_are_all_certified(alarm, request, record_property):
    """Nobody is unbeaten, and most labs are certified, with each of the three: so more than two are refused."""
    promise, answers = Promise(BETA, 200, alarm), set()
    for number in count():
        left = circle(PrivateRandomness.simulated(request.node.name, number), 0.65)
        answers |= set(left.tolist()) if len(left) == 1 else set()
        if promise.open:
            promise.hear(len(left) == 1)
        elif number > 60:
            break
    record_property("power", f"{promise.told('labs are certified')}; {len(answers)} answers")
    assert promise.broken
    assert answers == {0, 1, 2}

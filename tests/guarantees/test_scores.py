"""With scores of noisy judges Handicap keeps the ideal answer; whoever passes over what judges cannot tell, or bets too much, does not."""

from itertools import count
from typing import NamedTuple

import pytest

from replical import (
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
from replical.learners.handicap.bets import Bets
from support.sequential import Promise

V, BETA = 0.1, 0.05
ABOVE = V + 1e-9
SCALE = {"pass": 0, "fail": 1, "cannot tell": 1}
# What judges say of each output: the chance that it fails, and that nobody can tell.
JUDGED = {"plain": (0.2, 0.0), "odd": (0.7, 0.0), "obscure": (0.1, 0.6)}


def mean(output):
    return sum(JUDGED[output])


class Model(NamedTuple):
    """How often a candidate's output is odd, or obscure; else it is plain."""

    odd: float = 0.0
    obscure: float = 0.0

    @property
    def loss(self):
        plain = 1 - self.odd - self.obscure
        return plain * mean("plain") + self.odd * mean("odd") + self.obscure * mean("obscure")


BEST = Model(odd=0.1)


def with_excess(excess, kind="odd"):
    """A candidate whose excess loss is this, by outputs of one kind."""
    return Model(**{kind: (BEST.loss + excess - mean("plain")) / (mean(kind) - mean("plain"))})


class World(NamedTuple):
    """Candidates, of which the last has a handicap of v and the others none, and the place of the ideal answer."""

    models: list[Model]
    ideal: int
    items: int = 1000


WORLDS = {
    "odd, at v": World([with_excess(V), BEST], 0),
    "odd, just above v": World([with_excess(ABOVE)] * 4 + [BEST], 4),
    "obscure, clearly worse": World([with_excess(0.25, "obscure"), BEST], 1),
}


def labs(world, seed):
    """Labs with the same public handicaps, each with items and judges of its own."""
    models, _, items = WORLDS[world]
    n = len(models)
    C = OutputTable([f"m{place}" for place in range(n)], loss=Scores.on(SCALE))
    handicaps = Handicaps.given(C, [0.0] * (n - 1) + [V])
    made = plan("handicap", C, epsilon=V, delta=BETA, rho=2 * BETA, batch=8, pool="finite", handicaps=handicaps)
    learner, shared = learner_for(made), SharedRandomness("scores")
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        generator = private.generator("world")
        drawn = generator.random((items, n))
        said = [
            ["odd" if u < each.odd else "obscure" if u < each.odd + each.obscure else "plain" for u, each in zip(row, models, strict=True)]
            for row in drawn
        ]  # fmt: skip
        pool = Pool(C, said, private)
        scores = []
        for row in said:
            luck = {output: generator.random() for output in sorted(set(row))}
            scores.append({
                output: "fail" if u < JUDGED[output][0] else "cannot tell" if u < mean(output) else "pass"
                for output, u in luck.items()
            })  # fmt: skip
        yield learn(learner, pool, KnownGold(pool, scores), shared)


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
        assert all(0 <= sum(model) <= 1 for model in models)


@pytest.mark.slow
@pytest.mark.claim("handicap")
@pytest.mark.parametrize("world", WORLDS)
def test_the_ideal_answer_by_scores_stays(world, alarm, request, record_property):
    promise = Promise(BETA, 200, alarm)
    share = dropped(labs(world, request.node.name), WORLDS[world].ideal, promise)
    record_property("power", f"{promise.told('labs drop the ideal answer')}; {100 * share:.0f}% are sure")
    assert not promise.broken


SETTLE, ROW = Bets.settle, Scores.row


def generous(self, m, block):
    """Bets about half as much again as the handicaps allow."""
    c = self.c
    self.c = c[m] + (3 * (c - c[m])) // 2
    try:
        SETTLE(self, m, block)
    finally:
        self.c = c


def passing_over(self, answer, outputs):
    """Items on which some output cannot be told tell nobody apart."""
    return [0] * len(outputs) if "cannot tell" in answer.values() else ROW(self, answer, outputs)


@pytest.mark.claim("handicap")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("mutant", "world"),
    [
        ("outputs skipped", "obscure, clearly worse"),
        pytest.param("acceptance at 1.5 v", "odd, just above v", marks=pytest.mark.slow),
    ],
)
def test_wrong_uses_of_scores_are_noticed(mutant, world, alarm, request, record_property, monkeypatch):
    if mutant == "outputs skipped":
        monkeypatch.setattr(Scores, "row", passing_over)
    else:
        monkeypatch.setattr(Bets, "settle", generous)
    promise = Promise(BETA, 200, alarm)
    dropped(labs(world, request.node.name), WORLDS[world].ideal, promise)
    record_property("power", promise.told("labs drop the ideal answer"))
    assert promise.broken

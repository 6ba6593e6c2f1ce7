"""The rest of a run, played: with items that are fixed it is the run itself. And what two labs together may expect."""

from fractions import Fraction

import numpy as np
import pytest

from replical import Handicaps, KnownLabels, Losses, Pool, PredictionTable, Prior, SharedRandomness, learn, plan
from replical.learners.handicap import learner as learner_module
from replical.learners.handicap.ahead import Games
from replical.learners.planning import learner_for

FIRST, ALL, MODELS = 60, 1500, 6


class Lab:
    """A pool whose later items are copies of its first ones, and runs on as much of it as one likes."""

    def __init__(self, seed, monkeypatch, losses):
        generator = np.random.default_rng(seed)
        self.truth = generator.integers(3, size=FIRST)
        wrong = generator.random((FIRST, MODELS)) < np.linspace(0.1, 0.25, MODELS)
        said = (self.truth[:, None] + wrong * generator.integers(1, 3, size=wrong.shape)) % 3
        again = np.concatenate([np.arange(FIRST), generator.integers(FIRST, size=ALL - FIRST)])
        self.said, self.truth = said[again], self.truth[again]
        self.C = PredictionTable([f"m{h}" for h in range(MODELS)], labels=range(3))
        prior = {"prior": Prior.order(self.C, generator.permutation(MODELS).tolist())} if seed % 2 else {}
        self.plan = plan("handicap", self.C, epsilon=0.08, delta=0.1, rho=0.2, pool="finite", losses=losses, **prior)
        self.shared, self._heard = SharedRandomness(f"ahead {seed}"), []
        usual = learner_module.conclude
        monkeypatch.setattr(
            learner_module, "conclude", lambda *told, **more: self._heard.append(told) or usual(*told, **more)
        )

    def run(self, items):
        """The result with the first `items`, the accounts at its end, and its blocks."""
        order = np.arange(items)
        pool = Pool.in_order(self.C, self.C.items(self.said[:items]), order, order, None)
        result = learn(learner_for(self.plan), pool, KnownLabels(self.C, self.truth[:items]), self.shared)
        _, _, m, bets, history = self._heard[-1]
        return result, m, bets, history._blocks

    def lost(self, item, says):
        """What predictions cost, in whole parts."""
        losses, truth = self.plan.losses, self.truth[item]
        return (says != truth).tolist() if losses is None else np.array(losses.row(truth))[says].tolist()


@pytest.mark.parametrize("weights", [None, {0: 1.0, 1: 0.5, 2: 1.0}])
@pytest.mark.parametrize("seed", range(6))
def test_with_the_items_that_come_a_play_is_the_run(seed, weights, monkeypatch):
    lab = Lab(seed, monkeypatch, Losses.of(range(3), weights=weights))
    whole, _, bets, blocks = lab.run(ALL)
    ends = np.cumsum([block.scanned for block in blocks])
    begun = int(np.searchsorted(ends, FIRST, side="right"))  # blocks within the first items
    assert 0 < begun < len(blocks)
    part = lab.run(int(ends[begun - 1]))[0]
    ahead = part.proof.ahead
    kinds = {
        (*lost, *says): k for k, (lost, says) in enumerate(zip(ahead.losses.tolist(), ahead.says.tolist(), strict=True))
    }
    games, everyone = Games(ahead, 1), np.array([True])
    for block in blocks[begun:]:
        counts = np.zeros((1, len(kinds) + 1), dtype=np.int64)
        for item in block.items.tolist():
            says = lab.said[item, ahead.members]
            k = kinds.get((*lab.lost(item, says), *says.tolist()), len(kinds))
            counts[0, k] += 1
        counts[0, -1] += block.scanned - len(block.items)
        games.go_on(everyone, counts)
    assert part.labels + games.labels[0] == whole.labels
    assert part.proof.scanned + games.items[0] == whole.proof.scanned
    left = games.left[0]
    assert sorted(ahead.members[left].tolist()) == whole.survivors.indices.tolist()
    assert ahead.members[games.m[0]] == whole.hypothesis
    order = np.argsort(ahead.members[left])
    assert np.exp(games.wealth[0][:, left][:, order]) == pytest.approx(bets.wealth, rel=1e-9)
    assert games.lost[0][left][order].tolist() == bets.lost.tolist()


def a_run(said, items=400, **options):
    """The proof of a run whose candidates err on items (rows) as `said`."""
    C = PredictionTable([f"m{h}" for h in range(said.shape[1])])
    order = np.arange(items)
    pool = Pool.in_order(C, C.items(said[:items]), order, order, None)
    made = plan("handicap", C, epsilon=0.05, delta=0.05, rho=0.1, pool="finite", **options)
    return learn(learner_for(made), pool, KnownLabels(C, np.zeros(items, dtype=int)), SharedRandomness("played")).proof


def test_the_same_run_has_the_same_rest_and_more_items_never_end_fewer_plays():
    said = (np.random.default_rng(4).random((400, 4)) < [0.1, 0.11, 0.12, 0.3]).astype(int)
    ahead = a_run(said).ahead
    one, two = ahead.play(), ahead.play()
    assert one.items.tolist() == two.items.tolist()
    few, many = ahead.play(items=300), ahead.play(items=3000)
    assert few.items.max() <= 300
    assert few.chance() <= many.chance()
    assert ahead.play(labels=0).labels.tolist() == [0] * len(one.items)


def test_who_never_differs_is_never_told_apart_and_nobody_says_when():
    said = np.repeat((np.random.default_rng(4).random((400, 1)) < 0.1).astype(int), 2, axis=1)
    proof = a_run(said, handicaps=Handicaps.zero())
    span = proof.ahead.play().span("items")
    assert (span.known, proof.ahead.play().chance()) == (0, 0)
    assert proof.more.startswith("more than 15,000 more items")  # fifty times 400, less what is not played


def test_a_certified_run_has_nothing_ahead():
    said = (np.random.default_rng(4).random((400, 3)) < [0.01, 0.4, 0.4]).astype(int)
    proof = a_run(said)
    assert proof.certified
    assert (proof.ahead, proof.more) == (None, "")


def a_law(seed):
    """For each of eight strings: how often a lab is certified with the ideal answer, and with the only other one."""
    generator = np.random.default_rng(seed)
    right = [Fraction(int(each), 100) for each in generator.integers(91, size=8)]
    return right, [Fraction(int(each), 100) for each in generator.integers(6, size=8)]


def same_and_least(seed, power):
    """How often two independent labs are certified with one answer, and p to some power less 2β."""
    right, wrong = a_law(seed)
    p = sum(map(sum, zip(right, wrong, strict=True))) / 8
    return sum(a * a + b * b for a, b in zip(right, wrong, strict=True)) / 8, p**power - 2 * max(wrong)


@pytest.mark.claim("handicap")
@pytest.mark.parametrize("seed", range(50))
def test_two_labs_are_certified_with_one_answer_as_often_as_is_said(seed):
    same, least = same_and_least(seed, 2)
    assert same >= least


@pytest.mark.claim("handicap")
@pytest.mark.mutant
def test_a_bound_without_the_square_is_noticed():
    assert any(same < least for same, least in (same_and_least(seed, 1) for seed in range(50)))

"""The rest of a run, played: with items that are fixed it is the run itself."""

import numpy as np
import pytest

from replical import KnownLabels, Losses, Pool, PredictionTable, Prior, SharedRandomness, learn, plan
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
    whole, m, bets, blocks = lab.run(ALL)
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

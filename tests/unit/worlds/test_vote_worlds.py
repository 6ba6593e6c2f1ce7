"""Worlds drawn from the votes of candidates."""

from dataclasses import replace

import numpy as np
import pytest

from replical import Pool, PredictionTable, Prior, PrivateRandomness
from replical.pools.query import Query
from replical.worlds import vote_worlds as votes
from replical.worlds.vote_worlds import VoteLabels, Votes, guess_of, shares


def rows(rates, m=1500, labels=2, seed=0):
    """Predictions that err independently at these rates."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(labels, size=m)
    wrong = generator.random((m, len(rates))) < rates
    return np.where(wrong, (truth[:, None] + 1) % labels, truth[:, None]).astype(np.uint16)


def generators(count):
    return [np.random.default_rng(seed) for seed in range(count)]


def test_who_goes_along_with_nobody_is_not_reliable():
    table = rows([0.05, 0.1, 0.1, 0.2, 0.5])
    table = np.column_stack([table, np.zeros(len(table), dtype=np.uint16)])  # a constant
    r = Votes(table, 2).reliability
    assert r[0] == 1
    assert r[0] > r[1] > r[3] > 0.2
    assert r[4] < 0.02
    assert r[5] < 0.00001


def test_distances_are_counts_of_differences():
    table = rows([0.1, 0.2, 0.3], labels=3)
    D = Votes(table, 3).distances
    for g in range(3):
        for h in range(3):
            assert D[g, h] == pytest.approx((table[:, g] != table[:, h]).mean())


def test_shares_are_weights_of_those_who_say_so():
    assert shares(np.array([[0, 1, 1], [2, 2, 0]], dtype=np.uint16), np.array([0.5, 0.2, 0.3]), 3).tolist() == [
        [0.5, 0.5, 0.0],
        [0.3, 0.0, 0.7],
    ]


def test_weights_differ_between_worlds(monkeypatch):
    """Even of one start; without σ they would not, and the range of a forecast would be too narrow."""
    model = Votes(rows([0.05, 0.1, 0.2, 0.2, 0.3]), 2)

    def spread():
        drawn = [model.draw(generator) for generator in generators(20)]
        return np.ptp([model.weights(each) for each in drawn if each.base == 0], axis=0).max()

    assert spread() > 0.05
    monkeypatch.setattr(votes, "SIGMA", (0.0, 0.0))
    assert spread() == 0


def test_candidates_that_say_the_same_have_the_same_weight():
    table = rows([0.05, 0.1, 0.2, 0.2])
    model = Votes(np.column_stack([table, table[:, 2]]), 2)
    for generator in generators(5):
        w = model.weights(model.draw(generator))
        assert w[2] == pytest.approx(w[4], rel=0.02)


def test_a_known_error_of_the_best_sharpens_the_votes():
    model = Votes(rows([0.05, 0.1, 0.2, 0.2, 0.3]), 2)
    each = replace(model.draw(np.random.default_rng(0)), base=0)
    unknown, known = model.world(each).truth, model.world(each, nu=0.03).truth
    assert unknown.tau == each.tau < known.tau <= votes.SHARPEST
    assert model.world(each, nu=0.49).truth.tau == each.tau
    assert model.world(each, nu=0.0).truth.tau == votes.SHARPEST


def best_error(world, table):
    """The error of the best candidate, by its definition."""
    law = world.law(table)
    return min(1 - law[np.arange(len(table)), column].mean() for column in table.T)


@pytest.mark.parametrize("nu", [0.05, 0.02, 0.004, 0.0])
def test_a_known_error_of_the_best_is_reached(nu):
    """Votes alone leave it larger, however sharply they decide: no candidate is always on the side of the majority."""
    table = rows([0.05, 0.1, 0.2, 0.2, 0.3])
    model = Votes(table, 2)
    for generator in generators(10):
        each = model.draw(generator)
        world = model.world(each, nu=nu)
        assert best_error(world, table) <= nu + 1e-9
        assert best_error(replace(world, truth=replace(world.truth, lead=0.0)), table) > 0.01
        assert 0 <= world.truth.lead <= 1


def test_a_bad_leader_is_forgotten_where_the_error_of_the_best_is_known():
    """Votes alone come near enough to it."""
    table = np.column_stack([rows([0.05, 0.05, 0.05]), rows([0.5], seed=1)])
    model = Votes(table, 2)
    each = replace(model.draw(np.random.default_rng(0)), base=1, sigma=0.0, tau=3.0, lead=0.4, leader=3)
    world = model.world(each, nu=0.1)
    assert best_error(model.world(each), table) > 0.1
    assert best_error(world, table) <= 0.1
    assert ((world.law(table) >= 0) & (world.law(table) <= 1)).all()


def test_a_leader_decides_a_share_of_the_labels():
    table = rows([0.05, 0.1, 0.2])
    model = Votes(table, 2)
    each = replace(model.draw(np.random.default_rng(0)), lead=0.25, leader=2)
    led, plain = model.world(each), model.world(replace(each, lead=0.0))
    wanted = 0.75 * plain.law(table) + 0.25 * np.eye(2)[table[:, 2]]
    assert led.law(table) == pytest.approx(wanted)
    assert led.truth.leader == 2


def test_half_of_the_worlds_have_a_leader_and_heavy_candidates_lead():
    """Without leaders hardly a world has a best candidate as good as those of real sets (docs/explanation/forecast.md)."""
    model = Votes(rows([0.02, 0.3, 0.3, 0.3]), 2)
    drawn = [model.draw(generator) for generator in generators(200)]
    assert 0.3 < np.mean([each.lead > 0 for each in drawn]) < 0.7
    heaviest = np.mean([np.argmax(model.weights(each)) == each.leader for each in drawn])
    assert heaviest > 0.4  # a quarter if all were alike


def test_a_public_prior_multiplies_half_of_the_starts():
    C, table = PredictionTable(list("abc")), rows([0.1, 0.1, 0.1])
    plain, weighed = Votes(table, 2), Votes(table, 2, guess_of(Prior.weights(C, [1, 1, 8]), 3))
    ratios = [model.bases[:, 2] / model.bases[:, 0] for model in (plain, weighed)]
    assert ratios[1] == pytest.approx(
        [*ratios[0], *(8 * ratios[0])]
    )  # it may be wrong: half of the starts are without it
    assert guess_of(Prior.order(C, ["c", "a", "b"]), 3).tolist() == [1 / 2, 1 / 3, 1]
    assert guess_of(Prior(), 3) is None


def test_labels_follow_the_law():
    table = rows([0.05, 0.1, 0.2], m=4000)
    C = PredictionTable(list("abc"))
    pool, model = Pool(C, table, PrivateRandomness.simulated("votes")), Votes(table, 2)
    world = model.world(model.draw(np.random.default_rng(1)))
    items = np.arange(4000)
    query = Query(items=items, counts=np.ones(4000, dtype=np.int64), scanned=1, disagreement=(1, 1), survivors=3)
    told = VoteLabels(world, pool, np.random.default_rng(2)).answer(query).counts
    expected = world.law(table)[:, 1]
    spread = np.sqrt((expected * (1 - expected)).sum())
    assert abs(told[:, 1].sum() - expected.sum()) < 5 * spread
    certain = model.world(model.draw(np.random.default_rng(1)), certain=True)
    assert (
        VoteLabels(certain, pool, np.random.default_rng(2)).answer(query).counts.argmax(1) == table[:, certain.best]
    ).all()


def test_in_half_of_the_worlds_labels_are_flipped():
    table = rows([0.05, 0.1, 0.2])
    model = Votes(table, 2)
    drawn = [model.draw(generator) for generator in generators(100)]
    assert 0.3 < np.mean([each.flips > 0 for each in drawn]) < 0.7
    each = replace(drawn[0], flips=0.3)
    flipped, plain = model.world(each), model.world(replace(each, flips=0.0))
    assert flipped.law(table) == pytest.approx(0.7 * plain.law(table) + 0.15)
    assert model.world(each, nu=0.05).truth.flips == 0  # the error of the best is known


@pytest.mark.parametrize("table", [np.zeros((60, 1)), np.zeros((60, 3)), np.tile([0, 1, 0], (60, 1)), np.eye(60)])
def test_tables_that_say_nothing_have_worlds_too(table):
    model = Votes(table.astype(np.uint16), 2)
    for generator in generators(3):
        world = model.world(model.draw(generator), nu=0.1)
        assert world.weights.sum() == pytest.approx(1)
        assert np.isfinite(world.law(table.astype(np.uint16))).all()


def test_of_very_many_candidates_some_vote(monkeypatch):
    monkeypatch.setattr(votes, "MOST_VOTERS", 7)
    table = rows(np.full(50, 0.2))
    model = Votes(table, 2)
    assert len(model.voters) == 7
    assert model.voters[[0, -1]].tolist() == [0, 49]
    assert 0 <= model.world(model.draw(np.random.default_rng(0))).best < 50

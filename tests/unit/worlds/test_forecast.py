"""Predictions before the first label."""

import itertools

import numpy as np
import pytest

from replical import Pool, PredictionTable, PrivateRandomness, Thresholds, World, audit, plan, predict_agreement
from replical.errors import BadSpec, ValueOutOfRange
from replical.learners.for_plan import learner_for
from replical.worlds.datasets import real_world

PRIVATE = PrivateRandomness.simulated("prediction")


def line(n, size):
    C = Thresholds(n)
    return C, Pool(C, np.random.default_rng(n).integers(n - 1, size=size), PRIVATE)


def test_the_prediction_covers_what_an_audit_finds():
    """Labels and disagreement predicted from a lab's own pool, against fresh pools from the population."""
    C, pool = line(5000, 20_000)
    found = predict_agreement(C, pool, 0.2, rho=0.2, truths=30)
    learner = learner_for(plan("rounded-cal", C, epsilon=0.2, delta=0.05, rho=0.2, items=20_000, pool="finite"))
    measured = audit(learner, World(C=C, pool_size=20_000), seed="prediction", pairs=30)
    assert found.items == 20_000
    assert found.labels_mean == pytest.approx(measured.labels_mean, rel=0.25)
    assert found.labels_low <= measured.labels_mean <= found.labels_high
    assert found.disagreement_mean == pytest.approx(measured.expected_jaccard, abs=0.01)
    assert found.certified_fraction == measured.certified_fraction == 1


def test_a_smaller_rho_needs_a_larger_pool_and_a_certified_lab_has_enough():
    C, pool = line(2000, 30_000)
    pools = [predict_agreement(C, pool, 0.2, rho=rho, truths=2).pool_for_rho for rho in (0.05, 0.1, 0.3)]
    assert pools == sorted(pools, reverse=True)
    assert pools[1] < 30_000


def test_nothing_can_be_proven_below_what_the_failures_take():
    C, pool = line(50, 1000)
    assert predict_agreement(C, pool, 0.2, "rounded-a2", rho=0.0001, truths=1, max_labels=20).pool_for_rho is None


def test_near_ties_are_groups_in_which_everyone_is_close_to_everyone():
    generator = np.random.default_rng(3)
    base = generator.integers(2, size=(400, 4))
    columns = np.stack(
        [np.where(generator.random(400) < 0.02, 1 - base[:, i % 4], base[:, i % 4]) for i in range(20)], 1
    )
    C = PredictionTable([f"m{i}" for i in range(20)])
    pool = Pool(C, columns, PRIVATE)
    ties = predict_agreement(C, pool, 0.1, "rounded-a2", truths=1, max_labels=30).ties
    listed = [h for group in ties for h in group]
    assert len(listed) == len(set(listed)) == 20
    for group in ties:
        for one, two in itertools.combinations(group, 2):
            assert (columns[:, one] != columns[:, two]).mean() <= 0.1
    assert {tuple(h % 4 for h in group) for group in ties} == {(i,) * 5 for i in range(4)}


def test_bad_input():
    C, pool = line(50, 1000)
    with pytest.raises(BadSpec, match="unknown learner 'guess'"):
        predict_agreement(C, pool, 0.2, "guess", truths=1)
    for draws in (0, -3, 1.5):
        with pytest.raises(ValueOutOfRange, match=f"1 world or more, got {draws}"):
            predict_agreement(C, pool, 0.2, truths=draws)
    with pytest.raises(ValueOutOfRange, match="the pool is for another class"):
        predict_agreement(Thresholds(51), pool, 0.2, truths=1)
    with pytest.raises(BadSpec, match="unknown data 'cats'"):
        real_world("cats", 10)

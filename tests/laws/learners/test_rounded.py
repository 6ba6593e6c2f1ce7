"""Rounded and CAL by halving against brute force, label by label."""

from dataclasses import replace
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import (
    CAL,
    SharedRandomness,
    Thresholds,
    learn,
    plan,
)
from replical.classes.predictions.line import LinePredictions
from replical.classes.predictions.packed import PackedPredictions
from replical.learners.planning import learner_for
from support import reference
from support.labs import lab, worlds


@settings(max_examples=40, deadline=None)
@given(worlds)
def test_halving_asks_the_most_even_item(world):
    C, number, seed = world
    pool, labels, codes, order, truth = lab(C, number, 60)
    made = plan("cal", C, epsilon=0.001, delta=0.1, pool="finite", query="halving")
    alive, asked = list(range(len(C))), 0
    while (x := reference.most_even(codes, order, alive)) is not None:
        alive = [h for h in alive if codes[h][x] == truth[x]]
        asked += 1
    result = learn(CAL(made), pool, labels, SharedRandomness(seed))
    assert result.V.indices.tolist() == alive
    assert result.labels == asked


@pytest.mark.claim("rounded")
@settings(max_examples=40, deadline=None)
@given(worlds, st.sampled_from(["rounded-cal", "rounded-a2"]), st.sampled_from([0.05, 0.2]))
def test_rounded_returns_the_first_within_the_shared_distance_of_the_vote(world, learner, kappa):
    C, number, seed = world
    pool, labels, codes, order, _ = lab(C, number, 150, noise=0.05 if learner == "rounded-a2" else 0.0)
    made = plan(learner, C, epsilon=0.4, delta=0.3, rho=0.5, pool="finite", kappa=kappa, items=120)
    result = learn(learner_for(made), pool, labels, SharedRandomness(seed))
    shrunk, used = result.V.indices.tolist(), order[:120]
    _, radius = reference.centre_and_radius(codes, used, shrunk, 2)
    assert result.rounding.kappa == radius
    u = (reference.shared_word(seed, ("threshold",), 0) >> 11) / 2**53
    threshold = floor(120 * (0.18 + 0.18 * u))
    assert result.hypothesis == reference.rounded(codes, used, shrunk, threshold, seed)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(worlds)
def test_without_a_certificate_the_base_runs_to_the_end_of_its_pool(world):
    """ρ so small that nothing certifies: Rounded's version space is its base's when nothing is disputed any more."""
    C, number, seed = world
    pool, labels, *_ = lab(C, number, 80)
    made = plan("rounded-cal", C, epsilon=0.2, delta=0.1, rho=0.001, pool="finite")
    result = learn(learner_for(made), pool, labels, SharedRandomness(seed))
    exhausted = learn(CAL(replace(made.base, epsilon=0)), pool, labels, SharedRandomness(seed))
    assert result.V.indices.tolist() == exhausted.V.indices.tolist()
    assert result.labels == exhausted.labels
    assert not result.rounding.certified


@given(st.integers(1, 40), st.data())
def test_votes_and_single_predictions_agree_between_forms(n, data):
    C = Thresholds(n)
    x = np.array(data.draw(st.lists(st.integers(-1, n), min_size=1, max_size=30)))
    alive = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    within = np.array(data.draw(st.lists(st.integers(0, len(x) - 1), max_size=10)), dtype=np.int64)
    line, packed, codes = LinePredictions(C, x), PackedPredictions(C, x), np.array(reference.all_codes(C, C.items(x)))
    expected = [[int((codes[alive, i] == label).sum()) for label in (0, 1)] for i in within]
    for form in (line, packed):
        assert form.votes(alive, within).tolist() == expected
        for item in range(len(x)):
            assert form.codes_of_item(item, alive).tolist() == codes[alive, item].tolist()
        assert form.codes(int(alive[0]), within).tolist() == codes[alive[0], within].tolist()


@pytest.mark.parametrize("labels", [("a", "b", "c"), tuple(range(10))])
def test_votes_of_more_than_two_labels(labels):
    from support.worlds import random_table

    C, items = random_table(70, 50, labels=labels)
    codes, alive = C.codes(items, np.arange(70)), np.arange(3, 70, 2)
    votes = PackedPredictions(C, items).votes(alive, np.arange(50))
    assert (votes == [[(codes[alive, i] == label).sum() for label in range(len(labels))] for i in range(50)]).all()

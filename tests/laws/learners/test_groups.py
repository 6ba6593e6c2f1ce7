"""Handicap with items that belong together against its twin, and what it refuses."""

from itertools import pairwise
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import (
    Groups,
    KnownLabels,
    Pool,
    PredictionTable,
    PrivateRandomness,
    SharedRandomness,
    learn,
    learner_for,
    plan,
)
from replical.errors import BadSpec, BadTable, PlanMismatch, ValueOutOfRange
from support import reference
from support.predictions import losing_by, preferring, run_beside_twin, tables


@pytest.mark.claim("groups")
@given(
    tables(), st.sampled_from([0.3, 0.1]), st.sampled_from([1, 3]), st.sampled_from(["item", "group"]), st.booleans(),
    st.sampled_from(["errors", "weights", "distances"]), st.sampled_from([None, 7]),
)  # fmt: skip
@settings(max_examples=60)
def test_with_groups_it_is_its_twin(run, epsilon, batch, weights, ordered, losing, most):
    labels, codes, truth, seed = run
    generator = np.random.default_rng(seed)
    groups = generator.integers(0, max(1, len(truth) // 2), len(truth))
    largest = int(np.bincount(groups).max()) + int(generator.integers(0, 2))
    C, losses, said, known, cost = losing_by(losing, labels, codes, truth)
    made = plan(
        "handicap", C, epsilon=epsilon, delta=0.1, rho=0.4, batch=batch, pool="finite", losses=losses,
        prior=preferring(C, ordered), max_labels=most, groups=Groups(max(2, largest), weights),
    )  # fmt: skip
    skipped = np.flatnonzero(generator.random(len(truth)) < 0.1)
    pool = Pool(C, said, PrivateRandomness.simulated("twin", seed), groups=groups.tolist())
    result, U = run_beside_twin(
        made, pool.without(skipped), known(pool), codes, truth, seed, reference.handicap_by_groups, groups=groups.tolist(),
        largest=max(2, largest), by_items=weights == "item", most=most, skipped=set(skipped.tolist()), cost=cost,
    )  # fmt: skip
    if ordered:  # of items of which nobody could label most nothing is told
        told = ceil(U * 10**6) / 10**6 if result.proof.skipped <= result.labels else 1.0
        assert result.proof.tolerance == pytest.approx(told, abs=1e-6)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(0, 2**32))
def test_groups_are_scanned_whole_and_in_any_order(groups, seed):
    C = PredictionTable(["a", "b"])
    pool = Pool(C, np.zeros((len(groups), 2), dtype=int), PrivateRandomness.simulated("order", seed), groups=groups)
    seen = [groups[item] for item in pool.order]
    assert sorted(pool.order.tolist()) == list(range(len(groups)))
    assert sum(one != two for one, two in pairwise(seen)) == len(set(groups)) - 1


def test_every_order_of_groups_is_equally_likely():
    C, counts = PredictionTable(["a", "b"]), {}
    for seed in range(600):
        pool = Pool(
            C, np.zeros((4, 2), dtype=int), PrivateRandomness.simulated("likely", seed), groups=["u", "v", "u", "w"]
        )
        counts[tuple(pool.order.tolist())] = counts.get(tuple(pool.order.tolist()), 0) + 1
    assert len(counts) == 6
    assert 60 < min(counts.values()) <= max(counts.values()) < 145


def grouped(C, largest=3, **options):
    return plan("handicap", C, epsilon=0.1, delta=0.1, rho=0.2, pool="finite", groups=Groups(largest), **options)


def test_bad_groups_are_one_sentence():
    C, private = PredictionTable(["a", "b"]), PrivateRandomness.simulated("bad")
    X = np.array([[0, 1]] * 6)
    for groups, message in (
        (["u", "v"], "groups are one value an item: there are 2 for 6 items"),
        (["u", "v", None, "u", "v", "w"], "the group of item 2 is missing"),
        (["u", "v", float("nan"), "u", "v", "w"], "the group of item 2 is missing"),
        ([""] * 6, "the group of item 0 is missing"),
    ):
        with pytest.raises(BadTable, match=message):
            Pool(C, X, private, groups=groups)
    with pytest.raises(ValueOutOfRange, match="leave out weights, or groups"):
        Pool(C, X, private, groups=list("uuvvww"), weights=[1] * 6)
    with pytest.raises(BadTable, match="a group has 4 items, and the public bound is 3"):
        grouped(C).check(Pool(C, X, private, groups=list("uuuuvw")))
    with pytest.raises(PlanMismatch, match="here each is taken for a draw"):
        grouped(C).check(Pool(C, X, private))
    for learner in ("handicap", "cal"):
        made = plan(learner, C, epsilon=0.1, delta=0.1, rho=0.2, pool="finite")
        with pytest.raises(PlanMismatch, match=f"{learner} takes each for a draw of its own"):
            made.check(Pool(C, X, private, groups=list("uuvvww")))
    for bound in (0, -1, 2.5, True, "five"):
        with pytest.raises(ValueOutOfRange, match="a whole number of at least 1, got"):
            Groups(bound)
    with pytest.raises(BadSpec, match="every 'item' counts alike, or every 'group', got 'rows'"):
        Groups(3, "rows")
    with pytest.raises(BadSpec, match="a group of at most 1 item is no group"):
        grouped(C, 1)
    with pytest.raises(
        BadSpec, match="groups of up to 100 items whose losses are in parts of 1/1 come to more than 10,000"
    ):
        grouped(C, 100)
    with pytest.raises(BadSpec, match="nu = 0 takes every label by itself"):
        grouped(C, nu=0)
    with pytest.raises(BadSpec, match="cal takes every item by itself"):
        plan("cal", C, epsilon=0.1, delta=0.1, pool="finite", groups=Groups(3))


def test_a_group_that_the_budget_would_cut_is_not_begun():
    C, labels = PredictionTable(["a", "b"]), np.zeros(40, dtype=int)
    pool = Pool(
        C, np.array([[0, 1], [1, 0]] * 20), PrivateRandomness.simulated("cut"), groups=[each // 4 for each in range(40)]
    )
    result = learn(learner_for(grouped(C, 4, max_labels=10)), pool, KnownLabels(C, labels), SharedRandomness("cut"))
    assert (result.labels, result.proof.scanned) == (8, 8)
    assert "the budget of 10 labels was spent" in result.proof.verdict.why


def test_a_selector_takes_groups_as_scikit_learn_calls_them():
    dummy = pytest.importorskip("sklearn.dummy")
    from replical.sklearn import ReplicableSelector

    X, y, groups = np.arange(800.0)[:, None], np.ones(800, dtype=int), np.arange(800) // 4
    models = [dummy.DummyClassifier(strategy="constant", constant=each).fit([[0.0], [1.0]], [0, 1]) for each in (0, 1)]
    chosen = ReplicableSelector(models, grouping=Groups(4), seed="published").fit(X, y, groups=groups)
    assert (chosen.certified_, chosen.hypothesis_, chosen.n_labels_ % 4) == (True, 1, 0)
    for some, told in ((None, groups), (Groups(4), None)):
        with pytest.raises(ValueError, match="rows that belong together need both"):
            ReplicableSelector(models, grouping=some, seed="published").fit(X, y, groups=told)

"""Lattice on awkward data: nothing breaks, and nothing is certified that is not so (docs/claims/lattice.md)."""

import numpy as np
import pytest

from replical import AskTell, KnownLabels, Pool, PrivateRandomness, SharedRandomness, Thresholds, learn
from replical.errors import BadTable, PlanMismatch, ReplicalError
from replical.lattice.cones import Cone
from replical.lattice.learner import Lattice
from replical.lattice.linear import Linear
from replical.lattice.plan import lattice_plan


def run(X, y, *, step=0.3, string="a", **more):
    C = Linear(np.shape(X)[1], step=step, seed="a")
    plan = lattice_plan(C, **({"epsilon": 0.2, "delta": 0.05, "rho": 0.1} | more))
    pool = Pool(C, X, PrivateRandomness.simulated("test"))
    return learn(Lattice(plan), pool, KnownLabels(C, np.asarray(y).astype(int)), SharedRandomness(string))


def items(count, d, seed=0):
    return np.random.default_rng(seed).normal(size=(count, d))


def test_items_that_are_0():
    with pytest.raises(BadTable, match="0 in all features"):
        run(np.zeros((10, 2)), np.ones(10))
    X = np.vstack([np.zeros((100, 2)), items(2000, 2)])
    assert run(X, X[:, 0] >= 0).proof.enclosed


def test_wrong_labels_are_noticed_and_nothing_is_proven():
    X = items(3000, 2)
    wrong = np.random.default_rng(1).random(3000) < 0.3
    result = run(X, (X[:, 0] >= 0) ^ wrong)
    assert not result.proof.certified
    assert result.proof.rho_proven == 1.0
    assert 0 < result.proof.rho_predicted <= 1
    assert "contradict" in result.verdict.why


def test_labels_are_asked_one_at_a_time_and_within_the_budget():
    X = items(2000, 5)
    result = run(X, X[:, 0] >= 0, max_labels=30)
    assert result.labels <= 30
    assert run(X, X[:, 0] >= 0, max_labels=30, noisy=True).labels == 30


def test_ask_and_tell():
    X, C = items(2000, 2), Linear(2, step=0.3, seed="a")
    plan = lattice_plan(C, epsilon=0.2, delta=0.05, rho=0.1)
    going = AskTell(Lattice(plan), Pool(C, X, PrivateRandomness.simulated("test")), SharedRandomness("a"))
    while going.open:
        going.tell({row: int(X[row, 0] >= 0) for row in going.open})
    assert going.result.hypothesis == run(X, X[:, 0] >= 0).hypothesis
    assert going.result.describe(C).startswith("1 if ")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"checks": -1}, "checks must be a whole number of at least 0, got -1"),
        ({"max_labels": 20}, "above the 20 labels that check the answer, got 20"),
        ({"labs": 1}, "labs must be a whole number of at least 2, got 1"),
        ({"epsilon": 0}, "epsilon must be in"),
        ({"wrong": 0.5}, "wrong must be in"),
    ],
)
def test_bad_numbers_are_named(wrong, words):
    with pytest.raises(ReplicalError, match=words):
        run(items(100, 2), np.ones(100), **wrong)


def test_other_strings_and_classes_are_refused():
    with pytest.raises(PlanMismatch, match="another string"):
        run(items(100, 2), np.ones(100), string="b")
    plan = lattice_plan(Linear(1, step=0.3, seed="a"), epsilon=0.2, delta=0.05, rho=0.1)
    pool = Pool(Thresholds(3), [0, 1], PrivateRandomness.simulated("test"))
    with pytest.raises(PlanMismatch, match="another one"):
        learn(Lattice(plan), pool, KnownLabels(Thresholds(3), [0, 1]), SharedRandomness("a"))


def test_checks_are_asked_of_a_run_that_was_not_enclosed_too():
    """Its pool ended first, and whether some half-space makes no error is asked all the same."""
    X = items(60, 2)
    y = X[:, 0] >= 0
    with_checks, without = run(X, y, step=0.01), run(X, y, step=0.01, checks=0)
    assert not without.proof.enclosed
    assert with_checks.labels > without.labels


def test_a_direction_known_beyond_a_wall_changes_nothing(monkeypatch):
    X = items(2000, 3)
    found = run(X, X[:, 0] >= 0, step=0.1)
    monkeypatch.setattr(Cone, "_other_cell", lambda self, *reaches: None)
    without = run(X, X[:, 0] >= 0, step=0.1)
    assert (found.hypothesis, found.labels, found.proof) == (without.hypothesis, without.labels, without.proof)

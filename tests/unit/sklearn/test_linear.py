"""`ReplicableLinear` on bad input: a right answer, or one sentence that says what is wrong and what would help."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")

from replical.errors import ReplicalError, UncertifiedWarning
from replical.sklearn import ReplicableLinear

W = np.array([1.0, 0.5, -0.2])


def items(count=2000, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(count, d))


def fitted(X, y, **more):
    """The model, and all that was warned about."""
    given = {"seed": "a", "epsilon": 0.2, "random_state": 0, "intercept": None} | more
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = ReplicableLinear(**given).fit(X, y)
    assert all(each.category in (UserWarning, UncertifiedWarning) for each in heard)  # nothing is divided by 0
    assert model.certified_ != any(each.category is UncertifiedWarning for each in heard)
    return model, " ".join(str(each.message) for each in heard)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1.0, 1e200, 1e300])
def test_the_size_of_all_features_does_not_matter(size):
    X = items()
    model, heard = fitted(X * size, X @ W >= 0)
    assert model.certified_
    assert heard == ""
    assert model.hypothesis_ == fitted(X, X @ W >= 0)[0].hypothesis_


def test_no_margin():
    """Items on the best plane itself, with either label: whoever is enclosed still has the best one's cell."""
    X = items()
    X[:500] -= np.outer(X[:500] @ W / (W @ W), W)
    y = X @ W >= 0
    y[:500] = np.arange(500) % 2
    model, heard = fitted(X, y)
    assert model.rho_proven_ in (0.0, 1.0)
    if model.rho_proven_ == 0:
        C = model.class_
        assert model.hypothesis_ == C.number(C.cell(W))
        assert "its error is not proven" in heard  # a quarter of the items on the plane are wrong


@pytest.mark.parametrize("noisy", [False, True])
def test_more_features_than_labels(noisy):
    X = items(40, 60)
    model, heard = fitted(X, X[:, 0] >= 0, noisy=noisy)
    assert not model.certified_
    assert (model.rho_proven_, model.rho_predicted_) == (1.0, 1.0)
    assert ("taken to be wrong" if noisy else "fewer labels than features") in heard
    assert "What would help" in heard


@pytest.mark.parametrize("feature", ["constant", "repeated", "zero"])
def test_features_that_depend_on_each_other_are_named(feature):
    X = items(400)
    more = {"constant": np.ones(len(X)), "repeated": X[:, 0], "zero": np.zeros(len(X))}[feature]
    model, heard = fitted(np.column_stack([X, more]), X @ W >= 0, intercept=1.0 if feature == "constant" else None)
    assert not model.certified_
    assert "features are constant, repeated or depend on each other" in heard
    assert model.score(np.column_stack([X, more]), X @ W >= 0) > 0.8


def test_rows_with_both_labels_are_noticed():
    X = items()
    y = X @ W >= 0
    model, heard = fitted(np.vstack([X, X]), np.concatenate([y, ~y]))
    assert not model.certified_
    assert "labels contradict every half-space" in heard


def test_all_items_on_one_side():
    """The cone is not bounded by items of one label alone; nothing breaks, and nothing is proven that is not so."""
    X = np.abs(items(200)) + 0.1
    model, heard = fitted(X, np.arange(len(X)) > 0)
    assert model.certified_ or "What would help" in heard


@pytest.mark.parametrize("count", [1, 2])
def test_a_pool_of_hardly_any_item(count):
    model, heard = fitted(items(count), np.arange(count), classes=[0, 1])
    assert not model.certified_
    assert "fewer labels than features" in heard


def test_labels_wrong_near_the_boundary_alone_are_noticed():
    """One label in fifty is wrong: twenty random items notice that in 6 of 20 runs, items near the boundary in 18."""
    X = items(5000)
    heights = X @ W
    wrong = np.random.default_rng(1).random(len(X)) < 1 / (1 + np.exp(np.abs(heights) / 0.05))
    assert wrong.mean() < 0.025
    found = [fitted(X, (heights >= 0) ^ wrong, random_state=order, epsilon=0.05) for order in range(8)]
    assert sum("contradict every half-space" in heard for _, heard in found) >= 6
    assert len({model.hypothesis_ for model, _ in found if model.certified_}) <= 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"epsilon": 0}, "epsilon must be in"),
        ({"step": "x"}, "step of a lattice must be in"),
        ({"intercept": 0.0}, "public constant above 0, got 0.0"),
        ({"intercept": "x"}, "public constant above 0, got 'x'"),
        ({"max_labels": 10}, "raise the budget"),
        ({"epsilon": 1e-7}, "epsilon 1e-07 with 3 coordinates takes a lattice whose step is .*: give a larger epsilon"),
        ({"step": True}, "step of a lattice must be in"),
    ],
)
def test_bad_numbers_are_named(more, words):
    with pytest.raises(ReplicalError, match=words):
        fitted(items(50), items(50) @ W >= 0, **more)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers(value):
    X = items(50)
    X[3, 1] = value
    with pytest.raises(ValueError, match="contains (NaN|infinity)"):
        fitted(X, items(50) @ W >= 0)


def test_items_that_are_0_in_all_features():
    with pytest.raises(ReplicalError, match="0 in all features"):
        fitted(np.zeros((20, 3)), np.arange(20) % 2)


def test_too_many_features():
    with pytest.raises(ReplicalError, match="at most 1000 dimensions, got 1001"):
        fitted(np.ones((3, 1001)), [0, 1, 0])


def test_items_next_to_the_plane_are_too_thin_for_doubles_and_nothing_breaks():
    """All items within a billionth of the best plane: labels that doubles cannot use leave V as it was."""
    for seed in (3, 5, 8, 13, 21, 34):
        X, w = items(600, 3, seed), np.random.default_rng(seed).normal(size=3)
        X -= np.outer(X @ w / (w @ w), w) * (1 - 1e-9)
        for order in range(3):
            model, _ = fitted(X, X @ w >= 0, random_state=order, epsilon=0.05)
            if model.rho_proven_ == 0:
                assert model.hypothesis_ == model.class_.number(model.class_.cell(w))


def test_sums_beyond_the_largest_double_have_their_sign():
    model, _ = fitted(items(), items() @ W >= 0)
    X = np.sign(items(200)) * 1.7e308
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="invalid value encountered in reduce")  # scikit-learn's own
        warnings.filterwarnings("error", message="overflow")
        assert (model.predict(X) == model.predict(X / 1e300)).all()
        assert not np.isnan(model.decision_function(X)).any()


def test_features_that_are_true_or_false():
    X = items() > 0
    model, _ = fitted(X, X @ W >= 0.3, intercept=1.0)
    assert (model.predict(X) == model.predict(X.astype(float))).all()


@pytest.mark.parametrize(
    ("said", "words"),
    [(None, "the oracle gives no label for any of 50 rows"), ("maybe", "'maybe' is not among"), ([1], r"one label an item, got \[1\]")],
)  # fmt: skip
def test_what_an_oracle_may_not_say_is_named(said, words):
    with pytest.raises(ValueError, match=words):
        ReplicableLinear(seed="a", classes=[0, 1]).fit(items(50), oracle=lambda row: said)


def test_one_label_alone_is_told_what_helps():
    with pytest.raises(ValueError, match=r"1 class given\. If y holds one label by chance, give both as classes"):
        fitted(items(50), np.ones(50))


def test_a_budget_of_a_noisy_run_needs_no_room_for_checks():
    model, _ = fitted(items(50), items(50) @ W >= 0, noisy=True, max_labels=7)
    assert model.n_labels_ == 7


def test_numbers_of_numpy_are_numbers():
    assert fitted(items(), items() @ W >= 0, checks=np.int64(5), max_labels=np.int64(99))[0].n_labels_ < 99

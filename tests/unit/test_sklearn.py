"""The estimators: scikit-learn's own checks, labels only as they are asked for, the seed, and selection among models."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from replical import Stumps
from replical.sklearn import ReplicableClassifier, ReplicableSelector


@pytest.fixture(scope="module")
def line():
    X = np.random.default_rng(0).normal(size=(3000, 3))
    return X, np.where(X[:, 1] > 0.4, "ill", "well")


@pytest.mark.parametrize("hypotheses", ["stumps", "halfspaces"])
def test_scikit_learns_own_checks(hypotheses):
    """All of them pass; array inputs of other libraries are checked only where SciPy is told so before it is imported."""
    pytest.importorskip("pandas")  # one check needs it
    code = f"""
import json, warnings
warnings.simplefilter("ignore")
from sklearn.utils.estimator_checks import check_estimator
from replical.sklearn import ReplicableClassifier
found = check_estimator(ReplicableClassifier({hypotheses!r}, count=300, seed="checks"), on_fail=None, on_skip=None)
print(json.dumps([[each["check_name"], each["status"]] for each in found]))
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    status = json.loads(done.stdout)
    assert [name for name, each in status if each != "passed"] == []
    assert len(status) > 40


def test_a_label_is_counted_once_and_an_oracle_hears_no_other_rows(line):
    X, y = line
    asked = []

    def oracle(row):
        asked.append(row)
        return y[row]

    model = ReplicableClassifier(seed="published", random_state=3, classes=["ill", "well"]).fit(X, oracle=oracle)
    assert len(asked) == len(set(asked)) == model.n_labels_ < 200
    same = ReplicableClassifier(seed="published", random_state=3).fit(X, y)
    assert (same.hypothesis_, same.n_labels_) == (model.hypothesis_, model.n_labels_)
    blind = y.copy()
    blind[np.setdiff1d(np.arange(len(y)), asked)] = "well"  # rows that were not asked for do not matter
    assert ReplicableClassifier(seed="published", random_state=3).fit(X, blind).hypothesis_ == model.hypothesis_


def test_two_labs_with_one_seed_agree_and_with_two_seeds_differ(line):
    """Different samples and private orders: the seed is what they share."""
    rng = np.random.default_rng(1)

    def chosen(seed, lab):
        X = rng.normal(size=(10_000, 1))
        y = (X[:, 0] > 0.4).astype(int)
        model = ReplicableClassifier(
            Stumps(cuts=[np.linspace(-3, 3, 1001)]), seed=seed, kappa=None, learner="rounded-cal", random_state=lab
        )
        return model.fit(X, y).hypothesis_

    pairs = [(chosen(f"seed {n}", 2 * n), chosen(f"seed {n}", 2 * n + 1)) for n in range(12)]
    assert sum(a == b for a, b in pairs) >= 9
    assert len({a for a, _ in pairs}) > 6


def test_the_seed_is_drawn_kept_and_warned_about(line):
    X, y = line
    with pytest.warns(UserWarning, match="no seed is given"):
        model = ReplicableClassifier(random_state=0).fit(X, y)
    assert len(model.seed_) == 32
    assert clone(model).seed is None


def test_pipelines_and_cross_validation(line):
    X, y = line
    model = make_pipeline(FunctionTransformer(lambda X: X / 2), ReplicableClassifier(seed="published", random_state=0))
    scores = cross_val_score(model, X, y, cv=3)
    assert scores.min() > 0.8
    assert model.set_output(transform="default") is model


def test_bad_input(line):
    X, y = line
    with pytest.raises(ValueError, match="requires y"):
        ReplicableClassifier(seed="s").fit(X)
    with pytest.raises(ValueError, match="give the label set"):
        ReplicableClassifier(seed="s").fit(X, oracle=lambda row: 0)
    with pytest.raises(ValueError, match="Only binary classification is supported. 3 classes given"):
        ReplicableClassifier(seed="s").fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="'boxes'"):
        ReplicableClassifier("boxes", seed="s").fit(X, y)
    with pytest.raises(ValueError, match="is not among the classes"):
        ReplicableClassifier(seed="s", classes=["a", "b"]).fit(X, y)
    with pytest.raises(NotFittedError):
        ReplicableClassifier().predict(X)


def test_choosing_among_fitted_models(line):
    """The good one of three wins, and labels are asked for only where they disagree."""
    X, y = line
    good = LogisticRegression().fit(X[:500], y[:500])
    models = [("always", DummyClassifier(strategy="most_frequent").fit(X, y)), ("good", good)]
    models.append(("bad", DummyClassifier(strategy="constant", constant="ill").fit(X, y)))
    chosen = ReplicableSelector(models, seed="published", random_state=0).fit(X[500:], y[500:])
    assert chosen.best_name_ == "good"
    assert chosen.n_labels_ < 200
    assert (chosen.predict(X) == good.predict(X)).all()
    with pytest.raises(ValueError, match="give the fitted estimators"):
        ReplicableSelector(seed="s").fit(X, y)

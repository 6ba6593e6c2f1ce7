"""The estimators: scikit-learn's own checks, labels only as they are asked for, the seed, and selection among models."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from replical import (
    CAL,
    AskTell,
    Handicaps,
    Losses,
    Pool,
    PredictionTable,
    PrivateRandomness,
    SharedRandomness,
    Stumps,
    plan,
)
from replical.errors import EmptyVersionSpace, ReplicalError, UncertifiedWarning
from replical.sklearn import ReplicableClassifier, ReplicableSelector


@pytest.fixture(scope="module")
def line():
    X = np.random.default_rng(0).normal(size=(3000, 3))
    return X, np.where(X[:, 1] > 0.4, "ill", "well")


ESTIMATORS = {
    "stumps": "ReplicableClassifier('stumps', count=300, seed='checks')",
    "halfspaces": "ReplicableClassifier('halfspaces', count=300, seed='checks')",
    "linear": "ReplicableLinear(seed='checks')",
}


@pytest.mark.parametrize(
    "estimator",
    [pytest.param("stumps", marks=pytest.mark.slow), "halfspaces", pytest.param("linear", marks=pytest.mark.slow)],
)
def test_scikit_learns_own_checks(estimator):
    """All of them pass; array inputs of other libraries are checked only where SciPy is told so before it is imported."""
    pytest.importorskip("pandas")  # one check needs it
    code = f"""
import json, warnings
warnings.simplefilter("ignore")
from sklearn.utils.estimator_checks import check_estimator
from replical.sklearn import ReplicableClassifier, ReplicableLinear
found = check_estimator({ESTIMATORS[estimator]}, on_fail=None, on_skip=None)
print(json.dumps([[each["check_name"], each["status"]] for each in found]))
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    status = json.loads(done.stdout)
    assert [name for name, each in status if each != "passed"] == []
    assert len(status) > 40


LABELS = "the checks bring labels that the candidates do not know"
INPUT = "what items may be, the candidates decide"
LEFT_TO_CANDIDATES = {
    "check_estimators_dtypes": LABELS, "check_classifier_data_not_an_array": LABELS,
    "check_classifiers_one_label": LABELS, "check_classifiers_classes": LABELS, "check_classifiers_train": LABELS,
    "check_dtype_object": INPUT, "check_estimators_empty_data_messages": INPUT, "check_estimators_nan_inf": INPUT,
    "check_estimator_sparse_tag": INPUT, "check_estimator_sparse_array": INPUT,
    "check_estimator_sparse_matrix": INPUT, "check_fit1d": INPUT, "check_fit2d_predict1d": INPUT,
}  # fmt: skip


class Sign:
    """A candidate that any table of numbers suits."""

    def __init__(self, cut):
        self.cut = cut

    def predict(self, X):
        return (np.asarray(X)[:, 0] > self.cut).astype(int)


@pytest.mark.slow
def test_scikit_learns_own_checks_of_a_selector():
    """All pass but those that are about what the candidates do."""
    pytest.importorskip("pandas")  # one check needs it
    selector = ReplicableSelector([Sign(0.0), Sign(1.0)], seed="checks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(selector, on_fail=None, on_skip=None, expected_failed_checks=LEFT_TO_CANDIDATES)
    assert {each["check_name"] for each in found if each["status"] == "failed"} == set()
    assert sum(each["status"] == "passed" for each in found) > 35


def test_one_label_that_a_selector_knows_is_told_what_helps(line):
    X, _ = line
    with pytest.raises(ValueError, match="1 class is in y .*: give all labels as classes"):
        ReplicableSelector([Sign(0.0), Sign(1.0)], seed="s").fit(X, np.ones(len(X)))


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


@pytest.mark.filterwarnings("ignore::replical.errors.UncertifiedWarning")
def test_two_labs_with_one_seed_agree_and_with_two_seeds_differ(line):
    """Different samples and private orders: the seed is what they share."""
    rng = np.random.default_rng(1)

    def chosen(seed, lab):
        X = rng.normal(size=(10_000, 1))
        y = (X[:, 0] > 0.4).astype(int)
        model = ReplicableClassifier(Stumps(cuts=[np.linspace(-3, 3, 1001)]), seed=seed, nu=0, random_state=lab)
        return model.fit(X, y).hypothesis_

    pairs = [(chosen(f"seed {n}", 2 * n), chosen(f"seed {n}", 2 * n + 1)) for n in range(12)]
    assert sum(a == b for a, b in pairs) >= 9
    assert len({a for a, _ in pairs}) > 6


@pytest.mark.filterwarnings("ignore::replical.UncertifiedWarning")  # with some seeds there is no proof
def test_the_seed_is_drawn_kept_and_warned_about(line):
    X, y = line
    with pytest.warns(UserWarning, match="no seed is given"):
        model = ReplicableClassifier(random_state=0).fit(X, y)
    assert len(model.seed_) == 32
    assert clone(model).seed is None


def test_bad_input(line):
    X, y = line
    with pytest.raises(ValueError, match="requires y"):
        ReplicableClassifier(seed="s").fit(X)
    with pytest.raises(ValueError, match="give the label set"):
        ReplicableClassifier(seed="s").fit(X, oracle=lambda row: 0)
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


@pytest.mark.filterwarnings("ignore::replical.errors.UncertifiedWarning")  # some fits have no proof
def test_public_rows_put_the_candidates_in_order(line):
    """The first good enough in the order of errors on public rows: fewer labels, and the better of two good ones."""
    X, y = line
    models = [(f"cut at {cut}", Cut(cut).fit(X, y)) for cut in (-1.0, 0.0, 0.5, 0.45)]
    public, ours = slice(0, 100), slice(100, None)
    chosen = ReplicableSelector(models, public=(X[public], y[public]), epsilon=0.1, seed="published", random_state=0)
    assert chosen.fit(X[ours], y[ours]).best_name_ == "cut at 0.45"
    assert chosen.certified_
    labels = [
        ReplicableSelector(models, epsilon=0.1, seed=f"text {number}", random_state=0).fit(X[ours], y[ours]).n_labels_
        for number in range(8)
    ]
    assert chosen.n_labels_ < np.mean(labels)


class Cut(ClassifierMixin, BaseEstimator):
    """Well up to a value of the second feature."""

    def __init__(self, cut):
        self.cut = cut

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.where(X[:, 1] > self.cut, "ill", "well")


def test_what_is_proven_is_told(line):
    """Who is left, at which level, and with public rows how good the first of them is."""
    X, y = line
    models = [(f"cut at {cut}", Cut(cut).fit(X, y)) for cut in (-1.0, 0.0, 0.5, 0.45)]
    public, ours = slice(0, 100), slice(100, None)
    selector = ReplicableSelector(models, public=(X[public], y[public]), epsilon=0.1, seed="published", random_state=0)
    chosen = selector.fit(X[ours], y[ours])
    assert chosen.survivors_ == [chosen.best_name_]
    assert chosen.doubt_ == 0.05
    assert 0 < chosen.tolerance_ <= 0.1
    assert 0 <= chosen.excess_upper_ <= 0.1
    with pytest.warns(UncertifiedWarning, match="the budget of 3 labels was spent") as heard:
        short = clone(selector).set_params(max_labels=3).fit(X[ours], y[ours])
    assert "public" not in str(heard[0].message)  # there are public rows already
    assert short.best_name_ in short.survivors_
    assert 1 < len(short.survivors_) <= 4
    assert short.doubt_ > 0.05
    assert short.excess_upper_ is None
    with pytest.warns(UncertifiedWarning):
        plain = ReplicableSelector(models, learner="a2", seed="published").fit(X[ours], y[ours])
    assert (plain.doubt_, plain.tolerance_, plain.excess_upper_) == (None, None, None)


@pytest.mark.filterwarnings("ignore::replical.errors.UncertifiedWarning")
def test_public_rows_without_labels_are_asked_where_it_matters(line):
    """A hundred at most, those on which good candidates differ; what was said makes the same order in every other lab."""
    X, y = line
    models = [(f"{share:g}", Noisy(share, seed)) for seed, share in enumerate([0.4, 0.3, 0.05, 0.1, 0.2])]
    public, ours, calls = slice(0, 1000), slice(1000, None), []

    def oracle(row):
        calls.append(row)
        return None if len(calls) == 2 else y[row]

    given = {"public": X[public], "epsilon": 0.1, "seed": "published", "classes": ["ill", "well"]}
    chosen = ReplicableSelector(models, ask_public=oracle, **given).fit(X[ours], y[ours])
    assert list(chosen.public_asked_) == calls
    assert len(calls) <= 101
    assert [chosen.public_asked_[row] for row in calls].count(None) == 1
    said = {name: model.predict(X) for name, model in models}
    wrong = {
        name: sum(each[row] != y[row] for row in calls if chosen.public_asked_[row]) for name, each in said.items()
    }
    assert all(len({each[row] for each in said.values()}) == 2 for row in calls)
    assert chosen.best_name_ == min(wrong, key=wrong.get) == "0.05"
    again = ReplicableSelector(models, ask_public=chosen.public_asked_.__getitem__, **given).fit(X[ours], y[ours])
    assert again.public_asked_ == chosen.public_asked_
    assert (again.best_name_, again.n_labels_) == (chosen.best_name_, chosen.n_labels_)


class Noisy(ClassifierMixin, BaseEstimator):
    """Right but for a share of rows, which differ from one to the next."""

    classes_ = np.array(["ill", "well"])

    def __init__(self, share, seed):
        self.share, self.seed = share, seed

    def predict(self, X):
        turned = (np.abs(X[:, 2] * 1e4 + self.seed * 17.3) % 1) < self.share
        return np.where((X[:, 1] > 0.4) != turned, "ill", "well")


def test_what_is_wrong_with_asking_about_public_rows(line):
    X, y = line
    models = [Noisy(0.1, 1), Noisy(0.2, 2)]

    def selector(**given):
        return ReplicableSelector(models, **{"seed": "s", "public": X[:500], "ask_public": y.__getitem__} | given)

    with pytest.raises(ValueError, match="ask_public says labels of public rows that have none: give it with public="):
        selector(public=(X[:500], y[:500])).fit(X[500:], y[500:])
    with pytest.raises(ValueError, match="ask_public says labels of public rows that have none"):
        selector(public=None).fit(X[500:], y[500:])
    with pytest.raises(ValueError, match="1 of 500 public rows are among the rows to choose on"):
        selector().fit(X[499:], y[499:])
    with pytest.raises(ValueError, match="the label 'dead' is not among the classes"):
        selector(ask_public=lambda row: "dead").fit(X[500:], y[500:])
    losses = Losses.of(["ill", "well"], abstain="unsure", price=0.1)
    with pytest.raises(ValueError, match="which is what abstaining is called"):
        selector(ask_public=lambda row: "unsure", losses=losses, classes=["ill", "well", "unsure"]).fit(
            X[500:], y[500:]
        )


def test_public_rows_make_a_cover_of_the_rules(line):
    """The answer is one of those few rules, found from public rows and the seed alone."""
    X, y = line
    public = np.random.default_rng(7).normal(size=(1000, 3))

    outside = 0
    for seed in ("text 1", "text 2", "text 3"):
        covered = ReplicableClassifier(seed=seed, public=public, random_state=0).fit(X, y)
        C, shared = covered.class_, SharedRandomness(seed)
        members = Handicaps.cover(C, C.items(public), radius=0.08, shared=shared).values
        assert len(members) < len(C) / 2
        assert covered.hypothesis_ in members
        assert np.isin(covered.survivors_, members).all()
        outside += ReplicableClassifier(seed=seed, random_state=0).fit(X, y).hypothesis_ not in members
    assert outside  # without public rows other rules are candidates too
    with pytest.raises(ValueError, match="public rows have 2 features, those to choose on 3: give the same"):
        ReplicableClassifier(seed="s", public=public[:, :2]).fit(X, y)
    with pytest.raises(ReplicalError, match="a2 has no handicaps: leave them out, or take the learner handicap"):
        ReplicableClassifier(seed="s", public=public, learner="a2").fit(X, y)


def test_the_same_rows_are_asked_in_the_same_order(line, two_models):
    """To fit again until there is a proof is no second chance, unless random_state is changed."""
    X, y = line

    def asked(rows, **more):
        heard = []

        def oracle(row):
            heard.append(row)
            return y[rows][row]

        ReplicableSelector(two_models, seed="published", **more).fit(X[rows], oracle=oracle)
        return heard

    every, half = slice(None), slice(0, 1500)
    assert asked(every) == asked(every) != asked(every, random_state=1)
    assert asked(every, random_state=1) == asked(every, random_state=1)
    assert asked(half) == asked(half)
    assert asked(half) != [row for row in asked(every) if row < 1500][: len(asked(half))]


@pytest.mark.parametrize("weights", [{"ill": 4, "well": 1}, {"ill": 1, "well": 4}])
def test_costly_errors_count_more(line, weights):
    """One cut misses the ill, one calls too many ill: which is better depends on what that costs."""
    X, y = line
    models = {"misses": Cut(0.9).fit(X, y), "alarms": Cut(-0.1).fit(X, y)}
    losses = Losses.of(("ill", "well"), weights=weights)
    chosen = ReplicableSelector(models, losses=losses, seed="published", random_state=0).fit(X, y)
    assert chosen.certified_
    assert chosen.best_name_ == ("alarms" if weights["ill"] > 1 else "misses")


class Shy(Cut):
    """The same, but unsure near the cut."""

    def predict(self, X):
        return np.where(abs(X[:, 1] - self.cut) < 0.5, "unsure", super().predict(X))


@pytest.mark.parametrize(("price", "best"), [(0.02, "shy"), (0.9, "sure")])
def test_who_abstains_pays_the_price(line, price, best):
    X, y = line
    models = {"shy": Shy(0.7).fit(X, y), "sure": Cut(0.7).fit(X, y)}
    labels = ["ill", "well"]
    losses = Losses.of(labels, abstain="unsure", price=price)
    selector = ReplicableSelector(models, losses=losses, classes=[*labels, "unsure"], seed="published", random_state=0)
    chosen = selector.fit(X, y)
    assert (chosen.best_name_, chosen.certified_) == (best, True)
    with pytest.raises(ReplicalError, match="a label is what candidates say that abstain"):
        clone(selector).fit(X, np.full(len(X), "unsure"))


def test_an_oracle_s_labels_are_those_of_the_candidates(line, two_models):
    X, y = line
    chosen = ReplicableSelector(two_models, seed="published", random_state=0).fit(X, oracle=lambda row: y[row])
    assert chosen.best_name_ == "right"
    with pytest.raises(ValueError, match="'dead' is not among the classes"):
        ReplicableSelector(two_models, seed="published", random_state=0).fit(X, oracle=lambda row: "dead")


@pytest.fixture
def two_models(line):
    X, y = line
    return [
        (name, LogisticRegression().fit(X[:200], said)) for name, said in (("right", y[:200]), ("left", y[:200][::-1]))
    ]


def test_candidates_stay_fitted_when_the_selector_is_cloned(line, two_models):
    X, y = line
    selector = ReplicableSelector(two_models, seed="published", random_state=0)
    copy = clone(selector)
    assert copy is not selector
    assert copy.get_params(deep=False) == selector.get_params(deep=False)
    assert copy.fit(X, y).best_name_ == "right"
    assert not hasattr(clone(copy), "result_")
    assert cross_val_score(selector, X, y, cv=2).min() > 0.8
    searched = GridSearchCV(make_pipeline(selector), {"replicableselector__epsilon": [0.1, 0.2]}, cv=2).fit(X, y)
    assert searched.best_estimator_[-1].best_name_ == "right"


def test_classes_of_the_candidates_keep_their_names(line):
    X, _ = line
    y = np.where(X[:, 0] > 1, "maybe later", np.where(X[:, 0] > 0.3, "yes", "no"))
    models = [("a", LogisticRegression().fit(X, y)), ("b", LogisticRegression(C=0.01).fit(X, y))]
    few = X[:, 0] <= 1
    chosen = ReplicableSelector(models, seed="published", random_state=0).fit(X[few], y[few])
    assert chosen.classes_.tolist() == ["maybe later", "no", "yes"]


def test_labels_of_another_length_are_refused(line, two_models):
    X, y = line
    selector = ReplicableSelector(two_models, seed="published")
    for wrong in (y[:-1], np.concatenate([y, y]), y[:50]):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            selector.fit(X, wrong)
    with pytest.raises(ValueError, match="1d array"):
        selector.fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="not both"):
        selector.fit(X, y, oracle=lambda row: y[row])
    assert selector.fit(X, y).n_features_in_ == X.shape[1]


def test_a_fit_that_fails_leaves_the_one_before(line):
    X, y = line
    model = ReplicableClassifier(seed="published", random_state=0).fit(X, y)
    before = model.predict(X)
    model.learner = "perceptron"
    with pytest.raises(ReplicalError):
        model.fit(X, np.where(y == y[0], 5, 7))
    assert (model.predict(X) == before).all()


def test_features_beyond_the_cuts_are_named(line):
    X, y = line
    with pytest.warns(UserWarning, match=r"feature 0 lie beyond ±3, where no cut is.*public constants"):
        ReplicableClassifier(seed="published").fit(X * [1000, 1, 1], y)


def test_ask_and_tell_goes_on_after_labels_that_cannot_be():
    """None of them is kept; the run is where it was."""
    C = PredictionTable(["a", "b"], labels=["x", "y", "z"])
    codes = np.array([["x", "y"], ["y", "x"]] * 100)
    cal = CAL(plan("cal", C, epsilon=0.01, delta=0.1, pool="finite"))
    run = AskTell(cal, Pool(C, codes, PrivateRandomness.simulated("d")), SharedRandomness("p"))
    (row,) = run.open
    with pytest.raises(EmptyVersionSpace):
        run.tell({row: "z"})
    assert run.open == [row]
    run.tell({row: codes[row][0]})
    assert run.result.hypothesis == 0

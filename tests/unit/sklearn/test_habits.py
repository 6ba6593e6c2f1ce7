"""What users of scikit-learn expect: any list of models, probabilities, warnings, and one sentence where something is missing."""

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from replical import UncertifiedWarning
from replical.sklearn import ReplicableClassifier, ReplicableLinear, ReplicableSelector
from replical.sklearn.base import scaled_by_itself, shared_rows

PUBLIC, OURS = slice(0, 300), slice(300, None)


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).normal(size=(2300, 3))
    return X, np.where(X[:, 1] > 0.4, "ill", "well")


@pytest.fixture(scope="module")
def models(table):
    X, y = table
    made = [DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=3), LogisticRegression()]
    return [model.fit(X[:rows], y[:rows]) for model, rows in zip(made, (300, 40, 300), strict=True)]  # no two alike


def selected(estimators, table, **more):
    X, y = table
    given = {"epsilon": 0.1, "seed": "published", "random_state": 0} | more
    return ReplicableSelector(estimators, **given).fit(X[OURS], y[OURS])


def test_a_list_a_dict_and_pairs_are_the_same_candidates(table, models):
    names = ["decisiontreeclassifier-1", "decisiontreeclassifier-2", "logisticregression"]
    pairs = list(zip(names, models, strict=True))
    found = [
        selected(each, table) for each in (models, tuple(models), pairs, [list(each) for each in pairs], dict(pairs))
    ]
    assert {(each.hypothesis_, each.best_name_, each.n_labels_) for each in found} == {
        (found[0].hypothesis_, names[found[0].hypothesis_], found[0].n_labels_)
    }
    assert all(each.best_estimator_ is models[each.hypothesis_] for each in found)


@pytest.mark.parametrize(
    ("estimators", "words"),
    [
        ([], "give the fitted estimators to choose among: a list, a dict or"),
        ({}, "give the fitted estimators to choose among"),
        ([LogisticRegression], "'type' is the class LogisticRegression, which cannot predict"),
        ({"a": 3}, "the candidate 'a' is a int, which cannot predict"),
        (LogisticRegression(), "one estimator leaves nothing to choose: give a list of them"),
        ([LogisticRegression(), LinearSVC()], "2 of 2 candidates are not fitted, the first of them 'logisticregression': fit each with"),
        ({"mine": make_pipeline(StandardScaler(), LogisticRegression())}, "1 of 1 candidate is not fitted, the first of them 'mine'"),
    ],
)  # fmt: skip
def test_what_cannot_be_chosen_among_is_one_sentence_before_any_label(estimators, words, table):
    asked = []
    selector = ReplicableSelector(estimators, seed="published", classes=["ill", "well"])
    with pytest.raises(ValueError, match=words) as caught:
        selector.fit(table[0], oracle=asked.append)
    assert asked == []
    assert str(caught.value).count(". ") == 0


class Rule:
    """A model of somebody's own that was never fitted and needs not be."""

    def __init__(self, cut=0.4):
        self.cut = cut

    def fit(self, X, y):
        raise AssertionError

    def predict(self, X):
        return np.where(X[:, 1] > self.cut, "ill", "well")


def test_a_rule_that_needs_no_fit_is_a_candidate(table):
    assert selected([Rule(), Rule(0.2)], table).score(*table) == 1.0


@pytest.mark.filterwarnings("ignore::replical.errors.UncertifiedWarning")
def test_probabilities_are_those_of_the_chosen_one_in_the_order_of_the_classes(table, models):
    X, y = table
    chosen = selected(models, table, classes=["well", "unknown", "ill"])
    found = chosen.predict_proba(X)
    assert chosen.classes_.tolist() == ["well", "unknown", "ill"]
    assert found.shape == (len(X), 3)
    assert (found[:, 1] == 0).all()
    assert (found[:, [2, 0]] == chosen.best_estimator_.predict_proba(X)).all()
    assert (chosen.classes_[found.argmax(axis=1)] == chosen.predict(X)).all()
    with pytest.warns(UncertifiedWarning):
        bare = selected([LinearSVC().fit(X[PUBLIC], y[PUBLIC]), models[0]], table, learner="erm", max_labels=1500)
    assert hasattr(bare, "predict_proba") == hasattr(bare.best_estimator_, "predict_proba")
    assert not hasattr(selected([Rule(), Rule(0.2)], table), "predict_proba")
    assert hasattr(ReplicableSelector(models), "predict_proba")
    assert not hasattr(ReplicableSelector([Rule()]), "predict_proba")


@pytest.fixture
def strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UncertifiedWarning)
        yield


@pytest.mark.usefixtures("strict")
def test_who_has_a_proof_is_not_warned(table, models):
    X, y = table
    assert selected(models, table).certified_
    assert ReplicableClassifier(seed="published", random_state=0).fit(X[:, :2], y).certified_
    assert ReplicableLinear(seed="published", random_state=0, epsilon=0.2).fit(X, X[:, 1] > 0.4).certified_


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (lambda models: ReplicableSelector([Rule(0.4), Rule(0.2), Rule(-1.0)], max_labels=9), "the budget of 9 labels was spent.*more labels"),
        (lambda models: ReplicableSelector(models, learner="a2"), "a2 does not prove that labs agree.*learner='handicap'"),
        (lambda models: ReplicableSelector(models, learner="erm"), "erm does not prove that labs agree"),
        (lambda models: ReplicableClassifier(max_labels=30), "the budget of 30 labels was spent.*public rows .public=..., or a larger epsilon"),
        (lambda models: ReplicableLinear(noisy=True, max_labels=60), "What would help"),
    ],
    ids=["budget", "a2", "erm", "rules", "linear"],
)  # fmt: skip
def test_no_proof_is_a_warning_in_words_of_python(estimator, words, table, models):
    X, y = table
    model = estimator(models).set_params(seed="published", random_state=0)
    with pytest.warns(UncertifiedWarning, match=f"^not certified: .*{words}") as heard:
        model.fit(X[OURS], y[OURS])
    (told,) = heard
    assert told.filename == __file__  # the user's own line
    assert "--" not in str(told.message)
    assert not model.certified_
    assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y: X, "public is a pair of rows and their labels, public=(X_public, y_public), got a ndarray of 100"),
        (lambda X, y: (X, y, 3), "public is a pair of rows and their labels"),
        (lambda X, y: (X, (y == "ill").astype(int)), "public: the label 0 is not among the classes ['ill', 'well']"),
        (lambda X, y: (X, y[:9]), "inconsistent numbers of samples"),
    ],
)  # fmt: skip
def test_public_rows_that_make_no_order_are_one_sentence(change, words, table, models):
    """Labels of another kind than the models' once made every model err on every row, and an order by name."""
    X, y = table
    with pytest.raises(ValueError, match=re.escape(words)):
        selected(models, table, public=change(X[:100], y[:100]))


def test_public_rows_that_are_the_lab_s_own_are_refused(table, models):
    """They would choose their own order; where features tell no items apart nothing can be seen."""
    X, y = table
    asked = []
    selector = ReplicableSelector(models, public=(X[260:360], y[260:360]), seed="published")
    with pytest.raises(ValueError, match="^60 of 100 public rows are among the rows to choose on, .* one of the two$"):
        selector.fit(X[OURS], oracle=asked.append)
    rule = ReplicableClassifier(public=X[260:360], seed="published", classes=["ill", "well"])
    with pytest.raises(ValueError, match="^60 of 100 public rows are among the rows to choose on, .* one of the two$"):
        rule.fit(X[OURS], oracle=asked.append)
    assert asked == []
    assert shared_rows(X[:100].astype(str), X.astype(str)) == 100
    assert shared_rows(np.full((100, 2), "a"), X) == 0
    assert shared_rows(np.round(X[:100]), np.round(X)) == 0


def test_rows_without_a_label_name_the_oracle(table, models):
    X, _ = table
    for y in (np.where(X[:, 1] > 0.4, 1.0, np.nan), np.where(X[:, 1] > 0.4, "ill", None)):
        with pytest.raises(
            ValueError, match=r"Input y contains NaN\. For rows without a label give no y but oracle=\.\."
        ):
            selected(models, (X, y))


def test_three_classes_name_the_remedy(table):
    X, _ = table
    for estimator in (ReplicableClassifier(seed="s"), ReplicableLinear(seed="s")):
        with pytest.raises(ValueError, match="Only binary classification is supported. 3 classes.*ReplicableSelector"):
            estimator.fit(X, np.arange(len(X)) % 3)


@given(st.integers(0, 10**6), st.integers(3, 60), st.integers(1, 4), st.sampled_from([np.float32, np.float64]))
def test_features_that_their_own_rows_scaled_are_noticed_and_no_others(seed, rows, columns, kind):
    """Against the scalers themselves; public rows of any number leave no trace."""
    generator = np.random.default_rng(seed)
    X, public = (generator.normal(3, 5, size=(each, columns)).astype(kind) for each in (rows, 50))
    for scaler in (StandardScaler(), MinMaxScaler()):
        assert scaled_by_itself(scaler.fit_transform(X)), scaler
        assert not scaled_by_itself(scaler.fit(public).transform(X)), scaler
    assert not scaled_by_itself(X)
    assert not scaled_by_itself((X > 0).astype(kind))  # yes or no is not scaled


@pytest.mark.filterwarnings("ignore::replical.errors.UncertifiedWarning")
def test_a_scaler_in_the_pipeline_is_warned_about(table, models):
    X, y = table
    for last in (
        ReplicableClassifier(seed="s"),
        ReplicableLinear(seed="s", epsilon=0.2),
        ReplicableSelector(models, seed="s"),
    ):
        with pytest.warns(UserWarning, match="scaled by these rows themselves.*public rows, once for all labs"):
            make_pipeline(StandardScaler(), last).fit(X[OURS], y[OURS])


def test_a_frame_is_looked_at_as_an_array_is(table):
    pandas = pytest.importorskip("pandas")
    X = StandardScaler().fit_transform(table[0])
    assert scaled_by_itself(pandas.DataFrame(X)) == scaled_by_itself(X) == "means of 0 and deviations of 1"
    assert scaled_by_itself(pandas.DataFrame({"a": ["x", "y", "z"]})) == ""


def test_a_result_in_print_is_short(table, models):
    text = str(selected(models, table).result_)
    assert len(text) < 100
    assert text.startswith("Result(hypothesis=")
    assert "certified=True" in text


@pytest.mark.parametrize(
    ("missing", "code", "words"),
    [
        ("sklearn", "import replical.sklearn", "replical[sklearn]"),
        ("pyarrow", "from replical.lab.columns import open_table; open_table('x.parquet', ['a']).__enter__()", "replical[lab]"),
    ],
)  # fmt: skip
def test_an_extra_that_is_missing_is_named(missing, code, words, tmp_path):
    block = f"import sys; sys.modules[{missing!r}] = None; import replical\ntry:\n    {code}\nexcept ImportError as error:\n    print(error)"
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert f"pip install '{words}'" in done.stdout
    assert done.stdout.count("\n") == 1


def test_estimators_that_say_the_same_are_named(table, models):
    """On the public rows where there are such: there nobody's own rows decide who is one model."""
    X, y = table
    public = X[PUBLIC], y[PUBLIC]
    words = r"predict the same for all rows: rule-1, rule-3\. If that is one model, give it once; if not, a fit may end with"
    with pytest.warns(UserWarning, match=words):
        selected([Rule(), Rule(0.2), Rule()], (X[OURS], y[OURS]))
    near = Rule(np.nextafter(np.max(public[0][public[0][:, 1] < 0.4][:, 1]), 1))  # differs from 0.4 on other rows alone
    with pytest.warns(UserWarning, match="predict the same for all public rows: rule-1, rule-2"):
        selected([Rule(), near, Rule(0.2)], (X[OURS], y[OURS]), public=public)

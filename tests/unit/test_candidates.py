"""Models fitted on public rows become a class: bad recipes, failed fits, killed runs and changed files are named."""

import json
import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
from sklearn.linear_model import LogisticRegression

from replical.core.canonical import digest_of
from replical.errors import BadRecipe, BadTable
from replical.lab.tables import read_features
from replical.sklearn import candidates as fitting
from replical.sklearn.candidates import Models, fit_candidates
from replical.sklearn.family import Family
from replical.sklearn.model_files import load, save

LOGISTIC = {
    "name": "logistic",
    "estimator": "sklearn.linear_model.LogisticRegression",
    "scale": True,
    "bootstraps": 2,
    "grid": {"C": [0.1, 1.0]},
}
TREE = {"name": "tree", "estimator": "sklearn.tree.DecisionTreeClassifier", "grid": {"max_depth": [1, 3]}}
FAILS = {"name": "fails", "estimator": "sklearn.neighbors.KNeighborsClassifier", "grid": {"n_neighbors": [-1]}}
RECIPE = {
    "schema": "replical.candidates/1",
    "seed": "published",
    "label": "y",
    "labels": ["no", "yes"],
    "features": ["a", "b"],
    "model": [LOGISTIC, TREE],
}


def table(rows=120, seed=0):
    X = np.random.default_rng(seed).normal(size=(rows, 2))
    y = np.where(X.sum(axis=1) > 0, "yes", "no")
    return {"id": [f"r{row}" for row in range(rows)], "a": X[:, 0], "b": X[:, 1], "y": y.tolist()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "out"
    fit_candidates(Family.of(RECIPE), table(), path)
    return path


def test_every_candidate_is_fitted_and_ordered_by_rows_nobody_was_fitted_on(folder):
    models = Models.read(folder)
    assert models.names == ["logistic-0-b0", "logistic-0-b1", "logistic-1-b0", "logistic-1-b1", "tree-0", "tree-1"]
    lines = (folder / "candidates.csv").read_text().splitlines()
    assert lines[0] == "name,digest"
    assert [line.split(",")[0] for line in lines[1:]] == models.names
    family, rows = models.family, table()
    fitted, held = family.split(120)
    assert len(held) == 36
    assert sorted([*fitted, *held]) == list(range(120))
    X = np.column_stack([rows["a"], rows["b"]])
    said = models.predict(X)
    errors = {name: sum(said[name][row] != rows["y"][row] for row in held) for name in models.names}
    assert (folder / "order.txt").read_text().split() == sorted(models.names, key=lambda name: (errors[name], name))


@pytest.mark.slow
def test_the_same_recipe_and_rows_give_the_same_models(folder, tmp_path):
    """Wherever and whenever they are fitted, in how many processes; other words in the string give others."""
    again = fit_candidates(Family.of(RECIPE), table(), tmp_path / "again", workers=2)
    X = np.random.default_rng(1).normal(size=(500, 2))
    assert again.predict(X) == Models.read(folder).predict(X, workers=2)
    other = fit_candidates(Family.of(RECIPE | {"seed": "other"}), table(), tmp_path / "other")
    assert other.predict(X) != again.predict(X)


def _without_digests(content):
    models = [{key: value for key, value in each.items() if key != "digest"} for each in content["models"]]
    return {key: value for key, value in content.items() if key != "digest"} | {"models": models}


def test_a_run_that_was_killed_goes_on(folder, tmp_path, monkeypatch):
    out, made = tmp_path / "out", []
    fit = fitting.Fitting.__call__

    def killed(self, number):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(number)
        return fit(self, number)

    monkeypatch.setattr(fitting.Fitting, "__call__", killed)
    with pytest.raises(KeyboardInterrupt):
        fit_candidates(Family.of(RECIPE), table(), out)
    with pytest.raises(BadTable, match="was not finished"):
        Models.read(out)
    with pytest.raises(BadRecipe, match="begun with another recipe"):
        fit_candidates(Family.of(RECIPE | {"seed": "other"}), table(), out)
    made.clear()
    again = fit_candidates(Family.of(RECIPE), table(), out).content
    assert _without_digests(again) == _without_digests(Models.read(folder).content)  # files of skops tell the time
    assert made == [3, 4, 5]
    with pytest.raises(BadRecipe, match="holds fitted models already"):
        fit_candidates(Family.of(RECIPE), table(), out)


def test_a_fit_that_fails_is_named_and_left_out_only_if_asked(tmp_path):
    family = Family.of(RECIPE | {"model": [TREE, FAILS]})
    with pytest.raises(BadRecipe, match="the fit of fails-0 failed: .*n_neighbors.*--skip-failed"):
        fit_candidates(family, table(), tmp_path / "one")
    models = fit_candidates(family, table(), tmp_path / "two", skip_failed=True)
    assert models.names == ["tree-0", "tree-1"]
    assert models.content["models"][2]["name"] == "fails-0"
    assert "n_neighbors" in models.content["models"][2]["failed"]
    with pytest.raises(BadRecipe, match="no fit succeeded"):
        fit_candidates(Family.of(RECIPE | {"model": [FAILS]}), table(), tmp_path / "three", skip_failed=True)


def test_a_model_that_was_changed_is_named(folder, tmp_path):
    models = Models.read(folder)
    path = folder / "models" / models.content["models"][4]["file"]
    raw = path.read_bytes()
    try:
        path.write_bytes(raw + b"x")
        with pytest.raises(BadTable, match=r"4\.skops was changed after it was published"):
            models.predict(np.zeros((2, 2)))
    finally:
        path.write_bytes(raw)
    contents = folder / "models.json"
    text = contents.read_text()
    try:
        contents.write_text(text.replace("tree-0", "tree-9"))
        with pytest.raises(BadTable, match="was changed"):
            Models.read(folder)
    finally:
        contents.write_text(text)


class Hostile:
    """What a pickle could do."""

    def __reduce__(self):
        return print, ("executed",)


def test_nothing_is_unpickled(tmp_path, capsys):
    path = tmp_path / "bad.skops"
    path.write_bytes(raw := pickle.dumps(Hostile()))
    with pytest.raises(Exception, match=r"."):
        load(path, digest_of(raw))
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    model.strange = Hostile()
    with pytest.raises(BadRecipe, match="Hostile, which is not read from files"):
        save(model, tmp_path / "own.skops", "own")
    assert "executed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"sead": 1}, "a recipe has no key 'sead'"),
        ({"schema": "x"}, "the schema is 'x'"),
        ({"seed": 7}, "seed must be a text, got 7"),
        ({"features": []}, "features must be a list"),
        ({"features": ["a", "a"]}, "stands twice"),
        ({"labels": ["no"]}, "label set"),
        ({"held_out": 1.5}, r"held_out must be in \(0, 1\), got 1.5"),
        ({"model": []}, "one or more"),
        ({"model": [TREE, TREE]}, "two candidates are called 'tree-0'"),
        ({"model": [TREE | {"deep": 1}]}, "a model has no key 'deep'"),
        ({"model": [TREE | {"bootstraps": -1}]}, "bootstraps is a whole number"),
        ({"model": [TREE | {"grid": {"max_depth": 3}}]}, "a list of values"),
        ({"model": [TREE | {"estimator": "os.system"}]}, "named like sklearn"),
        ({"model": [TREE | {"estimator": "sklearn.utils._testing.os"}]}, "named like sklearn"),
        ({"model": [TREE | {"estimator": "sklearn.linear_model.Ridge"}]}, "no classifier"),
        ({"model": [TREE | {"estimator": "sklearn.tree.Oak"}]}, "no classifier sklearn.tree.Oak"),
    ],
)
def test_bad_recipes_are_named(wrong, words):
    with pytest.raises(BadRecipe, match=words):
        Family.of(RECIPE | wrong)


def test_an_unknown_setting_is_a_failed_fit(tmp_path):
    family = Family.of(RECIPE | {"model": [TREE | {"grid": {"height": [3]}}]})
    with pytest.raises(BadRecipe, match="cannot be made: .*height"):
        fit_candidates(family, table(), tmp_path / "out")


def test_bad_rows_are_named(tmp_path):
    rows = table()
    for column, value, words in (
        ("a", np.inf, "'a' of the item 'r3'|'r3'"),
        ("y", "perhaps", "'perhaps'"),
        ("y", None, "'r3' has no label"),
    ):
        values = list(rows[column])
        values[3] = value
        with pytest.raises(Exception, match=words):
            fit_candidates(Family.of(RECIPE), rows | {column: values}, tmp_path / "out")
    with pytest.raises(BadTable, match="'b'"):
        read_features({"id": ["x"], "a": [1.0]}, ["a", "b"])
    with pytest.raises(BadRecipe, match="leaves none"):
        fit_candidates(Family.of(RECIPE), table(rows=1), tmp_path / "out")


def test_the_contents_say_what_was_fitted_on_what(folder):
    content = json.loads((folder / "models.json").read_text())
    assert content["schema"] == "replical.models/1"
    assert (
        content["recipe_fingerprint"] == Family.of(RECIPE).fingerprint == Family.of(RECIPE | {"title": "x"}).fingerprint
    )

"""Models fitted on public rows become a class: bad recipes, failed fits, killed runs and changed files are named."""

import json
import pickle
import shutil

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skops")
pytest.importorskip("pyarrow")
from sklearn.linear_model import LogisticRegression, Ridge

from replical.core.canonical import digest_of, fingerprint
from replical.errors import BadRecipe, BadTable
from replical.lab.tables import read_features
from replical.sklearn import candidates as fitting
from replical.sklearn.candidates import fit_candidates
from replical.sklearn.family import Family
from replical.sklearn.models import Models, load, save

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


def digests(model, folder, **more):
    """Of the files of a model, fitted on four samples."""
    family = Family.of(RECIPE | {"model": [model | {"name": "m", "bootstraps": 4, "scale": True}]})
    return [each["digest"] for each in fit_candidates(family, table(), folder, **more).content["models"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    ["ensemble.HistGradientBoostingClassifier", "neighbors.KNeighborsClassifier", "ensemble.RandomForestClassifier"],
)
def test_a_model_has_one_file_to_the_byte(estimator, tmp_path):
    """Some keep how many threads there were, what they were asked, or where their arrays lay in memory."""
    model = {"estimator": f"sklearn.{estimator}"}
    assert digests(model, tmp_path / "one") == digests(model, tmp_path / "two", workers=2)


@pytest.mark.slow
def test_the_same_recipe_and_rows_give_the_same_models(folder, tmp_path):
    """Wherever and whenever they are fitted, in how many processes; other words in the string give others."""
    again = fit_candidates(Family.of(RECIPE), table(), tmp_path / "again", workers=2)
    assert again.content == Models.read(folder).content
    X = np.random.default_rng(1).normal(size=(500, 2))
    assert again.predict(X) == Models.read(folder).predict(X, workers=2)
    other = fit_candidates(Family.of(RECIPE | {"seed": "other"}), table(), tmp_path / "other")
    assert other.predict(X) != again.predict(X)


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
    assert again == Models.read(folder).content
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


def test_a_file_lost_while_a_run_was_down_is_fitted_again(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "_write_contents", lambda *given: None)
    fit_candidates(Family.of(RECIPE), table(), tmp_path / "out")
    monkeypatch.undo()
    (tmp_path / "out" / "models" / "1.skops").unlink()
    (tmp_path / "out" / "models" / "4.skops").write_bytes(b"x")
    again = fit_candidates(Family.of(RECIPE), table(), tmp_path / "out")
    assert again.content == Models.read(folder).content
    assert again.predict(np.zeros((2, 2))) == Models.read(folder).predict(np.zeros((2, 2)))


def test_whatever_a_fit_raises_is_a_failed_fit(tmp_path, monkeypatch):
    def raises(self, X, y):
        raise KeyError("no such key")

    monkeypatch.setattr(LogisticRegression, "fit", raises)
    models = fit_candidates(Family.of(RECIPE), table(), tmp_path / "out", skip_failed=True)
    assert models.names == ["tree-0", "tree-1"]


def test_a_model_that_cannot_be_written_is_left_out_if_asked(tmp_path, monkeypatch):
    fit = LogisticRegression.fit

    def strange(self, X, y):
        self.strange_ = Hostile()
        return fit(self, X, y)

    monkeypatch.setattr(LogisticRegression, "fit", strange)
    models = fit_candidates(Family.of(RECIPE), table(), tmp_path / "out", skip_failed=True)
    assert models.names == ["tree-0", "tree-1"]
    with pytest.raises(BadRecipe, match="logistic-0-b0 failed: .*Hostile"):
        fit_candidates(Family.of(RECIPE), table(), tmp_path / "other")


def forged(folder, change):
    """A folder whose contents were changed by somebody who seals them again."""
    path = folder / "models.json"
    content = json.loads(path.read_text())
    del content["digest"]
    change(content)
    path.write_text(json.dumps(content | {"digest": fingerprint(content)}))


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("models"),
        lambda content: content.update(models=[7]),
        lambda content: content["models"][0].update(file=7),
        lambda content: content["models"][0].update(file="../models.json"),
        lambda content: content["models"][0].update(digest=None),
        lambda content: content["models"][0].pop("name"),
        lambda content: content["models"][0].update(name=content["models"][1]["name"]),
        lambda content: content.pop("recipe"),
        lambda content: content.update(recipe=[]),
    ],
)
def test_contents_that_no_run_writes_are_refused(folder, tmp_path, change):
    copy = shutil.copytree(folder, tmp_path / "copy")
    forged(copy, change)
    with pytest.raises((BadTable, BadRecipe)) as refused:
        Models.read(copy).predict(np.zeros((2, 2)))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Ridge().fit([[0.0, 1.0], [1.0, 0.0]], [0.0, 1.0]), "something else than one of the 2 labels"),
        (LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [-1, 5]), "something else than one of the 2 labels"),
        (LogisticRegression().fit([[0.0], [1.0]], [0, 1]), "cannot predict: X has 2 features"),
        ([1, 2], "cannot predict"),
    ],
)
def test_a_model_that_says_something_else_is_refused(folder, tmp_path, model, words):
    """A label that is none would be another one, counted from the end."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    digest = save(model, copy / "models" / "0.skops", "m")
    forged(copy, lambda content: content["models"][0].update(digest=digest))
    with pytest.raises(BadTable, match=words):
        Models.read(copy).predict(np.zeros((2, 2)))


@pytest.mark.parametrize("raw", [b"", b"PK", b"\x80\x04.", b"x" * 100])
def test_a_file_that_is_none_of_skops_is_refused(tmp_path, raw):
    (tmp_path / "m.skops").write_bytes(raw)
    with pytest.raises(BadTable, match="cannot be read"):
        load(tmp_path / "m.skops", digest_of(raw))


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
        *[
            ({"model": [TREE | {"name": name}]}, "a name of one line without commas or quotes")
            for name in ("", " a", "a,b", "a\nb", "a\rb", "a\u2028b", "a\x00b", 'a"b', 7, None)
        ],
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
    twice = {name: [*column, column[0]] for name, column in rows.items()}
    with pytest.raises(BadTable, match="has the id 'r0' twice, in rows 1 and 121"):
        fit_candidates(Family.of(RECIPE), twice, tmp_path / "out")
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

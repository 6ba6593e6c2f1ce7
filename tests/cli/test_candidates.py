"""`replical data candidates` and `replical data predict`: from features to a pool that `run` takes, and what is refused."""

import json

import numpy as np
import pytest

for package in ("pyarrow", "sqlalchemy", "sklearn", "skops"):
    pytest.importorskip(package)

RECIPE = """
schema = "replical.candidates/1"
seed = "published"
label = "y"
labels = ["no", "yes"]
features = ["a", "b"]
[[model]]
name = "logistic"
estimator = "sklearn.linear_model.LogisticRegression"
bootstraps = 3
[[model]]
name = "tree"
estimator = "sklearn.tree.DecisionTreeClassifier"
grid = { max_depth = [1, 2] }
"""


def write(path, rows, seed):
    X = np.random.default_rng(seed).normal(size=(rows, 2))
    lines = [f"r{row},{a:.3f},{b:.3f},{'yes' if a + b > 0 else 'no'}" for row, (a, b) in enumerate(X)]
    path.write_text("\n".join(["id,a,b,y", *lines]) + "\n")


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    write(tmp_path / "public.csv", 100, 0)
    write(tmp_path / "items.csv", 400, 1)
    return tmp_path


def test_from_features_to_a_pool(lab, command):
    code, out, err = command(
        "data", "candidates", "recipe.toml", "--public", "public.csv", "--out", "m", "--workers", "1", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["candidates"] == 5
    code, out, err = command(
        "data", "predict", "m", "--table", "items.csv", "--out", "p.parquet", "--keep", "a", "--workers", "1"
    )
    assert (code, out.strip()) == (0, "400 items, 5 candidates: p.parquet"), err
    words = ["--label-values", "no,yes", "--learner", "handicap", "--epsilon", ".2", "--delta", ".1", "--rho",
             ".2", "--seed", "s", "--out", "p.toml"]  # fmt: skip
    assert command("init", "--candidates", "m/candidates.csv:name", "--prefer", "m/order.txt", *words)[0] == 0
    code, out, err = command(
        "run",
        "p.toml",
        "--pool",
        "p.parquet",
        "--labels",
        "items.csv:y",
        "--journal",
        "j.db",
        "--out",
        "c.json",
        "--json",
    )
    assert code == 0, err
    assert json.loads(out)["hypothesis"]["name"] in (lab / "m" / "order.txt").read_text().split()


def test_a_model_called_as_the_column_of_ids_is_refused(lab, command):
    (lab / "recipe.toml").write_text(
        RECIPE.replace('name = "logistic"\n', 'name = "id"\n').replace("bootstraps = 3\n", "")
    )
    assert (
        command("data", "candidates", "recipe.toml", "--public", "public.csv", "--out", "m", "--workers", "1")[0] == 0
    )
    code, _, err = command("data", "predict", "m", "--table", "items.csv", "--out", "p.parquet", "--workers", "1")
    assert code == 2
    assert "a model is called id as the column of ids is" in err
    assert not (lab / "p.parquet").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("candidates none.toml --public public.csv --out m", "cannot read the recipe none.toml"),
        ("candidates recipe.toml --public none.csv --out m", "none.csv"),
        ("candidates recipe.toml --public public.csv --out m --workers 0", "--workers must be at least 1, got 0"),
        ("predict m --table items.csv --out p.parquet", "the folder m has no models.json"),
        ("predict m --table items.csv --out p.csv", "written as .parquet, got p.csv"),
        ("predict m --table items.csv --out items.csv", "items.csv"),
    ],
)
def test_bad_usage_is_one_sentence(lab, command, words, said):
    code, _, err = command("data", *words.split())
    assert code == 2
    assert said in err
    assert "Traceback" not in err

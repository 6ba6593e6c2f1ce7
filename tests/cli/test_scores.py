"""Probabilities that are cut at public places are candidates like others."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from replical import KnownLabels, PrivateRandomness, Protocol, learn, read_pool
from replical.classes.catalogue import recipe
from replical.errors import BadTable, ReplicalError
from replical.lab.tables import read_labels

MODELS, CUTS = ["a", "b", "c"], [0.3, 0.5, 0.7]
FLAGS = ["--label-values", "no,yes", "--epsilon", ".3", "--delta", ".05", "--rho", ".1", "--seed", "published"]
SECTION = {"kind": "table", "candidates": [{"name": name} for name in MODELS], "cuts": CUTS}
SHARES = st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]) | st.floats(0, 1)


def written(name, items, seed):
    """A lab's table of probabilities, its labels, and what each model says at each cut."""
    generator = np.random.default_rng(seed)
    truth = generator.random(items) < 0.5
    noise = generator.normal(0, [[0.15], [0.3], [0.5]], (3, items))
    scores = dict(zip(MODELS, np.clip(0.25 + 0.5 * truth + noise, 0, 1), strict=True))
    ids, labels = [f"{name}{i}" for i in range(items)], np.where(truth, "yes", "no")
    parquet.write_table(pa.table({"id": ids, **scores}), f"{name}.parquet")
    parquet.write_table(pa.table({"id": ids, "label": labels}), f"{name}-labels.parquet")
    said = {f"{model}@{cut}": np.where(scores[model] >= cut, "yes", "no") for model in MODELS for cut in CUTS}
    parquet.write_table(pa.table({"id": ids, **said}), f"{name}-said.parquet")


@given(rows=st.lists(st.tuples(SHARES, SHARES, SHARES), min_size=1, max_size=8))
@settings(max_examples=25)
def test_cut_scores_are_the_table_one_would_write(rows):
    made = recipe(SECTION, ("no", "yes"), "s")
    table = {"id": list(range(len(rows)))} | {m: [row[i] for row in rows] for i, m in enumerate(MODELS)}
    pool = read_pool(table, made)
    names = [f"{model}@{cut}" for model in MODELS for cut in CUTS]
    assert made.C.candidates == tuple(names)
    assert [made.describe(h) for h in range(9)] == names
    plain = recipe({"kind": "table", "candidates": [{"name": each} for each in names]}, ("no", "yes"), "s")
    said = {f"{m}@{c}": ["yes" if row[i] >= c else "no" for row in rows] for i, m in enumerate(MODELS) for c in CUTS}
    other = read_pool({"id": list(range(len(rows)))} | said, plain)
    assert (np.asarray(pool.items) == np.asarray(other.items)).all()
    assert pool.fingerprint == other.fingerprint


def test_a_run_on_probabilities_is_the_run_on_what_they_say(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    written("x", 400, 1)
    Path("models.txt").write_text("\n".join(MODELS))
    Path("names.txt").write_text("\n".join(f"{model}@{cut}" for model in MODELS for cut in CUTS))
    code, out, err = command("init", "--out", "p.toml", "--candidates", "models.txt", "--cuts", ".3,.5,.7", *FLAGS)
    assert code == 0, err
    assert "9 models, learner handicap, the standard for candidate models" in out
    assert command("init", "--out", "q.toml", "--candidates", "names.txt", *FLAGS)[0] == 0
    labels, results = read_labels("x-labels.parquet", "label", ("no", "yes")), []
    for name, pool in (("p", "x.parquet"), ("q", "x-said.parquet")):
        protocol = Protocol.read(Path(f"{name}.toml"))
        lab = read_pool(pool, protocol.recipe)
        codes = KnownLabels(protocol.recipe.C, [("no", "yes")[labels[each]] for each in lab.ids])
        results.append(learn(protocol.learner, lab.pool(PrivateRandomness.simulated("x")), codes, protocol.shared))
    assert results[0].proof.certified
    assert results[0].proof == results[1].proof
    assert [each.hypothesis for each in results] == [results[0].hypothesis] * 2
    code, out, err = command("run", "p.toml", "--pool", "x.parquet", "--labels", "x-labels.parquet:label", "--journal",
                             "p.db", "--out", "p.json", "--truths", "0", "--json")  # fmt: skip
    assert code == 0, err
    assert json.loads(out)["hypothesis"]["name"] in ("a@0.3", "a@0.5", "a@0.7")
    assert command("verify", "p.json", "--pool", "x.parquet", "--journal", "p.db")[0] == 0


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([0.2, 1.2], "the score of 'b' is 1.2 for the item 'k1', and scores are probabilities from 0 to 1"),
        ([0.2, -0.1], "the score of 'b' is -0.1"),
        ([0.2, float("nan")], "'b' is missing or infinite for the item 'k1'"),
        ([0.2, float("inf")], "'b' is missing or infinite for the item 'k1'"),
        ([0.2, None], "'b' is missing for the item 'k1'"),
        (["no", "yes"], "the scores of 'b' must be numbers, because the protocol has cuts for them"),
    ],
)
def test_bad_scores_are_one_sentence(column, message):
    table = {"id": ["k0", "k1"], "a": [0.1, 0.9], "b": pa.array(column), "c": [0, 1]}
    with pytest.raises(BadTable, match=message):
        read_pool(table, recipe(SECTION, ("no", "yes"), "s"))


@pytest.mark.parametrize(
    ("change", "labels", "message"),
    [
        ({"cuts": []}, ["no", "yes"], "cuts of a table are a list of numbers"),
        ({"cuts": ["half"]}, ["no", "yes"], "cuts of a table are a list of numbers"),
        ({"cuts": [0.0, 0.5]}, ["no", "yes"], "must lie above 0 and at most at 1, got 0.0"),
        ({"cuts": [0.5, 1.5]}, ["no", "yes"], "must lie above 0 and at most at 1, got 1.5"),
        ({"cuts": [0.5, float("nan")]}, ["no", "yes"], "must lie above 0 and at most at 1, got nan"),
        ({"cuts": [0.5, 0.5]}, ["no", "yes"], "listed each once"),
        ({}, ["no", "yes", "perhaps"], "tells two labels apart"),
        ({"candidates": [{"name": "a"}, {"name": "a"}]}, ["no", "yes"], "named twice"),
    ],
)
def test_bad_cuts_are_one_sentence(change, labels, message):
    content = {"schema": "replical.protocol/1", "seed": "s", "class": SECTION | change, "labels": {"values": labels},
               "learner": {"name": "handicap", "epsilon": 0.1, "delta": 0.1, "rho": 0.1}}  # fmt: skip
    with pytest.raises(ReplicalError, match=message):
        Protocol.of(content)


def test_cuts_are_for_candidates_and_are_numbers(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("models.txt").write_text("a\nb\n")
    code, _, err = command("init", "--out", "p.toml", "--class", "thresholds:9", "--cuts", ".5", *FLAGS)
    assert (
        code,
        "--cuts FILE:COLUMN makes the cuts of --class thresholds or --class stumps, without numbers" in err,
    ) == (2, True)
    code, _, err = command("init", "--out", "p.toml", "--candidates", "models.txt", "--cuts", "half", *FLAGS)
    assert (code, "'half' is not a number" in err) == (2, True)
    assert not Path("p.toml").exists()
    assert command("init", "--out", "p.toml", "--candidates", "models.txt", "--cuts", ".5", *FLAGS)[0] == 0
    assert Protocol.of(tomllib.loads(Path("p.toml").read_text())).recipe.C.candidates == ("a@0.5", "b@0.5")

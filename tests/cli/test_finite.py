"""Lists that stand for infinite classes say what they lose: cuts at public quantiles."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
from replical import Protocol
from replical.bounds.finite import quantile_loss
from replical.core.exact import round_up
from replical.errors import BadProtocol
from replical.lab.schema import quantile_cuts

FLAGS = ["--label-values", "no,yes", "--learner", "handicap", "--epsilon", ".05", "--delta", ".05", "--rho",
         ".1", "--seed", "published"]  # fmt: skip
DOSES = np.round(np.random.default_rng(0).lognormal(size=300), 2)


@pytest.fixture(autouse=True)
def public(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"p{i},{dose},{i % 7}" for i, dose in enumerate(DOSES)]
    (tmp_path / "public.csv").write_text("\n".join(["id,dose,age", *rows]) + "\n")
    (tmp_path / "bad.csv").write_text("id,dose\na,1\nb,many\n")
    (tmp_path / "hole.csv").write_text("id,dose\na,1\nb,\n")
    (tmp_path / "none.csv").write_text("id,dose\n")


def test_cuts_are_quantiles_of_a_public_column_and_the_loss_is_kept(command):
    code, out, err = command("init", "--out", "p.toml", "--class", "thresholds", "--cuts",
                             "public.csv:dose", "--set", "bins=20", *FLAGS)  # fmt: skip
    assert code == 0, err
    wrote = tomllib.loads(Path("p.toml").read_text())["class"]
    assert wrote["cuts"] == [quantile_cuts(DOSES, 20)]
    assert wrote["quantiles"] | {"table": ""} == {
        "rows": 300, "bins": 20, "level": 0.05, "loss": quantile_loss(300, 20, 0.05), "table": "",
    }  # fmt: skip
    lost = round_up(quantile_loss(300, 20, 0.05), 4)
    said = f"the best of them errs at most {lost} more than the best on the whole line, except with probability 0.05"
    assert said in out
    assert "placeholders" not in out
    assert said in command("plan", "p.toml")[1]
    C = Protocol.of(tomllib.loads(Path("p.toml").read_text())).recipe.C
    assert C.predict(DOSES)[-1].tolist() == ["no"] * 300


def test_stumps_have_quantiles_of_several_columns(command):
    code, out, err = command("init", "--out", "p.toml", "--class", "stumps", "--cuts",
                             "public.csv:dose,age", *FLAGS)  # fmt: skip
    assert code == 0, err
    assert "Cuts at 100 quantiles of 2 features in 300 public rows" in out
    assert [len(line) for line in tomllib.loads(Path("p.toml").read_text())["class"]["cuts"]] == [
        len(quantile_cuts(DOSES, 100)),
        8,
    ]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--class", "thresholds:9", "--cuts", "public.csv:dose"], "--cuts FILE:COLUMN makes the cuts of --class thresholds or"),
        (["--cuts", "public.csv:dose"], "--cuts FILE:COLUMN makes the cuts of --class thresholds or --class stumps"),
        (["--class", "thresholds", "--cuts", "public.csv"], "--cuts names a file and a column, FILE:COLUMN"),
        (["--class", "thresholds", "--cuts", "public.csv:size"], "'size'"),
        (["--class", "thresholds", "--cuts", "nowhere.csv:dose"], "nowhere.csv"),
        (["--class", "thresholds", "--cuts", "bad.csv:dose"], "'many'"),
        (["--class", "thresholds", "--cuts", "hole.csv:dose"], "hole.csv"),
        (["--class", "thresholds", "--cuts", "none.csv:dose"], "none.csv holds no items"),
        (["--class", "thresholds", "--cuts", "public.csv:dose", "--set", "bins=0"], "bins must be a whole number of at least 1, got 0"),
        (["--class", "thresholds:9", "--set", "bins=4"], "bins is for --cuts FILE:COLUMN"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(command, flags, message):
    code, out, _ = command("init", "--out", "p.toml", *flags, *FLAGS, "--json")
    told = json.loads(out)
    assert (code, told["exit"]) == (2, 2)
    assert message in told["message"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": 0.01}, "the loss of these quantiles is"),
        ({"bins": 2}, "2 quantiles make at most 3 cuts"),
        ({"rows": 0}, "whole numbers of at least 1"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"loss": "small"}, "must be a number above 0"),
        ({"table": "mine"}, "sha256:<64 hex digits>"),
        ({"more": 1}, "quantiles says"),
    ],
)
def test_a_loss_that_is_not_what_the_numbers_say_is_refused(command, change, message):
    assert command("init", "--out", "p.toml", "--class", "thresholds", "--cuts",
                   "public.csv:dose", "--set", "bins=20", *FLAGS)[0] == 0  # fmt: skip
    content = tomllib.loads(Path("p.toml").read_text())
    content["class"]["quantiles"] |= change
    with pytest.raises(BadProtocol, match=message):
        Protocol.of(content)

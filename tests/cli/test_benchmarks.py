"""The benchmarks run as they are."""

import importlib
import json
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from support.paths import ROOT

BENCHMARKS = ROOT / "benchmarks"
FEWER = """
import dataclasses, sys
sys.path.insert(0, sys.argv.pop(1))
import cost_of_replicability as benchmark
benchmark.QUICK = [dataclasses.replace(case, pairs=4) for case in benchmark.QUICK]
benchmark.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["-c", FEWER, BENCHMARKS], [BENCHMARKS / "cost_of_replicability.py"]],
    ids=["fewer pairs", "as it is"],
)
def test_the_cost_benchmark_runs(words, tmp_path):
    """The quick form, with fewer pairs or as it is; it draws its figure too."""
    done = subprocess.run(
        [sys.executable, *map(str, words), "--quick", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        env=os.environ | {"MPLCONFIGDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "cost-of-replicability.json").read_text())
    assert len(found["worlds"]) == 3
    for world in found["worlds"]:
        assert world["disagreement"]["rounded"] <= world["disagreement"]["unrounded at the same stop"]
    for suffix in ("svg", "png", "md"):
        assert (tmp_path / f"cost-of-replicability.{suffix}").stat().st_size > 500


def test_a_public_order_saves_labels(monkeypatch):
    """Fewer labels and less error on the same strings; figures repeat, so there is no false alarm."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    measure = importlib.import_module("public_order").measure
    random, public = measure(1000, 4, 0), measure(1000, 4, 100)
    assert public[0] < random[0]
    assert public[4] < random[4]


def test_settled_and_its_plain_versions_find_the_same():
    words = [sys.executable, str(BENCHMARKS / "settled.py"), "--quick"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert "line:1000" in done.stdout


@pytest.mark.slow
def test_what_settled_estimates_is_compared_with_what_happens():
    words = [sys.executable, str(BENCHMARKS / "settled_estimates.py"), "--pairs", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "mean of 24 settings: estimated" in done.stdout
    assert "labels left: typically off by a factor" in done.stdout


def test_the_benchmark_of_settled_knows_the_ideal_answer(monkeypatch):
    """Three models that err on 5%, 1% and 50% of 100 rows: whatever the order, the first of the good ones."""
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import settled_on_models as benchmark

    truth = np.arange(100, dtype=np.uint8) % 2
    wrong = np.arange(100)[:, None] < [5, 1, 50]
    piece = benchmark.Piece(
        benchmark.ModelSet("toy", "", ("fair", "good", "bad"), truth[:, None] ^ wrong, truth), (500,)
    )
    assert piece.ideal(np.array([2, 0, 1]), Fraction(4, 100)) == 0
    assert piece.ideal(np.array([2, 0, 1]), Fraction(3, 100)) == 1
    runs = piece(0)
    certified = [run for run in runs if run.method == "settled" and run.certified]
    assert len(certified) == 8  # two labs, two orders, two ranges
    assert all(run.ideal for run in certified)
    assert {run.method for run in runs} == {method for method, _, _ in benchmark.WAYS}
    assert benchmark.summary(runs)[0]["pairs"] == 1


@pytest.mark.slow
def test_the_benchmark_of_settled_runs(tmp_path):
    """The quick form: tables, figure, and no certificate that is wrong."""
    pytest.importorskip("sklearn")
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "settled_on_models.py"), "--quick", "--workers", "1", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        env=os.environ | {"MPLCONFIGDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "settled-on-models.json").read_text())
    assert [each["set"]["name"] for each in found["sets"]] == ["iris-10", "even-odd-240"]
    for total in found["totals"]:
        assert (
            total["wrong_certificates"] == total["certified_and_different"] == 0
        )  # strings are fixed: no chance in it
        assert total["certified"] > 0 or total["method"] != "settled"
    assert done.stdout == (tmp_path / "settled-on-models.md").read_text() + "\n"
    for suffix in ("svg", "png"):
        assert (tmp_path / f"settled-on-models.{suffix}").stat().st_size > 500


@pytest.mark.slow
def test_three_labs_agree_by_the_commands():
    pytest.importorskip("sklearn")
    words = [sys.executable, str(BENCHMARKS / "three_labs.py"), "--strings", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    public, random = done.stdout.splitlines()
    assert public.startswith("public order: ")
    assert random.startswith("random order: ")
    assert "of 3 labs certified" in public


def test_a_good_answer_takes_few_labels_and_a_bad_one_too(monkeypatch):
    """Confirmed, refuted, and open at the margin; figures repeat, so there is no false alarm."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    check = importlib.import_module("confirm").check
    good, near, bad = (check("digits", excess, 0.05, 1, budget=200) for excess in (0.0, 0.05, 0.2))
    assert [each.outcomes[0] for each in (good, near, bad)] == ["confirmed", "undecided", "refuted"]
    assert max(good.labels[0], bad.labels[0]) < 150


@pytest.mark.slow
def test_the_forecast_benchmark_runs(tmp_path):
    """The quick form: one set, two labs."""
    words = [sys.executable, str(BENCHMARKS / "forecast.py"), "--quick", "--out", str(tmp_path / "found.json")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    assert "typical factor off" in done.stdout
    found = json.loads((tmp_path / "found.json").read_text())
    assert {each["method"] for each in found} == {"votes", "old"}
    assert {each["at"] for each in found} >= {0, 64}


def test_which_learner_writes_its_tables(tmp_path):
    pytest.importorskip("matplotlib")
    words = [sys.executable, str(BENCHMARKS / "which_learner.py"), "--quick", "--out", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert len(json.loads((tmp_path / "which-learner.json").read_text())["cells"]) == 2
    for suffix in ("svg", "png", "md"):
        assert (tmp_path / f"which-learner.{suffix}").stat().st_size > 150


def test_active_against_passive_as_the_page_says(tmp_path, monkeypatch):
    """The table of docs/explanation/bills.md, and the crossings named there and in docs/paper.md."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(BENCHMARKS)
    benchmark = importlib.import_module("active_against_passive")
    assert round(benchmark.ratio("replica2", "paper", 0.01)) == 147
    assert 9e-5 < benchmark.crossing("replica2", "paper").epsilon < 1e-4
    assert benchmark.crossing("replica2", "tight").epsilon == pytest.approx(1 / 16, rel=0.01)
    assert benchmark.table() in (ROOT / "docs" / "explanation" / "bills.md").read_text(encoding="utf-8")
    benchmark.draw(tmp_path)
    for suffix in ("svg", "png"):
        assert (tmp_path / f"active-against-passive.{suffix}").stat().st_size > 500

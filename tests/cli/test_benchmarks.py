"""The benchmarks run as they are."""

import importlib
import json
import os
import subprocess
import sys

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


@pytest.mark.parametrize(
    "words",
    [["-c", FEWER, BENCHMARKS], pytest.param([BENCHMARKS / "cost_of_replicability.py"], marks=pytest.mark.slow)],
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


def test_which_learner_writes_its_tables(tmp_path):
    pytest.importorskip("matplotlib")
    words = [sys.executable, str(BENCHMARKS / "which_learner.py"), "--quick", "--out", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert len(json.loads((tmp_path / "which-learner.json").read_text())["cells"]) == 2
    for suffix in ("svg", "png", "md"):
        assert (tmp_path / f"which-learner.{suffix}").stat().st_size > 150

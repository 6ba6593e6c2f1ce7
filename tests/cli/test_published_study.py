"""The study of this repository, its short version, as a stranger would run it."""

import json
import re
import subprocess
import sys

import pytest

from replical.study.run import draw
from support.figures import faults, recorded
from support.paths import ROOT

pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("matplotlib")

STUDY = ROOT / "studies" / "cost-of-replicability.toml"


@pytest.mark.slow
def test_the_short_version_runs_and_says_what_the_long_one_says(tmp_path, monkeypatch):
    words = [sys.executable, "-m", "replical", "paper", "study", STUDY, "--quick", "--out", tmp_path / "out", "--json"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rows = pq.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert told["cells"] == len(rows) >= 60
    assert told["refused"] == 0
    assert not [row for row in rows if row["replicable"] and row["disagreement_low"] > row["rho"]]
    names = {path.stem for path in (tmp_path / "out" / "figures").glob("*.svg")}
    assert {"labels-epsilon", "labels-rho"} <= names
    assert "<script" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    committed = {row["cell"]: row for row in pq.read_table(PUBLISHED).to_pylist()}
    shared = [row for row in rows if row["cell"] in committed]
    assert len(shared) > 40  # the same cells: their first pairs are the published ones
    for row in shared:
        assert row["labels_max"] <= committed[row["cell"]]["labels_max"]
    seen = recorded(monkeypatch)
    pictures = draw(rows, tmp_path / "again")
    assert len(seen) == len(pictures) == len(names)
    assert {name.name: found for name, figure in zip(pictures, seen, strict=True) if (found := faults(figure))} == {}


def test_published_figures_follow_the_readers_setting():
    figures = [*PUBLISHED.parents[1].glob("*/*.svg"), *(ROOT / "docs" / "figures").glob("*.svg")]
    assert len(figures) > 15
    for path in figures:
        assert "prefers-color-scheme: dark" in path.read_text(encoding="utf-8"), path.name


def test_no_figure_of_the_page_is_missing_and_none_is_left_over():
    page = (PUBLISHED.parents[1] / "cost-of-replicability.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\(study/([^)]*\.svg)\)", page))
    assert named == {path.name for path in PUBLISHED.parent.glob("*.svg")}


PUBLISHED = STUDY.parents[1] / "docs" / "explanation" / "study" / "results.parquet"

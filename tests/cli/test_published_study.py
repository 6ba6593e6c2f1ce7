"""The study of this repository, its short version, as a stranger would run it."""

import json
import subprocess
import sys

import pytest

from support.paths import ROOT

pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("matplotlib")

STUDY = ROOT / "studies" / "cost-of-replicability.toml"


@pytest.mark.slow
def test_the_short_version_runs_and_says_what_the_long_one_says(tmp_path):
    words = [sys.executable, "-m", "replical", "study", STUDY, "--quick", "--out", tmp_path / "out", "--json"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    rows = pq.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert told["cells"] == len(rows) >= 60
    assert told["refused"] == 0
    assert not [row for row in rows if row["replicable"] and row["disagreement_low"] > row["rho"]]
    names = {path.stem for path in (tmp_path / "out" / "figures").glob("*.svg")}
    assert {"cost", "disagreement", "predicted", "courses", "halfplanes", "labels-epsilon", "labels-rho"} <= names
    assert (tmp_path / "out" / "figures" / "halfplanes-course.gif").exists()
    assert "<script" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    committed = {row["cell"]: row for row in pq.read_table(PUBLISHED).to_pylist()}
    shared = [row for row in rows if row["cell"] in committed]
    assert len(shared) > 40  # the same cells: their first pairs are the published ones
    for row in shared:
        assert row["labels_max"] <= committed[row["cell"]]["labels_max"]


PUBLISHED = STUDY.parents[1] / "docs" / "explanation" / "study" / "results.parquet"

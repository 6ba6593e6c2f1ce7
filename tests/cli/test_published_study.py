"""The study of this repository, its short version, as a stranger would run it."""

import json
import re
import subprocess
import sys

import pytest

from replical.study.results import SCALES, growths
from replical.study.run import draw
from support.figures import faults, recorded
from support.paths import ROOT

pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("matplotlib")

STUDY = ROOT / "studies" / "cost-of-replicability.toml"


def short(study, folder):
    """What the command tells of its quick form, and the rows."""
    words = [sys.executable, "-m", "replical", "paper", "study", study, "--quick", "--out", folder, "--json"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), pq.read_table(folder / "results.parquet").to_pylist()


NAMES = {"replical": "RepliCAL", "replica2": "ReplicA²", "replicable-erm": "passive replicable"}


def powers(rows):
    """Lines of a table: powers fitted to the labels with the sizes of the proofs and with ours, and the theorem's."""
    for axis in SCALES:
        for noise in ("0.0", "0.02", "0.01", "varied"):
            for learner, name in NAMES.items():
                found = {
                    each.plan: each
                    for each in growths(rows)
                    if (each.axis, each.learner, each.settings["noise"]) == (axis, learner, noise)
                }
                if found:
                    logged = learner == "replical" and axis == "epsilon"
                    paper, tight = (found[plan].logged if logged else found[plan].power for plan in ("paper", "tight"))
                    scale, labels = (
                        "ln(1/ε)" if logged else SCALES[axis].replace("|C|", " n"),
                        "" if noise == "0.0" else ", noisy labels",
                    )
                    fits = " | ".join(f"{each.fitted:z.2f} ± {each.error:.2f}" for each in (paper, tight))
                    yield f"| {scale} | {name}{labels * (learner == 'replicable-erm')} | {fits} | {paper.paper:z.2f} |"


@pytest.mark.slow
def test_labels_grow_as_the_page_says(tmp_path):
    told, rows = short(ROOT / "studies" / "the-paper.toml", tmp_path / "out")
    assert (told["cells"], told["refused"]) == (170, 0)
    assert not [row for row in rows if row["replicable"] and row["disagreement_low"] > row["rho"]]
    page = (ROOT / "docs" / "explanation" / "nearly-tight.md").read_text("utf-8").splitlines()
    assert [line for line in powers(rows) if line not in page] == []


@pytest.mark.slow
def test_the_short_version_runs_and_says_what_the_long_one_says(tmp_path, monkeypatch):
    told, rows = short(STUDY, tmp_path / "out")
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

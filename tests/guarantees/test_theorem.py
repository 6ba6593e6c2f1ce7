"""The check of the theorems at their own sizes, in its quick form (docs/claims/replical.md, replica2.md, complexity.md)."""

import json
import os
import subprocess
import sys

import pytest

from support.once import once
from support.paths import ROOT
from support.power import rejects_at


def check(folder):
    words = [sys.executable, ROOT / "benchmarks" / "theorem.py", "--quick", "--workers", "1", "--out", folder]
    done = subprocess.run(
        list(map(str, words)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"MPLCONFIGDIR": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n[") + done.stdout.startswith("[") == 5  # a line of progress for each piece of work
    for suffix in ("svg", "png", "md"):
        assert (folder / f"theorem.{suffix}").stat().st_size > 500


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return json.loads((once(tmp_path_factory, "theorem", check) / "theorem.json").read_text())


@pytest.mark.claim("replical", "replica2")
def test_nothing_contradicts_the_theorems_at_their_own_sizes(found, alarm):
    alarm /= 2 * len(found["cells"])  # so many tests
    assert {cell["cell"]["learner"] for cell in found["cells"]} == {"replical", "replica2"}
    for cell in found["cells"]:
        claimed, measured = cell["claimed"], cell["measured"]
        assert claimed["labels"] > 1e16
        assert measured["labels max"] <= claimed["labels"]
        assert measured["apart"] < rejects_at(measured["pairs"], claimed["differ"], alarm)
        assert measured["labs above"] < rejects_at(2 * measured["pairs"], found["delta"], alarm)
        assert 1 <= measured["rounds"] <= claimed["rounds"]
        assert cell["theta of the world"] <= cell["cell"]["theta"]


@pytest.mark.claim("replical", "replica2")
def test_the_cells_are_not_vacuous(found):
    """Without a common string the same labs differ; with thresholds of their own, more often than with common ones."""
    for cell in found["cells"]:
        controls = cell["controls"]
        assert cell["counted"]
        assert controls["no common string"] >= 0.2
        assert controls["own thresholds"] > cell["measured"]["differ"]
        assert cell["measured"]["survivors"] >= 20


@pytest.mark.claim("replical", "replica2")
@pytest.mark.mutant
def test_the_same_figures_show_a_broken_promise(found, alarm):
    """A private string, put to the same test, fails it."""
    for cell in found["cells"]:
        pairs = cell["controls"]["pairs"]
        assert cell["controls"]["no common string"] * pairs >= rejects_at(
            pairs, cell["claimed"]["differ"], alarm / (2 * len(found["cells"]))
        )


@pytest.mark.claim("replical", "replica2")
def test_the_paper_is_looser_than_the_tight_plan(found):
    powers = {curve["plan"]: curve["power"] for curve in found["curves"]}
    assert powers["paper"] > 12
    assert 1.5 < powers["tight"] < 5
    for curve in found["curves"]:
        assert curve["steps"][-1]["E[J]"] >= 0.1
        assert curve["best on as many labels"] > 0.2  # where the theorem's labels are gone, data alone do not decide
    for ladder in found["ladders"]:
        labels = list(ladder["labels"].values())
        assert labels == sorted(labels, reverse=True)


@pytest.mark.claim("complexity")
def test_labels_grow_as_stated(found):
    for entry in found["exponents"]:
        for name, stated in entry["stated"].items():
            assert entry["fitted"][name] == pytest.approx(stated, abs=0.45), (entry["labels"], entry["plan"], name)
            # the last sample of ReplicA² knows the smallest error too, by a union bound that the printed bound leaves out
            abs_ = 0.5 if (entry["labels"], name) == ("ReplicA², last sample", "ln n") else 0.4
            assert entry["fitted"][name] == pytest.approx(entry["fitted to the formula"][name], abs=abs_)

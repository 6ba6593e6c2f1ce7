"""The notebooks of the documentation print what is stored in them."""

import json
import subprocess
import sys

import pytest

from support.paths import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def cells(path, kind):
    return [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == kind]


def printed(cell):
    return "".join("".join(output.get("text", "")) for output in cell["outputs"] if output.get("name") == "stdout")


def run(path, capsys, monkeypatch):
    """What every cell of code prints, run in this process."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(pyplot, "show", lambda: pyplot.close("all"))
    names, found = {}, []
    for cell in cells(path, "code"):
        exec(compile("".join(cell["source"]), path.name, "exec"), names)
        found.append(capsys.readouterr().out)
    return found


def test_there_are_four():
    assert [path.stem for path in NOTEBOOKS] == ["active-learning", "my-own-models", "plan-a-budget", "the-theorems"]


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=() if path.stem == "active-learning" else pytest.mark.slow) for path in NOTEBOOKS],
    ids=lambda path: path.stem,
)
def test_they_print_what_is_shown(path, capsys, monkeypatch):
    for package in ("matplotlib", "sklearn"):
        pytest.importorskip(package)
    assert run(path, capsys, monkeypatch) == [printed(cell) for cell in cells(path, "code")]


@pytest.mark.parametrize("stored", ["2\n", "3\n"])
def test_an_output_that_moved_is_found(tmp_path, capsys, monkeypatch, stored):
    (moved := tmp_path / "moved.ipynb").write_text(
        json.dumps(
            {"cells": [
                {"cell_type": "markdown", "source": ["# A title"]},
                {"cell_type": "code", "source": ["x = 1\n", "print(x + 1)"], "outputs": [{"name": "stdout", "text": [stored]}]},
            ]}
        )
    )  # fmt: skip
    same = run(moved, capsys, monkeypatch) == [printed(cell) for cell in cells(moved, "code")]
    assert same == (stored == "2\n")


@pytest.mark.slow
def test_the_command_says_so_too():
    pytest.importorskip("nbclient")
    done = subprocess.run([sys.executable, ROOT / "docs/notebooks/run.py", "active-learning"], check=False)
    assert done.returncode == 0

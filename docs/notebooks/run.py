"""Runs the notebooks of this folder: do they still print what is shown?

    python docs/notebooks/run.py [--write] [NAME ..]

Every notebook is run from its first cell to its last. What it prints and how many figures it draws must be what is stored;
otherwise the first cell that differs is named, and the exit code is 1. With `--write` the new outputs are stored instead.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
SECONDS = 600  # a cell that takes longer hangs


def main() -> int:
    """Run what is named, or all."""
    parser = argparse.ArgumentParser(description="Run the notebooks of the documentation and compare their outputs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="file names without .ipynb; all if left out")
    parser.add_argument("--write", action="store_true", help="store the outputs instead of comparing them")
    given = parser.parse_args()
    moved = [name for name in given.names or notebooks() if not same(name, write=given.write)]
    return 1 if moved else 0


def notebooks() -> list[str]:
    """Every notebook's name."""
    return sorted(path.stem for path in HERE.glob("*.ipynb"))


def same(name: str, *, write: bool) -> bool:
    """Does it print what it printed? With `write` it does afterwards."""
    path = HERE / f"{name}.ipynb"
    stored = nbformat.read(path, as_version=4)
    fresh = nbformat.from_dict(stored)
    NotebookClient(fresh, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(HERE)}}).execute()
    if write:
        for cell in fresh.cells:
            cell.metadata = {}
            if "outputs" in cell:  # warnings are not shown
                cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
        nbformat.write(fresh, path)
        return True
    before = nbformat.read(path, as_version=4)
    for number, (old, new) in enumerate(zip(before.cells, fresh.cells, strict=True)):
        if shown(old) != shown(new):
            sys.stderr.write(f"{path.name}, cell {number}: stored\n{shown(old)}\nnow\n{shown(new)}\n")
            return False
    return True


def shown(cell: Any) -> tuple[str, int]:
    """What a cell prints, and how many figures it draws."""
    outputs = cell.get("outputs", [])
    text = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    return text, sum("image/png" in output.get("data", {}) for output in outputs)


if __name__ == "__main__":
    sys.exit(main())

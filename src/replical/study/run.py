"""A study from its file to its folder: cells, tables, figures, one report."""

from __future__ import annotations

import json
import platform
import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from replical.core.canonical import fingerprint
from replical.core.parallel import Workers
from replical.errors import BadStudy
from replical.study.pictures.curves import curves
from replical.study.pictures.style import Picture, style
from replical.study.report.findings import summary_sentence
from replical.study.report.page import report
from replical.study.results import Row, row, table, write_csv
from replical.study.scheduler import Progress, Sweep
from replical.study.spec import Cell, Study
from replical.study.store import Entry, Store, arrow

_PACKAGES = ("replical", "numpy", "scipy", "pyarrow", "matplotlib", "dask")


@dataclass(frozen=True, kw_only=True)
class StudyRun:
    """A study that has been run."""

    folder: Path
    rows: list[Row]
    seconds: float

    @property
    def sentence(self) -> str:
        """What it found, in a sentence."""
        return summary_sentence(self.rows)

    @property
    def refusals(self) -> Counter[str]:
        """Why cells could not be run, and how many."""
        return Counter(str(each["reason"]) for each in self.rows if each["status"] == "refused")

    def answer(self) -> dict[str, Any]:
        """For an answer in JSON."""
        return {
            "cells": len(self.rows),
            "refused": self.refusals.total(),
            "pairs": sum(each["pairs"] for each in self.rows),
            "sentence": self.sentence,
            "out": str(self.folder),
            "seconds": round(self.seconds, 2),
        }


def run_study(
    study: Study, folder: Path, *, quick: bool, workers: Workers, progress: Callable[[Progress], None] = lambda _: None
) -> StudyRun:
    """Run what is missing in the folder and write everything anew that is made from its cells."""
    arrow()
    cells, store = study.cells(quick=quick), Store(folder)
    entries = Sweep(cells, store, workers, progress).run()
    rows = sorted((row(cell, entries[cell.id]) for cell in cells), key=lambda each: str(each["cell"]))
    _write_tables(store, cells, entries, rows)
    command = _command(study, folder, quick=quick)
    facts = _facts(study, quick=quick, entries=entries) | ({} if command is None else {"command": command})
    store.write_file(folder / "study.json", json.dumps(facts, indent=1))
    pictures = draw(rows, folder / "figures")
    page = report(study, rows, pictures, facts)
    store.write_file(folder / "report.html", page)
    return StudyRun(folder=folder, rows=rows, seconds=sum(each.seconds for each in entries.values()))


def _write_tables(store: Store, cells: list[Cell], entries: dict[str, Entry], rows: list[Row]) -> None:
    pa, parquet = arrow()
    results = table(rows, pa)
    store.write_file(store.folder / "results.parquet", lambda path: parquet.write_table(results, path))
    store.write_file(store.folder / "results.csv", lambda path: write_csv(results, path))
    timings = [
        {"cell": cell.id, "pairs": entries[cell.id].pairs, "seconds": entries[cell.id].seconds}
        for cell in sorted(cells, key=lambda each: each.id)
    ]
    store.write_file(
        store.folder / "timings.parquet", lambda path: parquet.write_table(pa.Table.from_pylist(timings), path)
    )


def _facts(study: Study, *, quick: bool, entries: dict[str, Entry]) -> dict[str, Any]:
    """What was run and with what; times and machines stay out of it."""
    return {
        "schema": "replical.study-run/1",
        "name": study.name,
        "quick": quick,
        "study": dict(study.content),
        "fingerprint": fingerprint(dict(study.content)),
        "tables": {spec: table.digest for spec, table in study.tables.items()},
        "cells": sorted(entries),
        # A cell that several versions ran counts for each of them.
        "cells_by_version": dict(Counter(name for each in entries.values() for name in each.versions)),
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _command(study: Study, folder: Path, *, quick: bool) -> str | None:
    """What gives the same results again, paths as they were typed; who runs it does not matter."""
    if study.file is None:
        return None
    file, out = (f"./{path}" if str(path).startswith("-") else str(path) for path in (study.file, folder))
    return shlex.join(["replical", "paper", "study", file, "--out", out, *(["--quick"] if quick else [])])


def draw(rows: list[Row], folder: Path) -> list[Picture]:
    """Draw every picture the study has data for; the same rows give the same bytes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadStudy(f"cannot write to the folder {folder}: {error.strerror or error}") from error
    with style():
        return curves(rows, folder)

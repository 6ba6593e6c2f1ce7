"""Studies small enough to be run many times, and what a run leaves on the disk."""

import importlib
import json
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from replical.study.results import row
from replical.study.spec import Study
from replical.study.store import Store
from replical.study.sweep import Sweep
from replical.study.workers import local
from support.processes import groups

GRID = {"class": ["thresholds:50", "thresholds:1000"], "learner": ["cal", "erm"], "epsilon": 0.1, "pool_size": 300}
BASE = {"schema": "replical.study/1", "name": "small", "seed": "small 1", "stop": {"pairs": 30}, "grid": [GRID]}


def text_of(content):
    """A study as TOML."""

    def value(it):
        if isinstance(it, dict):
            return "{" + ", ".join(f"{key} = {value(each)}" for key, each in it.items()) + "}"
        return "[" + ", ".join(map(value, it)) + "]" if isinstance(it, list) else json.dumps(it)

    lines = [f"{key} = {value(it)}" for key, it in content.items() if key != "grid"]
    for grid in content["grid"]:
        lines += ["[[grid]]", *(f"{key} = {value(it)}" for key, it in grid.items())]
    return "\n".join(lines) + "\n"


@dataclass
class Ran:
    """What a sweep found, and how it went."""

    rows: list
    tables: dict
    told: list


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """Run cells into a folder of their own, in this process unless told otherwise; every piece is told."""
    number = [0]
    monkeypatch.setattr("replical.study.sweep._QUIET", 0)

    def run(content=BASE, *, folder=None, workers=None, quick=False, progress=lambda _: None):
        number[0] += 1
        folder = folder or tmp_path / f"run {number[0]}"
        cells, told = Study.of(content).cells(quick=quick), []

        def hear(far):
            told.append(far)
            progress(far)

        if workers is None:
            with local(1) as busy:
                kept = Sweep(cells, Store(folder), busy, hear).run()
        else:
            kept = Sweep(cells, Store(folder), workers, hear).run()
        rows = sorted((row(cell, kept[cell.id]) for cell in cells), key=lambda each: each["cell"])
        return Ran(rows=rows, tables={name: (it.rows, it.facts) for name, it in kept.items()}, told=told)

    return run


@pytest.fixture
def study_file(tmp_path):
    """Write a study, the base with some changes, as a file."""

    def write(**changes):
        file = tmp_path / f"study {len(list(tmp_path.iterdir()))}.toml"
        file.write_text(text_of({**BASE, **changes}), encoding="utf-8")
        return file

    return write


@pytest.fixture
def start():
    """Start commands in groups of their own; nothing outlives the test."""
    with groups() as begin:
        yield lambda *words, python=("-m", "replical"), **options: begin(*python, *words, **options)


@pytest.fixture
def until():
    """Wait for something, a minute at most."""

    def wait(condition, seconds=60.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.02)
        raise AssertionError("it did not happen")

    return wait


@pytest.fixture
def cells_of():
    """The complete cell files of a folder, with their contents."""

    def read(folder):
        return {file.name: file.read_bytes() for file in Path(folder).glob("cells/*.parquet") if file.name[0] != "."}

    return read


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """Write tasks that worker processes can import, and use one instead of the usual work."""

    def use(source):
        (tmp_path / "modules").mkdir(exist_ok=True)
        name = f"tasks_{uuid.uuid4().hex}"
        head = "import os, signal, time\nfrom pathlib import Path\nfrom replical.study.work import work\n"
        (tmp_path / "modules" / f"{name}.py").write_text(head + source, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path / "modules")
        monkeypatch.setattr("replical.study.sweep.work", importlib.import_module(name).task)

    return use

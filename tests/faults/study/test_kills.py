"""``replical paper study`` killed, interrupted, out of disk, or two at a time: the same results."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

import pytest

from replical.study.spec import Study
from replical.study.store import Store
from support.processes import INTERRUPTED, gone, interrupt
from support.studies import BASE, GRID

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX process groups")
LONG = {**GRID, "class": [f"thresholds:{n}" for n in (50, 60, 70, 80, 90)]}


def replical(*words, **options):
    command = [sys.executable, "-m", "replical", "paper", "study", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


@pytest.fixture
def long_file(study_file):
    return study_file(grid=[LONG], stop={"pairs": 200})


LONG_STUDY = {**BASE, "grid": [LONG], "stop": {"pairs": 200}}


def complete(folder):
    """Cells that are there; every one of them is whole."""
    store = Store(folder)
    found = {cell.id: store.read(cell).pairs for cell in Study.of(LONG_STUDY).cells()}
    named = {path.stem for path in folder.glob("cells/*.parquet") if not path.name.startswith(".part-")}
    assert {name for name, pairs in found.items() if pairs} == named
    assert set(found.values()) <= {0, 200}
    return named


@pytest.mark.parametrize("words", [["--workers", "2"], ["--cluster", "local:2"], ["--workers", "1"]], ids=" ".join)
@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_interrupt_ends_everything_at_once(words, times, long_file, tmp_path, start, until):
    out = tmp_path / "out"
    process = start("paper", "study", long_file, "--out", out, *words, "--json")
    until(lambda: set(out.glob("cells/[0-9a-f]*")))
    began = time.monotonic()
    interrupt(process, times)
    shown, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 15
    assert process.returncode == 130
    assert json.loads(shown) == INTERRUPTED
    assert "Traceback" not in err
    assert gone(process.pid)
    assert 1 <= len(complete(out)) < 10
    assert not list(out.rglob(".part-*"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_moment_the_results_are_the_same_bytes(seed, long_file, tmp_path, start, cells_of):
    """Killed while it starts, works, writes tables, draws; with processes and with Dask."""
    chance = random.Random(seed)
    assert replical(long_file, "--out", tmp_path / "whole", "--workers", "1").returncode == 0
    for number in range(8):
        words = chance.choice([["--workers", "2"], ["--workers", "1"], ["--cluster", "local:2"]])
        process = start("paper", "study", long_file, "--out", tmp_path / "out", *words)
        time.sleep(chance.uniform(0.2, 9))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert gone(process.pid), number
    assert replical(long_file, "--out", tmp_path / "out", "--workers", "2").returncode == 0
    assert (tmp_path / "out" / "results.parquet").read_bytes() == (tmp_path / "whole" / "results.parquet").read_bytes()
    assert cells_of(tmp_path / "out").keys() == cells_of(tmp_path / "whole").keys()


@pytest.mark.slow
def test_two_commands_at_once_in_one_folder(long_file, tmp_path, start):
    both = [start("paper", "study", long_file, "--out", tmp_path / "out", "--workers", 1, "--json") for _ in range(2)]
    for process in both:
        shown, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert json.loads(shown)["pairs"] == 2000
    assert replical(long_file, "--out", tmp_path / "alone", "--workers", "1").returncode == 0
    assert (tmp_path / "out" / "results.parquet").read_bytes() == (tmp_path / "alone" / "results.parquet").read_bytes()
    assert not list((tmp_path / "out").rglob(".part-*"))


@pytest.mark.slow
def test_who_listens_but_does_not_answer_is_no_scheduler(study_file, tmp_path):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        done = replical(
            study_file(), "--out", tmp_path / "out", "--json", "--cluster", f"127.0.0.1:{deaf.getsockname()[1]}"
        )
    assert done.returncode == 2, done.stderr
    assert "no Dask scheduler answers" in json.loads(done.stdout)["message"]
    assert "Traceback" not in done.stderr

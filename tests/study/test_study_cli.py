"""`replical study` as a person meets it: files, answers, interruptions, two at a time."""

import csv
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import pyarrow.parquet as pq
import pytest

from replical.cli import main
from replical.study.report.findings import TERMS
from replical.study.spec import Study
from replical.study.store import Store
from replical.study.sweep import Sweep
from replical.study.workers import local
from support.processes import INTERRUPTED, gone, interrupt, members

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX process groups")

GRID = {"class": ["thresholds:50", "thresholds:1000"], "learner": ["cal", "erm"], "epsilon": 0.1, "pool_size": 300}
LONG = {**GRID, "class": [f"thresholds:{n}" for n in (50, 60, 70, 80, 90)]}
BASE = {"schema": "replical.study/1", "name": "small", "seed": "small 1", "stop": {"pairs": 30}, "grid": [GRID]}
ANSWER = ["schema", "name", "quick", "cells", "refused", "pairs", "sentence", "out", "seconds"]


def replical(*words, **options):
    command = [sys.executable, "-m", "replical", "study", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)


@pytest.fixture
def plain(monkeypatch):
    """Pictures and pages are tested elsewhere and take their time."""
    monkeypatch.setattr("replical.study.run.draw", lambda *_, **__: [])
    monkeypatch.setattr("replical.study.run.report", lambda *_, **__: "<!doctype html>")


# What it leaves and says


def test_a_study_from_its_file_to_its_folder(study_file, tmp_path):
    out = tmp_path / "new" / "folder é"
    done = replical(study_file(), "--out", out, "--workers", 2, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    told = json.loads(done.stdout)
    assert list(told) == ANSWER
    assert told["schema"] == "replical.study-answer/1"
    assert (told["name"], told["quick"], told["cells"], told["refused"], told["pairs"]) == ("small", False, 4, 0, 120)
    assert told["out"] == str(out)
    assert told["seconds"] > 0
    assert "workers: 2 on this machine" in done.stderr
    assert "0 of 4 cells, 0 of 120 pairs\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert {each.name for each in out.iterdir()} == {
        "cells", "figures", "results.parquet", "results.csv", "timings.parquet", "study.json", "report.html",
    }  # fmt: skip
    found = pq.read_table(out / "results.parquet").to_pylist()
    with (out / "results.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    known = [name for name in found[0] if any(each[name] is not None for each in found)]
    assert list(lines[0]) == known
    for line, each in zip(lines, found, strict=True):
        assert (line["cell"], line["learner"], float(line["labels_mean"])) == (
            each["cell"],
            each["learner"],
            each["labels_mean"],
        )
        assert line["grids"] == "; ".join(each["grids"])
    assert [each["cell"] for each in found] == sorted(cell.id for cell in Study.of(BASE).cells())
    assert {path.stem for path in out.glob("cells/*")} == {each["cell"] for each in found}
    timings = pq.read_table(out / "timings.parquet").to_pylist()
    assert [(each["cell"], each["pairs"]) for each in timings] == [(each["cell"], 30) for each in found]
    facts = json.loads((out / "study.json").read_text(encoding="utf-8"))
    assert facts["study"] == BASE
    assert not list(out.rglob(".*"))


def test_answers_for_people_and_for_programs(study_file, tmp_path, capsys, plain):
    file = study_file(title="A [bold]title", name="a [red]name", quick={"stop": {"pairs": 5}, "learner": ["cal"]})
    words = ["study", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert main([*words, "--quick", "--json"]) == 0
    first = capsys.readouterr()
    told = json.loads(first.out)
    assert (told["quick"], told["cells"], told["pairs"], told["name"]) == (True, 2, 10, "a [red]name")
    assert main(words) == 0
    second = capsys.readouterr()
    assert "results.parquet,results.csv;report:" in "".join(second.out.split())
    assert TERMS in " ".join(second.out.split())
    assert "of 4 cells" not in second.out
    assert "2 of 4 cells" not in second.err
    assert "0 of 4 cells, 10 of 120 pairs\n" in second.err


def test_refused_cells_are_told_with_their_reason(study_file, tmp_path, capsys, plain):
    file = study_file(grid=[{**GRID, "learner": ["cal", "replical"], "theta": 2}])
    words = ["study", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["refused"] == 2
    assert main(words) == 0
    assert "Not run, 2 cells: the plan sets" in " ".join(capsys.readouterr().out.split())


def test_results_are_the_same_bytes_whoever_ran_them(study_file, tmp_path, capsys, plain):
    file, found = study_file(), set()
    for name, words in {"one": ["--workers", "1"], "two": ["--workers", "2"], "dask": ["--cluster", "local:2"]}.items():
        assert main(["study", str(file), "--out", str(tmp_path / name), "--json", *words]) == 0
        found.add((tmp_path / name / "results.parquet").read_bytes())
        captured = capsys.readouterr()
        assert captured.out.count("\n") == 1
        json.loads(captured.out)
    assert len(found) == 1


# What it refuses


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "0"], "--workers must be from 1 to 1000, got 0"),
        (["--workers", "1001"], "got 1001"),
        (["--workers", "two"], "'two' is not a whole number"),
        (["--workers", "2", "--cluster", "local:2"], "leave it out with --cluster"),
        (["--cluster", "local:0"], "e.g. local:2, got 'local:0'"),
        (["--cluster", "127.0.0.1:1"], "no Dask scheduler answers at '127.0.0.1:1'"),
        (["--frobnicate"], "No such option"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(words, message, study_file, tmp_path, capsys):
    started = time.monotonic()
    assert main(["study", str(study_file()), "--out", str(tmp_path / "out"), *words, "--json"]) == 2
    assert message in json.loads(capsys.readouterr().out)["message"]
    assert not (tmp_path / "out").exists()
    assert time.monotonic() - started < 9


def test_a_missing_folder_or_file_is_named(study_file, tmp_path, capsys):
    assert main(["study", str(study_file()), "--json"]) == 2
    assert "--out" in json.loads(capsys.readouterr().out)["message"]
    assert main(["study", str(tmp_path / "nowhere.toml"), "--out", str(tmp_path / "out"), "--json"]) == 2
    assert "nowhere.toml" in json.loads(capsys.readouterr().out)["message"]
    (tmp_path / "file").write_text("")
    assert main(["study", str(study_file()), "--out", str(tmp_path / "file"), "--workers", "1", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"] == "BadStudy"


def test_a_bad_study_as_a_person_meets_it(study_file, tmp_path):
    done = replical(study_file(grid=[{**GRID, "epsilon": 1.5}]), "--out", tmp_path / "out")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "epsilon must be in (0, 1), got 1.5" in done.stderr
    assert "Traceback" not in done.stderr


def test_another_seed_overwrites_nothing(study_file, tmp_path, capsys, plain):
    words = ["--out", str(tmp_path / "out"), "--workers", "1", "--json"]
    assert main(["study", str(study_file()), *words]) == 0
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main(["study", str(study_file(seed="small 2", grid=[{**GRID, "class": "star:9"}])), *words]) == 2
    assert "choose another folder with --out" in json.loads(capsys.readouterr().out)["message"]
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


def test_a_full_disk_is_one_sentence(study_file, tmp_path):
    file = study_file(stop={"pairs": 300})
    full = replical(
        file, "--out", tmp_path / "out", "--workers", "1", "--json",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )  # fmt: skip
    assert full.returncode == 2, full.stderr
    assert json.loads(full.stdout)["error"] == "BadStudy"
    assert "cannot write" in json.loads(full.stdout)["message"]
    assert "Traceback" not in full.stderr
    assert list((tmp_path / "out" / "cells").iterdir()) == []


# What happens to it


@pytest.fixture
def long_file(study_file):
    return study_file(grid=[LONG], stop={"pairs": 200})


LONG_STUDY = {**BASE, "grid": [LONG], "stop": {"pairs": 200}}


@pytest.fixture(scope="module")
def long_tables(tmp_path_factory):
    """What one process finds, undisturbed."""
    with local(1) as busy:
        kept = Sweep(Study.of(LONG_STUDY).cells(), Store(tmp_path_factory.mktemp("long")), busy).run()
    return {name: (each.rows, each.facts) for name, each in kept.items()}


def complete(folder):
    """Cells that are there; every one of them is whole."""
    store = Store(folder)
    found = {cell.id: store.read(cell).pairs for cell in Study.of(LONG_STUDY).cells()}
    named = {path.stem for path in folder.glob("cells/*.parquet") if not path.name.startswith(".part-")}
    assert {name for name, pairs in found.items() if pairs} == named
    assert set(found.values()) <= {0, 200}
    return named


@pytest.mark.parametrize("seed", [1])
def test_killed_again_and_again_it_arrives(seed, long_file, tmp_path, start, until, sweep, long_tables):
    chance, out, before = random.Random(seed), tmp_path / "out", set()
    for _ in range(3):
        process = start("study", long_file, "--out", out, "--workers", 2)
        until(lambda before=before: len(set(out.glob("cells/[0-9a-f]*"))) > len(before))
        time.sleep(chance.uniform(0, 0.15))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert gone(process.pid)  # its workers too
        after = complete(out)
        assert after > before
        before = after
    assert len(before) < 10, "it was too fast to be killed"
    assert sweep(LONG_STUDY, folder=out).tables == long_tables


@pytest.mark.parametrize("words", [["--workers", "2"], ["--cluster", "local:2"], ["--workers", "1"]], ids=" ".join)
@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_ends_everything_at_once(words, times, long_file, tmp_path, start, until):
    out = tmp_path / "out"
    process = start("study", long_file, "--out", out, *words, "--json")
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


@pytest.mark.parametrize("words", [["--workers", "2"], ["--cluster", "local:2"]], ids=" ".join)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.slow
def test_workers_leave_with_their_parent(words, number, long_file, tmp_path, start, until):
    out = tmp_path / "out"
    process = start("study", long_file, "--out", out, *words)
    until(lambda: set(out.glob("cells/[0-9a-f]*")))
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    assert gone(process.pid)


def test_a_worker_killed_from_outside_is_a_line_on_the_side(long_file, tmp_path, start, until, sweep, long_tables):
    out = tmp_path / "out"
    process = start("study", long_file, "--out", out, "--workers", 2, "--json")
    until(lambda: set(out.glob("cells/[0-9a-f]*")))
    os.kill(members(process.pid, "spawn_main")[0], signal.SIGKILL)
    until(lambda: len(set(out.glob("cells/[0-9a-f]*"))) == 10)
    process.kill()  # all the rest is pictures
    _, err = process.communicate()
    assert err.count("a worker was lost during") <= 1
    assert "Traceback" not in err
    assert sweep(LONG_STUDY, folder=out).tables == long_tables


def test_two_at_once_do_each_other_no_harm(tmp_path, start, sweep, long_tables):
    """Twice the work for nothing, and the same results."""
    out = tmp_path / "out"
    script = f"""
    from pathlib import Path
    from replical.study.spec import Study
    from replical.study.store import Store
    from replical.study.sweep import Sweep
    from replical.study.workers import local
    with local(1) as busy:
        kept = Sweep(Study.of({LONG_STUDY!r}).cells(), Store(Path({str(out)!r})), busy).run()
    assert {{each.pairs for each in kept.values()}} == {{200}}
    """
    both = [start(python=("-c", textwrap.dedent(script))) for _ in range(2)]
    for process in both:
        shown, err = process.communicate(timeout=120)
        assert (process.returncode, shown, err) == (0, "", "")
    assert len(complete(out)) == 10
    assert len(list(out.rglob("*.*"))) == 10
    again = sweep(LONG_STUDY, folder=out)
    assert again.told[0].cells_done == 10
    assert again.tables == long_tables


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_moment_the_results_are_the_same_bytes(seed, long_file, tmp_path, start, cells_of):
    """Killed while it starts, works, writes tables, draws; with processes and with Dask."""
    chance = random.Random(seed)
    assert replical(long_file, "--out", tmp_path / "whole", "--workers", "1").returncode == 0
    for number in range(8):
        words = chance.choice([["--workers", "2"], ["--workers", "1"], ["--cluster", "local:2"]])
        process = start("study", long_file, "--out", tmp_path / "out", *words)
        time.sleep(chance.uniform(0.2, 9))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert gone(process.pid), number
    assert replical(long_file, "--out", tmp_path / "out", "--workers", "2").returncode == 0
    assert (tmp_path / "out" / "results.parquet").read_bytes() == (tmp_path / "whole" / "results.parquet").read_bytes()
    assert cells_of(tmp_path / "out").keys() == cells_of(tmp_path / "whole").keys()


@pytest.mark.slow
def test_two_commands_at_once_in_one_folder(long_file, tmp_path, start):
    both = [start("study", long_file, "--out", tmp_path / "out", "--workers", 1, "--json") for _ in range(2)]
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


def test_what_is_told_on_the_way(capsys, monkeypatch):
    """Lines where there is no terminal, one in ten seconds; time as roughly as it is known."""
    from replical.cli.study import _left, _shown
    from replical.study.sweep import Progress

    assert [_left(seconds) for seconds in (None, 0.0, 0.4, 61, 89, 90, 600, 5400, 10**6)] == [
        "", "", ", about 1 s left", ", about 61 s left", ", about 89 s left", ", about 2 min left",
        ", about 10 min left", ", about 1.5 h left", ", about 277.8 h left",
    ]  # fmt: skip
    clock = [1000.0]
    monkeypatch.setattr("replical.cli.study.time.monotonic", lambda: clock[0])
    with _shown("a [red]name") as update:
        for step in range(30):
            clock[0] += 1
            update(
                Progress(cells=3, cells_done=1, pairs=300, pairs_done=step, seconds_left=30.0 - step, now="cal [bold]x")
            )
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[1] == "1 of 3 cells, 10 of 300 pairs, about 20 s left; now cal [bold]x"
    assert threading.active_count() < 10

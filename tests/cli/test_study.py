"""``replical paper study`` as a person meets it: files, answers and bad usage."""

import csv
import html
import json
import os
import shlex
import subprocess
import sys
import threading
import time

import pyarrow.parquet as pq
import pytest

from replical.cli import main
from replical.study.report.findings import TERMS
from replical.study.spec import Study
from support.studies import BASE, GRID

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs POSIX process groups")


ANSWER = ["schema", "name", "quick", "cells", "refused", "pairs", "sentence", "out", "seconds"]


def replical(*words, **options):
    command = [sys.executable, "-m", "replical", "paper", "study", *map(str, words)]
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
    words = ["paper", "study", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]
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
    words = ["paper", "study", str(file), "--out", str(tmp_path / "out"), "--workers", "1"]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["refused"] == 2
    assert main(words) == 0
    assert "Not run, 2 cells: the plan sets" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_results_are_the_same_bytes_whoever_ran_them(study_file, tmp_path, capsys, plain):
    file, found = study_file(), set()
    for name, words in {"one": ["--workers", "1"], "two": ["--workers", "2"], "dask": ["--cluster", "local:2"]}.items():
        assert main(["paper", "study", str(file), "--out", str(tmp_path / name), "--json", *words]) == 0
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
    assert main(["paper", "study", str(study_file()), "--out", str(tmp_path / "out"), *words, "--json"]) == 2
    assert message in json.loads(capsys.readouterr().out)["message"]
    assert not (tmp_path / "out").exists()
    assert time.monotonic() - started < 9


def test_a_missing_folder_or_file_is_named(study_file, tmp_path, capsys):
    assert main(["paper", "study", str(study_file()), "--json"]) == 2
    assert "--out" in json.loads(capsys.readouterr().out)["message"]
    assert main(["paper", "study", str(tmp_path / "nowhere.toml"), "--out", str(tmp_path / "out"), "--json"]) == 2
    assert "nowhere.toml" in json.loads(capsys.readouterr().out)["message"]
    (tmp_path / "file").write_text("")
    assert main(["paper", "study", str(study_file()), "--out", str(tmp_path / "file"), "--workers", "1", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"] == "BadStudy"


def test_a_bad_study_as_a_person_meets_it(study_file, tmp_path):
    done = replical(study_file(grid=[{**GRID, "epsilon": 1.5}]), "--out", tmp_path / "out")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "epsilon must be in (0, 1), got 1.5" in done.stderr
    assert "Traceback" not in done.stderr


def test_another_seed_overwrites_nothing(study_file, tmp_path, capsys, plain):
    words = ["--out", str(tmp_path / "out"), "--workers", "1", "--json"]
    assert main(["paper", "study", str(study_file()), *words]) == 0
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main(["paper", "study", str(study_file(seed="small 2", grid=[{**GRID, "class": "star:9"}])), *words]) == 2
    assert "choose another folder with --out" in json.loads(capsys.readouterr().out)["message"]
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


def test_what_is_told_on_the_way(capsys, monkeypatch):
    """Lines where there is no terminal, one in ten seconds; time as roughly as it is known."""
    from replical.cli.paper import _progress_bar, _rest
    from replical.study.scheduler import Progress

    assert [_rest(seconds) for seconds in (None, 0.0, 0.4, 61, 89, 90, 600, 5400, 10**6)] == [
        "", "", ", about 1 s left", ", about 61 s left", ", about 89 s left", ", about 2 min left",
        ", about 10 min left", ", about 1.5 h left", ", about 277.8 h left",
    ]  # fmt: skip
    clock = [1000.0]
    monkeypatch.setattr("replical.cli.paper.time.monotonic", lambda: clock[0])
    with _progress_bar("a [red]name") as update:
        for step in range(30):
            clock[0] += 1
            update(
                Progress(cells=3, cells_done=1, pairs=300, pairs_done=step, seconds_left=30.0 - step, now="cal [bold]x")
            )
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[1] == "1 of 3 cells, 10 of 300 pairs, about 20 s left; now cal [bold]x"
    assert threading.active_count() < 10


@pytest.mark.parametrize("quick", [[], ["--quick"]])
def test_the_command_is_told_with_its_paths_as_they_were_typed(quick, tmp_path, monkeypatch):
    monkeypatch.setattr("replical.study.run.draw", lambda *_, **__: [])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "we ird").mkdir()
    text = 'schema = "replical.study/1"\nname = "s"\nseed = "s"\nstop = { pairs = 3 }\n[[grid]]\n'
    text += 'class = "thresholds:50"\nlearner = "cal"\nepsilon = 0.1\npool_size = 300\n'
    (tmp_path / "we ird" / "s t.toml").write_text(text, encoding="utf-8")
    (tmp_path / "-s.toml").write_text(text, encoding="utf-8")
    typed = {
        ("we ird/s t.toml", "we ird/o"): ["we ird/s t.toml", "--out", "we ird/o"],
        (str(tmp_path / "we ird" / "s t.toml"), "../o"): [str(tmp_path / "we ird" / "s t.toml"), "--out", "../o"],
        ("./-s.toml", "o"): ["./-s.toml", "--out", "o"],
    }
    found = set()
    for (file, out), told in typed.items():
        assert main(["paper", "study", file, "--out", out, *quick, "--workers", "1", "--json"]) == 0
        command = json.loads((tmp_path / out / "study.json").read_text(encoding="utf-8"))["command"]
        assert shlex.split(command) == ["replical", "paper", "study", *told, *quick]
        assert html.escape(command) in (tmp_path / out / "report.html").read_text(encoding="utf-8")
        found.add((tmp_path / out / "results.parquet").read_bytes())
    assert len(found) == 1  # folders are told nowhere else

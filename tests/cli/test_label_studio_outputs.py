"""Outputs that are scored or compared, and free answers, in Label Studio: live, and by its two exports."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")

from replical.cli import main
from replical.lab.certificate.file import read
from replical.lab.journal import journal as journal_module
from replical.lab.protocol import Protocol
from replical.lab.sessions import label_studio
from support.lab import private
from support.label_studio import Project
from support.label_studio_server import KEY, people, serving

NAMES = ["ann", "bob", "cid"]
OUTPUTS = ["clear & <b>short</b>", "costs $id, wordy", "=off\nbeat"]  # best first
FIVE = dict(zip(OUTPUTS, ("5", "3", "1"), strict=True))
PASS = dict(zip(OUTPUTS, ("pass", "cannot tell", "fail"), strict=True))
KINDS = {
    "pass-fail": ({"scores": {"pass": 0.0, "fail": 1.0, "cannot tell": 0.5}}, NAMES),
    "1-5": ({"scores": "1-5"}, NAMES),
    "duel": ({"loss": "duel"}, NAMES[:2]),
    "free": ({"loss": "edit"}, NAMES),
}


def judged(kind, shown):
    """What everybody says of the outputs that are shown."""
    if kind == "duel":
        first, second = map(OUTPUTS.index, shown)
        return "tie" if first == second else "1" if first < second else "2"
    return {"pass-fail": PASS, "1-5": FIVE}[kind][shown[0]] if shown else OUTPUTS[0]


def in_a_cell(kind, said):
    """The same for a column of labels."""
    if kind == "duel":
        choice = judged(kind, said[:2])
        return choice if choice == "tie" else said[int(choice) - 1]
    return OUTPUTS[0] if kind == "free" else json.dumps({output: judged(kind, [output]) for output in said})


@pytest.fixture(params=KINDS)
def lab(request, tmp_path, monkeypatch, capsys):
    """A lab whose judges look at a server, at exports, or at neither."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(journal_module.secrets, "token_hex", lambda size: private("label studio"))
    monkeypatch.setattr(label_studio, "_LOOK", 0.01)
    monkeypatch.setenv(label_studio.KEY, KEY)
    generator = np.random.default_rng(3)
    rates = ([0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6])
    said = [generator.choice(OUTPUTS, 120, p=rate).tolist() for rate in rates]
    with Path("pool.csv").open("w", newline="") as file:
        rows = zip([f"i{number}" for number in range(120)], *said, strict=True)
        csv.writer(file).writerows(
            [["id", *NAMES, "told"], *([*row, in_a_cell(request.param, row[1:])] for row in rows)]
        )
    labels, names = KINDS[request.param]
    Path("p.toml").write_text(
        Protocol.of(
            {
                "schema": "replical.protocol/1", "seed": "published", "labels": labels,
                "class": {"kind": "table", "candidates": [{"name": name} for name in names]},
                "learner": {"name": "handicap", "epsilon": 0.3, "delta": 0.2, "rho": 0.4, "batch": 4},
            }
        ).toml()
    )  # fmt: skip

    class Lab:
        kind = request.param

        def run(self, *words, name="lab"):
            code = main(["run", "p.toml", "--pool", "pool.csv", "--journal", f"{name}.db", "--out", f"{name}.json",
                         "--truths", "0", *words])  # fmt: skip
            out, err = capsys.readouterr()
            return code, out + err

        def annotate(self, project, task):
            shown = [task["data"][f"output_{place}"] for place in (0, 1) if f"output_{place}" in task["data"]]
            project.annotate(task, judged(self.kind, shown))

        def check(self, tasks):
            """The same as from a column; nobody was asked twice, or told who said what."""
            assert self.run("--labels", "pool.csv:told", name="whole")[0] == 0
            whole, live = (read(Path(f"{name}.json"))["body"] for name in ("whole", "lab"))
            assert live == whole
            asked = [json.dumps(task["data"]) for task in tasks]
            assert len(asked) == len(set(asked)) == live["labels"].get("judgements", live["labels"]["answered"])
            assert not re.search("|".join(NAMES), "".join(asked))
            assert main(["verify", "lab.json", "--pool", "pool.csv", "--journal", "lab.db"]) == 0

    return Lab()


def test_at_a_server(lab):
    with serving() as server, people(server, lab.annotate):
        code, told = lab.run("--ask", "label-studio", "--page", f"url={server.url}")
        assert code == 0, told
        lab.check(server.projects[1].tasks)
        assert server.made[1]["show_skip_button"] == (lab.kind == "free")


@pytest.mark.parametrize("export", ["JSON", "JSON_MIN"])
def test_by_export(lab, export, tmp_path):
    made, words = None, []
    for _ in range(60):
        code, told = lab.run("--ask", "file", *words)
        if code == 0:
            break
        assert code == 3, told
        assert ("judgement" in told, "'?' for an item" in told) == (lab.kind != "free", lab.kind == "free")
        batch = Path(re.search(r"lab\.batches/batch-\d+\.csv", told)[0])
        made = made or Project(batch.with_name("label-studio.xml").read_text("utf-8"))
        made.load(batch.with_suffix(".json"))
        for task in made.tasks:
            if not task["annotations"]:
                lab.annotate(made, task)
        words = ["--answers", str(made.export(tmp_path / "export.json", export))]
    lab.check(made.tasks)


def test_what_was_seen_is_not_skipped_and_one_judge_is_enough(lab):
    """A task that somebody cancels waits; where items are labelled it is a skip."""
    cancelled = []

    def said(project, task):
        if not cancelled:
            cancelled.append(task)
            project.annotate(task, None)
            if lab.kind != "free":
                task["overlap"] = 2  # somebody else is given it
        else:
            lab.annotate(project, task)
            if task is cancelled[0]:
                task["annotations"][-1]["completed_by"] = 2

    with serving() as server, people(server, said):
        code, told = lab.run("--ask", "label-studio", "--page", f"url={server.url}")
    assert code == 0, told
    item = cancelled[0]["data"]["item"]
    sentence = f"the item {item!r} is not skipped, since its outputs have been seen: judge them"
    assert (sentence in told, read(Path("lab.json"))["body"]["labels"]["skipped"]) == (
        (False, 1) if lab.kind == "free" else (True, 0)
    )


@pytest.mark.parametrize("lab", ["pass-fail", "1-5"], indirect=True)
def test_votes_are_for_labels(lab):
    code, told = lab.run("--ask", "label-studio", "--page", "url=http://127.0.0.1:9", "--page", "votes=3")
    assert code == 2
    assert "votes are for labels, and each output is scored once: leave out --page votes=.." in told

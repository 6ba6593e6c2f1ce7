"""A run whose labels come from Label Studio, from the first batch to the certificate."""

import json

import pytest

from replical.cli import main
from replical.lab.certificate.file import read
from replical.lab.journal import journal as journal_module
from replical.lab.protocol import Protocol
from support.lab import content, private, world, write_csv
from support.label_studio import KINDS, Project

# ---- the whole way, by commands ----


@pytest.fixture
def lab(tmp_path, monkeypatch, capsys):
    """A lab whose items are numbered as Label Studio numbers its tasks, from 1, but in another order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(journal_module.secrets, "token_hex", lambda size: private("label studio"))
    columns = world(seed=5, items=150)
    columns["id"] = [str(number) for number in range(150, 0, -1)]
    columns["$price"] = [f"{number} $id & <b>" for number in range(150)]
    write_csv(tmp_path / "pool.csv", columns)
    (tmp_path / "p.toml").write_text(Protocol.of(content(batch=5)).toml())

    class Lab:
        folder, truth = tmp_path, dict(zip(columns["id"], columns["truth"], strict=True))

        def run(self, *words, code, name="lab"):
            found = main(["run", "p.toml", "--pool", "pool.csv", "--journal", f"{name}.db", "--out", f"{name}.json", "--truths",
                          "0", "--json", *words])  # fmt: skip
            out, err = capsys.readouterr()
            assert found in code, out + err
            return json.loads(out)

        def by_file(self, *words, code=(0, 3), **where):
            return self.run("--ask", "file", "--show", "text,$price", *words, code=code, **where)

        def project(self, name="lab"):
            return Project((tmp_path / f"{name}.batches/label-studio.xml").read_text(encoding="utf-8"))

        def history(self):
            main(["journal", "export", "lab.db"])
            return capsys.readouterr().out

    return Lab()


@KINDS
def test_labels_by_label_studio_give_the_result_of_labels_from_a_column(lab, kind):
    """One project from the first batch to the last: every export holds the earlier batches too."""
    whole = lab.run("--labels", "pool.csv:truth", code=[0], name="whole")
    told = lab.by_file()
    made = lab.project()
    for _ in range(60):
        if told["status"] == "done":
            break
        made.load(lab.folder / told["batch"].replace(".csv", ".json"))
        unlabelled = [task for task in made.tasks if not task["annotations"]]
        assert len(unlabelled) == told["pending"]
        for task in reversed(unlabelled):
            made.annotate(task, lab.truth[task["data"]["item"]], who={"id": 1, "email": "ann@lab"})
        made.export(lab.folder / "export.json", kind)
        told = lab.by_file("--answers", "export.json")
    assert told["status"] == "done"
    assert told["hypothesis"] == whole["hypothesis"]
    assert read(lab.folder / "lab.json")["body"] == read(lab.folder / "whole.json")["body"]
    assert lab.history().count("ann@lab") == whole["labels"]["answered"] == len(made.tasks)
    assert main(["verify", "lab.json", "--pool", "pool.csv", "--journal", "lab.db"]) == 0


def test_half_an_export_a_skip_and_the_same_export_again(lab):
    told = lab.by_file()
    made = lab.project()
    made.load(lab.folder / "lab.batches/batch-0001.json")
    made.annotate(made.tasks[0], None)
    made.annotate(made.tasks[1], lab.truth[made.tasks[1]["data"]["item"]])
    made.export(lab.folder / "export.json")
    for _ in range(2):
        told = lab.by_file("--answers", "export.json", code=[3])
        assert (told["labels"]["answered"], told["labels"]["skipped"], told["pending"]) == (1, 1, 4)
    made.annotate(made.tasks[0], "yes", who=2)  # too late: another item has taken its place
    made.export(lab.folder / "export.json")
    assert lab.by_file("--answers", "export.json", code=[3])["labels"] == told["labels"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda tasks: tasks[1]["annotations"][0].update(result=[]), "the annotation of the item {1!r} is not a single choice under"),
        (lambda tasks: tasks[0].update(data={"item": "nobody"}), "export.json answers the item 'nobody', which was never asked for"),
    ],
)  # fmt: skip
def test_a_bad_export_is_one_sentence_and_nothing_is_lost(lab, spoil, message):
    before = lab.by_file(code=[3])
    made = lab.project()
    made.load(lab.folder / before["batch"].replace(".csv", ".json"))
    items = [task["data"]["item"] for task in made.tasks]
    for task in made.tasks:
        made.annotate(task, lab.truth[task["data"]["item"]])
    good = json.dumps(made.as_json())
    tasks = json.loads(good)
    spoil(tasks)
    (lab.folder / "export.json").write_text(json.dumps(tasks))
    told = lab.by_file("--answers", "export.json", code=[2])
    assert message.format(*items) in told["message"]
    assert "\n" not in told["message"]
    assert lab.by_file(code=[3]) == before
    (lab.folder / "export.json").write_text(good)
    assert lab.by_file("--answers", "export.json", code=[3])["labels"]["answered"] == 5

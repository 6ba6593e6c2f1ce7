"""From a protocol to two certificates that agree, as people at two labs do it: every step a command."""

import csv
import io
import json
import re
import socket
import sqlite3

import pytest

from replical.cli import main
from replical.core.text import at_most
from replical.lab.certificate.file import read
from replical.lab.certificate.page import page
from replical.lab.journal import journal as journal_module
from replical.lab.protocol import Protocol
from support.lab import content, private, world, write_csv

NEW = ["init", "--candidates", "names.txt", "--label-values", "no,yes", "--epsilon", ".4", "--delta", ".2", "--rho",
       ".6", "--seed", "a published text"]  # fmt: skip
ALL_LABELS = ["run", "p.toml", "--pool", "small.csv", "--journal", "lab.db", "--out", "lab.json", "--labels",
              "small.csv:truth"]  # fmt: skip


@pytest.fixture
def lab(tmp_path, monkeypatch, capsys):
    """A folder with two labs' tables, a private seed that is known, and a way to run commands in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(journal_module.secrets, "token_hex", lambda size: private("cli"))
    (tmp_path / "names.txt").write_text("".join(f"m{number}\n" for number in range(6)))
    for name, seed in (("a", 11), ("b", 12)):
        write_csv(tmp_path / f"{name}.csv", world(seed=seed, items=1000))
    small = world(seed=5, items=150)
    write_csv(tmp_path / "small.csv", small)

    class Lab:
        folder, truth = tmp_path, dict(zip(small["id"], small["truth"], strict=True))

        def __call__(self, *words, code=0):
            found = main([str(word) for word in words])
            self.out, self.err = capsys.readouterr()
            assert found == code, self.out + self.err
            assert "Traceback" not in self.err
            return self.out

        def anyhow(self, *words):
            assert main([str(word) for word in words]) in (0, 3)
            self.out, self.err = capsys.readouterr()
            return self.out

        def json(self, *words, code=0):
            told = self(*words, "--json", code=code)
            assert told.count("\n") == 1
            return json.loads(told)

        def protocol(self, **said):
            (tmp_path / "p.toml").write_text(Protocol.of(content(**said)).toml())

        def run(self, *words, name="small", code=0, journal="lab.db", out="lab.json"):
            return self.json("run", "p.toml", "--pool", f"{name}.csv", "--journal", journal, "--out", out, "--truths", "0",
                             *words, code=code)  # fmt: skip

        def body(self, name="lab.json"):
            return read(tmp_path / name)["body"]

        def fill(self, batch, answer=None):
            """Fill in a batch with the truth, or with what `answer` says of an item."""
            path = tmp_path / batch
            with path.open(newline="") as file:
                header, *rows = csv.reader(file)
            with path.open("w", newline="") as file:
                csv.writer(file).writerows(
                    [header, *([*row[:-1], answer(row[0]) if answer else self.truth[row[0]]] for row in rows)]
                )
            return [row[0] for row in rows]

    return Lab()


# ---- two labs ----


def test_two_labs_one_answer(lab, monkeypatch):
    """The whole way: publish, run at two labs, compare, and let anyone check."""
    lab(*NEW, "--out", "p.toml", "--set", "batch=24")
    assert "Publish the file, or at least its fingerprint, before any lab asks for a label." in lab.out
    for name in "ab":
        monkeypatch.setattr(journal_module.secrets, "token_hex", lambda size, name=name: private(f"lab {name}"))
        told = lab.run("--labels", f"{name}.csv:truth", name=name, journal=f"{name}.db", out=f"{name}.json")
        assert (told["status"], told["certified"]) == ("done", True)
        lab("verify", f"{name}.json", "--pool", f"{name}.csv", "--journal", f"{name}.db")
        assert "Valid, as far as the file, its pool and its journal can show: " in lab.out
        lab("verify", f"{name}.json", "--pool", f"{name}.csv")
        assert "Valid, as far as the file and its pool can show; what its labels prove is claimed: " in lab.out
    lab("compare", "a.json", "b.json")
    assert "Identical: m0 alone is left in both labs.\n" in lab.out
    found = lab.json("verify", "a.json", "--pool", "b.csv", code=1)
    assert (found["valid"], found["level"]) == (False, "pool")
    wrong = lab.json("verify", "a.json", "--pool", "a.csv", "--journal", "b.db", code=1)
    assert (wrong["valid"], wrong["level"]) == (False, "journal")


def test_the_answer_as_json_is_the_documented_one(lab):
    lab.protocol(batch=12)
    told = lab.run("--labels", "small.csv:truth")
    assert set(told) == {
        "schema", "status", "protocol", "class", "hypothesis", "labels", "rounds", "survivors", "certified",
        "rho_proven", "conditions", "proof", "answer_error", "verdict", "pool", "journal",
        "certificate",
    }  # fmt: skip
    assert (told["schema"], told["status"]) == ("replical.result/1", "done")
    assert (told["journal"], told["certificate"]) == ("lab.db", "lab.json")
    body = lab.body()
    assert set(told["hypothesis"]) == {"index", "name", "description"}
    assert told["hypothesis"] == body["hypothesis"] | {"name": told["hypothesis"]["name"]}
    for key in ("labels", "rounds", "survivors", "certified", "rho_proven", "conditions", "proof", "answer_error",
                "verdict"):  # fmt: skip
        assert told[key] == body[key], key
    assert (told["protocol"], told["class"]) == (body["protocol_fingerprint"], body["class_fingerprint"])
    assert told["pool"] == {"items": 150, "fingerprint": body["pool"]["fingerprint"]}
    assert set(told["labels"]) == {"asked", "answered", "skipped", "corrected"}
    assert all(set(each) >= {"round", "disagreement", "survivors", "drawn"} for each in told["rounds"])
    assert all(set(each) == {"name", "value", "bound", "held"} for each in told["conditions"])


def test_the_plan_comes_first_and_the_answer_last(lab):
    """Before a label is asked for, the person who runs is told what it may cost and how likely the labs agree."""
    lab.protocol(batch=4, max_labels=8, title="Which model?")
    lab(*ALL_LABELS, "--truths", "2", "--html", "page.html", "-v")
    assert "Which model? (sha256:" in lab.err
    assert "6 models, 150 items" in lab.err
    assert "Forecast from the unlabelled items: about" in lab.err
    assert re.search("% of labs; a rough estimate from 2 simulated worlds, replical plan says more", lab.err)
    assert re.search(r"^\d+ labels?, about \d+ left; 6 models still in question$", lab.err, re.MULTILINE)
    assert lab.out.startswith(f"Model: {lab.body()['hypothesis']['description']}, ")
    assert " on these labels, an estimate without a bound" in lab.out
    assert "Not certified: the budget of 8 labels was spent before one alone was left: it is one of " in lab.out
    assert re.search(
        r" To a proof it takes .* more labels?\b.*, among .* items?\b.*, if they are like those so far: "
        r"the budget is part of the protocol, so it takes a new one \(init --set max_labels=\d+\) and other items\. "
        r"Or a next protocol, for other items: a public order of preference, or a larger epsilon\.\n",
        lab.out,
    )
    assert "survivors: m0, " in lab.out
    assert "The level asked for is 0.2, and only level 0." in lab.out
    assert "Not held: " not in lab.out  # it would say the same once more
    assert "\nWritten: lab.json (record of the run, not certified), lab.db (journal), page.html (page).\n" in lab.out
    assert (lab.folder / "page.html").read_text() == page(read(lab.folder / "lab.json"))
    lab(*ALL_LABELS)
    assert "Forecast" not in lab.err  # only when a journal begins


def test_a_run_without_a_proof_says_all_that_has_to_be_typed(lab):
    """Rows for the upper end of the range, less those that are left; and rows beside labels where these need them."""
    grow = "rows at the end of the pool's table and type the same command"
    for items, budget, numbers, way in (  # an end that is not known is no number
        (150, 4, {}, r"type the same command with --until-budget \d+"),
        (30, 4, {}, rf"add (?:\d+ )?{grow} with --until-budget \d+"),
        (30, 22, {"epsilon": 0.02}, rf"add (?:\d+ )?{grow} with --until-budget \d+"),
        (40, None, {}, rf"add \1 {grow} again"),
        (
            30,
            None,
            {"epsilon": 0.02, "max_labels": 22},
            rf"add (?:\d+ )?{grow} again; more than 22 labels the protocol .*",
        ),
    ):
        lab.protocol(**{"batch": 4, "epsilon": 0.08, **numbers})
        write_csv(lab.folder / "few.csv", {name: column[:items] for name, column in world(seed=5, items=150).items()})
        until = () if budget is None else ("--until-budget", budget)
        lab("run", "p.toml", "--pool", "few.csv", "--labels", "few.csv:truth", "--truths", "0", *until, "--journal",
            f"{items} {budget} {len(numbers)}.db", "--out", "few.json")  # fmt: skip
        told = r"(?:to ([\d,]+)\)|.*), (?:with|among) .*, if they are like those so far: "
        assert re.search(rf"{told}{way}\. Or a next protocol", lab.out), lab.out


def test_a_realizable_protocol_tells_its_bill(lab):
    lab.protocol(learner="erm")
    lab(*ALL_LABELS, "-v")
    assert "At most 7 labels." in lab.err
    assert "The plan's bill: 7 labels (most)." in lab.err
    assert lab.body()["labels"]["asked"] == 7


def test_a_budget_ends_a_run(lab):
    lab.protocol(batch=4, max_labels=8)
    told = lab.run("--labels", "small.csv:truth")
    assert told["status"] == "budget"
    assert told["labels"]["asked"] == 8
    lab("verify", "lab.json", "--pool", "small.csv", "--journal", "lab.db")


# ---- interrupted and resumed ----


def test_a_run_goes_on_where_its_journal_ends(lab):
    """Whatever happens in between, the certificate is the one of an undisturbed run, byte for byte."""
    lab.protocol(batch=5)
    lab.run("--labels", "small.csv:truth", journal="whole.db", out="whole.json")
    known = dict(lab.truth)
    asked = []
    rows = world(seed=5, items=150)
    for stop in (3, 17, 29, 1000):  # labels that the lab has by then
        have = [*asked][:stop]
        some = {"id": rows["id"], "truth": [known[item] if item in have or stop == 1000 else "" for item in rows["id"]]}
        write_csv(lab.folder / "labels.csv", some)
        done = lab.json("run", "p.toml", "--pool", "small.csv", "--journal", "lab.db", "--out", "lab.json", "--truths", "0",
                        "--labels", "labels.csv:truth", code=0 if stop == 1000 else 2)  # fmt: skip
        with sqlite3.connect(lab.folder / "lab.db") as database:
            asked = [
                row[0] for row in database.execute("SELECT item FROM replical_events WHERE kind = 'ask' ORDER BY seq")
            ]
        database.close()
        if stop < 1000:
            assert done["error"] == "BadLabel"
            missing = re.fullmatch("labels.csv:truth has no label for the item '(.*)', which is asked for: add it and run again",
                                   done["message"])  # fmt: skip
            assert missing[1] in set(asked) - set(have)
            assert not (lab.folder / "lab.json").exists()
    assert done["status"] == "done"
    assert lab.body() == lab.body("whole.json")
    again = lab.run("--labels", "small.csv:truth")
    assert again == done | {"journal": "lab.db"}


# ---- labelling by file ----


def test_by_file_until_done_is_the_run_by_column(lab):
    """Five items a batch; each run of the command reads the last batch and writes the next."""
    lab.protocol(batch=5)
    whole = lab.run("--labels", "small.csv:truth", journal="whole.db", out="whole.json")
    words = ("--ask", "file", "--show", "text", "--annotator", "Ann")
    told = lab.run(*words, code=3)
    asked, batches = 0, []
    while told["status"] == "pending":
        assert set(told) == {"schema", "status", "protocol", "class", "labels", "pool", "pending", "batch"}
        assert told["pending"] == min(5, whole["labels"]["asked"] - asked)
        assert told["batch"] not in batches
        assert not (lab.folder / "lab.json").exists()
        batches.append(told["batch"])
        assert lab.run(*words, code=3) == told  # nothing was filled in: nothing has changed
        asked += len(lab.fill(told["batch"]))
        last = asked >= whole["labels"]["asked"]
        told = lab.run(*words, code=0 if last else 3)
    assert batches[:2] == ["lab.batches/batch-0001.csv", "lab.batches/batch-0002.csv"]
    assert told["status"] == "done"
    assert lab.body() == lab.body("whole.json")
    lab("verify", "lab.json", "--pool", "small.csv", "--journal", "lab.db")


def test_half_a_batch_is_kept(lab):
    lab.protocol(batch=5)
    told = lab.run("--ask", "file", code=3)
    items = lab.fill(told["batch"], lambda item: "")
    lab.fill(told["batch"], lambda item: lab.truth[item] if item in items[:2] else "")
    half = lab.run("--ask", "file", code=3)
    assert (half["pending"], half["batch"]) == (3, told["batch"])
    assert half["labels"]["answered"] == 2
    lab.fill(told["batch"])
    assert lab.run("--ask", "file", code=3)["pending"] == 5


def until_done(lab, told):
    """Fill in what is pending with the truth and run again, until the run has ended."""
    for _ in range(60):
        if told["status"] == "done":
            return told
        lab.fill(told["batch"], lambda item: lab.truth[item])
        told = json.loads(lab.anyhow("run", "p.toml", "--pool", "small.csv", "--journal", "lab.db", "--out", "lab.json",
                                     "--ask", "file", "--json"))  # fmt: skip
    raise AssertionError("the run does not come to an end")


def test_a_skipped_item_is_replaced_in_the_next_batch(lab):
    """The item that takes its place is in no batch yet: a new one is written, and the run comes to its end."""
    lab.protocol(batch=5)
    told = lab.run("--ask", "file", code=3)
    first = lab.fill(told["batch"])[0]
    lab.fill(told["batch"], lambda item: "?" if item == first else lab.truth[item])
    told = lab.run("--ask", "file", code=3)
    assert (told["labels"]["skipped"], told["labels"]["answered"], told["pending"]) == (1, 4, 1)
    assert told["batch"] == "lab.batches/batch-0002.csv"
    assert first not in (lab.folder / told["batch"]).read_text()
    assert until_done(lab, told)["labels"]["skipped"] == 1
    lab("verify", "lab.json", "--pool", "small.csv", "--journal", "lab.db")


def test_a_correction_that_changes_the_questions_gets_a_new_batch(lab):
    """Other items are asked after a correction: they are written down, not looked for in an old batch."""
    lab.protocol(batch=5, epsilon=0.1)
    first = until_done(lab, lab.run("--ask", "file", code=3))
    seen = list(
        dict.fromkeys(
            row["item"] for row in csv.DictReader(io.StringIO(lab("journal", "export", "lab.db"))) if row["item"]
        )
    )
    with journal_module.Journal("lab.db") as journal:
        codes = {item: 1 - ("no", "yes").index(lab.truth[item]) for item in seen[:20]}
        journal.append([journal_module.Event(kind="correction", item=item, label=code) for item, code in codes.items()])
    told = lab.run("--ask", "file", code=3)
    done = until_done(lab, told)
    assert done["labels"]["corrected"] == 20
    assert done["labels"]["answered"] > first["labels"]["answered"]


def test_answers_that_were_not_asked_for_or_contradict_the_journal(lab):
    lab.protocol(batch=5)
    told = lab.run("--ask", "file", code=3)
    items = lab.fill(told["batch"])
    stranger = next(item for item in lab.truth if item not in items)
    (lab.folder / "more.csv").write_text(f"id,label\n{stranger},yes\n")
    refused = lab.run("--ask", "file", "--answers", "more.csv", code=2)
    assert (
        refused["message"]
        == f"more.csv answers the item {stranger!r}, which was never asked for: give the answers to this run's batches"
    )
    lab.run("--ask", "file", code=3)
    other = "no" if lab.truth[items[0]] == "yes" else "yes"
    (lab.folder / "more.csv").write_text(f"id,label\n{items[0]},{other}\n")
    refused = lab.run("--ask", "file", "--answers", "more.csv", code=2)
    assert refused["message"] == (
        f"more.csv has {other!r} for the item {items[0]!r}, but {lab.truth[items[0]]!r} is recorded: record {other!r} with "
        f"replical journal correct, or put {lab.truth[items[0]]!r} there again"
    )
    (lab.folder / "more.csv").write_text(f"id,label\n{items[0]},{lab.truth[items[0]]}\n")
    assert lab.run("--ask", "file", "--answers", "more.csv", code=3)["labels"]["answered"] == 5


def flip(label):
    return "no" if label == "yes" else "yes"


def test_a_finished_batch_is_not_changed_by_editing_it(lab):
    """Whoever edits it believes that it counts; it does once `replical journal correct` was told, and then either label may stand there."""
    lab.protocol(batch=5)
    told = lab.run("--ask", "file", code=3)
    item = lab.fill(told["batch"])[0]
    second = lab.run("--ask", "file", code=3)
    assert second["batch"] != told["batch"]
    lab.fill(told["batch"], lambda each: flip(lab.truth[each]) if each == item else lab.truth[each])
    was, now = lab.truth[item], flip(lab.truth[item])
    refused = lab.run("--ask", "file", code=2)
    assert refused["message"] == (
        f"{told['batch']} has {now!r} for the item {item!r}, but {was!r} is recorded: record {now!r} with replical journal correct, "
        f"or put {was!r} there again"
    )
    lab("journal", "correct", "lab.db", "--item", item, "--label", now)
    assert lab.run("--ask", "file", code=3)["labels"]["corrected"] == 1
    lab.fill(told["batch"])  # the label it had before the correction
    assert lab.run("--ask", "file", code=3)["labels"] == {"asked": 10, "answered": 5, "skipped": 0, "corrected": 1}


def test_a_run_that_has_ended_notices_it_too(lab):
    lab.protocol(batch=5)
    until_done(lab, lab.run("--ask", "file", code=3))
    item = lab.fill("lab.batches/batch-0001.csv", lambda each: flip(lab.truth[each]))[0]
    assert f"batch-0001.csv has {flip(lab.truth[item])!r} for the item" in lab.run("--ask", "file", code=2)["message"]


def test_skips_are_not_changed_by_editing_either(lab):
    lab.protocol(batch=5)
    told = lab.run("--ask", "file", code=3)
    first, second, *_ = lab.fill(told["batch"])
    answers = lab.truth | {first: "?"}
    lab.fill(told["batch"], answers.get)
    lab.run("--ask", "file", code=3)
    lab.fill(told["batch"])
    refused = lab.run("--ask", "file", code=2)["message"]
    assert refused.endswith(f"for the item {first!r}, but '?' is recorded: put '?' there again")
    lab.fill(told["batch"], (answers | {second: "?"}).get)
    refused = lab.run("--ask", "file", code=2)["message"]
    assert refused.endswith(
        f"has '?' for the item {second!r}, but {lab.truth[second]!r} is recorded: put {lab.truth[second]!r} there again"
    )
    lab.fill(told["batch"], answers.get)
    assert lab.run("--ask", "file", code=3)["labels"]["skipped"] == 1


def test_what_somebody_skipped_in_label_studio_somebody_else_may_label(lab):
    """An export holds earlier batches too; whoever comes later and labels them stops nobody."""
    lab.protocol(batch=5)
    lab.run("--ask", "file", code=3)
    tasks = json.loads((lab.folder / "lab.batches/batch-0001.json").read_text())
    for task in tasks:
        value = {"choices": [lab.truth[task["data"]["id"]]]}
        task["annotations"] = [{"result": [{"value": value}]}]
    skip, labelled = {"was_cancelled": True, "result": []}, tasks[0]["annotations"]
    tasks[0]["annotations"] = [skip]
    (lab.folder / "export.json").write_text(json.dumps(tasks))
    assert lab.run("--ask", "file", "--answers", "export.json", code=3)["labels"]["skipped"] == 1
    tasks[0]["annotations"] = labelled
    tasks[1]["annotations"] = [skip]
    (lab.folder / "export.json").write_text(json.dumps(tasks))
    told = lab.run("--ask", "file", "--answers", "export.json", code=3)
    assert (told["labels"]["skipped"], told["labels"]["answered"]) == (1, 4)


def test_batches_of_another_run_in_the_same_folder_are_left_alone(lab):
    lab.protocol(batch=5)
    lab.run("--ask", "file", "--batches", "out", code=3)
    (lab.folder / "out" / "batch-0009.csv").write_text("id,label\nnobody,maybe\n")
    assert lab.run("--ask", "file", "--batches", "out", code=3)["batch"] == "out/batch-0001.csv"


@pytest.mark.parametrize("ask", ["file", "terminal", "page", "journal"])
def test_a_column_that_is_not_there_is_named_before_anything_begins(lab, ask):
    lab.protocol(batch=5)
    refused = lab.run("--ask", ask, "--show", "text,pictre", "--page", "port=0", code=2)
    assert refused["message"].startswith("small.csv has no column 'pictre'; it has id, text, truth, m0")
    assert not (lab.folder / "lab.db").exists()


def test_the_page_of_a_run_elsewhere_names_it_too(lab):
    lab.protocol(batch=5)
    lab.run("--ask", "file", code=3)
    lab("label", "lab.db", "--pool", "small.csv", "--show", "pictre", "--page", "port=0", code=2)
    assert "small.csv has no column 'pictre'; it has id, text, truth, m0" in lab.err


def test_pictures_that_cannot_be_shown_are_warned_about(lab, monkeypatch):
    """Once, to whoever serves the page: people would see the names of files."""
    pytest.importorskip("starlette")
    monkeypatch.setattr("replical.lab.page.serve.serve", lambda *_, **__: None)
    pictures = world(seed=5, items=150)
    names = [f"digits/{number}.png" for number in range(150)]
    pictures |= {"picture": names, "sound": ["a.MP3"] * 150, "page": ["notes.txt"] * 150}
    write_csv(lab.folder / "seen.csv", pictures)
    lab.protocol(batch=5)

    def told(*words):
        lab.run("--ask", "page", "--show", "picture,text,sound,page", *words, name="seen", code=3)
        return [line for line in lab.err.splitlines() if line.startswith("The column")]

    assert told() == [
        "The column picture names picture files, but no folder is given with --page media=FOLDER: people will see the names only.",
        "The column sound names sound files, but no folder is given with --page media=FOLDER: people will see the names only.",
    ]
    assert told("--page", "media=.")[0] == (
        "The column picture names picture files, but they are not in the folder .: people will see the names only."
    )
    (lab.folder / "digits").mkdir()
    for name in ("a.MP3", *names):
        (lab.folder / name).write_bytes(b"")
    assert told("--page", "media=.") == []


def test_a_port_in_use_is_told_in_one_sentence(lab):
    pytest.importorskip("starlette")
    lab.protocol(batch=5)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = lab.run("--ask", "page", "--page", f"port={port}", code=2)
    assert refused["message"] == (
        f"cannot listen on 127.0.0.1, port {port} (Address already in use): choose another with --page port=NUMBER"
    )
    assert "Errno" not in lab.err


def test_pending_in_words(lab, monkeypatch):
    lab.protocol(batch=5)
    lab("run", "p.toml", "--pool", "small.csv", "--journal", "lab.db", "--out", "lab.json", "--truths", "0", "--ask", "file",
        code=3)  # fmt: skip
    assert lab.out == (
        "5 labels are pending: fill in the column label of lab.batches/batch-0001.csv ('?' for an item nobody can label), "
        "then run the same command again.\n"
    )
    items = lab.fill("lab.batches/batch-0001.csv")
    lab.fill("lab.batches/batch-0001.csv", lambda item: lab.truth[item] if item != items[2] else "")
    words = [*ALL_LABELS[:-2], "--truths", "0", "--ask"]
    lab(*words, "file", code=3)
    assert lab.out.startswith("1 label is pending: fill in the column label of lab.batches/batch-0001.csv")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    lab(*words, "terminal", code=3)
    assert lab.out == "1 label is pending; run the same command to go on.\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    lab(*words, "terminal", code=3)
    assert lab.out == "5 labels are pending; run the same command to go on.\n"


# ---- labelling at the terminal ----


@pytest.fixture
def typed(lab, monkeypatch):
    """Run at the terminal and type these lines."""

    def run(lines, *words, code, **where):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return lab.run("--ask", "terminal", *words, code=code, **where)

    return run


def test_labels_are_typed_by_value_or_by_number(lab, typed):
    lab.protocol()
    told = typed(["yes", "1", "q"], "--show", "text", "--annotator", "Ann", code=3)
    assert (told["status"], told["pending"], told["batch"]) == ("pending", 1, None)
    assert told["labels"] == {"asked": 3, "answered": 2, "skipped": 0, "corrected": 0}
    assert "1 = no, 2 = yes" in lab.err
    lab("journal", "export", "lab.db")
    answers = [row for row in csv.DictReader(io.StringIO(lab.out)) if row["kind"] == "answer"]
    assert [(row["label"], row["annotator"]) for row in answers] == [("yes", "Ann"), ("no", "Ann")]


def test_a_whole_run_at_the_terminal_is_the_run_by_column(lab, typed):
    """Whoever answers with the truth, one by one, over two evenings, gets the same certificate."""
    lab.protocol(nu=0.0)
    columns = world(seed=5, items=150, best=0.0)
    truth = dict(zip(columns["id"], columns["truth"], strict=True))
    write_csv(lab.folder / "clean.csv", columns)
    lab.run("--labels", "clean.csv:truth", name="clean", journal="whole.db", out="whole.json")
    lab("journal", "export", "whole.db")
    asked = [row["item"] for row in csv.DictReader(io.StringIO(lab.out)) if row["kind"] == "ask"]
    assert len(asked) >= 2
    lines = [
        truth[item] if number % 2 else str(1 + ("no", "yes").index(truth[item])) for number, item in enumerate(asked)
    ]
    typed(lines[:1], "--show", "text", name="clean", code=3)
    assert typed(lines[1:], "--show", "text", name="clean", code=0)["status"] == "done"
    assert lab.body() == lab.body("whole.json")


def test_bad_input_is_asked_again_and_nothing_is_recorded(lab, typed):
    lab.protocol()
    told = typed(["maybe", "", "3", "0", "YES", "-1", "²", "no", "q"], code=3)
    assert told["labels"]["answered"] == 1
    for said in ("maybe", "", "3", "0", "YES", "-1", "²"):
        assert f"{said!r} is none of ['no', 'yes']" in lab.err
    assert lab.err.count("Item 1:") == 8
    assert lab.err.count("Item 2:") == 1


def test_an_item_nobody_can_label_is_skipped(lab, typed):
    """Another item of the private order takes its place, and the certificate says so."""
    lab.protocol()
    told = typed(["?", "?", "q"], code=3)
    assert told["labels"] == {"asked": 1, "answered": 0, "skipped": 2, "corrected": 0}
    shown = [line.split(": ")[1] for line in lab.err.splitlines() if line.startswith("Item ")]
    assert len(set(shown)) == 3


def test_who_just_leaves_loses_nothing(lab, typed):
    """The end of the input is as good as a q."""
    lab.protocol()
    assert typed(["yes"], code=3)["labels"]["answered"] == 1
    assert typed([], code=3)["labels"]["answered"] == 1


def test_the_terminal_is_blind(lab, typed):
    """Neither predictions nor earlier labels nor how the run stands are shown to the person who labels."""
    lab.protocol(batch=3)
    typed(["yes", "no", "yes", "q"], "--show", "text", code=3)
    questions = lab.err[lab.err.index("Item 1: ") :]
    body = [line for line in questions.splitlines() if line.strip()]
    assert len(body) == 12  # item, text and prompt; four times
    for item, text, prompt in zip(body[::3], body[1::3], body[2::3], strict=True):
        assert item.startswith("Item ")
        assert text == f"  text: text {int(item.split(': i')[1])}"
        assert prompt.strip() == "label:"
    told = json.loads(lab.out)
    assert not {"hypothesis", "survivors", "rounds", "conditions"} & set(told)


# ---- corrections and export ----


def test_export_of_the_labels_alone(lab):
    """One row an item, with the label that counts; without skips, questions and the protocol."""
    lab.protocol(batch=5)
    told = lab.run("--ask", "file", "--annotator", "Ann", code=3)
    items = lab.fill(told["batch"])
    lab.fill(told["batch"], lambda item: "?" if item == items[0] else lab.truth[item])
    lab.run("--ask", "file", "--annotator", "Ann", code=3)
    lab("journal", "correct", "lab.db", "--item", items[1], "--label", flip(lab.truth[items[1]]), "--annotator", "Bob")
    with journal_module.Journal("lab.db") as journal:
        late = journal_module.Event(kind="answer", item=items[3], label=0, annotator="Cat")  # the first answer counts
        other = journal_module.Event(kind="answer", item=items[4], label=1, annotator="Cat")
        journal.append([journal_module.Event(kind="undo", item=items[2], annotator="Ann"), late, other])
        last = journal.events()
    lab("journal", "export", "lab.db", "--labels-only")
    rows = list(csv.DictReader(io.StringIO(lab.out)))
    assert list(rows[0]) == ["item", "label", "annotator", "at"]
    assert [(row["item"], row["label"], row["annotator"]) for row in rows] == [
        (items[1], flip(lab.truth[items[1]]), "Bob"),
        *((item, lab.truth[item], "Ann") for item in items[3:]),
    ]
    assert rows[0]["at"] == next(event.at for event in last if event.kind == "correction")
    shown = lab.out
    lab("journal", "export", "lab.db", "--labels-only", "--out", "labels.csv")
    assert (lab.folder / "labels.csv").read_text().splitlines() == shown.splitlines()


# ---- bad usage ----
RUN = {
    "PROTOCOL": "p.toml", "--truths": "0", "--pool": "small.csv", "--journal": "lab.db", "--out": "lab.json",
    "--labels": "small.csv:truth",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--labels": None}, "give --labels FILE:COLUMN or --ask terminal|file|page|journal|label-studio, and not both"),
        ({"--ask": "file"}, "give --labels FILE:COLUMN or --ask terminal|file|page|journal|label-studio, and not both"),
        ({"--labels": None, "--ask": "phone"}, "--ask is terminal, file, page, journal or label-studio, got 'phone'"),
        ({"--labels": "small.csv"}, "--labels names a file and a column, FILE:COLUMN, got 'small.csv'"),
        ({"--labels": "small.csv:diagnosis"}, "small.csv has no column 'diagnosis'; it has id, text, truth, m0"),
        ({"--labels": "nowhere.csv:truth"}, "there is no file nowhere.csv"),
        ({"--labels": "small.csv:text"}, "the label of the item 'i0000' in small.csv is 'text 0', which is none of"),
        ({"--labels": "small.csv:m0"}, "'m0' is a candidate of the protocol: its predictions are not the labels"),
        ({"--show": "text,m0"}, "'m0' holds predictions: labelling is blind, so it is not shown"),
        ({"PROTOCOL": "nowhere.toml"}, "cannot read the protocol nowhere.toml: No such file or directory"),
        ({"PROTOCOL": "small.csv"}, "small.csv is not a TOML file"),
        ({"--pool": "nowhere.csv"}, "there is no file nowhere.csv"),
        ({"--pool": "names.txt"}, "a table is a file that ends in .parquet, .csv, got names.txt"),
        ({"--pool": "thin.csv"}, "thin.csv has no column 'm0'; it has id, truth"),
        ({"--id": "key"}, "small.csv has no column 'key'"),
        ({"--out": "nowhere/lab.json"}, "there is no folder nowhere for --out lab.json"),
        ({"--html": "nowhere/page.html"}, "there is no folder nowhere for --html page.html"),
        ({"--journal": "nowhere/lab.db"}, "there is no folder nowhere for the journal lab.db"),
        ({"--journal": "names.txt"}, "the journal names.txt cannot be used"),
        ({"--pool": None}, "Missing option '--pool'"),
        ({"--journal": None}, "Missing option '--journal'"),
        ({"--out": None}, "Missing option '--out'"),
        ({"--truths": "many"}, "'many' is not a whole number"),
        ({"--labels": None, "--ask": "file", "--answers": "nowhere.csv"}, "cannot read the answers nowhere.csv"),
    ],
)  # fmt: skip
def test_bad_usage_is_one_sentence_and_exit_code_2(lab, changes, message):
    lab.protocol(batch=5)
    (lab.folder / "thin.csv").write_text("id,truth\nu,yes\n")
    words = RUN | changes
    given = [str(words.pop("PROTOCOL")), *(each for flag, value in words.items() if value for each in (flag, value))]
    told = lab.json("run", *given, code=2)
    assert (told["schema"], told["exit"]) == ("replical.error/1", 2)
    assert message in told["message"]
    assert not (lab.folder / "lab.json").exists()
    assert "--answers" in changes or not (lab.folder / "lab.db").exists()  # told before anybody is asked


# ---- an order from a public table ----


@pytest.fixture
def public(lab):
    """A protocol whose order was made from public.csv, and what a run with flags of its own leaves behind."""
    table = world(seed=21, items=80)
    write_csv(
        lab.folder / "public.csv",
        table
        | {name: [f"{word}{number}" for number in range(80)] for name, word in (("id", "p"), ("text", "public "))},
    )
    lab(*NEW, "--out", "p.toml", "--public", "public.csv:truth")
    assert "learner handicap, the standard for candidate models." in lab.out

    def refused(*words):
        """The sentence; neither journal nor certificate has changed."""
        before = {path.name: path.read_bytes() for path in lab.folder.glob("lab.*") if path.suffix != ".lock"}
        told = lab.run("--labels", "small.csv:truth", *words, code=2)
        assert before == {path.name: path.read_bytes() for path in lab.folder.glob("lab.*") if path.suffix != ".lock"}
        assert "\n" not in told["message"]
        return told["message"]

    return refused


def test_a_run_checks_that_its_items_are_not_the_public_ones(lab, public):
    told = lab.run("--labels", "small.csv:truth", "--public", "public.csv")
    assert told["status"] == "done"
    assert lab.run("--labels", "small.csv:truth") == told  # the flag changes nothing else
    shared = world(seed=21, items=80)["id"][:3]
    text = (lab.folder / "public.csv").read_text()
    for number, item in enumerate(shared):
        text = text.replace(f"p{number},public {number},", f"{item},public {number},", 1)
    (lab.folder / "mixed.csv").write_text(text)
    lab(*NEW, "--out", "p.toml", "--public", "mixed.csv:truth", "--force")
    message = public("--public", "mixed.csv")
    assert message.startswith(
        "3 of 150 items of the pool are in the public table mixed.csv, e.g. 'i0000': take those rows"
    )
    assert public("--public", "public.csv").startswith(
        "public.csv is not the public table of the protocol: its fingerprint"
    )
    assert public("--public", "nowhere.csv") == "there is no file nowhere.csv"


def test_refusals_begin_no_journal(lab, public):
    (lab.folder / "other.csv").write_text((lab.folder / "public.csv").read_text().replace("p7,", "p700,"))
    assert "is not the public table" in public("--public", "other.csv")
    assert not (lab.folder / "lab.db").exists()
    lab(*NEW, "--out", "p.toml", "--force")
    assert "was not made from a public table" in public("--public", "public.csv")
    assert not (lab.folder / "lab.db").exists()


def test_hardly_any_items(lab, public):
    """Nothing to scan is refused; one item is an answer, and no proof."""
    header, first, *_ = (lab.folder / "small.csv").read_text().splitlines()
    (lab.folder / "none.csv").write_text(f"{header}\n")
    assert "none.csv holds no items: write one row an item" in public("--pool", "none.csv")
    (lab.folder / "one.csv").write_text(f"{header}\n{first}\n")
    lab("run", "p.toml", "--pool", "one.csv", "--labels", "small.csv:truth", "--journal", "one.db", "--out", "one.json")
    assert (
        "Not certified: the pool was used up before one alone was left: it is one of 6 (m0, m1, m2 and 3 more)."
        in lab.out
    )


def test_another_column_may_hold_the_ids(lab):
    """And then labels, batches and verification follow it."""
    lab.protocol(batch=5)
    columns = world(seed=5, items=150)
    keyed = {"key" if name == "id" else name: column for name, column in columns.items()} | {"id": ["x"] * 150}
    write_csv(lab.folder / "keyed.csv", keyed)
    told = lab.run("--labels", "keyed.csv:truth", "--id", "key", name="keyed")
    assert told["hypothesis"] == lab.run("--labels", "small.csv:truth", journal="b.db", out="b.json")["hypothesis"]
    lab("verify", "lab.json", "--pool", "keyed.csv", "--id", "key", "--journal", "lab.db")
    lab("verify", "lab.json", "--pool", "keyed.csv", code=2)


# ---- what is proven, and how often the answer errs ----


def test_a_run_says_what_is_proven_and_how_good_the_answer_is(lab):
    lab.protocol(batch=4)
    told = lab.run("--labels", "a.csv:truth", name="a")
    part, body = told["proof"], lab.body()
    assert (told["certified"], told["verdict"]) == (True, {"certified": True, "why": "", "helps": ""})
    assert (part["beta"], part["doubt"], told["rho_proven"]) == (0.2, 0.2, 0.4)
    assert part["excess_upper"] <= 0.4
    assert part["asked"] == told["labels"]["asked"] <= part["scanned"] <= 1000
    assert told["answer_error"]["of"] == "excess"
    assert (body["proof"], body["answer_error"], body["verdict"]) == (part, told["answer_error"], told["verdict"])
    words = ["run", "p.toml", "--pool", "a.csv", "--journal", "lab.db", "--out", "lab.json", "--labels", "a.csv:truth"]
    lab(*words)
    assert "Certified: this is proven to be the model with the smallest error plus public handicap. " in lab.out
    assert "two labs are both certified and differ is at most 0.4.\n" in lab.out
    assert f"Error: at most {at_most(part['excess_upper'], 4)} more than the best model, with confidence " in lab.out
    assert lab.out.count("\n") == 4
    lab(*words, "--measure-error", 30, "--html", "lab.html")
    assert re.search(
        r"^Error: .*(wrong on \d+ of|none seen on) 30 fresh items; 80% interval 0.* to 0\.\d+\.$", lab.out, re.MULTILINE
    )
    assert lab.out.count("\n") == 4
    assert "on 30 fresh items; between" in (lab.folder / "lab.html").read_text()
    lab("verify", "lab.json", "--pool", "a.csv", "--journal", "lab.db")
    assert lab.body()["labels"]["asked"] == part["asked"] + 30


def test_a_run_that_proves_nothing_says_why_and_what_helps(lab):
    lab.protocol(epsilon=0.02, max_labels=20)
    lab(*ALL_LABELS)
    assert "Not certified: the budget of 20 labels was spent before one alone was left" in lab.out
    assert "more labels" in lab.out
    lab("verify", "lab.json", "--pool", "small.csv", "--journal", "lab.db")
    told = lab.run("--labels", "small.csv:truth", "--measure-error", "10")
    assert told["status"] == "budget"
    assert told["verdict"]["certified"] is False
    assert told["answer_error"]["of"] == "error"
    lab("verify", "lab.json", "--pool", "small.csv", "--journal", "lab.db")
    lab.protocol(epsilon=0.02, delta=1e-6)
    lab("run", "p.toml", "--pool", "small.csv", "--journal", "b.db", "--out", "b.json", "--labels", "small.csv:truth")
    assert "Not certified: the pool was used up before" in lab.out
    assert "more items" in lab.out


def test_a_journal_remembers_that_the_error_is_measured(lab):
    """A later run measures too, and what was certified before stays valid."""
    lab.protocol(batch=4)
    labels = ["--labels", "a.csv:truth"]
    first = lab.run(*labels, name="a", out="first.json")
    second = lab.run(*labels, "--measure-error", "30", name="a", out="second.json")
    again = lab.run(*labels, name="a", out="again.json")
    assert again["answer_error"] == second["answer_error"]
    assert lab.body("again.json") == lab.body("second.json")
    assert lab.run(*labels, "--measure-error", "10", name="a", out="less.json")["answer_error"]["labels"] == 30
    assert second["labels"]["asked"] == second["labels"]["answered"] == first["labels"]["asked"] + 30
    for name in ("first", "second"):
        lab("verify", f"{name}.json", "--pool", "a.csv", "--journal", "lab.db")
    lab("compare", "first.json", "second.json", code=2)
    assert (
        "files 1 and 2 come from one journal, or from journals with one private seed, so they are one lab's" in lab.err
    )


@pytest.mark.parametrize("flag", ["--out", "--html"])
@pytest.mark.parametrize("over", ["p.toml", "small.csv", "lab.db", "./truth.csv"])
def test_nothing_that_is_read_is_written_over(lab, flag, over):
    lab.protocol()
    lab(*ALL_LABELS, "--out", "first.json")
    (lab.folder / "truth.csv").write_bytes((lab.folder / "small.csv").read_bytes())
    words = [*ALL_LABELS[:-1], "truth.csv:truth", *(["--out", over] if flag == "--out" else ["--html", over])]
    before = (lab.folder / over).read_bytes()
    lab(*words, code=2)
    assert f"{flag} {over.removeprefix('./')} is also" in lab.err
    assert (lab.folder / over).read_bytes() == before


def test_the_error_is_measured_where_it_can_be(lab):
    lab.protocol()
    lab(*ALL_LABELS, "--measure-error", "-1", code=2)
    assert "Error: the error is measured with at least 1 label, got -1" in lab.err
    lab.protocol(learner="a2", batch=12)
    lab(*ALL_LABELS, "--measure-error", "10", code=2)
    assert "Error: a2 looks at the whole pool, so no item is left to measure the error on" in lab.err
    assert not (lab.folder / "lab.json").exists()


def test_one_hypothesis_that_is_left_is_one(lab):
    lab.protocol(learner="cal", epsilon=0.01)
    write_csv(lab.folder / "small.csv", world(seed=5, items=150, best=0.0))
    lab(*ALL_LABELS, "-v")
    assert "\n1 model left in " in lab.out


@pytest.mark.parametrize(("most", "code"), [(400, 0), (3, 5)])
def test_a_proof_may_be_required(most, code, tmp_path, command):
    """A run without one has ended all the same; only its exit code is another."""
    (tmp_path / "p.toml").write_text(Protocol.of(content(batch=1, max_labels=most)).toml())
    write_csv(tmp_path / "a.csv", world(seed=11))
    words = ["run", tmp_path / "p.toml", "--pool", tmp_path / "a.csv", "--journal", tmp_path / "a.db", "--truths", "0",
             "--labels", f"{tmp_path / 'a.csv'}:truth", "--out", tmp_path / "a.json"]  # fmt: skip
    assert command(*words)[0] == 0
    assert command(*words, "--require-proof")[0] == code
    assert read(tmp_path / "a.json")["body"]["certified"] is (code == 0)
    (tmp_path / "p.toml").write_text(Protocol.of(content("cal")).toml())
    found, _, err = command(*words, "--require-proof")
    assert (found, "cal proves nothing of single runs: leave out --require-proof" in err) == (2, True)

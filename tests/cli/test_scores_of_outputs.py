"""Outputs that are scored, or two that are compared, from the protocol to the certificate."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")

from replical import AskTell, Journal, Pool, PrivateRandomness, Protocol, Session, SharedRandomness, read_pool, run
from replical.core.text import count
from replical.errors import BadLabel, BadProtocol, BadUsage
from replical.lab.certificate.file import read, text_of
from replical.lab.certificate.page import page
from replical.lab.journal.journal import saying
from replical.lab.sessions.labelling import Desk, RemoteRun
from support.certificates import resealed

NAMES = ["short", "long", "odd"]
LOSSES = {"clear": 0.1, "wordy": 0.4, "off": 0.8}  # the chance that a judge fails it


def content(labels, names=NAMES, **learner):
    return {
        "schema": "replical.protocol/1", "seed": "published", "labels": labels,
        "class": {"kind": "table", "candidates": [{"name": name} for name in names]},
        "learner": {"name": "handicap", "epsilon": 0.2, "delta": 0.05, "rho": 0.1} | learner,
    }  # fmt: skip


def said(seed, items=300):
    generator = np.random.default_rng(seed)
    rates = {"short": [0.8, 0.1, 0.1], "long": [0.3, 0.6, 0.1], "odd": [0.2, 0.2, 0.6]}
    return {"id": [f"{seed}-{i}" for i in range(items)]} | {
        name: generator.choice(list(LOSSES), items, p=rates[name]).tolist() for name in NAMES
    }


def judged(item, output):
    """Whoever judges an output always says the same of it here."""
    return "fail" if np.random.default_rng([*item.encode(), *output.encode()]).random() < LOSSES[output] else "pass"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in (1, 2):
        table = said(seed)
        rows = list(zip(*table.values(), strict=True))
        scores = [json.dumps({output: judged(row[0], output) for output in row[1:]}) for row in rows]
        with Path(f"{seed}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(
                [[*table, "scores"], *([*row, each] for row, each in zip(rows, scores, strict=True))]
            )
    Path("p.toml").write_text(Protocol.of(content({"scores": {"pass": 0.0, "fail": 1.0, "cannot tell": 0.5}})).toml())


def labelled(command, lab):
    return command("run", "p.toml", "--pool", f"{lab}.csv", "--labels", f"{lab}.csv:scores", "--journal", f"{lab}.db",
                   "--out", f"{lab}.json", "--lab", str(lab), "--truths", "0")  # fmt: skip


def test_labs_choose_by_scores_in_a_column(command):
    for lab in (1, 2):
        code, out, err = labelled(command, lab)
        assert code == 0, err
        labels = read(Path(f"{lab}.json"))["body"]["labels"]
        told = f"{labels['judgements']} judgements of {labels['asked']} items"
        assert f"Model: short, chosen with {told}." in out
        assert f"{told} (0 skipped" in page(read(Path(f"{lab}.json")))
    assert command("compare", "1.json", "2.json")[0] == 0
    assert command("verify", "1.json", "--pool", "1.csv", "--journal", "1.db")[0] == 0
    assert 2 * labels["answered"] <= labels["judgements"] <= 3 * labels["answered"]
    assert "score each output, pass 0, fail 1, cannot tell 0.5" in command("plan", "p.toml")[1]
    code, _, err = command("lab", "confirm", "1.json", "--pool", "2.csv", "--labels", "2.csv:scores", "--journal", "c.db",
                           "--out", "c.json", "--margin", ".2")  # fmt: skip
    assert code == 0, err
    assert command("verify", "c.json", "--pool", "2.csv", "--journal", "c.db")[0] == 0


def test_a_function_scores_each_different_output_once_and_comes_to_the_same(command):
    assert labelled(command, 1)[0] == 0
    asked = []

    def score(item, output):
        asked.append((item, output))
        return judged(item, output)

    protocol = Protocol.read(Path("p.toml"))
    done = run(protocol, "1.csv", score, "f.db")
    assert len(asked) == len(set(asked)) == done.certificate["body"]["labels"]["judgements"]
    assert done.certificate["body"]["hypothesis"] == read(Path("1.json"))["body"]["hypothesis"]
    said_by_short = dict(zip(said(1)["id"], said(1)["short"], strict=True))
    firsts = [said_by_short[item] == output for item, output in dict(reversed(asked)).items()]
    assert 0.2 < np.mean(firsts) < 0.8  # in no order of candidates
    first = [item for item, _ in asked]
    assert all(
        first[first.index(item) : first.index(item) + first.count(item)] == [item] * first.count(item) for item in first
    )


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        (None, "judgements are told where outputs are scored"),
        (1, "every item that was asked has at least two scores"),
        (10**6, "every item that was asked has at least two scores"),
    ],
)
def test_judgements_that_cannot_be_are_found_out(command, told, wrong):
    assert labelled(command, 1)[0] == 0
    certificate = read(Path("1.json"))
    labels = {key: value for key, value in certificate["body"]["labels"].items() if key != "judgements"}
    certificate["body"]["labels"] = labels if told is None else labels | {"judgements": told}
    Path("y.json").write_text(text_of(resealed(certificate)))
    code, out, _ = command("verify", "y.json")
    assert (code, wrong in out) == (1, True)


@pytest.mark.parametrize("flags", [["group=passage"], ["group=passage", "max_labels=20"], ["population=table"]])
@pytest.mark.parametrize("told", ["scores=1-5", "loss=f1"])
def test_outputs_in_groups_and_on_a_table_that_is_all(command, flags, told):
    """Three questions a passage; who errs there errs on all. Scores are no part of a table, answers are."""
    generator, rows = np.random.default_rng(8), []
    for passage in range(150):
        wrong = generator.random(3) < [0.05, 0.3, 0.5]
        kinds = ['["no"]' if each else '["yes"]' for each in wrong]
        stars = json.dumps({each: "1" if "no" in each else str(generator.integers(3, 6)) for each in set(kinds)})
        rows += [[f"{passage}-{n}", str(passage), *kinds, stars, '["yes"]'] for n in range(3)]
    with Path("g.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "passage", *NAMES, "scores", "loss"], *rows])
    Path("names.txt").write_text("\n".join(NAMES))
    sizes = ["--set", "group_size=3", "--set", "grid=10"] if "group=passage" in flags else []
    words = [word for each in (told, *flags) for word in ("--set", each)] + (sizes if "loss" in told else sizes[:2])
    code, _, err = command(
        "init", "--pool", "g.csv", "--candidates", "names.txt", *words, "--epsilon", ".05", "--out", "g.toml"
    )
    if (told, flags) == ("scores=1-5", ["population=table"]):
        assert (code, "what judges score is no part of a table" in err) == (2, True)
        return
    assert code == 0, err
    code, out, err = command("run", "g.toml", "--pool", "g.csv", "--labels", f"g.csv:{told[:told.index('=')]}", "--journal", "g.db",
                             "--out", "g.json", "--truths", "0")  # fmt: skip
    assert (code, "Model: short" in out, "Certified" in out) == (0, True, "max_labels=20" not in flags), err
    assert "belong together" not in err  # on a table that is all that does no harm
    assert command("verify", "g.json", "--pool", "g.csv", "--journal", "g.db")[0] == 0


@pytest.mark.parametrize(
    ("cell", "wrong"),
    [
        ('{"%s": "9"}', "as '9', which is none of pass, fail, cannot tell"),
        ('{"%s": 0.5}', "as '0.5', which is none of"),
        ('{"%s": NaN}', "which is none of"),
        ("pass", "and not a score for each different output"),
        ("[1, 2]", "and not a score for each different output"),
    ],
)
def test_a_score_that_is_none_is_named_before_anything_is_asked(command, cell, wrong):
    with Path("1.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    rows[7][-1] = cell.replace("%s", rows[7][1])
    with Path("bad.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    code, _, err = command("run", "p.toml", "--pool", "bad.csv", "--labels", "bad.csv:scores", "--journal", "bad.db",
                           "--out", "bad.json", "--truths", "0")  # fmt: skip
    assert (code, err.count("\n"), wrong in err, f"item '{rows[7][0]}'" in err) == (2, 1, True, True), err
    assert not Path("bad.db").exists()


def test_what_the_answer_loses_is_measured_by_one_score_an_item(command):
    assert labelled(command, 1)[0] == 0
    before = read(Path("1.json"))["body"]["labels"]
    code, out, err = command("run", "p.toml", "--pool", "1.csv", "--labels", "1.csv:scores", "--journal", "e.db", "--out",
                             "e.json", "--measure-error", "50", "--truths", "0")  # fmt: skip
    assert code == 0, err
    body = read(Path("e.json"))["body"]
    error, table = body["answer_error"], said(1)
    assert before["judgements"] > before["asked"]
    assert (error["of"], error["labels"], error["skipped"]) == ("loss", 50, 0)
    assert body["labels"]["judgements"] - body["labels"]["asked"] == sum(len(each) - 1 for each in answers_in("e.db"))
    truth = np.mean([judged(item, output) == "fail" for item, output in zip(table["id"], table["short"], strict=True)])
    assert error["low"] < truth < error["high"]
    assert f"{error['estimate']:.3g}" in out
    assert command("verify", "e.json", "--pool", "1.csv", "--journal", "e.db")[0] == 0


def answers_in(path):
    with Journal(path, write=False) as journal:
        return [event.answer for event in journal.events() if event.kind == "answer"]


@pytest.mark.parametrize("most", [1, 20, 21])
def test_a_budget_counts_judgements_and_nobody_bets_on_an_item_that_it_ends_in(command, most):
    Path("m.toml").write_text(Protocol.of(content({"scores": "pass-fail"}, epsilon=0.05, max_labels=most)).toml())
    code, out, err = command("run", "m.toml", "--pool", "1.csv", "--labels", "1.csv:scores", "--journal", "m.db", "--out",
                             "m.json", "--truths", "0")  # fmt: skip
    assert code == 0, err
    assert f"the budget of {count(most, 'judgement')} was spent" in " ".join(out.split())
    body = read(Path("m.json"))["body"]
    assert most - 3 < body["labels"]["judgements"] <= most
    assert body["labels"]["asked"] == body["proof"]["asked"] <= most / 2
    assert command("verify", "m.json", "--pool", "1.csv", "--journal", "m.db")[0] == 0
    code, out, err = command("run", "m.toml", "--pool", "1.csv", "--labels", "1.csv:scores", "--journal", "w.db", "--out",
                             "w.json", "--truths", "0", "--until-budget", str(most))  # fmt: skip
    assert code == 0, err
    if most > 1:
        assert command("lab", "confirm", "m.json", "--pool", "2.csv", "--labels", "2.csv:scores", "--journal", "c.db", "--out",
                       "c.json", "--margin", ".01", "--max-labels", str(most))[0] == 4  # fmt: skip
        assert read(Path("c.json"))["body"]["labels"]["judgements"] <= most
        assert command("verify", "c.json", "--pool", "2.csv", "--journal", "c.db")[0] == 0


def at_terminal(command, monkeypatch, text, protocol="p.toml"):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    code, _, err = command("run", protocol, "--pool", "1.csv", "--ask", "terminal", "--journal", "t.db", "--out", "t.json",
                           "--truths", "0")  # fmt: skip
    return code, err


def test_at_the_terminal_outputs_come_one_at_a_time_without_names(command, monkeypatch):
    code, err = at_terminal(command, monkeypatch, "?\n\nmaybe\npass\ncannot tell\n")
    assert code == 3
    assert not any(f"{name}:" in err for name in NAMES)
    assert "'?' skips the item" in err
    protocol = Protocol.read(Path("p.toml"))
    with Journal("t.db") as journal:
        session = Session(protocol, read_pool("1.csv", protocol.recipe), journal)
        (scores,) = session.ledger.labels.values()
        assert sorted(scores.values()) == ["cannot tell", "pass"]
        assert len(session.ledger.skipped) == 1
        item = next(iter(session.ledger.labels))
        if item in session.open:
            with pytest.raises(BadLabel, match="and an item is skipped before they are"):
                session.skip(item)
        output = next(iter(scores))
    assert command("journal", "correct", "t.db", "--item", item, "--label", "fail")[0] == 2
    with Journal("t.db") as journal:
        session = Session(protocol, read_pool("1.csv", protocol.recipe), journal)
        session.correct(item, {output: "fail"})
        assert session.ledger.labels[item] == scores | {output: "fail"}
        session.undo(item)
        assert item in session.open
    assert command("journal", "show", "t.db")[0] == 0
    assert "pass" in command("journal", "export", "t.db")[1]


def test_a_run_in_python_waits_for_scores(command):
    protocol = Protocol.read(Path("p.toml"))
    begun = run(
        protocol, "1.csv", {"none": {}} | {read_pool("1.csv", protocol.recipe).ids[0]: {"clear": "pass"}}, "w.db"
    )
    item = begun.open[0]
    with Journal("w.db") as journal:
        session = Session(protocol, read_pool("1.csv", protocol.recipe), journal)
        outputs = session.outputs(item)
        for wrong, says in (
            ("pass", "not a score for each different output"),
            ({outputs[0]: "good"}, "none of pass, fail"),
        ):
            with pytest.raises(BadLabel, match=says):
                session.answer(item, wrong)
        session.answer(item, {outputs[0]: "pass"})
        session.answer(item, {outputs[0]: "fail"})  # said at the same time elsewhere
        assert session.ledger.labels[item] == {outputs[0]: "pass"}
        assert session.open[0] == item
        assert session.outputs(item) == outputs[1:]
    with pytest.raises(BadLabel, match="has no score: give"):
        run(protocol, "1.csv", {item: {outputs[0]: "pass"}}, "w.db")
    learner = protocol.learner
    pool = Pool(protocol.recipe.C, {name: said(1)[name] for name in NAMES}, PrivateRandomness.simulated("x"))
    asked = AskTell(learner, pool, SharedRandomness("x"))
    with pytest.raises(BadLabel, match="has no score"):
        asked.tell({asked.open[0]: {"nothing": "pass"}})


def test_a_journal_with_scores_of_another_scale_is_refused(command):
    protocol = Protocol.read(Path("p.toml"))
    pool = read_pool("1.csv", protocol.recipe)
    with Journal("j.db") as journal:
        session = Session(protocol, pool, journal)
        journal.append([saying("answer", session.open[0], {"clear": "superb"}, None)])
        with pytest.raises(Exception, match="has a label that the protocol does not have"):
            session.refresh()


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        ({"scores": "1-9"}, "scores are pass-fail, 1-5, win-tie-loss, or words and their losses"),
        ({"scores": {"pass": 0}}, "scores are pass-fail"),
        ({"scores": {"pass": 0, "fail": 1.5}}, "the score 'fail' must lose a number from 0 to 1, got 1.5"),
        ({"scores": {"pass": 0, "fail": float("nan")}}, "must lose a number from 0 to 1, got nan"),
        ({"scores": {"pass": 0, "?": 1}}, "a score is a word, and neither '' nor '?'"),
        ({"scores": {"a": 0, "b": 0.123457}}, "in parts finer than 1/10,000: round them"),
        ({"scores": "1-5", "values": ["a", "b"]}, "leave out values, or scores"),
        ({"scores": "1-5", "loss": "exact"}, "leave out loss, or scores"),
        ({"loss": "duel"}, "preferences among more may go in a circle"),
    ],
)
def test_a_protocol_says_what_is_wrong_with_its_scores(labels, wrong):
    with pytest.raises(BadProtocol) as error:
        Protocol.of(content(labels))
    assert wrong in str(error.value)


def test_two_candidates_duel_at_the_terminal_and_from_a_column(command, monkeypatch):
    Path("d.toml").write_text(Protocol.of(content({"loss": "duel"}, NAMES[:2])).toml())
    code, err = at_terminal(command, monkeypatch, "\n3\n1\n\ntie\n", "d.toml")
    assert code == 3
    assert "'3' is none of 1, 2, tie" in " ".join(err.split())
    with Journal("t.db", write=False) as journal:
        told = [event.answer for event in journal.events() if event.kind == "answer"]
    assert told[0] in LOSSES
    assert told[1] == "tie"
    table = said(3)

    def prefer(item):
        one, two = (table[name][table["id"].index(item)] for name in NAMES[:2])
        return min((one, two), key=list(LOSSES).index)

    done = run(Path("d.toml"), {key: table[key] for key in ("id", *NAMES[:2])}, prefer, "d.db")
    assert done.certificate["body"]["hypothesis"]["description"] == "short"
    assert done.certificate["body"]["certified"]


# ---- by file ----


def by_file(command, protocol, *flags):
    code, out, err = command("run", protocol, "--pool", "1.csv", "--ask", "file", "--journal", "f.db", "--out", "f.json",
                             "--truths", "0", *flags)  # fmt: skip
    return code, " ".join((out + err).split())


def filled(batch, label):
    """Fill in the label of every row; `label` says it of the row."""
    with batch.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with batch.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"label": label(row)} for row in rows)
    return rows


def score_of(row):
    return judged(row["id"], row["output"])


def test_a_batch_has_a_row_for_each_output_and_comes_to_what_a_column_does(command):
    Path("b.toml").write_text(Protocol.of(content({"scores": "pass-fail"}, batch=8)).toml())
    code, said = by_file(command, "b.toml")
    assert code == 3, said
    first = Path("f.batches/batch-0001.csv")
    rows = filled(first, lambda row: "maybe" if row["output"] == "off" else score_of(row))
    items = [row["id"] for row in rows]
    assert len(rows) > len(set(items)) == 8
    assert items != sorted(items, key=items.index)  # outputs of one item are not side by side
    assert not {"short", "long", "odd"} & set(rows[0])
    code, said = by_file(command, "b.toml")
    assert (code, "'maybe' is none of pass, fail" in said) == (2, True)
    filled(first, lambda row: "" if row["output"] == "wordy" else score_of(row))
    assert by_file(command, "b.toml")[0] == 3  # half of it is recorded
    filled(first, score_of)
    number, code = 1, 3
    while code == 3:
        code, said = by_file(command, "b.toml")
        for batch in sorted(Path("f.batches").glob("*.csv"))[number:]:
            filled(batch, score_of)
        number = len(list(Path("f.batches").glob("*.csv")))
    assert code == 0, said
    done = read(Path("f.json"))["body"]
    assert command("verify", "f.json", "--pool", "1.csv", "--journal", "f.db")[0] == 0
    assert done["hypothesis"]["description"] == "short"
    assert sum(map(len, answers_in("f.db"))) == done["labels"]["judgements"]
    changed = filled(first, lambda row: {"pass": "fail", "fail": "pass"}[score_of(row)])
    code, said = by_file(command, "b.toml")
    assert (code, "is recorded: record '{" in said) == (2, True)  # as the option of journal correct wants it
    filled(first, score_of)
    item, output = changed[0]["id"], changed[0]["output"]
    now = {"pass": "fail", "fail": "pass"}[score_of(changed[0])]
    assert command("journal", "correct", "f.db", "--item", item, "--label", json.dumps({output: now}))[0] == 0
    assert by_file(command, "b.toml")[0] in (0, 3)  # what was corrected since may stay in its file


def test_what_a_batch_shows_cannot_be_skipped(command):
    assert by_file(command, "p.toml")[0] == 3
    filled(Path("f.batches/batch-0001.csv"), lambda row: "?")
    code, said = by_file(command, "p.toml")
    assert (code, "and an item is skipped before they are: judge them" in said) == (2, True)
    with Journal("f.db") as journal:
        protocol = Protocol.read(Path("p.toml"))
        session = Session(protocol, read_pool("1.csv", protocol.recipe), journal)
        with pytest.raises(BadLabel, match="have been shown"):
            session.skip(session.open[0])


def test_a_batch_that_lost_its_outputs_is_refused(command):
    assert by_file(command, "p.toml")[0] == 3
    batch = Path("f.batches/batch-0001.csv")
    batch.write_text(batch.read_text().replace("output", "text"))
    code, said = by_file(command, "p.toml")
    assert (code, "has no column 'output', which is what was to be judged" in said) == (2, True)


def preferred(first, second):
    return "1" if min((first, second), key=list(LOSSES).index) == first else "2"


@pytest.fixture
def duel(command):
    """A batch of a duel, and the outputs that are preferred."""
    Path("d.toml").write_text(Protocol.of(content({"loss": "duel"}, NAMES[:2], batch=24)).toml())
    assert by_file(command, "d.toml")[0] == 3
    return Path("f.batches/batch-0001.csv")


def test_two_candidates_duel_by_file(command, duel):
    rows = filled(duel, lambda row: preferred(row["first"], row["second"]))
    assert {preferred(row["first"], row["second"]) for row in rows} == {"1", "2"}  # sides are drawn
    code, said = by_file(command, "d.toml")
    assert code in (0, 3), said
    assert answers_in("f.db")[: len(rows)] == [min(row["first"], row["second"], key=list(LOSSES).index) for row in rows]


def test_a_preference_for_what_nobody_says_is_refused(command):
    Path("d.toml").write_text(Protocol.of(content({"loss": "duel"}, NAMES[:2])).toml())
    table = said(3)
    with pytest.raises(BadLabel, match="is about 'lucid', which no candidate says there"):
        run(Path("d.toml"), {key: table[key] for key in ("id", *NAMES[:2])}, lambda item: "lucid", "d.db")
    with Journal("d.db", write=False) as journal:
        assert not [event for event in journal.events() if event.kind == "answer"]


# ---- at the page ----


@pytest.fixture
def desks(command):
    """A run with scores at its desk, and one that is driven elsewhere."""
    protocol = Protocol.of(content({"scores": "1-5"}, batch=2))
    with Journal("p.db") as journal:
        session = Session(protocol, read_pool("1.csv", protocol.recipe), journal)
        with Journal("p.db", runner=False) as beside:
            yield session, Desk(session), Desk(RemoteRun(beside))


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_people_score_one_output_at_a_time(desks, where):
    session, here, elsewhere = desks
    desk = here if where == "here" else elsewhere
    item = desk.next("ann")
    assert desk.shown(item) == []  # before that it may be skipped
    desk.skip("ann", item)
    item = desk.next("ann")
    desk.show("ann", item)
    with pytest.raises(BadLabel, match="have been shown, and an item is skipped before they are"):
        desk.skip("ann", item)
    session.refresh()
    outputs = session.outputs(item)
    assert len(outputs) > 1
    for number, output in enumerate(outputs, start=1):
        assert desk.next("ann") == item, "the next output is theirs too"
        assert desk.shown(item) == [output]
        desk.judge("ann", item, "4", [output])
        assert desk.progress()["labels"] == number
        session.refresh()
    with pytest.raises(BadLabel):
        desk.judge("ann", item, "5", outputs[-1:])
    assert session.ledger.labels[item] == dict.fromkeys(outputs, "4")
    assert desk.undo("ann") == item  # the last score alone
    session.refresh()
    assert session.ledger.labels[item] == dict.fromkeys(outputs[:-1], "4")
    assert desk.shown(item) == outputs[-1:]
    with pytest.raises(BadLabel, match="has its score already"):
        desk.judge("ann", item, "5", outputs[:1])
    with pytest.raises(BadLabel, match="'6' is none of 1, 2, 3, 4, 5"):
        desk.judge("ann", item, "6", outputs[-1:])
    assert desk.next("bob") != item
    with pytest.raises(BadUsage, match="each output is scored once: leave out votes"):
        Desk(desk.session, votes=3)


def test_labels_left_count_judgements(command):
    """An estimate of what is left counts each output that will be scored."""
    from replical.learners.handicap.ahead import Ahead, Games

    protocol = Protocol.of(content({"scores": "pass-fail"}, ["a", "b", "c"]))
    says = np.array([[0, 1, 2], [0, 0, 1], [0, 1, 1]])
    ahead = Ahead(
        plan=protocol.plan, m=0, members=np.arange(3), c=np.zeros(3, dtype=np.int64), lost=np.zeros(3, dtype=np.int64),
        wealth=np.ones((5, 3)), losses=np.zeros((3, 3), dtype=np.int64), says=says, times=np.ones(3, dtype=np.int64),
        needed=np.ones(3, dtype=np.bool_), scanned=3,
    )  # fmt: skip
    everybody, two = np.ones((1, 3), dtype=np.bool_), np.array([[True, True, False]])
    assert ahead.labels_of(np.vstack([everybody, two]), 0).tolist() == [[3, 2, 2], [2, 0, 2]]
    games = Games(ahead, 1)
    games.go_on(np.ones(1, dtype=np.bool_), np.array([[1, 2, 0, 5]]))
    assert games.labels.tolist() == [3 + 2 * 2]


def test_init_writes_a_scale_of_scores(command):
    Path("names.txt").write_text("\n".join(NAMES))
    new = ("init", "--candidates", "names.txt", "--seed", "s", "--out", "scale.toml")
    assert command(*new, "--set", "scores=1-5")[0] == 0
    assert Protocol.read(Path("scale.toml")).content["labels"] == {"scores": "1-5"}
    assert "leave out --label-values" in command(*new, "--set", "scores=1-5", "--label-values", "no,yes", "--force")[2]
    assert "leave out loss, or scores" in command(*new, "--set", "scores=1-5", "--set", "loss=exact", "--force")[2]
    assert "'1-7'" in command(*new, "--set", "scores=1-7", "--force")[2]


def test_judgements_are_forecast_before_the_first(command):
    code, out, _ = command("plan", "p.toml", "--pool", "1.csv", "--truths", "2", "--json")
    assert (code, json.loads(out)["forecast"]["counted"]) == (0, "judgements")
    assert "judgements per lab" in command("plan", "p.toml", "--pool", "1.csv", "--truths", "2")[1]
    words = ("--pool", "1.csv", "--labels", "1.csv:scores", "--journal", "a.db", "--out", "a.json", "--truths", "2")
    code, _, err = command("run", "p.toml", *words)
    assert code == 0, err
    assert re.search(r"Forecast from the unlabelled items: about \d+ judgements \(", err)

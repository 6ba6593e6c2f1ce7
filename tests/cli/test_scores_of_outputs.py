"""Outputs that are scored, or two that are compared, from the protocol to the certificate."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")

from replical import AskTell, Journal, Pool, PrivateRandomness, Protocol, Session, SharedRandomness, read_pool, run
from replical.errors import BadLabel, BadProtocol
from replical.lab.certificate.file import read, text_of
from replical.lab.journal.journal import saying
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
        assert "Answer: short" in out
    assert command("compare", "1.json", "2.json")[0] == 0
    assert command("verify", "1.json", "--pool", "1.csv", "--journal", "1.db")[0] == 0
    labels = read(Path("1.json"))["body"]["labels"]
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
    with Journal("1.db", write=False) as journal:
        secret = journal.created["private"]
    done = run(protocol, "1.csv", score, "f.db")
    assert len(asked) == len(set(asked)) == done.certificate["body"]["labels"]["judgements"]
    assert done.certificate["body"]["hypothesis"] == read(Path("1.json"))["body"]["hypothesis"]
    assert secret
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


@pytest.mark.parametrize("most", [1, 20, 21])
def test_a_budget_counts_judgements_and_nobody_bets_on_an_item_that_it_ends_in(command, most):
    Path("m.toml").write_text(Protocol.of(content({"scores": "pass-fail"}, epsilon=0.05, max_labels=most)).toml())
    code, out, err = command("run", "m.toml", "--pool", "1.csv", "--labels", "1.csv:scores", "--journal", "m.db", "--out",
                             "m.json", "--truths", "0")  # fmt: skip
    assert code == 0, err
    assert f"the budget of {most} labels was spent" in " ".join(out.split())
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
            with pytest.raises(BadLabel, match="an item is skipped before its outputs are seen"):
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
    assert "'3' is none of 1, 2 and tie" in " ".join(err.split())
    with Journal("t.db", write=False) as journal:
        told = [event.said for event in journal.events() if event.kind == "answer"]
    assert told[0] in LOSSES
    assert told[1] == "tie"
    table = said(3)

    def prefer(item):
        one, two = (table[name][table["id"].index(item)] for name in NAMES[:2])
        return min((one, two), key=list(LOSSES).index)

    done = run(Path("d.toml"), {key: table[key] for key in ("id", *NAMES[:2])}, prefer, "d.db")
    assert done.certificate["body"]["hypothesis"]["description"] == "short"
    assert done.certificate["body"]["certified"]


def test_batches_and_pages_do_not_take_scores(command):
    for ask in ("file", "page", "journal"):
        code, _, err = command("run", "p.toml", "--pool", "1.csv", "--ask", ask, "--journal", "n.db", "--out", "n.json",
                               "--truths", "0")  # fmt: skip
        assert (code, "--ask terminal" in " ".join(err.split())) == (2, True)


def test_init_writes_a_scale_of_scores(command):
    Path("names.txt").write_text("\n".join(NAMES))
    new = ("init", "--candidates", "names.txt", "--seed", "s", "--out", "scale.toml")
    assert command(*new, "--set", "scores=1-5")[0] == 0
    assert Protocol.read(Path("scale.toml")).content["labels"] == {"scores": "1-5"}
    assert "leave out --label-values" in command(*new, "--set", "scores=1-5", "--label-values", "no,yes", "--force")[2]
    assert "leave out loss, or scores" in command(*new, "--set", "scores=1-5", "--set", "loss=exact", "--force")[2]
    assert "'1-7'" in command(*new, "--set", "scores=1-7", "--force")[2]

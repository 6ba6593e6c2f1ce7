"""Weights and abstaining candidates from the protocol to the certificate."""

import csv
import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")
from replical import Journal, Protocol, Session
from replical.classes.catalogue import recipe
from replical.classes.losses import Losses
from replical.cli.confirm import _outcome_words
from replical.errors import ReplicalError
from replical.lab.certificate.file import read
from replical.lab.certificate.page import page
from replical.lab.confirmation import confirming
from replical.lab.protocol import recipe_of
from replical.lab.public import read_public
from replical.lab.tables import read_labels, read_pool

NAMES = ["bold", "careful", "silent"]
NUMBERS = ["--label-values", "no,yes", "--epsilon", ".15", "--delta", ".05", "--rho", ".1", "--seed", "published"]
PRICED = ["--weights", "no=1,yes=4", "--abstain", "unsure", "--price", ".05"]
LEARNER = {"name": "handicap", "epsilon": 0.1, "delta": 0.1, "rho": 0.1}
TABLE = {"kind": "table", "candidates": [{"name": "a"}, {"name": "b"}]}


def written(name, items, seed):
    """A lab's table: who always answers and errs, who abstains on what is hard, who always abstains."""
    generator = np.random.default_rng(seed)
    truth, hard = generator.random(items) < 0.4, generator.random(items) < 0.3
    bold = np.where(hard & (generator.random(items) < 0.7), ~truth, truth)
    rows = [
        [f"{name}{i}", "yes" if bold[i] else "no", "unsure" if hard[i] else "yes" if truth[i] else "no", "unsure",
         "yes" if truth[i] else "no"]
        for i in range(items)
    ]  # fmt: skip
    with Path(f"{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", *NAMES, "label"], *rows])


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("names.txt").write_text("\n".join(NAMES))
    for name, items, seed in (("x", 250, 1), ("z", 250, 2), ("pub", 60, 3)):
        written(name, items, seed)


def new(command, *flags):
    return command("init", "--out", "p.toml", "--candidates", "names.txt", *NUMBERS, *flags)


def test_labs_choose_by_loss_and_the_certificate_says_so(command):
    code, out, err = new(command, *PRICED, "--public", "pub.csv:label")
    assert code == 0, err
    told = "a wrong answer costs 0.25 where the label is 'no', 1 where it is 'yes'; to abstain costs 0.05."
    assert told in out
    assert told in command("plan", "p.toml")[1]
    assert "least loss: careful" in out
    wrote = tomllib.loads(Path("p.toml").read_text())
    assert wrote["labels"] == {
        "values": ["no", "yes"],
        "weights": {"no": 1.0, "yes": 4.0},
        "abstain": "unsure",
        "price": 0.05,
    }
    for lab in "xz":
        code, out, err = command("run", "p.toml", "--pool", f"{lab}.csv", "--public", "pub.csv", "--labels", f"{lab}.csv:label",
                                 "--journal", f"{lab}.db", "--out", f"{lab}.json")  # fmt: skip
        assert code == 0, err
        assert "Model: careful" in out
        assert "Loss (1 is the costliest error): " in out
        assert "Certified" in out
        assert "No forecast: forecasts count errors, all alike" in err
    assert command("compare", "x.json", "z.json")[0] == 0
    code, out, _ = command("verify", "x.json", "--pool", "x.csv", "--journal", "x.db")
    assert (code, "Valid" in out) == (0, True)
    text = page(certificate := json.loads(Path("x.json").read_text()))
    assert "1 where it is &#x27;yes&#x27;; to abstain costs 0.05." in text
    assert "excess loss, in costliest errors" in text
    body = certificate["body"]
    assert body["protocol"]["labels"]["price"] == 0.05
    assert "unsure" not in {entry for each in body["pool"]["summary"] for entry in map(str, each)}


def test_verifying_replays_with_what_predictions_cost(command, monkeypatch):
    assert new(command, *PRICED)[0] == 0
    assert command("run", "p.toml", "--pool", "x.csv", "--labels", "x.csv:label", "--journal", "x.db", "--out", "x.json",
                   "--truths", "0")[0] == 0  # fmt: skip
    verify = ["verify", "x.json", "--pool", "x.csv", "--journal", "x.db"]
    assert command(*verify)[0] == 0
    said = Losses.of
    monkeypatch.setattr(Losses, "of", lambda labels, **rest: said(labels, **rest | {"price": 0.9}))
    assert command(*verify)[0] == 1


def test_numbers_as_labels_have_a_word_for_abstaining_and_labels_with_commas_have_weights(command):
    """A column that holds a word spells its numbers too; weights quote a label as --label-values does."""
    flags = ["--candidates", "names.txt", "--epsilon", ".15", "--delta", ".05", "--rho", ".1", "--seed", "published"]
    text = Path("x.csv").read_text()
    Path("numbers.csv").write_text(text.replace(",no", ",0").replace(",yes", ",1"))
    Path("commas.csv").write_text(text.replace(",no", ',"no, never"'))
    for name, values, weights, right in (
        ("numbers", "0,1", "0 = 1, 1 = 4", {"0": 1.0, "1": 4.0}),
        ("commas", '"no, never",yes', '"no, never"=1,yes=4', {"no, never": 1.0, "yes": 4.0}),
    ):
        code, _, err = command("init", "--out", f"{name}.toml", "--label-values", values, "--weights", weights,
                               "--abstain", "unsure", "--price", ".05", *flags)  # fmt: skip
        assert code == 0, err
        assert tomllib.loads(Path(f"{name}.toml").read_text())["labels"]["weights"] == right
        code, out, err = command("run", f"{name}.toml", "--pool", f"{name}.csv", "--labels", f"{name}.csv:label", "--journal",
                                 f"{name}.db", "--out", f"{name}.json", "--truths", "0")  # fmt: skip
        assert code == 0, err
        assert "Loss (1 is the costliest error): " in out


def test_a_plan_promises_no_forecast_where_there_is_none(command):
    assert new(command, *PRICED)[0] == 0
    for flags in ([], ["--theta", "2"]):
        code, out, _ = command("plan", "p.toml", *flags)
        assert code == 0
        assert "It counts losses: bills suppose that errors are all alike, there are no forecasts" in out
        assert "--pool FILE" not in out


def test_what_counts_errors_refuses(command):
    assert new(command, *PRICED)[0] == 0
    run = ["--pool", "x.csv", "--labels", "x.csv:label", "--truths", "0"]
    run = [*run, "--until-budget", "5"]
    code, _, err = command("run", "p.toml", *run, "--journal", "m.db", "--out", "m.json", "--measure-error", "9")
    assert code == 0, err
    error = read(Path("m.json"))["body"]["answer_error"]
    assert (error["of"], error["labels"]) == ("loss", 9)
    assert 0 <= error["low"] <= error["estimate"] <= error["high"] <= 1
    assert (
        "Loss (1 is the costliest error): " in command("run", "p.toml", *run, "--journal", "m.db", "--out", "m.json")[1]
    )
    assert command("verify", "m.json", "--pool", "x.csv", "--journal", "m.db")[0] == 0
    assert command("run", "p.toml", *run, "--journal", "x.db", "--out", "x.json")[0] == 0
    code, out, _ = command("plan", "p.toml", "--pool", "x.csv", "--theta", "2", "--json")
    assert code == 0
    assert json.loads(out)["reading"].startswith("No forecast from unlabelled items: forecasts count errors, all alike")


@pytest.mark.slow
def test_an_answer_is_confirmed_by_its_loss(command):
    """Who always abstains loses .05 on every item: near enough to the best at that price, far from it at a high one."""
    for price, code, word in (
        (".05", 0, "Confirmed: silent loses at most 0.2 more"),
        (".9", 1, "Refuted: silent"),
    ):
        assert new(command, "--weights", "no=1,yes=4", "--abstain", "unsure", "--price", price, "--force")[0] == 0
        run = ["--labels", "x.csv:label", "--truths", "0", "--pool", "x.csv", "--journal", f"x{price}.db",
               "--out", f"x{price}.json"]  # fmt: skip
        assert command("run", "p.toml", *run)[0] == 0
        protocol = replace(confirming(read(Path(f"x{price}.json")), margin=0.2), hypothesis=2)
        with Journal(f"c{price}.db") as journal:
            session = Session(protocol, read_pool("z.csv", protocol.recipe), journal)
            truth = read_labels("z.csv", "label", ("no", "yes"))
            while session.open:
                session.answer_all({item: ("no", "yes")[truth[item]] for item in session.open})
            outcome = session.result.proof
            assert next(_outcome_words(session, outcome)).startswith(word)
            assert outcome.outcome == ("confirmed", "refuted")[code]


@pytest.mark.slow
def test_a_confirmation_is_verified_with_what_predictions_cost(command):
    assert new(command, *PRICED)[0] == 0
    run = ["--labels", "x.csv:label", "--truths", "0", "--pool", "x.csv", "--journal", "x.db", "--out", "x.json"]
    assert command("run", "p.toml", *run)[0] == 0
    code, out, err = command("lab", "confirm", "x.json", "--pool", "z.csv", "--labels", "z.csv:label", "--journal", "c.db", "--out",
                             "c.json", "--margin", ".2")  # fmt: skip
    assert code == 0, err
    assert "loses at most 0.2 more than the best model" in out
    assert "some dozens of labels if it is far from the margin" in " ".join(err.split())
    assert command("verify", "c.json", "--pool", "z.csv", "--journal", "c.db")[0] == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--weights", "no=1"], "the label 'yes' has no weight"),
        (["--weights", "no=1,yes"], "--weights gives every label its weight, e.g. no=1,yes=5"),
        (["--weights", "no=1,no=2,yes=1"], "--weights gives the label 'no' two weights"),
        (["--weights", "no=1,yes=much"], "'much' is not a number"),
        (["--abstain", "unsure"], "give abstain and price, or neither"),
        ([*PRICED, "--learner", "a2"], "a2 counts errors, all alike"),
        ([*PRICED, "--set", "nu=0"], "nu = 0 is about errors, all alike"),
        ([*PRICED, "--cuts", ".7-.3"], "a band of scores is written [low, high] with low < high"),
        (["--cuts", ".3-.7"], "the band [0.3, 0.7] is for candidates that abstain"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(command, flags, message):
    code, out, _ = new(command, *flags, "--json")
    told = json.loads(out)
    assert (code, told["exit"], Path("p.toml").exists()) == (2, 2, False)
    assert message in told["message"]


def test_nobody_s_label_is_the_word_of_those_who_abstain(command):
    assert new(command, *PRICED)[0] == 0
    lines = Path("x.csv").read_text().splitlines()
    Path("bad.csv").write_text("\n".join([lines[0], *(line.rsplit(",", 1)[0] + ",unsure" for line in lines[1:])]))
    code, _, err = command(
        "run", "p.toml", "--pool", "x.csv", "--labels", "bad.csv:label", "--journal", "x.db", "--out", "x.json"
    )
    assert code == 2
    assert "'unsure', which is none of ['no', 'yes']" in err
    code, _, err = command("init", "--out", "q.toml", "--candidates", "names.txt", *NUMBERS, *PRICED, "--public",
                           "bad.csv:label")  # fmt: skip
    assert (code, "'unsure', which is none of ['no', 'yes']" in err) == (2, True)


@pytest.mark.parametrize(
    ("section", "labels", "message"),
    [
        ({"kind": "thresholds", "features": ["x"], "count": 9}, {"abstain": "unsure", "price": 0.1}, "only candidates of a table"),
        (TABLE, {"prize": 0.1}, "has no key 'prize'; it has values, weights, abstain, price"),
    ],
)  # fmt: skip
def test_protocols_by_hand_are_checked(section, labels, message):
    content = {"schema": "replical.protocol/1", "seed": "s", "class": section, "labels": {"values": ["no", "yes"]} | labels,
               "learner": LEARNER}  # fmt: skip
    with pytest.raises(ReplicalError, match=message):
        Protocol.of(content)


def test_weights_are_for_rules_on_features_too(command):
    flags = ["--class", "thresholds:9", *NUMBERS, "--weights", "no=1,yes=4"]
    code, out, err = command("init", "--out", "t.toml", *flags)
    assert code == 0, err
    assert "learner handicap" in out


def test_a_public_order_is_by_loss():
    made = recipe_of(TABLE, {"values": [0, 1], "weights": {"0": 1, "1": 5}, "abstain": 9, "price": 0.1}, "s")
    table = {"id": [1, 2, 3], "label": [1, 0, 0], "a": [0, 0, 0], "b": [9, 1, 9]}
    sample = read_public(table, "label", made)
    assert sample.errors.tolist() == [10, 1 + 2 + 1]  # in tenths of the costliest error
    assert sample.section["order"] == [1, 0]
    plain = read_public({**table, "b": [1, 1, 0]}, "label", recipe(TABLE, (0, 1), "s"))
    assert plain.errors.tolist() == [1, 1]


def test_bands_abstain_between_their_ends():
    section = {"kind": "table", "candidates": [{"name": "a"}], "cuts": [0.5, [0.3, 0.7]]}
    made = recipe_of(section, {"values": ["no", "yes"], "abstain": "unsure", "price": 0.1}, "s")
    assert made.C.candidates == ("a@0.5", "a@0.3-0.7")
    pool = read_pool({"id": [1, 2, 3, 4], "a": [0.29, 0.3, 0.69, 0.7]}, made)
    assert np.asarray(pool.items).tolist() == [[0, 0], [0, 2], [1, 2], [1, 1]]

"""Outputs compared with gold answers, from the protocol to the certificate; what is wrong is said in one sentence."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")
import pyarrow as pa
from pyarrow import parquet

from replical import Journal, Protocol, Session, read_pool, run
from replical.classes.own_losses import own_kind, source_of
from replical.core.canonical import canonical, digest_of
from replical.errors import BadLabel, BadProtocol, BadTable, ReplicalError
from replical.lab.certificate.file import read, text_of
from replical.lab.certificate.page import page
from replical.lab.public import read_public
from support.certificates import resealed

NAMES = ["near", "nearer", "far"]
ABSOLUTE = {"loss": "absolute", "clip": 10.0}
RIGHT = np.random.default_rng(7).integers(-20, 20, 900)


def content(labels=ABSOLUTE, names=NAMES, **learner):
    return {
        "schema": "replical.protocol/1", "seed": "published", "labels": labels,
        "class": {"kind": "table", "candidates": [{"name": name} for name in names]},
        "learner": {"name": "handicap", "epsilon": 0.1, "delta": 0.05, "rho": 0.1} | learner,
    }  # fmt: skip


def written(name, items, first):
    """A lab's table: numbers with one digit, of which each candidate is off by more than the one before."""
    generator, right = np.random.default_rng(first), RIGHT[first : first + items]
    off = generator.normal(size=(items, 3)) * [1.5, 1, 6]
    rows = [[f"{name}{i}", *(f"{y + each:.1f}" for each in off[i]), y] for i, y in enumerate(right)]
    with Path(f"{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", *NAMES, "price"], *rows])


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, items, first in (("x", 400, 0), ("z", 400, 400), ("pub", 100, 800)):
        written(name, items, first)
    Path("p.toml").write_text(Protocol.of(content()).toml())


def labelled(command, lab, protocol="p.toml", *flags):
    return command("run", protocol, "--pool", f"{lab}.csv", "--labels", f"{lab}.csv:price", "--journal", f"{lab}.db",
                   "--out", f"{lab}.json", "--lab", lab, "--truths", "0", *flags)  # fmt: skip


def test_labs_choose_by_how_far_numbers_are_off(command):
    sample = read_public("pub.csv", "price", Protocol.read(Path("p.toml")).recipe)
    ordered = Protocol.of(content() | {"handicap": {"from": "order", **sample.section}})
    assert sample.prior.places.argsort().tolist() == [1, 0, 2]
    Path("o.toml").write_text(ordered.toml())
    for lab in "xz":
        code, out, err = labelled(command, lab, "o.toml", "--public", "pub.csv")
        assert code == 0, err
        assert "Model: nearer" in out
    assert command("compare", "x.json", "z.json")[0] == 0
    code, out, _ = command("verify", "x.json", "--pool", "x.csv", "--journal", "x.db", "--public", "pub.csv")
    assert (code, "Valid" in out) == (0, True)
    body = read(Path("x.json"))["body"]
    told = body["proof"]
    assert told["differences"][0] == 0
    assert len(told["differences"]) == len(told["counts"][0]) < 2000
    assert body["labels"]["asked"] < 400
    assert "how far a number is off, 10 or more costs 1; in steps of 1/1000" in page(read(Path("x.json")))
    assert "how far a number is off" in command("plan", "o.toml")[1]


def test_labels_are_forecast_before_the_first(command):
    code, out, _ = command("plan", "p.toml", "--pool", "x.csv", "--truths", "2", "--json")
    assert code == 0
    told = json.loads(out)
    assert told["forecast"]["counted"] == "labels"
    assert 0 < told["forecast"]["labels_median"] <= told["forecast"]["labels_high"] <= 400
    assert "Expect about" in told["reading"]
    assert "there are no forecasts" not in told["reading"]
    assert "--pool FILE, a table of unlabelled items, forecasts" in command("plan", "p.toml")[1]
    code, _, err = labelled(command, "x", "p.toml", "--truths", "2")
    assert (code, "Forecast from the unlabelled items: about" in err) == (0, True)


@pytest.mark.parametrize("change", ["less", "more", "out of order", "in the plan of labels"])
def test_counts_of_other_differences_are_found_out(command, change):
    sample = read_public("pub.csv", "price", Protocol.read(Path("p.toml")).recipe)
    Path("o.toml").write_text(Protocol.of(content() | {"handicap": {"from": "order", **sample.section}}).toml())
    assert labelled(command, "x", "o.toml")[0] == 0
    certificate = read(Path("x.json"))
    told = certificate["body"]["proof"]
    if change == "less":
        told = told | {"differences": told["differences"][1:], "counts": [row[1:] for row in told["counts"]]}
    elif change == "more":
        unused = next(each for each in range(1, 1000) if each not in told["differences"])
        told = told | {"differences": [*told["differences"], unused], "counts": [[*row, 0] for row in told["counts"]]}
    elif change == "out of order":
        told = told | {"differences": told["differences"][::-1], "counts": [row[::-1] for row in told["counts"]]}
    else:
        told = {key: value for key, value in told.items() if key != "differences"}
    certificate["body"]["proof"] = told
    Path("y.json").write_text(text_of(resealed(certificate)))
    code, out, _ = command("verify", "y.json")
    assert code == 1
    assert "WRONG  the tolerance follows from the counts" in out


def test_a_table_is_the_same_whatever_its_format_and_spelling(command):
    with Path("x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = {name: [float(row[name]) for row in rows] for name in NAMES} | {"id": [row["id"] for row in rows]}
    parquet.write_table(pa.table({name: columns[name] for name in ["id", *NAMES]}), "x.parquet")
    Path("y.csv").write_text(Path("x.csv").read_text().replace(".5,", ".50,"))
    recipe = Protocol.read(Path("p.toml")).recipe
    pools = [read_pool(source, recipe) for source in ("x.csv", "x.parquet", "y.csv", columns)]
    assert len({pool.fingerprint for pool in pools}) == 1
    columns["near"][3] += 0.1
    assert read_pool(columns, recipe).fingerprint != pools[0].fingerprint


def test_lists_are_sets_and_boxes(command):
    table = {"id": ["a", "b"], "one": [["x", "y"], ["x"]], "two": ['["y", "x", "x"]', "[]"]}
    recipe = Protocol.of(content({"loss": "f1"}, ["one", "two"])).recipe
    assert read_pool(table, recipe).items.outputs == [('["x","y"]',), ('["x"]', "[]")]
    boxes = {"id": ["a"], "one": ["[0, 0, 1, 2]"], "two": [[0.0, 0.0, 1.0, 2.5]]}
    recipe = Protocol.of(content({"loss": "iou"}, ["one", "two"])).recipe
    assert read_pool(boxes, recipe).items.outputs == [("[0,0,1,2]", "[0,0,1,2.5]")]


def test_answers_are_given_corrected_and_shown_as_they_are(command, monkeypatch):
    def answer(text):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        return command("run", "p.toml", "--pool", "x.csv", "--ask", "terminal", "--journal", "t.db", "--out", "t.json")

    code, _, err = answer("far off\n3.50\n?\n/q\n")
    assert code == 3
    assert "is no number, as the loss 'absolute' needs it" in " ".join(err.split())
    with Journal("t.db") as journal:
        session = Session(
            Protocol.read(Path("p.toml")), read_pool("x.csv", Protocol.read(Path("p.toml")).recipe), journal
        )
        assert list(session.ledger.labels.values()) == ["3.5"]
        assert len(session.ledger.skipped) == 1
        item = next(iter(session.ledger.labels))
    assert command("journal", "correct", "t.db", "--item", item, "--label", "4.0")[0] == 0
    assert command("journal", "correct", "t.db", "--item", item, "--label", "4")[0] == 2
    assert f"{item},4," in command("journal", "export", "t.db", "--labels-only")[1]
    assert labelled(command, "x")[0] == 0


def test_batches_are_filled_in_with_answers(command):
    flags = ["--pool", "x.csv", "--ask", "file", "--journal", "f.db", "--out", "f.json", "--truths", "0"]
    Path("b.toml").write_text(Protocol.of(content(batch=8)).toml())
    assert command("run", "b.toml", *flags)[0] == 3
    batch = Path("f.batches/batch-0001.csv")
    with batch.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with batch.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["id", "label"], *([row["id"], "?" if n == 0 else "1.0"] for n, row in enumerate(rows))]
        )
    assert command("run", "b.toml", *flags)[0] == 3
    with Journal("f.db", write=False) as journal:
        assert [event.answer for event in journal.events() if event.kind == "answer"] == ["1"] * 7
    with batch.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "label"], [rows[1]["id"], "2"]])
    code, _, err = command("run", "b.toml", *flags)
    assert (code, "has '2' for the item" in err) == (2, True)


def test_another_lab_confirms_the_answer(command):
    assert labelled(command, "x")[0] == 0
    code, out, err = command("lab", "confirm", "x.json", "--pool", "z.csv", "--labels", "z.csv:price", "--journal", "c.db",
                             "--out", "c.json", "--margin", ".1")  # fmt: skip
    assert code == 0, err
    assert "confirmed" in out.lower()
    assert command("verify", "c.json", "--pool", "z.csv", "--journal", "c.db")[0] == 0


@pytest.mark.parametrize(
    ("labels", "wrong"),
    [
        ({"loss": "absolut", "clip": 1.0}, "unknown loss 'absolut': did you mean 'absolute'?"),
        ({"loss": 3}, "unknown loss 3"),
        ({"loss": "absolute"}, "needs clip, a number above 0"),
        ({"loss": "absolute", "clip": 0.0}, "clip of the loss 'absolute' must be a finite number above 0, got 0.0"),
        ({"loss": "absolute", "clip": float("nan")}, "must be a finite number above 0, got nan"),
        ({"loss": "exact", "clip": 1.0}, "the loss 'exact' has no clip"),
        ({"loss": "edit", "grid": 0}, "grid must be a whole number from 1 to 10,000, got 0"),
        ({"loss": "exact", "values": ["a", "b"]}, "leave out values, or loss"),
        ({"loss": "exact", "source": "sha256:" + "0" * 64}, "is built in: leave out source"),
        ({"loss": "mine", "source": "0"}, "must be written sha256:<64 hex digits>"),
    ],
)
def test_a_protocol_says_what_is_wrong_with_its_loss(command, labels, wrong):
    with pytest.raises(BadProtocol) as error:
        Protocol.of(content(labels))
    assert wrong in str(error.value)


def test_a_loss_is_for_a_table_and_for_handicap(command):
    with pytest.raises(BadProtocol, match="the class is of kind table, without cuts"):
        Protocol.of(content() | {"class": {"kind": "thresholds", "features": ["x"], "count": 9}})
    for changes, wrong in (({"name": "a2", "nu": 0.1}, "a2 counts errors"), ({"nu": 0.0}, "leave out nu")):
        with pytest.raises(ReplicalError, match=wrong):
            Protocol.of(content(**changes))
    flags = ["--pool", "x.csv", "--journal", "n.db", "--out", "n.json", "--ask", "page"]
    code, _, err = command("run", "p.toml", *flags)
    assert (code, "the labelling page has a button" in err) == (2, True), err


def test_the_answer_s_own_loss_is_measured_in_parts_of_the_clip(command):
    code, _, err = labelled(command, "x", "p.toml", "--measure-error", "60")
    assert code == 0, err
    body = read(Path("x.json"))["body"]
    error, chosen = body["answer_error"], body["hypothesis"]["description"]
    assert (error["of"], error["labels"]) == ("loss", 60)
    with Path("x.csv").open(newline="") as file:
        off = [min(abs(float(row[chosen]) - float(row["price"])), 10) / 10 for row in csv.DictReader(file)]
    assert error["low"] < np.mean(off) < error["high"]
    assert command("verify", "x.json", "--pool", "x.csv", "--journal", "x.db")[0] == 0


@pytest.mark.parametrize(
    ("labels", "cell", "wrong"),
    [
        (ABSOLUTE, "about 3", "the output of 'one' for the item 'b' is 'about 3', which is no number"),
        (ABSOLUTE, "nan", "which is no finite number"),
        (ABSOLUTE, "1e999", "which is no number of at most 400 digits"),
        (ABSOLUTE, True, "which is no number"),
        (ABSOLUTE, None, "the output of 'one' for the item 'b' is missing"),
        ({"loss": "f1"}, "cat", 'which is no JSON list of labels, e.g. ["cat", "dog"]'),
        ({"loss": "f1"}, "[1.5]", "which is no JSON list of labels"),
        ({"loss": "iou"}, "[1, 2, 3]", "which is no box [x0, y0, x1, y1]"),
        ({"loss": "iou"}, "[3, 0, 1, 1]", "with x0 <= x1 and y0 <= y1"),
        ({"loss": "edit"}, 1.5, "which is no text"),
        ({"loss": "duel"}, "tie", "which is the word for a draw"),
    ],
)  # fmt: skip
def test_a_cell_that_is_not_of_the_kind_of_the_loss_is_named(labels, cell, wrong):
    good = {"absolute": "1", "f1": "[]", "iou": "[0,0,1,1]", "edit": "a", "duel": "a"}[labels["loss"]]
    kind = pa.bool_() if cell is True else pa.float64() if isinstance(cell, float) else pa.string()
    first = {pa.bool_(): False, pa.float64(): 1.0}.get(kind, good)
    table = pa.table({"id": ["a", "b"], "one": pa.array([first, cell], kind), "two": [good, good]})
    if kind != pa.string():
        table = table.slice(1)
    with pytest.raises(BadTable) as error:
        read_pool(table, Protocol.of(content(labels, ["one", "two"])).recipe)
    assert wrong in str(error.value)


def test_a_journal_with_answers_that_no_loss_reads_is_refused(command):
    from replical.lab.journal.journal import saying

    protocol = Protocol.read(Path("p.toml"))
    pool = read_pool("x.csv", protocol.recipe)
    with Journal("j.db") as journal:
        session = Session(protocol, pool, journal)
        with pytest.raises(BadLabel, match="which is no number"):
            session.answer(session.open[0], "high")
        journal.append([saying("answer", session.open[0], "3.50", None)])
        with pytest.raises(ReplicalError, match="has a label that the protocol does not have"):
            session.refresh()


# ---- a loss of one's own ----


MINE = """
def mine(output, answer):
    return {loss}

def normal(value):
    return str(value).lower()

mine.normal = normal
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package with a loss; what the protocol says of its source."""

    def install(loss):
        for name in ("replical_mine",):
            monkeypatch.delitem(__import__("sys").modules, name, raising=False)
        (tmp_path / "replical_mine.py").write_text(MINE.format(loss=loss))
        about = tmp_path / "replical_mine-1.dist-info"
        about.mkdir(exist_ok=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: replical-mine\nVersion: 1\n")
        (about / "entry_points.txt").write_text("[replical.losses]\nmine = replical_mine:mine\n")
        own_kind.cache_clear()
        return source_of("mine")

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    yield install
    own_kind.cache_clear()


SAID = {"id": [f"i{i}" for i in range(300)], "good": ["A" if i % 20 else "B" for i in range(300)], "bad": ["c"] * 300}


def test_a_loss_of_ones_own_runs_by_its_source_and_is_checked_on_demand(command, install):
    source = install("0.25 if output != answer else 0")
    with pytest.raises(BadProtocol, match="so the protocol says its source: write source = 'sha256:"):
        Protocol.of(content({"loss": "mine"}, ["good", "bad"]))
    protocol = Protocol.of(content({"loss": "mine", "source": source}, ["good", "bad"]))
    done = run(protocol, SAID, lambda item: "a", "own.db", out="own.json")
    assert done.certificate["body"]["hypothesis"]["description"] == "good"
    with Path("own.csv").open("w", newline="") as file:
        csv.writer(file).writerows([list(SAID), *zip(*SAID.values(), strict=True)])
    verify = ["verify", "own.json", "--pool", "own.csv", "--journal", "own.db"]
    code, out, _ = command(*verify, "-v")
    assert (code, "--allow-code runs it" in out) == (0, True)
    assert "Valid, as far as the file alone can show" in out
    code, out, _ = command(*verify, "--allow-code")
    assert (code, "Valid, as far as the file, its pool and its journal can show" in out) == (0, True)
    assert command("compare", "own.json", "own.json")[0] != 0
    install("0.5 if output != answer else 0")
    code, _, err = command(*verify, "--allow-code")
    assert (code, "that is installed has the source sha256:" in err) == (2, True)


def test_a_loss_of_ones_own_is_found_without_running_its_package(command, install, tmp_path):
    install("0")
    package = tmp_path / "replical_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('was run')")
    (package / "mine.py").write_text("")
    (tmp_path / "replical_mine-1.dist-info" / "entry_points.txt").write_text(
        "[replical.losses]\nmine = replical_package.mine:mine\nnone = replical_package.none:mine\n"
    )
    Path("names.txt").write_text("good\nbad\n")
    Path("s.csv").write_text("id,good,bad\ni,A,b\n")
    init = ["init", "--candidates", "names.txt", "--seed", "s", "--out", "i.toml", "--set"]
    assert command(*init, "loss=mine")[0] == 0
    assert Protocol.read(Path("i.toml")).answers.source == source_of("mine") == digest_of(b"")
    code, _, err = command(
        "run", "i.toml", "--pool", "s.csv", "--journal", "i.db", "--out", "i.json", "--ask", "terminal"
    )
    assert (code, "the loss 'mine' cannot be loaded: RuntimeError: was run" in err) == (2, True), err
    code, _, err = command(*init, "loss=none", "--force")
    assert (code, "names the module 'replical_package.none', which cannot be read" in err) == (2, True), err


@pytest.mark.parametrize(
    ("loss", "wrong"),
    [
        ("2", "is 2, and should be a number from 0 to 1"),
        ("-0.1", "is -0.1, and should be a number from 0 to 1"),
        ("float('nan')", "is nan, and should be a number from 0 to 1"),
        ("'a'", "is 'a', and should be a number from 0 to 1"),
        ("1 / 3", "no part of 1/1000: round it"),
        ("1 / 0", "fails for 'b' at 'a': ZeroDivisionError"),
        ("exit(0)", "fails for 'b' at 'a': SystemExit"),
        ("setattr(mine, 'said', not getattr(mine, 'said', True)) or int(mine.said)", "is 0 and then 1: make it a function of these two alone"),
    ],
)  # fmt: skip
def test_a_loss_of_ones_own_that_is_none_is_named_and_nothing_is_lost(command, install, loss, wrong):
    labels = {"loss": "mine", "source": install(loss)}
    Path("m.toml").write_text(Protocol.of(content(labels, ["good", "bad"])).toml())
    Path("some.csv").write_text("id,good,bad,right\ni,B,x,a\nj,B,y,a\n")
    code, _, err = command("run", "m.toml", "--pool", "some.csv", "--labels", "some.csv:right", "--journal", "none.db",
                           "--out", "none.json", "--truths", "0")  # fmt: skip
    assert (code, [wrong in line for line in err.splitlines() if line.startswith("Error")]) == (2, [True])
    with Journal("none.db", write=False) as journal:
        assert [event.answer for event in journal.events() if event.kind == "answer"] == ["a"]
    assert canonical(labels)
    assert json.dumps(labels)

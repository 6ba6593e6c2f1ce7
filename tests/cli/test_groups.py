"""Items that belong together, from the protocol to the comparison of certificates."""

import csv
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")
from replical import Protocol, run
from replical.errors import BadProtocol, BadTable
from replical.lab.certificate.file import read
from replical.lab.certificate.verify import verify
from replical.lab.pool import Part
from replical.lab.tables import read_pool
from support.certificates import resealed

NUMBERS = ["--epsilon", ".1", "--seed", "published", "--force"]
GROUPED = ["--set", "group=patient", "--set", "group_size=4"]
MODELS = {"good": 0.05, "fair": 0.12, "bad": 0.4}


def rows_of(lab, patients, seed):
    """Up to four images a patient; a model errs on all images of a patient or on none."""
    generator = np.random.default_rng(seed)
    for patient in range(patients):
        wrong = generator.random(len(MODELS)) < list(MODELS.values())
        truth = generator.random() < 0.5
        for image in range(int(generator.integers(1, 5))):
            says = ["yes" if truth != bad else "no" for bad in wrong]
            yield [f"{lab}{patient}-{image}", f"{lab}{patient}", *says, "yes" if truth else "no"]


def written(name, patients, seed, lab=None):
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows([["id", "patient", *MODELS, "label"], *rows_of(lab or name[0], patients, seed)])


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written("a.csv", 400, 1)
    written("b.csv", 400, 2)
    written("pub.csv", 60, 3)


def read_rows():
    with Path("a.csv").open() as file:
        return list(csv.reader(file))


def new(command, *flags):
    return command("init", "--pool", "a.csv", "--out", "p.toml", "--public", "pub.csv:label", *NUMBERS, *flags)


def ran(command, name, *flags):
    table = f"{name}.csv"
    return command(
        "run", "p.toml", "--pool", table, "--journal", f"{name}.db", "--out", f"{name}.json", "--labels",
        f"{table}:label", "--truths", "0", "--public", "pub.csv", *flags,
    )  # fmt: skip


@pytest.mark.parametrize("weights", ["item", "group"])
def test_labs_choose_by_groups_and_every_level_of_verify_recomputes_it(weights, command):
    code, out, err = new(command, *GROUPED, "--set", f"group_weights={weights}")
    assert code == 0, err
    assert "belong together?" not in out
    assert tomllib.loads(Path("p.toml").read_text())["pool"] == {
        "group": "patient", "group_size": 4, "group_weights": weights,
    }  # fmt: skip
    for name in "ab":
        code, out, err = ran(command, name)
        assert code == 0, err
        assert "Certified" in out
        assert "Warning" not in err
        body = read(Path(f"{name}.json"))["body"]
        assert body["hypothesis"]["description"].startswith("good")
        counted = np.array(body["proof"]["counts"]).sum(axis=1)
        assert counted[0] < body["proof"]["scanned"]  # groups, not items
        code, out, err = command(
            "verify", f"{name}.json", "--pool", f"{name}.csv", "--journal", f"{name}.db", "--public", "pub.csv"
        )
        assert (code, err) == (0, ""), out
    code, out, err = command("compare", "a.json", "b.json", "--json")
    assert code == 0, out + err
    said = json.loads(out)
    assert said["identical"]
    assert said["common"]["tolerance"] <= min(read(Path(f"{x}.json"))["body"]["proof"]["tolerance"] for x in "ab")


def of_two_truths(name, seed):
    """Patients of one image or four: who is better on few large patients is best by item, on many small ones by group."""
    generator, rows = np.random.default_rng(seed), []
    for patient in range(600):
        size = 4 if generator.random() < 0.4 else 1
        wrong = generator.random(2) < ([0.3, 0.05] if size == 4 else [0.02, 0.45])
        says = ["no" if each else "yes" for each in wrong]
        rows += [[f"{name}{patient}-{image}", f"{name}{patient}", *says, "yes"] for image in range(size)]
    rows[0][2:] = ["no"] * 3
    with Path(f"{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "patient", "small", "large", "label"], *rows])


def test_items_and_groups_are_two_questions_with_two_answers(command):
    of_two_truths("a", 4)
    of_two_truths("pub", 5)
    for weights, best in (("item", "large"), ("group", "small")):
        assert new(command, *GROUPED, "--set", f"group_weights={weights}")[0] == 0
        code, out, err = ran(command, "a")
        assert code == 0, err
        assert f"Model: {best}, " in out
        assert "Certified" in out
        Path("a.db").unlink()
        Path("a.json").unlink()


def test_a_certificate_that_counts_more_than_there_is_is_noticed(command):
    new(command, *GROUPED)
    ran(command, "a")
    certificate = read(Path("a.json"))
    counts = certificate["body"]["proof"]["counts"]
    counts[1][-1] += 50
    assert not verify(resealed(certificate)).valid


def test_whoever_does_not_name_the_column_is_asked_and_warned(command):
    code, out, _ = new(command)
    assert code == 0
    assert "Do items with one patient belong together?" in out
    code, _, err = ran(command, "a")
    assert code == 0
    assert "Warning: the column patient looks as if it said which items belong together" in err


def test_a_budget_is_spent_in_whole_groups_and_a_run_goes_on_label_by_label(command):
    new(command, *GROUPED, "--set", "max_labels=9")
    code, _, err = ran(command, "a")
    assert code == 0, err
    body = read(Path("a.json"))["body"]
    assert body["labels"]["asked"] <= 9
    assert command("verify", "a.json", "--pool", "a.csv", "--journal", "a.db")[0] == 0
    protocol, truth = Protocol.read(Path("p.toml")), {}
    with Path("a.csv").open() as file:
        truth = {row["id"]: row["label"] for row in csv.DictReader(file)}
    begun, known = run(protocol, "a.csv", {}, "c.db"), {}
    while begun.open:
        known |= {begun.open[0]: truth[begun.open[0]]}
        begun = run(protocol, "a.csv", known, "c.db")
    assert begun.certificate["body"]["proof"]["asked"] <= 9


def sentence(command, *words):
    code, out, err = command(*words)
    assert code == 2, out
    assert err.count("\n") == 1
    return err


def test_bad_groups_are_one_sentence(command):
    assert "and the public bound is 3" in new(command, "--set", "group=patient", "--set", "group_size=3")[2]
    assert "the key" not in new(command, *GROUPED)[2]
    assert "independent draws, and here some belong together" in command("plan", "p.toml", "--pool", "a.csv")[1]
    rows = read_rows()

    def change(name, edit):
        made = [edit(number, list(row)) for number, row in enumerate(rows)]
        with Path(f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(made)

    def patient(number, row, value):
        return [row[0], value, *row[2:]]

    def refused(name):
        return sentence(
            command, "run", "p.toml", "--pool", f"{name}.csv", "--journal", f"{name}.db", "--out", f"{name}.json",
            "--labels", f"{name}.csv:label", "--public", "pub.csv",
        )  # fmt: skip

    change("large", lambda n, row: patient(n, row, "one") if 0 < n < 7 else row)
    assert "a group has 6 items, and the public bound is 4" in refused("large")
    change("gap", lambda n, row: patient(n, row, "") if n == 5 else row)
    assert f"the group of the item {rows[5][0]!r} is missing in the column 'patient'" in refused("gap")
    change("none", lambda n, row: [row[0], *row[2:]])
    assert "none.csv has no column 'patient'" in refused("none")
    ran(command, "a")
    change("a", lambda n, row: patient(n, row, "other") if n == 5 else row)
    assert "the pool has changed since the journal a.db began" in refused("a")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"group": "patient"}, "give group and group_size"),
        ({"group_size": 3}, "give group and group_size"),
        ({"group": "", "group_size": 3}, "group is the name of the column"),
        ({"group": "patient", "group_size": "3"}, "a whole number of at least 1, got '3'"),
        ({"group": "patient", "group_size": 3, "group_weights": "rows"}, "got 'rows'"),
        ({"patient": 3}, "has no key 'patient'"),
        ("patient", "pool must be a section"),
    ],
)
def test_bad_sections_are_one_sentence(section, message, command):
    new(command)
    with pytest.raises((BadProtocol, ValueError), match=message):
        Protocol.of(tomllib.loads(Path("p.toml").read_text()) | {"pool": section})


def test_measured_errors_are_refused(command):
    new(command, *GROUPED)
    assert "no fresh draws to measure on" in sentence(
        command, "run", "p.toml", "--pool", "a.csv", "--journal", "a.db", "--out", "a.json", "--labels", "a.csv:label",
        "--measure-error", "10",
    )  # fmt: skip


def test_no_group_is_in_the_public_table_too(command):
    rows = read_rows()
    with Path("pub.csv").open("w", newline="") as file:  # other images of the same patients
        csv.writer(file).writerows([rows[0], *([f"other {row[0]}", *row[1:]] for row in rows[1:90])])
    assert new(command, *GROUPED)[0] == 0
    said = sentence(
        command, "run", "p.toml", "--pool", "a.csv", "--journal", "c.db", "--out", "c.json", "--labels", "a.csv:label",
        "--public", "pub.csv",
    )  # fmt: skip
    assert "has items in the pool and in the public table pub.csv" in said


def test_a_pool_grows_by_new_groups_alone(command):
    new(command, *GROUPED, "--set", "max_labels=400")
    rows = read_rows()

    def write(some):
        with Path("g.csv").open("w", newline="") as file:
            csv.writer(file).writerows([rows[0], *some])

    protocol = Protocol.read(Path("p.toml"))
    cut = next(n for n in range(30, 60) if rows[n][1] != rows[n - 1][1])  # between two patients
    truth = {row[0]: row[-1] for row in rows[1:]}
    write(rows[1:cut])
    first = run(protocol, "g.csv", truth, "g.db").certificate
    write(rows[1 : cut + 60])
    lab = read_pool("g.csv", protocol.recipe)
    pool = first["body"]["pool"]
    part = Part(pool["items"], pool["fingerprint"])
    assert len(lab.divide([part]).parts) == 2
    late = ["late", rows[1][1], *rows[1][2:]]  # another image of the first patient
    write([*rows[1:cut], late])
    with pytest.raises(BadTable, match=f"the group '{rows[1][1]}' has rows among those that were added"):
        read_pool("g.csv", protocol.recipe).divide([part])
    write(rows[1 : cut + 60])
    again = run(protocol, "g.csv", truth, "g.db").certificate
    assert verify(again, read_pool("g.csv", protocol.recipe)).valid

"""A table that is the whole population, as of a leaderboard, from the protocol to the comparison of certificates."""

import csv
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("sqlalchemy")
from replical import Protocol
from replical.errors import BadProtocol
from replical.lab.certificate.file import read
from replical.lab.certificate.verify import verify
from support.certificates import resealed

MODELS = {"first": 20, "second": 18, "third": 60}  # errors in 200 rows


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(1)
    wrong = {name: set(generator.permutation(200)[:errors].tolist()) for name, errors in MODELS.items()}
    rows = [[f"q{row}", *("no" if row in wrong[name] else "yes" for name in MODELS), "yes"] for row in range(200)]
    rows[0][1:] = ["no"] * 4  # both labels occur
    with Path("board.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", *MODELS, "label"], *rows])
    with Path("other.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", *MODELS, "label"], *rows[1:]])


def new(command, *flags):
    return command(
        "init", "--pool", "board.csv", "--out", "p.toml", "--epsilon", ".01", "--seed", "published", "--handicap", "zero",
        "--force", *flags,
    )  # fmt: skip


def ran(command, name, pool="board.csv", *flags):
    return command(
        "run", "p.toml", "--pool", pool, "--journal", f"{name}.db", "--out", f"{name}.json", "--labels",
        f"{pool}:label", *flags,
    )  # fmt: skip


def test_a_margin_of_two_errors_is_certified_by_labs_with_one_table(command):
    code, _, err = new(command, "--set", "population=table")
    assert code == 0, err
    section = tomllib.loads(Path("p.toml").read_text())["pool"]
    assert list(section) == ["population"]
    for name in "ab":
        code, out, err = ran(command, name)
        assert code == 0, err
        assert "Certified" in out
        assert "No forecast: forecasts suppose that items are independent draws" in err
        body = read(Path(f"{name}.json"))["body"]
        assert (body["hypothesis"]["description"][:6], body["pool"]["fingerprint"]) == ("second", section["population"])
        assert body["labels"]["asked"] < 200
        code, out, err = command("verify", f"{name}.json", "--pool", "board.csv", "--journal", f"{name}.db")
        assert (code, err) == (0, ""), out
    code, out, err = command("compare", "a.json", "b.json", "--json")
    assert code == 0, out + err
    said = json.loads(out)
    assert (said["identical"], said["warning"]) == (True, None)
    new(command)  # as a sample of a population the same rows prove less
    assert "Not certified" in ran(command, "c")[1]


def test_another_table_is_refused(command):
    new(command, "--set", "population=table")
    code, _, err = ran(command, "x", "other.csv")
    assert (code, err.count("\n")) == (2, 1)
    assert "bring that table, with all its rows" in err
    assert not Path("x.db").exists() or ran(command, "x")[0] == 0  # nothing was bound to it


def test_a_certificate_about_another_table_is_noticed(command):
    new(command, "--set", "population=table")
    ran(command, "a")
    certificate = read(Path("a.json"))
    certificate["body"]["pool"]["fingerprint"] = f"sha256:{'1' * 64}"
    wrong = verify(resealed(certificate)).failed
    assert [each.name for each in wrong] == ["the pool is the table that the protocol names"]


def test_what_goes_with_samples_alone_is_refused(command):
    new(command, "--set", "population=table")
    code, _, err = ran(command, "a", "board.csv", "--measure-error", "10")
    assert (code, "measure" in err) == (2, True)
    assert new(command, "--set", "population=table", "--set", "group=first", "--set", "group_size=2")[0] == 2
    assert new(command, "--set", "population=table", "--set", "batch=3")[0] == 2
    said = tomllib.loads(Path("p.toml").read_text())
    for value in ("table", "", 3, None):
        with pytest.raises(BadProtocol, match="population is the fingerprint of the one table"):
            Protocol.of(said | {"pool": {"population": value}})

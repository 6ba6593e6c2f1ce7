"""A table that grows: new rows at its end, the same journal, and the run goes on."""

import json

import pytest

from replical.cli import main
from replical.lab.certificate.file import read
from replical.lab.journal import journal as journal_module
from replical.lab.protocol import Protocol
from support.lab import ORDER, content, private, world, write_csv

RUN = ["run", "p.toml", "--pool", "pool.csv", "--journal", "lab.db", "--out", "lab.json", "--labels", "pool.csv:truth"]


@pytest.fixture
def lab(tmp_path, monkeypatch, capsys):
    """A folder with a protocol; a table of as many rows as wanted; commands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(journal_module.secrets, "token_hex", lambda size: private("growth"))
    (tmp_path / "p.toml").write_text(Protocol.of(content(epsilon=0.05, handicap=ORDER)).toml())
    columns = world(items=1000, seed=5)

    def go(items, *words, code=0):
        write_csv(tmp_path / "pool.csv", {name: column[:items] for name, column in columns.items()})
        found = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert found == code, out + err
        return out, " ".join(err.split())

    return go


def test_a_run_goes_on_with_the_rows_that_were_added(lab, tmp_path):
    out, _ = lab(60, *RUN, "--truths", "0", "--json")
    assert not json.loads(out)["certified"]
    few = read(tmp_path / "lab.json")["body"]["labels"]["answered"]
    out, err = lab(1000, *RUN, "--truths", "0", "--json")
    assert "The pool has grown by 940 items: the run goes on with them." in err
    assert json.loads(out)["certified"]
    body = read(tmp_path / "lab.json")["body"]
    assert body["labels"]["answered"] > few
    assert [part["items"] for part in body["parts"]] == [60, 940]
    assert body["runs_in_journal"] == 2
    lab(1000, "verify", "lab.json", "--pool", "pool.csv", "--journal", "lab.db")


def test_a_proof_stays_whatever_comes_later(lab, tmp_path):
    lab(900, *RUN, "--truths", "0", "--json")
    before = read(tmp_path / "lab.json")["body"]
    lab(1000, *RUN, "--truths", "0", "--json")
    after = read(tmp_path / "lab.json")["body"]
    assert before["certified"]
    assert {key: before[key] for key in ("hypothesis", "labels", "proof")} == {
        key: after[key] for key in ("hypothesis", "labels", "proof")
    }


def test_rows_that_are_missing_later_are_named_and_nothing_is_lost(lab, tmp_path):
    lab(60, *RUN, "--truths", "0")
    lab(400, *RUN, "--truths", "0")
    certificate = (tmp_path / "lab.json").read_bytes()
    _, err = lab(300, *RUN, "--truths", "0", code=2)
    assert "it had 400 items and now has 300: bring back the rows that are missing" in err
    assert (tmp_path / "lab.json").read_bytes() == certificate
    lab(400, *RUN, "--truths", "0")

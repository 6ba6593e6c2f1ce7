"""People at the terminal and beside a run: labels named like commands, impossible ports, agreement."""

import io

import pytest

from replical.cli import main
from replical.cli.label import _tell_agreement
from replical.lab.journal import Journal
from replical.lab.protocol import Protocol
from support.lab import content, world


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = world(seed=5, items=150)
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(row) for row in rows)]
    (tmp_path / "pool.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "p.toml").write_text(Protocol.of(content(batch=2)).toml())
    return tmp_path


RUN = ["run", "p.toml", "--pool", "pool.csv", "--journal", "a.db", "--out", "a.json", "--truths", "0"]


def kinds(name):
    with Journal(name, write=False) as journal:
        return [(event.kind, event.label) for event in journal.events() if event.kind in ("answer", "skip")]


def test_labels_named_like_commands_are_labels(folder, monkeypatch, capsys):
    said = content(batch=2) | {"labels": {"values": ["s", "q"]}}
    (folder / "p.toml").write_text(Protocol.of(said).toml())
    text = (folder / "pool.csv").read_text().replace(",no", ",s").replace(",yes", ",q")
    (folder / "pool.csv").write_text(text)
    monkeypatch.setattr("sys.stdin", io.StringIO("s\nq\n/s\n/q\n"))
    assert main([*RUN, "--ask", "terminal"]) == 3
    assert kinds("a.db") == [("answer", 0), ("answer", 1), ("skip", None)]
    assert "'/s' skips an item you cannot label, '/q' leaves." in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize("port", ["99999", "-5", "65536"])
def test_a_port_that_cannot_be(folder, port, capsys):
    pytest.importorskip("starlette")
    assert main([*RUN, "--ask", "page", "--port", port]) == 2
    assert f"a port is a number from 0 to 65535, got {port}" in capsys.readouterr().err


def test_agreement_is_told_to_whoever_runs(capsys):
    _tell_agreement({"pairs": 0, "same": None, "beyond_chance": None})
    assert capsys.readouterr().err == ""
    _tell_agreement({"pairs": 1200, "same": 0.9, "beyond_chance": 0.8})
    told = capsys.readouterr().err.replace("\n", " ")
    assert told.startswith("Two people who labelled the same item agreed in 90% of 1,200 cases (Scott's pi 0.80: ")

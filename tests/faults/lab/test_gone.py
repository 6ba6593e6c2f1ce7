"""Journals whose files are taken away, moved, emptied or replaced under a run: it stops, and no label is lost."""

import csv
import os
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest

from replical import Session
from replical.errors import BadJournal
from replical.lab.journal.journal import Journal, saying
from replical.lab.journal.ledger import Ledger
from replical.lab.protocol import Protocol
from replical.lab.tables import read_pool
from support.attacks import ATTACKS
from support.lab import content, world

LABELS = 30


def other_journal(path):
    """Another whole journal, which somebody puts in its place."""
    with Journal(path) as journal:
        journal.create({"protocol": {}, "items": 1})
    return path


def log(path, end="wal"):
    return path.with_name(f"{path.name}-{end}")


def set_back(path):
    """Nothing but zeros, and of the date that it had."""
    before = path.stat()
    path.write_bytes(bytes(before.st_size))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


WAYS = {
    "removed": lambda path: path.unlink(),
    "removed with its log": lambda path: (path.unlink(), log(path).unlink()),
    "renamed": lambda path: path.rename(path.with_name("elsewhere.db")),
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:4096]),
    "replaced": lambda path: other_journal(path.with_name("other.db")).replace(path),
    "overwritten": lambda path: shutil.copyfile(other_journal(path.with_name("other.db")), path),
    "overwritten, its date set back": set_back,
    "log removed": lambda path: log(path).unlink(),
    "log emptied": lambda path: log(path).write_bytes(b""),
    "index removed": lambda path: log(path, "shm").unlink(),
    "index emptied": lambda path: log(path, "shm").write_bytes(b""),
    "log replaced": lambda path: (log(path).rename(path.with_name("x")), log(path).write_bytes(b"")),
    "folder renamed": lambda path: path.parent.rename(path.parent.with_name("moved")),
}


@pytest.fixture
def begun(tmp_path):
    """A run in a folder of its own that has heard some labels, and how to answer."""
    columns = world(items=2000, best=0.3, worst=0.4)
    truth = dict(zip(columns["id"], columns["truth"], strict=True))
    protocol = Protocol.of(content(epsilon=0.05))
    lab = read_pool(columns, protocol.recipe)
    (tmp_path / "run").mkdir()
    path = tmp_path / "run" / "lab.db"
    with Journal(path) as journal:
        session = Session(protocol, lab, journal)
        for _ in range(5):
            session.answer(session.open[0], truth[session.open[0]])
        yield path, session, truth


def answer(session, truth, labels):
    """How many labels were acknowledged, and what stopped it."""
    for number in range(labels):
        try:
            session.answer(session.open[0], truth[session.open[0]])
        except BadJournal as error:
            return number, str(error)
    return labels, None


def kept(path):
    """The labels that whoever opens a journal finds there."""
    with Journal(path, write=False) as journal:
        return {item: journal.label(code) for item, code in Ledger.of(journal.events()).labels.items()}


@pytest.mark.parametrize("settled", [False, True], ids=["in the log", "in the file"])
@pytest.mark.parametrize("way", WAYS)
def test_no_label_is_acknowledged_into_nothing(begun, monkeypatch, tmp_path, way, settled):
    assert (
        2 * len(WAYS) == ATTACKS["file, log or index of a journal removed, moved, emptied, cut or replaced under a run"]
    )
    path, session, truth = begun
    monkeypatch.chdir(tmp_path)
    if settled:
        session.journal.checkpoint()
    WAYS[way](path)
    acknowledged, why = answer(session, truth, LABELS)
    known = {item: truth[item] for item in session.ledger.labels}
    if why is None:
        assert way == "overwritten"  # what was in the log still is, and it goes over whatever is in the file
        assert kept(path) == known
        return
    assert acknowledged == 0
    assert "\n" not in why
    name = re.search(r"saved in (\S+):", why)[1]
    (rescue,) = tmp_path.rglob(name)
    assert rescue.stat().st_mode & 0o777 == 0o600
    if rescue.suffix == ".db":
        assert kept(rescue) == known
    else:
        with rescue.open(newline="") as file:
            assert {row["item"]: row["label"] for row in csv.DictReader(file) if row["kind"] == "answer"} == known
    assert answer(session, truth, 1) == (0, why)  # and it stays so
    assert session.journal.lost is not None


def test_what_cannot_be_read_any_more_is_saved_from_memory(begun, monkeypatch):
    path, session, truth = begun
    monkeypatch.setattr(Journal, "backup", lambda *_: (_ for _ in ()).throw(BadJournal("nothing can be read")))
    path.unlink()
    assert answer(session, truth, 1)[1].endswith("saved in lab.rescue.csv: take the journal from a backup")
    with (path.parent / "lab.rescue.csv").open(newline="") as file:
        told = {row["item"]: row["label"] for row in csv.DictReader(file) if row["kind"] == "answer"}
    assert told == {item: truth[item] for item in session.ledger.labels}


def test_labels_of_people_who_came_after_the_index_of_the_log_was_removed_are_saved(begun):
    """Without it two processes do not know of each other, and their logs would go over each other."""
    path, session, truth = begun
    log(path, "shm").unlink()
    item = next(each for each in truth if each not in session.ledger.labels and each != session.open[0])
    code = (
        "import sys; from replical.lab.journal.journal import Journal, saying\n"
        "with Journal(sys.argv[1], runner=False) as beside: beside.append([saying('answer', sys.argv[2], 0, 'ann')])"
    )
    subprocess.run([sys.executable, "-c", code, path, item], check=True)
    assert "lab.db-shm is another file than the one that was opened, so the run stops" in answer(session, truth, 1)[1]
    assert set(kept(path.with_name("lab.rescue.db"))) == {item, *session.ledger.labels}


def test_people_beside_a_run_stop_too(begun):
    path, session, _ = begun
    with Journal(path, runner=False) as beside:
        beside.append([saying("answer", session.open[0], 0, "ann")])
        path.unlink()
        with pytest.raises(BadJournal, match="is gone, so the run stops"):
            beside.append([saying("skip", session.open[0], None, "ann")])


def test_a_checkpoint_beside_a_run_is_no_fault(begun):
    """Somebody else's tool may move what the log holds into the file at any time."""
    path, session, truth = begun
    for _ in range(3):
        assert answer(session, truth, 3) == (3, None)
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA wal_checkpoint(FULL)")
        other.close()
    assert kept(path) == {item: truth[item] for item in session.ledger.labels}


def test_a_file_copied_without_its_log_is_not_taken_for_an_empty_journal(tmp_path):
    with Journal(tmp_path / "lab.db") as journal:
        (tmp_path / "copy.db").write_bytes((tmp_path / "lab.db").read_bytes())
        with pytest.raises(BadJournal, match="its log was left behind: copy copy.db-wal too"):
            Journal(tmp_path / "copy.db", write=False)
        journal.create({"protocol": {}})
        (tmp_path / "later.db").write_bytes((tmp_path / "lab.db").read_bytes())
        with Journal(tmp_path / "later.db", write=False) as later:
            assert later.head == journal.head


def test_a_backup_is_the_same_journal(begun, command):
    path, session, truth = begun
    out = path.with_name("backup.db")
    code, told, _ = command("journal", "backup", path, "--out", out)
    assert (code, told) == (
        0,
        f"Written: {out}, {session.journal.head.seq} events.\nHead: {session.journal.head.digest}\n",
    )
    assert sorted(each.name for each in path.parent.iterdir() if each.name.startswith((".part", "backup"))) == [
        "backup.db"
    ]
    with Journal(out, write=False) as copy:
        assert copy.events() == session.journal.events()
    with Journal(out) as copy:
        again = Session(session.protocol, session.lab, copy)
        assert again.open == session.open
        assert answer(again, truth, 2) == (2, None)
    assert "a backup replaces nothing" in command("journal", "backup", path, "--out", out)[2]

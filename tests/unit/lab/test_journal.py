"""The journal: append-only, on the disk before it is acknowledged, one runner at a time, and never a traceback."""

import os
import re
import sqlite3
import stat

import pytest

from replical.errors import BadJournal
from replical.lab.journal.journal import SCHEMA, Event, Journal
from support.journals import begun, refused, write_into


def plain(event):
    """An event without what the journal itself adds."""
    return (event.kind, event.item, event.label, event.annotator, event.detail)


@pytest.fixture
def path(tmp_path):
    return begun(tmp_path)


# ---- what is written stays ----


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE replical_events SET label = 1",
        "UPDATE replical_events SET seq = seq + 100",
        "UPDATE OR IGNORE replical_events SET item = 'other' WHERE seq = 2",
        "DELETE FROM replical_events WHERE seq = 3",
        "DELETE FROM replical_events",
        # REPLACE removes the old row without asking the DELETE trigger.
        "INSERT OR REPLACE INTO replical_events (seq, kind, at) VALUES (2, 'x', 'y')",
        "REPLACE INTO replical_events (seq, kind, at) VALUES (1, 'x', 'y')",
    ],
)
def test_the_database_itself_refuses_changes(path, statement):
    """Not only our code is append-only: whoever opens the file with another program meets the same rule."""
    before = write_into(path, "SELECT * FROM replical_events")
    with pytest.raises(sqlite3.IntegrityError, match="a journal is append-only"):
        write_into(path, statement)
    assert write_into(path, "SELECT * FROM replical_events") == before
    assert len(before) == 3


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_only_its_owner_may_read_it(tmp_path, umask):
    """It holds the private seed and what people said. Also the files beside it, while it is open."""
    before = os.umask(umask)
    try:
        with Journal(tmp_path / "a.db") as journal:
            journal.create({})
            names = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert names == dict.fromkeys(["a.db", "a.db-shm", "a.db-wal", "a.db.lock"], 0o600)


def test_rights_that_somebody_gave_stay(path):
    """A lab whose people label beside the run may open the file to them."""
    path.chmod(0o640)
    with Journal(path) as journal:
        journal.append([Event(kind="ask", item="three")])
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_events_that_are_written_together_are_there_together(path):
    """A batch of answers is one transaction: the second row is impossible, so the first is not there either."""
    with Journal(path) as journal:
        before = journal.events()
        with pytest.raises(BadJournal, match="nothing that was acknowledged is lost"):
            journal.append([Event(kind="answer", item="one", label=1), Event(kind=None, item="two", label=1)])
        assert journal.events() == before
        journal.append([Event(kind="answer", item="one", label=0)])  # and the journal goes on
        assert plain(journal.events()[-1]) == ("answer", "one", 0, None, None)


def test_the_private_seed_is_drawn_at_creation(tmp_path):
    """Every journal has one of its own, of 256 bits, and keeps it."""
    seeds = []
    for name in "ab":
        with Journal(tmp_path / name) as journal:
            journal.create({"private_": 1})
            seeds.append(journal.created["private"])
        with Journal(tmp_path / name) as journal:
            assert journal.created["private"] == seeds[-1]
    assert seeds[0] != seeds[1]
    assert all(re.fullmatch("[0-9a-f]{64}", seed) for seed in seeds)


def test_reading_leaves_no_trace(path, tmp_path):
    """Opened for reading: nothing is appended, and a journal that is not there is not made."""
    told = refused(tmp_path / "none.db", write=False)
    assert told == f"there is no journal {tmp_path / 'none.db'}"
    refused(f"sqlite:///{tmp_path / 'none.db'}", write=False)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.db", "a.db.lock"]
    with Journal(path, write=False) as journal:  # that it changes nothing: faults/lab/test_hostile_journals.py
        assert not journal.writable
        with pytest.raises(BadJournal, match="was opened for reading"):
            journal.append([Event(kind="answer", item="one", label=1)])
        with pytest.raises(BadJournal, match="was opened for reading"):
            journal.create({})


def test_a_missing_folder_is_named(tmp_path):
    """Before anything is written anywhere."""
    told = refused(tmp_path / "no" / "a.db")
    assert told == f"there is no folder {tmp_path / 'no'} for the journal a.db"
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    "name", ["a b.db", "é☃.db", "a#b.db", "a&b=c.db", "no suffix", "a?b.db", "a%20b.db", ":memory:"]
)
def test_any_name_will_do(tmp_path, name):
    """The journal is the file that was named, and no other."""
    with Journal(tmp_path / name) as journal:
        journal.create({})
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([name, f"{name}.lock"])
    with Journal(tmp_path / name, write=False) as journal:
        assert journal.created["schema"] == SCHEMA


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_memory_is_no_journal(url):
    """Labels that go away with the process were never acknowledged."""
    assert "outlives" in refused(url)


@pytest.mark.parametrize(("one", "two"), [("sqlite:///{}", "sqlite:///{}"), ("sqlite:///{}", "{}"), ("{}", "{}.link")])
def test_one_runner_whatever_the_journal_is_called(path, one, two):
    """A URL, a path and a link may be one file."""
    os.symlink(path, f"{path}.link")
    with Journal(one.format(path)):
        assert "another runner is using the journal" in refused(two.format(path))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ada:hunter2@127.0.0.1:port/lab",  # ValueError
        "postgresql+psycopg://127.0.0.1:1/lab?password=hunter2",
        "postgresql+psycopg://ada:a@hunter2@127.0.0.1:1/lab",
        "postgresql+nosuchdriver://ada:a@hunter2@127.0.0.1/lab",
        "mysql://ada:hunter2@127.0.0.1/lab",
    ],
)
def test_a_password_in_a_url_that_nobody_can_read_is_never_shown(url):
    told = refused(url)
    assert "127.0.0.1" in told
    assert "hunter2" not in told


def test_a_name_that_is_no_text(path):
    """What a shell hands over for bytes that are not UTF-8."""
    with Journal(path) as journal, pytest.raises(BadJournal, match="cannot be used"):
        journal.append([Event(kind="answer", item="one", label=1, annotator="\udcff")])

"""What SQLite says about its settings decides; PostgreSQL's are tested on a real server (`faults/lab/test_postgres.py`)."""

import re
import sqlite3
import sys

import pytest

from replical.errors import BadJournal
from replical.lab.journal.database import Database


class Settings:
    """A connection that knows settings: what they become is said beforehand, or is what was asked for."""

    def __init__(self, **stubborn):
        self.now, self._stubborn = {}, stubborn

    def execute(self, statement):
        self._last, _, value = statement.removeprefix("PRAGMA ").partition("=")
        if value:
            self.now[self._last] = self._stubborn.get(self._last, value.lower())
        return self

    def fetchone(self):
        found = self.now[self._last]
        return (int(found) if found.isdigit() else found,)


@pytest.fixture
def database(tmp_path):
    (tmp_path / "a.db").touch()
    made = Database(tmp_path / "a.db")
    yield made
    made.close()


@pytest.mark.parametrize(("mode", "wanted"), [("wal", "2"), ("delete", "3"), ("truncate", "3"), ("persist", "3")])
def test_every_mode_that_is_on_the_disk_has_its_level(database, mode, wanted):
    """FULL with a write-ahead log; EXTRA without, where the folder has to be written too."""
    connection = Settings(journal_mode=mode)
    database._settle(connection, None)
    assert connection.now["synchronous"] == wanted


@pytest.mark.parametrize(
    ("stubborn", "named"),
    [
        ({"journal_mode": "memory"}, "journal_mode=memory"),
        ({"journal_mode": "off"}, "journal_mode=off"),
        ({"synchronous": "1"}, "synchronous=1"),
    ],
)
def test_a_setting_that_would_lose_labels_is_refused(database, stubborn, named):
    with pytest.raises(BadJournal, match=f"has {named}, and it stays so: labels could be lost.*use another database"):
        database._settle(Settings(**stubborn), None)


def test_hasty_commits_do_not_wait_and_the_others_still_do(database):
    """Two ways into one file; a connection of each kind says which it is."""
    hasty = database.without_waiting()
    try:
        for each, level in ((database, 2), (hasty, 1)):
            with each.writing() as connection:
                assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == level
                assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    finally:
        hasty.close()


def test_who_writes_writes_alone(database):
    """From the beginning of a transaction, not from its first change."""
    other = sqlite3.connect(database.file, timeout=0)
    with database.writing(), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")
    other.close()


def test_without_a_driver_the_extra_is_named(monkeypatch):
    """And the usual one is meant where none is named."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for url in ("postgresql://ada:hunter2@127.0.0.1/lab", "postgresql+psycopg://ada:hunter2@127.0.0.1/lab"):
        with pytest.raises(BadJournal, match=re.escape("pip install 'replical[postgres]'")) as caught:
            Database(url)
        assert "hunter2" not in str(caught.value)

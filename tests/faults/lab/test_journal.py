"""Journals that are damaged, newer, something else, or held by a process that is killed."""

import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
from collections import Counter

import pytest

from replical import Session
from replical.errors import BadJournal
from replical.lab.journal.journal import SCHEMA, Event, Journal
from support.journals import begun, refused, write_into
from support.mutations import mutated


@pytest.fixture
def path(tmp_path):
    return begun(tmp_path)


# ---- what is no journal ----


@pytest.mark.parametrize("write", [True, False])
def test_a_file_of_something_else_is_left_as_it_is(tmp_path, write):
    """A protocol given where the journal should be, say."""
    file = tmp_path / "protocol.toml"
    file.write_text('schema = "replical.protocol/1"\n' * 100)
    before = file.read_bytes()
    told = refused(file, write=write)
    assert str(file) in told
    assert "file is not a database" in told
    assert file.read_bytes() == before


def test_a_newer_journal_is_not_guessed_at(path):
    """Both versions are named, whether it is opened to read or to write, and nothing is appended."""
    newer = path.with_name("newer.db")
    with Journal(newer) as journal:
        journal.append([Event(kind="created", detail={"schema": "replical.journal/4"})])
    for write in (True, False, True):  # the third time: a refusal lets the lock go
        told = refused(newer, write=write)
        assert "'replical.journal/4'" in told
        assert f"'{SCHEMA}'" in told
    assert write_into(newer, "SELECT count(*) FROM replical_events") == [(1,)]


def test_a_journal_of_replical_0_2_is_answered_in_one_sentence(path, tmp_path):
    """As that version made it: its tables, its first event, and labels that stay as they are."""
    old = tmp_path / "old.db"
    write_into(old, "CREATE TABLE replical_events (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, item TEXT, label INTEGER, "
                    "annotator TEXT, at TEXT NOT NULL, detail TEXT, chain TEXT)")  # fmt: skip
    for kind, item, detail in (("created", None, '{"schema": "replical.journal/2"}'), ("answer", "one", None)):
        line = "INSERT INTO replical_events (kind, item, at, detail) VALUES (?, ?, '2026-11-18T08:00:00Z', ?)"
        write_into(old, line, kind, item, detail)
    for write in (False, True):
        assert refused(old, write=write) == (
            f"{old} was written as 'replical.journal/2', this version reads '{SCHEMA}': go on with the version of replical "
            "that began it"
        )
    assert write_into(old, "SELECT kind, item FROM replical_events") == [("created", None), ("answer", "one")]


@pytest.mark.parametrize("seq", [1, 2])
def test_a_damaged_detail_names_its_event(path, seq):
    """Whoever repairs a journal knows where to look."""
    write_into(path, "DROP TRIGGER replical_no_update")
    write_into(path, 'UPDATE replical_events SET detail = \'{"schema": "repl\' WHERE seq = ?', seq)
    with (
        pytest.raises(BadJournal, match=re.escape(f"{path}: event {seq} is not what was written there")),
        Journal(path) as kept,
    ):
        kept.events()


def test_a_disk_that_fails_while_a_connection_is_made_is_a_sentence(path, monkeypatch):
    """The first thing a connection does is to write, and there may be no room for it."""

    def no_room(*_):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr("replical.lab.journal.database.Database._settle", no_room)
    told = refused(path)
    assert told.startswith(f"the journal {path} cannot be used (disk I/O error)")
    assert told.endswith("nothing that was acknowledged is lost")


# ---- one runner at a time ----
HOLD = """
import sys
from replical.lab.journal.journal import Event, Journal
with Journal(sys.argv[1]) as journal:
    journal.append([Event(kind="ask", item="three")])
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(path):
    """Another process that holds the journal until it is told to go."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.parametrize("ending", ["politely", "killed"])
def test_the_lock_goes_with_its_process(path, holder, ending):
    """Whether the other runner ends by itself or by kill -9: no stale lock that somebody has to remove by hand."""
    assert "another runner is using the journal" in refused(path)
    with Journal(path, write=False) as reader:  # looking is allowed while somebody writes
        assert len(reader.events()) == 4
    if ending == "killed":
        os.kill(holder.pid, signal.SIGKILL)
    else:
        holder.stdin.write("\n")
        holder.stdin.flush()
    assert holder.wait(timeout=20) == (-signal.SIGKILL if ending == "killed" else 0)
    with Journal(path) as journal:
        assert [event.item for event in journal.events()] == [None, "one", "two", "three"]


# ---- odd places, odd moments ----


@pytest.mark.parametrize("write", [True, False])
def test_a_database_of_something_else_is_left_as_it_is(tmp_path, write):
    """Neither turned into a journal when writing, nor switched to a write-ahead log when reading."""
    file = tmp_path / "photos.db"
    write_into(file, "CREATE TABLE photos (name)")
    before = file.read_bytes()
    assert refused(file, write=write) == f"{file} is no journal of replical"
    assert file.read_bytes() == before


@pytest.mark.parametrize("detail", ["[]", "3", "null", '{"schema": "replical.journal/1"}'])
def test_a_first_event_that_says_too_little(make_world, tmp_path, detail):
    """JSON, but not what a first event is."""
    world, file = make_world({"name": "cal"}), tmp_path / "b.db"
    Journal(file).close()
    write_into(file, "INSERT INTO replical_events (kind, at, detail) VALUES ('created', 'x', ?)", detail)
    with pytest.raises(BadJournal, match=re.escape(str(file))), Journal(file) as journal:
        Session(world.protocol, world.lab, journal)


# ---- damage anywhere in the file ----


def damaged(tmp_path, times, seed):
    """Read mutated journals in every way: what each comes to, counted."""
    path, chance, counts = begun(tmp_path), random.Random(seed), Counter()
    with Journal(path) as journal:
        journal.append([Event(kind="answer", item=f"item {n}", label=n % 2, annotator="Ada") for n in range(200)])
        expected = journal.events()
    content = path.read_bytes()
    for number in range(times):
        copy = tmp_path / f"copy {number}.db"
        copy.write_bytes(mutated(chance, content, "bytes", [content]))
        for how in ({"write": False}, {}):
            try:
                with Journal(copy, **how) as journal:
                    found = journal.events()
            except BadJournal as error:
                assert str(copy) in str(error)
                counts["refused"] += 1
            else:
                assert found == expected[: len(found)], "a changed event was believed"
                counts["as it was" if found == expected else "empty" if not found else "cut"] += 1
        for each in tmp_path.glob(f"{copy.name}*"):
            each.unlink()
    return counts


@pytest.mark.parametrize(("times", "seed"), [(40, 3), pytest.param(1000, 2, marks=pytest.mark.slow)])
def test_damage_is_found_or_did_not_matter(tmp_path, times, seed):
    """Never a traceback, and no event that was not written; of a file of no bytes nobody can tell."""
    counts = damaged(tmp_path, times, seed)
    assert counts["refused"] >= times // 2
    assert set(counts) <= ({"refused", "as it was"} if times == 40 else {"refused", "as it was", "empty"}), counts


def test_a_missing_table_is_a_sentence(path):
    """Somebody dropped it: it is no journal any more, and none is made of it."""
    write_into(path, "DROP TABLE replical_events")
    for how in ({"write": False}, {"runner": False}, {}):
        assert str(path) in refused(path, **how)

"""The journal: append-only, on the disk before it is acknowledged, one runner at a time, and never a traceback."""

import csv
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import Session
from replical.errors import BadJournal, MissingExtra
from replical.lab.journal import SCHEMA, Event, Journal

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)  # all of Unicode; a lone surrogate is no text
EVENTS = st.builds(
    Event,
    kind=st.sampled_from(["ask", "answer", "skip", "correction"]),
    item=st.none() | TEXTS,
    label=st.none() | st.integers(0, 2**31 - 1),
    annotator=st.none() | TEXTS,
    detail=st.none() | st.dictionaries(TEXTS, st.integers() | TEXTS | st.lists(TEXTS, max_size=2), max_size=3),
)


def plain(event):
    """An event without what the journal itself adds."""
    return (event.kind, event.item, event.label, event.annotator, event.detail)


def refused(*where, **how):
    with pytest.raises(BadJournal) as caught:
        Journal(*where, **how).close()
    return str(caught.value)


@pytest.fixture
def path(tmp_path):
    """A journal that has begun."""
    with Journal(tmp_path / "a.db") as journal:
        journal.create({"protocol": {"labels": {"values": ["no", "yes"]}}})
        journal.append([Event(kind="ask", item="one"), Event(kind="ask", item="two")])
    return tmp_path / "a.db"


def write_into(path, statement, *values):
    """What somebody does to the file behind our back."""
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


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


def test_numbers_of_events_are_never_used_again(path):
    """AUTOINCREMENT: a line that somebody managed to remove leaves a gap that shows."""
    write_into(path, "DROP TRIGGER replical_no_delete")
    write_into(path, "DELETE FROM replical_events WHERE seq = 3")
    with Journal(path) as journal:
        journal.append([Event(kind="ask", item="three")])
        assert [event.seq for event in journal.events()] == [1, 2, 4]
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):  # and the rule is back
        write_into(path, "DELETE FROM replical_events WHERE seq = 2")


def test_the_connection_that_writes_waits_for_the_disk(tmp_path):
    """Asked of the very connections that commit: write-ahead log, and synchronous = 2, which is FULL."""
    found = []

    def committing(connection):
        raw = connection.connection.dbapi_connection
        modes = [raw.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in ("journal_mode", "synchronous")]
        found.append(tuple(modes))

    sqlalchemy.event.listen(sqlalchemy.Engine, "commit", committing)
    try:
        for _ in range(2):  # a new journal, and one that is opened again
            with Journal(tmp_path / "a.db") as journal:
                journal.append([Event(kind="ask", item="one")])
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "commit", committing)
    assert len(found) >= 4
    assert set(found) == {("wal", 2)}


@settings(max_examples=20)
@given(batches=st.lists(st.lists(EVENTS, max_size=4), max_size=4))
def test_every_event_comes_back_as_it_was_written(batches):
    """Whatever ids and names a lab uses; seq and time are the journal's own."""
    begun = datetime.now(UTC) - timedelta(seconds=1)
    with tempfile.TemporaryDirectory() as folder:
        with Journal(Path(folder) / "a.db") as journal:
            journal.create({})
            for batch in batches:
                journal.append(batch)
        with Journal(Path(folder) / "a.db", write=False) as journal:
            found = journal.events()
            assert journal.events(limit=2) == found[:2]
    assert [plain(event) for event in found[1:]] == [plain(event) for batch in batches for event in batch]
    assert [event.seq for event in found] == list(range(1, len(found) + 1))
    for event in found:
        assert begun <= datetime.fromisoformat(event.at) <= datetime.now(UTC)


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


# ---- as CSV ----


@settings(max_examples=20)
@given(
    told=st.lists(st.tuples(TEXTS.filter(bool), st.integers(0, 2), st.none() | TEXTS.filter(bool)), max_size=5),
    values=st.lists(TEXTS.filter(bool), min_size=3, max_size=3, unique=True),
)
def test_the_export_tells_labels_and_not_the_seed(told, values):
    """Read back by any CSV reader: ids, names and label values as they are, positions of labels nowhere."""
    file = io.StringIO(newline="")
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "a.db") as journal:
        journal.create({"protocol": {"labels": {"values": values}}})
        events = [Event(kind="answer", item=item, label=code, annotator=who) for item, code, who in told]
        journal.append(events)
        journal.export(file)
        private, kept = journal.created["private"], journal.events()
    assert private not in file.getvalue()
    rows = list(csv.DictReader(io.StringIO(file.getvalue(), newline="")))
    assert [(row["item"], row["label"], row["annotator"]) for row in rows[1:]] == [
        (item, values[code], who or "") for item, code, who in told
    ]
    assert [(int(row["seq"]), row["kind"], row["at"]) for row in rows] == [(e.seq, e.kind, e.at) for e in kept]
    assert json.loads(rows[0]["detail"]) == {"schema": SCHEMA, "protocol": {"labels": {"values": values}}}


def test_export_writes_to_the_screen_or_a_file(make_world, tmp_path, command):
    """The same bytes either way, for a run with an answer, a skip and a correction, each with its annotator."""
    world = make_world({"name": "a2", "batch": 3})
    with Journal(tmp_path / "a.db") as journal:
        session = Session(world.protocol, world.lab, journal, annotator="Ada")
        answered, skipped = session.open[:2]
        session.answer(answered, "yes")
        session.skip(skipped, annotator="Grace")
        session.correct(answered, "no", annotator="Zoë, MD")
    code, out, _ = command("export", tmp_path / "a.db")
    assert code == 0
    assert command("export", tmp_path / "a.db", "--out", tmp_path / "a.csv")[0] == 0
    assert (tmp_path / "a.csv").read_bytes().decode() == out
    rows = [
        tuple(row[key] for key in ("kind", "item", "label", "annotator")) for row in csv.DictReader(io.StringIO(out))
    ]
    assert [row for row in rows if row[0] in ("answer", "skip", "correction")] == [
        ("answer", answered, "yes", "Ada"),
        ("skip", skipped, "", "Grace"),
        ("correction", answered, "no", "Zoë, MD"),
    ]
    asked = [row[1] for row in rows if row[0] == "ask"]
    assert asked[:2] == [answered, skipped]
    assert len(asked) == 4  # three, and one in place of the skipped one
    assert command("export", tmp_path / "a.db", "--out", tmp_path / "no" / "a.csv")[0] == 2


# ---- what is no journal ----


def test_a_database_of_something_else_is_no_journal(tmp_path):
    """The sentence names the file."""
    write_into(tmp_path / "photos.db", "CREATE TABLE photos (name)")
    assert refused(tmp_path / "photos.db", write=False) == f"{tmp_path / 'photos.db'} is no journal of replical"
    assert write_into(tmp_path / "photos.db", "SELECT name FROM sqlite_master") == [("photos",)]


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
        journal.append([Event(kind="created", detail={"schema": "replical.journal/2"})])
    for write in (True, False, True):  # the third time: a refusal lets the lock go
        told = refused(newer, write=write)
        assert "'replical.journal/2'" in told
        assert f"'{SCHEMA}'" in told
    assert write_into(newer, "SELECT count(*) FROM replical_events") == [(1,)]


@pytest.mark.parametrize("seq", [1, 2])
def test_a_damaged_detail_names_its_event(path, seq):
    """Whoever repairs a journal knows where to look."""
    write_into(path, "DROP TRIGGER replical_no_update")
    write_into(path, 'UPDATE replical_events SET detail = \'{"schema": "repl\' WHERE seq = ?', seq)
    with (
        pytest.raises(BadJournal, match=re.escape(f"{path}: the detail of event {seq} is damaged")),
        Journal(path) as kept,
    ):
        kept.events()


def test_half_a_file_is_a_sentence(path):
    """A copy that was cut short."""
    cut = path.with_name("cut.db")
    cut.write_bytes(path.read_bytes()[:5000])
    told = refused(cut, write=False)
    assert told.startswith(f"the journal {cut} cannot be used")
    assert told.endswith("it was not changed")


def test_reading_leaves_no_trace(path, tmp_path):
    """Opened for reading: nothing is appended, and a journal that is not there is not made."""
    told = refused(tmp_path / "none.db", write=False)
    assert told == f"there is no journal {tmp_path / 'none.db'}"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.db", "a.db.lock"]
    before = path.read_bytes()
    with Journal(path, write=False) as journal:
        assert not journal.writable
        with pytest.raises(BadJournal, match="was opened for reading"):
            journal.append([Event(kind="answer", item="one", label=1)])
        with pytest.raises(BadJournal, match="was opened for reading"):
            journal.create({})
        assert len(journal.events()) == 3
    assert path.read_bytes() == before


def test_a_missing_folder_is_named(tmp_path):
    """Before anything is written anywhere."""
    told = refused(tmp_path / "no" / "a.db")
    assert told == f"there is no folder {tmp_path / 'no'} for the journal a.db"
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("name", ["a b.db", "é☃.db", "a#b.db", "a&b=c.db", "no suffix"])
def test_any_name_will_do(tmp_path, name):
    """The journal is the file that was named, and no other."""
    with Journal(tmp_path / name) as journal:
        journal.create({})
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([name, f"{name}.lock"])
    with Journal(tmp_path / name, write=False) as journal:
        assert journal.created["schema"] == SCHEMA


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://ada:{}@127.0.0.1:1/lab",  # nobody listens there, or the driver is missing
        "nosuchdatabase://ada:{}@127.0.0.1/lab",
        "postgresql+nosuchdriver://ada:{}@127.0.0.1/lab",
        "://ada:{}@127.0.0.1/lab",
    ],
)
@pytest.mark.parametrize("password", ["hunter2", "a%40hunter2", "%hunter2%"])
def test_a_password_is_never_shown(url, password, command):
    """Not by the library, not by any command, not as JSON."""
    url = url.format(password)
    told = [refused(url, write=write) for write in (True, False)]
    for words in (["export", url], ["correct", url, "--item", "a", "--label", "yes"]):
        code, out, err = command(*words)
        assert (code, out) == (2, "")
        told.append(err)
    assert all("127.0.0.1" in text for text in told)
    assert not any("hunter2" in text for text in told)


def test_without_sqlalchemy_the_extra_is_named(monkeypatch, tmp_path):
    """A journal is an optional part of the library."""
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingExtra, match=re.escape("pip install 'replical[lab]'")):
        Journal(tmp_path / "a.db")
    assert list(tmp_path.iterdir()) == []


# ---- one runner at a time ----

HOLD = """
import sys
from replical.lab.journal import Event, Journal
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


def test_a_second_runner_of_this_process_is_refused(path):
    """Refused with a sentence that says what to do; free again after close, also after a refusal."""
    with Journal(path) as first:
        for _ in range(2):
            told = refused(path)
            assert told.startswith(f"another runner is using the journal {path}")
            assert "own journal" in told
        first.append([Event(kind="ask", item="three")])
    with Journal(path) as again:
        assert len(again.events()) == 4


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


def test_a_reader_keeps_nobody_out(path):
    """`verify` and `export` do not stop a run."""
    with Journal(path, write=False) as reader, Journal(path) as writer:
        writer.append([Event(kind="ask", item="three")])
        assert [event.item for event in reader.events()] == [None, "one", "two", "three"]


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


@pytest.mark.parametrize("name", ["a?b.db", "a%20b.db", ":memory:", "50%.db"])
def test_a_name_is_not_a_url(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Journal(name) as journal:
        journal.create({})
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([name, f"{name}.lock"])


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


def test_reading_by_url_makes_no_file(tmp_path):
    """As by path."""
    refused(f"sqlite:///{tmp_path / 'none.db'}", write=False)
    assert list(tmp_path.iterdir()) == []


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


def test_a_label_that_is_none_can_be_exported(path, command):
    """Whoever looks for a damaged event needs the export most."""
    with Journal(path) as journal:
        journal.append([Event(kind="answer", item="one", label=7)])
    code, out, _ = command("export", path)
    assert code == 0
    assert ",label 7," in out

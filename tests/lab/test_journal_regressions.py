"""Journals in odd places and odd moments: file names, links, URLs, foreign databases, half-written votes."""

import os
import re
import sqlite3

import pytest

from replical import Session
from replical.errors import BadJournal, EmptyVersionSpace
from replical.journal import Event, Journal


def refused(*where, **how):
    with pytest.raises(BadJournal) as caught:
        Journal(*where, **how).close()
    return str(caught.value)


def write_into(path, statement, *values):
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path):
    with Journal(tmp_path / "a.db") as journal:
        journal.create({"protocol": {"labels": {"values": ["no", "yes"]}}})
        journal.append([Event(kind="ask", item="one"), Event(kind="ask", item="two")])
    return tmp_path / "a.db"


# ---- test_journal.py ----


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OR REPLACE INTO replical_events (seq, kind, at) VALUES (2, 'x', 'y')",
        "REPLACE INTO replical_events (seq, kind, at) VALUES (1, 'x', 'y')",
    ],
)
def test_the_database_itself_refuses_replacements(path, statement):
    """REPLACE removes the old row without asking the DELETE trigger."""
    before = write_into(path, "SELECT * FROM replical_events")
    with pytest.raises(sqlite3.IntegrityError, match="a journal is append-only"):
        write_into(path, statement)
    assert write_into(path, "SELECT * FROM replical_events") == before


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
def test_any_name_will_do(tmp_path, name, monkeypatch):
    """A name is not a URL."""
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
def test_a_password_is_never_shown(url):
    """Also of a URL that nobody can read."""
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


# ---- test_session.py ----


def test_a_session_on_a_journal_opened_for_reading_takes_no_answers(make_world, tmp_path):
    """'When this returns it is on the disk' must not be a lie."""
    world = make_world({"name": "a2", "batch": 3})
    world.begin(tmp_path / "a.db")
    with Journal(tmp_path / "a.db", write=False) as journal:
        session = Session(world.protocol, world.lab, journal)
        for act in (lambda: session.answer(session.open[0], "yes"), lambda: session.skip(session.open[0])):
            with pytest.raises(BadJournal, match="was opened for reading"):
                act()
        assert len(session.open) == 3


def test_contradicting_labels_are_no_end(make_world, tmp_path):
    """Said again at every look; a run that has no answer has not ended."""
    world = make_world({"name": "cal-rounds", "theta": 2.0, "k_loop": 8})
    x = dict(zip(world.columns["id"], world.columns["x"], strict=True))
    with Journal(world.begin(tmp_path / "a.db", private="ab" * 32)) as journal:
        session = Session(world.protocol, world.lab, journal)
        lowest, highest = min(session.open, key=x.get), max(session.open, key=x.get)
        told = {item: world.truth[item] for item in session.open} | {lowest: "yes", highest: "no"}
        with pytest.raises(EmptyVersionSpace):
            session.answer_all(told)
        for _ in range(2):
            with pytest.raises(EmptyVersionSpace):
                session.refresh()
            assert not session.ended


def test_a_deciding_vote_is_written_with_what_it_decides(make_world, tmp_path, monkeypatch):
    """Killed between the two, nobody would be left who may vote, and nothing would be decided."""
    world = make_world({"name": "cal"})
    with Journal(world.begin(tmp_path / "a.db")) as journal:
        session = Session(world.protocol, world.lab, journal)
        item, real, calls = session.open[0], Journal.append, []

        def append(self, events):
            events = list(events)
            calls.append([event.kind for event in events])
            real(self, events)

        monkeypatch.setattr(Journal, "append", append)
        for who in ("Ada", "Grace", "Zoë"):
            session.vote(item, "yes", annotator=who, needed=3)
        assert calls[:3] == [["vote"], ["vote"], ["vote", "answer"]]
        assert session.known.labels == {item: 1}

"""A runner that was taken for dead writes nothing more: on SQLite and on PostgreSQL, with real locks that are really lost."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from replical import Session
from replical.cli.page import PageOptions, serve_page
from replical.errors import BadJournal
from replical.lab.journal.journal import Event, Journal
from replical.lab.tables import ItemColumns
from support.annotators import Annotator
from support.postgres import execute

LOST = "no longer this run's to write"
HOLDER = "FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, tmp_path):
    """A journal's place, on each kind of database."""
    return tmp_path / "a.db" if request.param == "sqlite" else request.getfixturevalue("database")


@pytest.fixture
def lose(where):
    """Lose a runner's lock without its noticing: its file is removed, or its connection is terminated."""

    def now():
        if isinstance(where, str):
            ((gone,),) = execute(where, f"SELECT pg_terminate_backend(pid, 5000) {HOLDER}")
            assert gone
        else:
            os.unlink(f"{where}.lock")

    return now


@pytest.fixture
def world(make_world):
    return make_world({"name": "a2", "batch": 3, "epsilon": 0.3})


def told(journal):
    return [(event.kind, event.item) for event in journal.events()]


def test_the_first_of_two_runners_writes_nothing_more(where, lose, world):
    """Two real runs of one journal: the first one's lock is lost, the second goes on, the first tries again and again."""
    with Journal(where) as first:
        before = Session(world.protocol, world.lab, first)
        before.answer(before.open[0], world.truth[before.open[0]])
        lose()
        with Journal(where) as second:
            after = Session(world.protocol, world.lab, second)
            assert len(after.ledger.labels) == 1  # what was acknowledged is there
            known = told(second)
            item = before.open[0]
            for _ in range(3):
                for attempt in (
                    lambda: before.answer(item, "yes"),
                    lambda: before.skip(item),
                    lambda: first.create({}),
                ):
                    with pytest.raises(BadJournal, match=LOST):
                        attempt()
            assert told(second) == known
            world.finish(after)
        with Journal(where, write=False) as journal:
            answers = [event.item for event in journal.events() if event.kind == "answer"]
    assert len(answers) == len(set(answers)) == len(after.ledger.labels)


@pytest.mark.parametrize("where", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)], indirect=True)
def test_a_page_whose_run_is_lost_ends(where, lose, world, tmp_path, monkeypatch):
    """Whoever answers is told, and whoever started the run: one sentence, and the page is gone."""
    monkeypatch.setattr("replical.lab.page.serve._GRACE", 0.1)
    ports = []
    monkeypatch.setattr("replical.cli.page.notes.say", lambda line, **_: ports.append(line))
    with Journal(where) as first, ThreadPoolExecutor(1) as pool:
        session = Session(world.protocol, world.lab, first)
        served = pool.submit(serve_page, session, ItemColumns(None, []), "Labelling", PageOptions(port=0))
        while not ports:
            assert not served.done(), served.result()
            time.sleep(0.02)
        ann = Annotator(ports[0].removeprefix("Label at "), "ann")
        item = ann.next()
        lose()
        with Journal(where) as second:
            assert ann.answer(item, world.truth[item])[0] == 503
            ann.close()
            with pytest.raises(BadJournal, match=LOST):
                served.result(60)
            assert [event for event in second.events() if event.kind == "answer"] == []


def test_nobody_came_and_yet_nothing_is_written(database):
    """On a server a lock goes with its connection, and so does the right to write."""
    with Journal(database) as journal:
        journal.append([Event(kind="ask", item="one")])
        execute(database, f"SELECT pg_terminate_backend(pid, 5000) {HOLDER}")
        for _ in range(3):
            with pytest.raises(BadJournal, match=LOST):
                journal.append([Event(kind="ask", item="two")])
        assert told(journal) == [("ask", "one")]  # looking is allowed
    with Journal(database) as journal:
        assert told(journal) == [("ask", "one")]


def test_a_lock_that_went_while_its_connection_lives(database):
    """As a pooler does it that gives connections to others between two transactions: the number of the runner decides."""
    with Journal(database) as first:
        first.append([Event(kind="ask", item="one")])
        with first._fence.writing() as connection:
            connection.exec_driver_sql("SELECT pg_advisory_unlock_all()")
        first.append([Event(kind="ask", item="two")])  # nobody came
        with Journal(database) as second:
            second.append([Event(kind="ask", item="three")])
            with pytest.raises(BadJournal, match=f"{LOST}: another runner has taken over"):
                first.append([Event(kind="ask", item="four")])
            assert [item for _, item in told(second)] == ["one", "two", "three"]


def test_a_closed_journal_is_closed(where):
    """It has let the next runner in."""
    with Journal(where) as journal:
        journal.append([Event(kind="ask", item="one")])
    with Journal(where) as other:
        with pytest.raises(BadJournal, match=f"{LOST}: it was closed"):
            journal.append([Event(kind="ask", item="two")])
        assert len(told(other)) == 1


def test_people_beside_the_run_go_on(where, lose):
    """A lost lock is the runner's trouble: answers of others are written, before and after the next one came."""
    with Journal(where) as first, Journal(where, runner=False) as beside:
        first.append([Event(kind="ask", item="one")])
        lose()
        beside.append([Event(kind="answer", item="one", label=1)])
        with Journal(where) as second:
            beside.append([Event(kind="answer", item="two", label=1)])
            assert len(told(second)) == 3

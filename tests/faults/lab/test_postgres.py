"""PostgreSQL that would lose labels, or is started again. Killed again and again: ``faults/suite``."""

import signal

import pytest
import sqlalchemy

from replical import Session
from replical.errors import BadJournal
from replical.lab.journal import database as databases
from replical.lab.journal.journal import Event, Journal
from replical.lab.sessions.labelling import Desk, RemoteRun
from support.postgres import NoServer, cluster, empty_database, execute

OFF = {
    "database": "ALTER DATABASE {name} SET synchronous_commit = {value}",
    "role in a database": "ALTER ROLE postgres IN DATABASE {name} SET synchronous_commit = {value}",
}


@pytest.fixture
def committed():
    """What the settings were at every commit of a label, asked of the connections that committed."""
    found = []

    def executed(connection, cursor, statement, *_):
        connection.info["writes"] = connection.info.get("writes") or statement.startswith("INSERT INTO replical_events")

    def committing(connection):
        if connection.info.pop("writes", False):
            raw = connection.connection.dbapi_connection
            found.append(raw.execute("SHOW synchronous_commit").fetchone()[0])

    sqlalchemy.event.listen(sqlalchemy.Engine, "after_cursor_execute", executed)
    sqlalchemy.event.listen(sqlalchemy.Engine, "commit", committing)
    yield found
    sqlalchemy.event.remove(sqlalchemy.Engine, "after_cursor_execute", executed)
    sqlalchemy.event.remove(sqlalchemy.Engine, "commit", committing)


@pytest.mark.parametrize(
    ("whose", "value", "wanted"),
    [
        ("database", "off", "on"),
        ("role in a database", "off", "on"),
        pytest.param("database", "local", "on", marks=pytest.mark.slow),
        ("role in a database", "remote_apply", "remote_apply"),  # more than we want is left as it is
    ],
)
def test_every_commit_waits_for_the_disk_whatever_is_set(database, committed, whose, value, wanted):
    """A runner's, and those of people beside it; on connections that are used again too."""
    name = sqlalchemy.make_url(database).database
    execute(database, OFF[whose].format(name=name, value=value))
    assert execute(database, "SHOW synchronous_commit") == [(value,)]
    with Journal(database) as journal, Journal(database, runner=False) as beside:
        for each in (journal, beside, journal, beside):
            each.append([Event(kind="ask", item="one")])
    assert committed == [wanted] * 4


def test_a_setting_that_does_not_take_is_refused(database, monkeypatch):
    """As with a server, or something before it, that takes such a wish and does nothing."""
    with Journal(database) as journal:
        monkeypatch.setattr(databases, "_LASTING", "SELECT 'off', 'on'")
        with pytest.raises(BadJournal, match="has synchronous_commit=off, and it stays so: labels could be lost"):
            journal.append([Event(kind="ask", item="one")])
        monkeypatch.undo()
        assert journal.events() == []
        journal.append([Event(kind="ask", item="one")])


def test_any_usual_isolation_will_do(database):
    """Two writers in turn on a server whose transactions usually see one moment only."""
    name = sqlalchemy.make_url(database).database
    execute(database, f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    with Journal(database) as journal, Journal(database, runner=False) as beside:
        for number in range(6):
            (journal, beside)[number % 2].append([Event(kind="ask", item=str(number))])
        assert [event.item for event in journal.events()] == [*"012345"]


# ---- a server of their own ----


@pytest.fixture(scope="module")
def own():
    """A server that may be harmed."""
    pytest.importorskip("psycopg")
    try:
        with cluster(synchronous_commit="off") as made:
            yield made
    except NoServer as error:
        pytest.skip(f"no PostgreSQL: {error}")


@pytest.mark.slow
def test_who_labels_beside_goes_on_after_a_restart_and_the_runner_does_not(own, make_world):
    """Connections are made anew, but the runner's lock is gone; the next runner hears what was answered meanwhile."""
    world = make_world({"name": "a2", "batch": 3, "epsilon": 0.3})
    with empty_database(own.url) as url, Journal(url) as first, Journal(url, runner=False) as beside:
        session = Session(world.protocol, world.lab, first)
        desk = Desk(RemoteRun(beside))
        item = desk.next("ann")
        own.stop(signal.SIGQUIT)
        with pytest.raises(BadJournal, match="nothing that was acknowledged is lost"):
            session.answer(session.open[1], "yes")
        own.start()
        desk.answer("ann", item, world.truth[item])  # reservations are gone, and nobody minds
        assert desk.next("ann") not in (None, item)
        with pytest.raises(BadJournal, match="the connection that kept other runners away was cut"):
            session.answer(session.open[1], "yes")
        with Journal(url) as second:
            again = Session(world.protocol, world.lab, second)
            assert list(again.ledger.labels) == [item]
            world.finish(again)


@pytest.mark.slow
def test_a_server_that_does_not_wait_for_its_disk_is_refused():
    """fsync=off cannot be changed from here."""
    pytest.importorskip("psycopg")
    try:
        with cluster(fsync="off") as made, pytest.raises(BadJournal, match="has fsync=off, and it stays so"):
            Journal(made.url)
    except NoServer as error:
        pytest.skip(f"no PostgreSQL: {error}")

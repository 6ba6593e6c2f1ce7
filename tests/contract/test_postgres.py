"""The same flow on PostgreSQL: begin, go on, be killed, check, and be refused while somebody else runs.

Needs psycopg and a server (`support.postgres`). Without them the tests are skipped, and say so.
"""

import csv
import io
import threading
import time

import pytest
import sqlalchemy

from replical.cli import main
from replical.errors import BadJournal
from replical.lab.journal.journal import Event, Journal

BATCH = 3


@pytest.fixture
def files(make_world, tmp_path):
    """A small world on the disk."""
    world = make_world({"name": "a2", "batch": BATCH, "epsilon": 0.3}, noise=0.03)
    return world.write(tmp_path)


@pytest.fixture
def run(processes):
    """One command in a process of its own: exit code, standard output, standard error."""

    def call(*words):
        return processes.finish(processes.start("-m", "replical", *words))

    return call


def events(url):
    with Journal(url, write=False) as journal:
        return journal.events()


def answers(url):
    return [(event.item, event.label) for event in events(url) if event.kind == "answer"]


def on_sqlite(files, url, folder, lasting):
    """Certificate and answers of the same protocol, pool, labels and private seed on SQLite, not interrupted."""
    with Journal(folder / "sqlite.db") as journal:
        journal.append([Event(kind="created", detail=events(url)[0].detail)])
    assert main(files.run(folder / "sqlite.db", folder / "sqlite.json")) == 0
    return lasting(folder / "sqlite.json"), answers(folder / "sqlite.db")


def test_a_run_from_its_beginning_to_its_certificate(files, database, tmp_path, command, lasting):
    """Begun without labels, gone on with some and then with all of them, checked, exported: as on SQLite to the byte."""
    out, pool = tmp_path / "a.json", tmp_path / "pool.csv"
    (tmp_path / "none.csv").write_text("id,y\ni0,\n")
    code, _, err = command(*files.run(database, out, labels="none"))
    assert code == 2
    assert "has no label for the item" in err
    kinds = [event.kind for event in events(database)]
    assert (kinds[0], kinds.count("created"), kinds.count("ask")) == ("created", 1, BATCH)
    assert answers(database) == []
    expected, rows = on_sqlite(files, database, tmp_path, lasting)
    half = rows[: 4 * BATCH]
    (tmp_path / "some.csv").write_text("id,y\n" + "".join(f"{item},{['no', 'yes'][label]}\n" for item, label in half))
    assert command(*files.run(database, out, labels="some"))[0] == 2
    assert not out.exists()
    assert answers(database) == half
    code, said, err = command(*files.run(database, out, "--annotator", "Zoë ☃"))
    assert code == 0, err
    assert f"Written: {out} (" in said
    whole = answers(database)
    assert whole == rows
    assert len(whole) > len(half)
    assert {event.annotator for event in events(database) if event.kind == "answer"} == {None, "Zoë ☃"}
    assert lasting(out) == expected
    assert command("verify", out, "--pool", pool, "--journal", database)[0] == 0
    code, told, _ = command("journal", "export", database)
    assert code == 0
    assert events(database)[0].detail["private"] not in told
    told = [(row["item"], row["label"]) for row in csv.DictReader(io.StringIO(told)) if row["kind"] == "answer"]
    assert told == [(item, ["no", "yes"][label]) for item, label in whole]


def test_what_the_database_cannot_hold_is_a_sentence(files, database, tmp_path, command):
    """PostgreSQL has no text with a zero byte in it: refused, and nothing of the batch is recorded."""
    code, out, err = command(*files.run(database, tmp_path / "a.json", "--annotator", "\0"))
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert "nothing that was acknowledged is lost" in " ".join(err.split())
    assert answers(database) == []


def test_a_password_is_never_shown(database, command):
    """Wrong host, right URL otherwise."""
    url = sqlalchemy.make_url(database).set(password="hunter2", host="127.0.0.1", port=1, query={})
    code, out, err = command("journal", "export", url.render_as_string(hide_password=False))
    assert (code, out) == (2, "")
    assert "127.0.0.1" in err
    assert "hunter2" not in err
    assert "Traceback" not in err


def test_the_usual_driver_need_not_be_named(database):
    with Journal(database.replace("postgresql+psycopg:", "postgresql:")) as journal:
        assert journal.events() == []


def test_closed_is_free(database):
    """In one process: closed, refused or failed, the lock and every connection are gone."""
    for _ in range(3):
        with Journal(database) as journal:
            journal.append([Event(kind="ask", item="one")])
            with pytest.raises(BadJournal, match="another runner"):
                Journal(database)
    engine = sqlalchemy.create_engine(database, poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        patience = time.monotonic() + 10  # a server ends what was closed when it comes to it
        while connection.exec_driver_sql(others).scalar() and time.monotonic() < patience:
            time.sleep(0.05)
            connection.rollback()
        assert connection.exec_driver_sql(others).scalar() == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE replical_events SET item = 'x'",
        "DELETE FROM replical_events",
        "TRUNCATE replical_events",
        "INSERT INTO replical_events (seq, kind, at) VALUES (1, 'x', 'y') ON CONFLICT (seq) DO UPDATE SET kind = 'x'",
    ],
)
def test_the_database_itself_refuses_changes(database, statement):
    for _ in range(2):  # made once, found again
        with Journal(database) as journal:
            journal.append([Event(kind="ask", item="one")])
    engine = sqlalchemy.create_engine(database, poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection, pytest.raises(sqlalchemy.exc.DBAPIError, match="a journal is append-only"):
        connection.exec_driver_sql(statement)


def test_events_become_visible_in_the_order_of_their_numbers(database):
    """A reader that asks for what came after event n must not miss one with a smaller number that was committed later."""
    Journal(database).close()
    with Journal(database, runner=False) as one, Journal(database, runner=False) as two:
        held, go, seen = threading.Event(), threading.Event(), []

        def slow(connection, cursor, statement, parameters, context, many):
            if "slow" in str(parameters):
                held.set()
                go.wait(5)

        sqlalchemy.event.listen(sqlalchemy.Engine, "after_cursor_execute", slow)
        try:
            first = threading.Thread(target=lambda: one.append([Event(kind="ask", item="slow")]))
            first.start()
            assert held.wait(5)
            second = threading.Thread(target=lambda: two.append([Event(kind="ask", item="quick")]))
            second.start()
            second.join(1)
            last = 0
            with Journal(database, write=False) as reader:
                for _ in range(2):
                    for event in reader.events(after=last):
                        seen.append(event.item)
                        last = event.seq
                    go.set()
                    first.join()
                    second.join()
                seen += [event.item for event in reader.events(after=last)]
        finally:
            sqlalchemy.event.remove(sqlalchemy.Engine, "after_cursor_execute", slow)
    assert sorted(seen) == ["quick", "slow"]

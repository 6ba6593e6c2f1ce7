"""Databases of a few kilobytes that would compute for hours or fill the memory of whoever reads them."""

import contextlib
import json
import resource
import sqlite3
import subprocess
import sys
import time

import pytest

from replical.errors import BadJournal
from replical.lab.journal.journal import SCHEMA, Event, Journal
from replical.lab.journal.ledger import Ledger
from support.attacks import ATTACKS
from support.journals import begun

LOOP = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {}) "
COLUMNS = "seq, kind, item, label, annotator, at, detail, chain"
HUGE = "{} AS seq, 'created' AS kind, NULL AS item, NULL AS label, NULL AS annotator, '' AS at, {} AS detail, NULL AS chain"
PLAIN = f"CREATE TABLE replical_events ({COLUMNS}); CREATE"
FILES = {
    "a view that counts": f"CREATE VIEW replical_events AS {LOOP.format(10**10)} SELECT {HUGE.format('max(x)', 'NULL')} FROM n",
    "a view of huge texts": (
        f"CREATE VIEW replical_events AS {LOOP.format(50)} SELECT {HUGE.format('x', 'hex(zeroblob(60000000))')} FROM n"
    ),
    "a computed column": (
        "CREATE TABLE replical_events (seq INTEGER PRIMARY KEY, kind TEXT, item TEXT, label INTEGER, annotator TEXT, at TEXT, "
        "detail TEXT AS (hex(zeroblob(400000000))), chain BLOB); "
        "INSERT INTO replical_events (seq, kind, at) VALUES (1, 'created', '')"
    ),
    "a trigger that counts": f"{PLAIN} TRIGGER x AFTER INSERT ON replical_events BEGIN SELECT max(x) FROM "
    "(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n); END",
    "a trigger that lets nothing in": (
        f"{PLAIN} TRIGGER replical_no_replace BEFORE INSERT ON replical_events BEGIN SELECT RAISE(IGNORE); END"
    ),
    "an index that computes": f"{PLAIN} INDEX x ON replical_events (hex(zeroblob(60000000)))",
    "a view beside": f"CREATE VIEW other AS {LOOP.format(10**10)} SELECT * FROM n",
    "a virtual table": "CREATE VIRTUAL TABLE replical_events USING fts5(seq, kind, item, label, annotator, at, detail, chain)",
}


def hostile(path, script):
    """A file that this script has made."""
    with sqlite3.connect(path) as connection:
        connection.executescript(script)
    connection.close()
    return path


def opened(path, **how):
    """What comes of reading it, within a gigabyte and ten seconds."""
    code = "import sys; from replical.cli import main; sys.exit(main(['journal', 'show', sys.argv[1]]))"

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))

    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code, path], check=False, capture_output=True, text=True, timeout=60, preexec_fn=limit
    )
    return done.returncode, done.stderr, time.monotonic() - began


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("how", [{"write": False}, {"runner": False}, {}], ids=["read", "beside", "run"])
def test_what_is_computed_is_no_journal(tmp_path, kind, how):
    assert 3 * len(FILES) == ATTACKS["a database that computes for hours, or gigabytes, as a journal"]
    path = hostile(tmp_path / "a.db", FILES[kind])
    before, began = path.read_bytes(), time.monotonic()
    with pytest.raises(BadJournal, match="computes, and a journal only keeps"):
        Journal(path, **how)
    assert time.monotonic() - began < 2
    assert path.read_bytes() == before


DETAILS = (
    "{}", '{"items": 5}', '{"items": ["a"], "outputs": 5}', '{"items": [[]]}', '{"labels": "x"}', '{"labels": null}',
    '{"labels": 1e999}', '{"name": [1]}', '{"answer": [1, 2]}', '{"answer": {"a": [1]}}', '{"answer": 1.5}', '{"hypothesis": {}}',
    '{"outcome": []}', '{"fingerprint": [1]}', '{"fingerprint": "x", "items": "y"}', '{"pool_fingerprint": []}', '{"value": []}',
    '{"private": 5}', '{"private": "xyz"}', '{"protocol": 5}', '{"protocol": {"labels": 5}}', '{"items": -1}',
    '{"protocol": {"labels": {"values": 5}}}',
)  # fmt: skip


KINDS = ("part", "lab", "registration", "beacon", "measure", "budget", "join", "open", "answer", "done")


@pytest.mark.parametrize("detail", DETAILS)
def test_an_event_that_says_something_else_than_its_kind_is_refused_or_read(tmp_path, detail):
    """Of a journal whose chain is whole: whoever made it knows how to make one."""
    assert (
        len(KINDS) * len(DETAILS)
        == ATTACKS["an event that says something else than its kind, in a journal that is whole"]
    )
    for kind in KINDS:
        with contextlib.suppress(BadJournal):
            Ledger.of([Event(kind=kind, item="one", annotator="ann", detail=json.loads(detail))])
    with Journal(begun(tmp_path)) as journal, contextlib.suppress(BadJournal):
        journal.append([Event(kind="part", detail=json.loads(detail))])
        assert all(isinstance(each.items, int) for each in journal.growth)


@pytest.mark.parametrize("kind", ["part", "lab", "measure", "budget", "open"])
def test_what_is_no_such_event_is_one_sentence(tmp_path, kind, command):
    with Journal(begun(tmp_path)) as journal:
        journal.append([Event(kind=kind, detail={})])
    for words in (["journal", "show"], ["journal", "export", "--labels-only"]):
        code, _, err = command(*words, tmp_path / "a.db")
        assert (code, f"event 4, '{kind}', does not say what such an event says" in err) == (2, True)


@pytest.mark.parametrize("detail", [each for each in DETAILS if "pr" in each or "items" in each])
def test_a_first_event_that_is_damaged_is_refused_or_read(tmp_path, detail, command):
    with Journal(tmp_path / "a.db") as journal:
        said = {"schema": SCHEMA, "private": "00" * 32, **json.loads(detail)}
        journal.append([Event(kind="created", detail=said)])
    code, _, err = command("journal", "correct", tmp_path / "a.db", "--item", "one", "--label", "yes")
    assert (code, "is damaged: " in err) == (2, True)


def test_reading_stays_small_and_short(tmp_path):
    code, err, seconds = opened(hostile(tmp_path / "a.db", FILES["a view of huge texts"]))
    assert (code, "Traceback" in err) == (2, False)
    assert seconds < 10


def test_a_value_larger_than_any_of_ours_is_refused(tmp_path):
    path = begun(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO replical_events (kind, at, detail, chain) VALUES ('done', '', hex(zeroblob(50000000)), zeroblob(32))"
        )
    connection.close()
    with Journal(path, write=False) as journal, pytest.raises(BadJournal, match="cannot be used"):
        journal.events()


def test_readers_change_nothing_and_leave_nothing(tmp_path):
    path = begun(tmp_path)
    before, names = path.read_bytes(), {each.name for each in tmp_path.iterdir()}
    with Journal(path, write=False) as journal, journal._database.reading() as connection:
        assert len(journal.events()) > 1
        with pytest.raises(journal._sql.exc.OperationalError, match="readonly database"):
            connection.exec_driver_sql("DROP TABLE replical_events")
    assert path.read_bytes() == before
    assert {each.name for each in tmp_path.iterdir()} == names


def test_a_loop_ends(tmp_path):
    """Whatever else a file finds to compute: a reader's steps are limited by its size."""
    path = begun(tmp_path)
    with (
        Journal(path, write=False) as journal,
        pytest.raises(BadJournal, match="interrupted"),
        journal._database.reading() as connection,
    ):
        connection.exec_driver_sql(f"{LOOP.format(10**10)} SELECT max(x) FROM n").all()

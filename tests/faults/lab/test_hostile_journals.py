"""Databases of a few kilobytes that would compute for hours or fill the memory of whoever reads them."""

import resource
import sqlite3
import subprocess
import sys
import time

import pytest

from replical.errors import BadJournal
from replical.lab.journal.journal import Journal
from support.attacks import ATTACKS
from support.journals import begun

LOOP = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {}) "
COLUMNS = "seq, kind, item, label, annotator, at, detail, chain"
HUGE = "{} AS seq, 'created' AS kind, NULL AS item, NULL AS label, NULL AS annotator, '' AS at, {} AS detail, NULL AS chain"
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
    with pytest.raises(BadJournal, match="is computed, not kept"):
        Journal(path, **how)
    assert time.monotonic() - began < 2
    assert path.read_bytes() == before


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

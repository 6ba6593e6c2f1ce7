"""Killed at the worst moments, out of disk, or two at once: nothing acknowledged is lost, and the result is the same.

Kills at random moments: ``faults/suite``.
"""

import signal
from unittest import mock

import pytest

from replical import Session
from replical.errors import BadJournal
from replical.lab.journal.journal import Journal
from support.faults import Counts
from support.kills import recorded

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
BATCH = 3  # items open at once


@pytest.fixture(scope="module")
def begun(lab_of):
    """A journal that has just begun, and the certificate of a run that nobody interrupted."""
    with mock.patch("replical.lab.journal.journal.secrets.token_hex", return_value="c0ffee" * 10 + "beef"):
        return lab_of(BATCH)


@pytest.fixture
def lab(begun):
    """The run at its beginning."""
    return begun.again()


def sound(lab, *acknowledged):
    """Every acknowledged label is there, right, and charged once; so is what was written and not acknowledged."""
    counts = Counts("sound")
    lab.acknowledged |= set(acknowledged)
    rows = lab.check(counts)
    assert counts.faults == {}
    return rows


def ends_as_if_nothing_had_happened(lab):
    """Gone on with to the end, byte for byte."""
    counts = Counts("end")
    lab.finish(counts)
    assert counts.faults == {}


# Between write and acknowledgement: the process kills itself at exactly one place, at its third batch of labels.
PLACES = {
    "before the write": """
        real = Journal.append
        def append(self, events):
            events = list(events)
            if events[0].kind == "answer" and next(times) == 3:
                die()
            real(self, events)
        Journal.append = append
    """,
    "just before the commit": """
        def executed(connection, cursor, statement, parameters, context, many):
            connection.info["answers"] = "answer" in str(parameters)
        def committing(connection):
            if connection.info.pop("answers", False) and next(times) == 3:
                die()
        sqlalchemy.event.listen(sqlalchemy.Engine, "after_cursor_execute", executed)
        sqlalchemy.event.listen(sqlalchemy.Engine, "commit", committing)
    """,
    "after the write, before the acknowledgement": """
        real = Journal.append
        def append(self, events):
            events = list(events)
            real(self, events)
            if events[0].kind == "answer" and next(times) == 3:
                die()
        Journal.append = append
    """,
    "after the last label, before the end is recorded": """
        Session.finish = lambda self: die()
    """,
    "after the end is recorded, before the certificate": """
        real = Session.finish
        def finish(self):
            real(self)
            die()
        Session.finish = finish
    """,
    "before the certificate has its name": """
        Path.replace = lambda self, target: die()
    """,
}
HEAD = """
import itertools, os, signal, sys
from pathlib import Path
import sqlalchemy
from replical.cli import main
from replical.errors import BadJournal
from replical.lab.journal.journal import Journal
from replical.lab.sessions.session import Session
times = itertools.count(1)
def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""
QUICK = ("just before the commit", "after the write, before the acknowledgement")


@pytest.mark.parametrize(
    "place", [*QUICK, *(pytest.param(each, marks=pytest.mark.slow) for each in PLACES if each not in QUICK)]
)
def test_a_kill_between_write_and_acknowledgement(processes, lab, place):
    """A batch of labels is on the disk or it is not, never a part of it; either way the run ends the same."""
    body = "\n".join(line[8:] for line in PLACES[place].split("\n"))
    process = processes.start("-c", f"{HEAD}{body}\nsys.exit(main(sys.argv[1:]))", *lab.words, *lab.column)
    code, _, err = processes.finish(process)
    assert code == -signal.SIGKILL, err
    answers = len(sound(lab))
    if place.startswith("after the write"):
        assert answers == 3 * BATCH
    elif "label" in place or "certificate" in place:
        assert answers == len(lab.answers)
    else:
        assert answers == 2 * BATCH
    assert not lab.out.exists()
    ends_as_if_nothing_had_happened(lab)


def test_a_kill_while_the_journal_is_made(processes, make_world, tmp_path, command):
    """Half a creation is no creation: the next run begins, once, with one private seed."""
    files = make_world({"name": "cal"}).write(tmp_path)
    path, words = tmp_path / "a.db", files.run(tmp_path / "a.db", tmp_path / "a.json")
    code = f"{HEAD}\nJournal.append = lambda *_: die()\nsys.exit(main(sys.argv[1:]))"
    assert processes.finish(processes.start("-c", code, *words))[0] == -signal.SIGKILL
    assert recorded(path) == []
    assert command(*words)[0] == 0
    with Journal(path, write=False) as journal:
        assert [event.kind for event in journal.events()].count("created") == 1
        assert journal.events()[0].kind == "created"


# ---- out of disk ----
def test_no_room_is_no_end_for_a_session(make_world, tmp_path):
    """A label that could not be written is not known either: the item stays open, and is answered once there is room."""
    resource = pytest.importorskip("resource")
    world = make_world({"name": "a2", "batch": 2})
    with Journal(tmp_path / "a.db") as journal:
        session = Session(world.protocol, world.lab, journal)
        before, limits = session.open, resource.getrlimit(resource.RLIMIT_FSIZE)
        item = before[0]
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        try:
            for attempt in (lambda: session.answer(item, "yes"), lambda: session.skip(item)):
                with pytest.raises(BadJournal, match="nothing that was acknowledged is lost"):
                    attempt()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert session.open == before
        assert session.ledger.labels == {}
        assert session.ledger.skipped == set()
        session.answer(item, "yes")
        assert session.open == before[1:]
    assert recorded(tmp_path / "a.db") == [(item, 1)]

"""A run that goes on from snapshots is the run without them, whatever becomes of the snapshots."""

import hashlib
import random
import tempfile
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import Session
from replical.lab.certificate.file import body_of
from replical.lab.journal.journal import Journal
from replical.lab.sessions.replay import pack, unpack
from support.journals import unprotected, write_into

LEARNERS = (
    {"name": "handicap", "epsilon": 0.1},
    {"name": "handicap", "epsilon": 0.1, "batch": 4, "max_labels": 40},
    {"name": "handicap", "epsilon": 0.1, "nu": 0.0},
    {"name": "a2", "batch": 5},  # keeps nothing
)


@contextmanager
def the_same_every_time():
    """A snapshot every other label, and private seeds that are no chance's: whether snapshots get used depends on them."""
    seeds = count()
    with (
        patch("replical.lab.sessions.replay.EVERY", 2),
        patch("replical.lab.journal.journal.secrets.token_hex", lambda size: f"{next(seeds):0{2 * size}x}"),
    ):
        yield


@pytest.fixture(autouse=True)
def often():
    with the_same_every_time():
        yield


def plainly(world, path):
    """What a reader makes of the journal: readers use no snapshots."""
    with Journal(path, write=False) as journal:
        session = Session(world.protocol, world.lab, journal)
        return session.open, (None if session.open else body_of(session))


def something(session, world, chance, realizable):
    """An answer, or now and then a skip, a label taken back, or one corrected to and fro."""
    known, what = sorted(session.ledger.labels), chance.random()
    if what < 0.1 and len(session.ledger.skipped) < 3:
        session.skip(chance.choice(session.open))
    elif what < 0.2 and known:
        session.undo(chance.choice([known[-1], chance.choice(known)]))
    elif what < 0.3 and known and not realizable:
        item = chance.choice(known)
        values = world.protocol.labels
        session.correct(item, values[1 - session.ledger.labels[item]])
    else:
        item = chance.choice(session.open)
        session.answer(item, world.truth[item])


def life(make_world, learner, number, seed, looking=1.0):
    """A run with interruptions; it always asks what a replay asks. How often did it go on from a snapshot?"""
    realizable = learner.get("nu") == 0
    world, chance, used = make_world(learner, number=number, noise=0.0 if realizable else 0.1), random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        path, ended = Path(folder) / "a.db", False
        while not ended:
            with Journal(path) as journal:
                session = Session(world.protocol, world.lab, journal)
                used += session.replay.trusting
                while session.open and chance.random() < 0.8:
                    something(session, world, chance, realizable)
                    if chance.random() < looking:
                        assert session.open == plainly(world, path)[0]
                if not session.open:
                    ended = True
                    session.finish()
                    assert body_of(session) == plainly(world, path)[1]
    return used


@pytest.mark.parametrize(("learner", "seed"), [(LEARNERS[1], 5), (LEARNERS[2], 8)])
def test_snapshots_change_nothing(make_world, learner, seed):
    """And are used: otherwise this would say nothing."""
    assert life(make_world, learner, number=3, seed=seed, looking=0.2) > 0


@pytest.mark.slow
@settings(max_examples=12)
@given(learner=st.sampled_from(LEARNERS), number=st.integers(0, 99), seed=st.integers(0, 2**32))
def test_snapshots_never_change_anything(make_world, learner, number, seed):
    life(make_world, learner, number, seed)


# ---- what becomes of a snapshot ----


@pytest.fixture(scope="module")
def begun(make_world, tmp_path_factory):
    """A world, the file of a run of it with a snapshot, what is open, and what the snapshot is about."""
    world, path = make_world(LEARNERS[0], noise=0.1), tmp_path_factory.mktemp("snapshot") / "a.db"
    with the_same_every_time(), Journal(path) as journal:
        session = Session(world.protocol, world.lab, journal)
        for _ in range(9):
            session.answer(session.open[0], world.truth[session.open[0]])
        return world, path, session.open, session.replay.about


def spoiled(begun, tmp_path, spoil):
    """Go on from a snapshot that somebody changed: was it used, what was said, is the same asked?"""
    world, path, expected, _ = begun
    copy = tmp_path / "copy.db"
    copy.write_bytes(path.read_bytes())
    spoil(copy)
    notes = []
    with Journal(copy) as journal:
        session = Session(world.protocol, world.lab, journal, note=notes.append)
        used = session.replay.trusting
        asked = session.open
        world.finish(session)
        assert body_of(session) == plainly(world, copy)[1]
    return used, notes, asked == expected


def put(path, content):
    write_into(path, "UPDATE replical_snapshot SET content = ?", content)


def content_of(path):
    return write_into(path, "SELECT content FROM replical_snapshot")[0][0]


def test_a_good_one_is_used(begun, tmp_path):
    used, notes, same = spoiled(begun, tmp_path, lambda path: None)
    assert (used, same) == (True, True)
    assert notes == ["The run is replayed from its first label before it ends."]


def flipped(path):
    content = bytearray(content_of(path))
    content[len(content) // 2] ^= 1
    put(path, bytes(content))


def other_events(path):
    """The journal goes on otherwise than when the snapshot was made."""
    unprotected(path)
    write_into(path, "DELETE FROM replical_events WHERE seq > 4")
    write_into(path, "UPDATE sqlite_sequence SET seq = 4 WHERE name = 'replical_events'")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (flipped, "it is damaged"),
        pytest.param(lambda path: put(path, b""), "it is damaged", marks=pytest.mark.slow),
        (lambda path: put(path, hashlib.sha256(b"PK").digest() + b"PK"), "it is damaged"),
        pytest.param(lambda path: put(path, "text"), "it is damaged", marks=pytest.mark.slow),
        (other_events, "it belongs to later events"),
    ],
)
def test_one_that_is_of_no_use_is_ignored(begun, tmp_path, spoil, why):
    used, notes, _ = spoiled(begun, tmp_path, spoil)
    assert not used
    assert f"is ignored ({why})" in notes[0]


OTHERS = ("version", "protocol", "private seed")


@pytest.mark.parametrize("key", ["pool", *(pytest.param(key, marks=pytest.mark.slow) for key in OTHERS)])
def test_one_of_another_run_is_ignored(begun, tmp_path, key):
    """Made by another version, or for another protocol, pool or seed."""
    _, _, _, about = begun

    def spoil(path):
        snapshot = unpack(content_of(path), about)
        if key == "version":
            with patch("replical.lab.sessions.replay.version", lambda name: "0"):
                put(path, pack(snapshot, about))
        else:
            put(path, pack(snapshot, about | {key: "another"}))

    used, notes, same = spoiled(begun, tmp_path, spoil)
    assert (used, same) == (False, True)
    assert f"is ignored (it belongs to another {key})" in notes[0]


SLOW = ("m", "asked", "at", "S", "lost", "most", "scanned", "blocks", "items", "codes", "last")


@pytest.mark.parametrize("name", ["wealth", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_a_forged_one_changes_no_answer(begun, tmp_path, name):
    """Digest, bounds and all: people may be asked about other items, and the run ends as it would have (`spoiled` looks)."""
    _, _, _, about = begun

    def spoil(path):
        snapshot = unpack(content_of(path), about)
        array = snapshot.kept[name]
        wrong = (
            ~array
            if array.dtype == np.bool_
            else array + np.arange(3, 3 + array.size).reshape(array.shape).astype(array.dtype)
        )
        put(path, pack(snapshot._replace(kept={**snapshot.kept, name: wrong}), about))

    spoiled(begun, tmp_path, spoil)


def test_one_at_other_events_is_ignored(begun, tmp_path):
    """Bound to the chain: the same number, another hash."""
    _, _, _, about = begun

    def spoil(path):
        snapshot = unpack(content_of(path), about)
        put(path, pack(snapshot._replace(link=snapshot.link._replace(hash=b"x" * 32)), about))

    used, notes, same = spoiled(begun, tmp_path, spoil)
    assert (used, same) == (False, True)
    assert "is ignored (it belongs to other events)" in notes[0]

"""Whatever is done to the events of a journal is found, and named by its number; journals of before are read and go on."""

import hashlib
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.core.canonical import canonical
from replical.errors import BadJournal
from replical.lab.journal.journal import FIRST, Event, Journal
from support.journals import refused, unprotected, write_into

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
KINDS = st.sampled_from(["ask", "answer", "skip"])
EVENTS = st.builds(
    Event, seq=st.just(0), at=st.just(""), kind=KINDS, item=st.none() | TEXTS, label=st.none() | st.integers(0, 3),
    annotator=st.none() | TEXTS, detail=st.none() | st.dictionaries(TEXTS, st.integers() | TEXTS, max_size=2),
)  # fmt: skip


def written(folder, batches):
    """A journal with these events after its first."""
    with Journal(Path(folder) / "a.db") as journal:
        journal.create({})
        for batch in batches:
            journal.append(batch)
    return Path(folder) / "a.db"


def rows(path):
    return write_into(path, "SELECT seq, kind, item, label, annotator, at, detail, chain FROM replical_events")


def told(path, **how):
    """What reading all of it comes to: its events, or the sentence that refuses."""
    try:
        with Journal(path, **how) as journal:
            return journal.events()
    except BadJournal as error:
        return str(error)


@settings(max_examples=5)
@given(batches=st.lists(st.lists(EVENTS, max_size=3), max_size=3))
def test_hashes_are_those_of_the_definition(batches):
    """Each is SHA-256 of the one before and of the canonical JSON of the fields: computed here a second time."""
    with tempfile.TemporaryDirectory() as folder:
        path, before = written(folder, batches), FIRST
        for *fields, kept in rows(path):
            before = hashlib.sha256(before + canonical(fields).encode()).digest()
            assert kept == before
        with Journal(path, write=False) as journal:
            assert journal.head == (len(rows(path)), before)


# ---- what somebody does to the file ----

OTHER = {
    "kind": "vote", "item": "other", "label": 9, "annotator": "Eve", "at": "2000-01-01",
    "detail": '{"by": "Eve, who changed it"}',
}  # fmt: skip


def changed(connection, draw, seqs):
    seq, field = draw(st.sampled_from(seqs)), draw(st.sampled_from(sorted(OTHER)))
    connection.execute(f"UPDATE replical_events SET {field} = ? WHERE seq = ?", (OTHER[field], seq))
    return f"event {seq} is not what was written there"


def retyped(connection, draw, seqs):
    """A bit of the file that says of what type a value is."""
    seq, field = draw(st.sampled_from(seqs)), draw(st.sampled_from(["item", "annotator", "at", "kind"]))
    connection.execute(f"UPDATE replical_events SET {field} = x'ff00' WHERE seq = ?", (seq,))
    return f"event {seq} is damaged"


def dropped(connection, draw, seqs):
    seq = draw(st.sampled_from(seqs))
    connection.execute("DELETE FROM replical_events WHERE seq = ?", (seq,))
    return f"event {seq} is missing"


def dropped_and_closed_up(connection, draw, seqs):
    seq = draw(st.sampled_from(seqs[:-1]))
    connection.execute("DELETE FROM replical_events WHERE seq = ?", (seq,))
    for later in range(seq + 1, seqs[-1] + 1):
        connection.execute("UPDATE replical_events SET seq = ? WHERE seq = ?", (later - 1, later))
    return f"event {seq} is not what was written there"


def swapped(connection, draw, seqs):
    """Two neighbours, hashes and all."""
    seq = draw(st.sampled_from(seqs[:-1]))
    for old, new in ((seq, -1), (seq + 1, seq), (-1, seq + 1)):
        connection.execute("UPDATE replical_events SET seq = ? WHERE seq = ?", (new, old))
    return f"event {seq} is not what was written there"


def inserted(connection, draw, seqs):
    """At the end, without a hash, or with any."""
    kept = draw(st.sampled_from([None, b"", FIRST]))
    connection.execute(
        "INSERT INTO replical_events (kind, item, label, at, chain) VALUES ('answer', 'one', 1, 'now', ?)", (kept,)
    )
    return f"event {seqs[-1] + 1} is not " + ("linked" if kept is None else "what was written there")


def unlinked(connection, draw, seqs):
    """An event without its hash."""
    connection.execute("UPDATE replical_events SET chain = NULL")
    return "event 1 is not linked"


def cut(connection, draw, seqs):
    """Only what SQLite remembers shows this one."""
    seq = draw(st.sampled_from(seqs))
    connection.execute("DELETE FROM replical_events WHERE seq >= ?", (seq,))
    return f"event {seq} is missing" if seq == seqs[-1] else f"events {seq} to {seqs[-1]} are missing"


ATTACKS = (changed, retyped, dropped, dropped_and_closed_up, swapped, inserted, unlinked, cut)


BATCHES = st.lists(EVENTS, min_size=1, max_size=5)


@pytest.mark.parametrize("attack", ATTACKS)
@settings(max_examples=2)
@given(data=st.data(), batch=BATCHES)
def test_what_was_done_is_named(data, attack, batch):
    """By the number of the first event it shows at, to whoever reads, runs or adds; and nothing is written then."""
    attacked(data, attack, batch)


@pytest.mark.slow
@settings(max_examples=200)
@given(data=st.data(), attack=st.sampled_from(ATTACKS), batch=BATCHES)
def test_whatever_was_done_is_named(data, attack, batch):
    """Again, many times."""
    attacked(data, attack, batch)


def attacked(data, attack, batch):
    """Write, attack, read in every way."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, [batch])
        before = told(path)
        unprotected(path)
        connection = sqlite3.connect(path)
        with connection:
            expected = attack(connection, data.draw, list(range(1, len(batch) + 2)))
        connection.close()
        kept = rows(path)
        for how in ({"write": False}, {}, {"runner": False}):
            found = told(path, **how)
            assert isinstance(found, str), (attack.__name__, before, found)
            assert f"{path}: {expected}" in found
            assert found.endswith("cannot be trusted")
        assert rows(path) == kept


@settings(max_examples=4)
@given(data=st.data(), batch=st.lists(EVENTS, min_size=4, max_size=8))
def test_whoever_goes_on_reading_finds_it_too(data, batch):
    """A session reads what is new; the chain goes on from what it has read."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, [batch])
        unprotected(path)
        seq = data.draw(st.integers(2, len(batch) + 1))
        write_into(path, "UPDATE replical_events SET item = 'another item' WHERE seq = ?", seq)
        with Journal(path, write=False) as journal:
            for after in range(1, len(batch) + 1):
                try:
                    assert [each.seq for each in journal.events(after=after)] == list(range(after + 1, len(batch) + 2))
                    assert after >= seq
                except BadJournal as error:
                    assert f"event {seq} is not what was written" in str(error)
                    assert after < seq


# ---- journals of another kind ----


def test_a_journal_without_a_chain_is_one_of_another_version(tmp_path):
    path = written(tmp_path, [[Event(kind="ask", item="one")]])
    unprotected(path)
    write_into(path, "ALTER TABLE replical_events DROP COLUMN chain")
    write_into(path, "UPDATE replical_events SET detail = replace(detail, 'journal/3', 'journal/1') WHERE seq = 1")
    for how in ({"write": False}, {"runner": False}, {}):
        assert "was written as 'replical.journal/1', this version reads 'replical.journal/3'" in refused(path, **how)


def test_a_chain_that_was_taken_out_with_its_column(tmp_path):
    """A journal that began with a chain has one."""
    path = written(tmp_path, [[Event(kind="ask", item="one")]])
    unprotected(path)
    write_into(path, "ALTER TABLE replical_events DROP COLUMN chain")
    for how in ({"write": False}, {"runner": False}, {}):
        assert "event 1 is not linked" in refused(path, **how)


def test_what_no_chain_shows(tmp_path):
    """Everything written anew, hashes and all, is a journal like any other: only a head that is known elsewhere tells."""
    heads = []
    for name in "ab":
        (tmp_path / name).mkdir()
        with Journal(written(tmp_path / name, [[Event(kind="ask", item=name)]]), write=False) as journal:
            heads.append(journal.head)
    assert heads[0].seq == heads[1].seq == 2
    assert heads[0].digest != heads[1].digest


def test_two_writers_make_one_chain(tmp_path):
    """People label beside the run: whoever is second is linked to who was first."""
    path = written(tmp_path, [])
    with Journal(path) as runner, Journal(path, runner=False) as other:
        for number in range(3):
            for writer in (runner, other):
                writer.append([Event(kind="ask", item=f"{number}"), Event(kind="ask", item=f"{number} too")])
        assert runner.events() == other.events()
        assert [event.seq for event in runner.events()] == list(range(1, 14))

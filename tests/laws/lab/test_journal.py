"""Whatever is written in a journal comes back as it was, and no export tells the seed."""

import csv
import io
import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from replical.core.text import exported
from replical.lab.journal.journal import SCHEMA, Event, Journal

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)  # all of Unicode; a lone surrogate is no text
EVENTS = st.builds(
    Event, seq=st.just(0), at=st.just(""), kind=st.sampled_from(["ask", "answer", "skip", "correction"]),
    item=st.none() | TEXTS, label=st.none() | st.integers(0, 2**31 - 1), annotator=st.none() | TEXTS,
    detail=st.none() | st.dictionaries(TEXTS, st.integers() | TEXTS | st.lists(TEXTS, max_size=2), max_size=3),
)  # fmt: skip


def plain(event):
    """An event without what the journal itself adds."""
    return (event.kind, event.item, event.label, event.annotator, event.detail)


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


# ---- as CSV ----


@settings(max_examples=20)
@given(
    told=st.lists(st.tuples(TEXTS.filter(bool), st.integers(0, 2), st.none() | TEXTS.filter(bool)), max_size=5),
    values=st.lists(TEXTS.filter(bool), min_size=3, max_size=3, unique=True),
)
def test_the_export_tells_labels_and_not_the_seed(told, values):
    """Read back by any CSV reader: ids, names and label values, formulas made harmless; positions of labels nowhere."""
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
        tuple(exported([item, values[code], who])) for item, code, who in told
    ]
    assert [(int(row["seq"]), row["kind"], row["at"]) for row in rows] == [(e.seq, e.kind, e.at) for e in kept]
    assert json.loads(rows[0]["detail"]) == {"schema": SCHEMA, "protocol": {"labels": {"values": values}}}

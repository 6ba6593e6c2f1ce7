"""Which registration and which value of a beacon count, whatever the order of events."""

import pytest

pytest.importorskip("sqlalchemy")

from hypothesis import given
from hypothesis import strategies as st

from replical.lab.journal.journal import Event
from replical.lab.journal.ledger import Ledger

SAID = {"answer": 0, "skip": None, "vote": 0, "undo": None, "correction": 1}
kinds = st.sampled_from(["created", "lab", "measure", "open", "ask", "registration", "beacon", "done", *SAID])


def event(kind, number):
    details = {
        "registration": {"digest": str(number)}, "beacon": {"value": str(number)}, "lab": {"name": "north"},
        "measure": {"labels": 1}, "open": {"items": ["i"]}, "done": {"hypothesis": 0},
    }  # fmt: skip
    about = {"item": "i", "label": SAID.get(kind)} if kind in SAID or kind == "ask" else {}
    return Event(kind=kind, detail=details.get(kind), annotator="x" if kind == "vote" else None, **about)


def reference(said):
    """The first registration before the first word about an item; then the last value before it."""
    end = next((place for place, kind in enumerate(said) if kind in SAID), len(said))
    first = next((place for place, kind in enumerate(said[:end]) if kind == "registration"), None)
    values = [
        place for place, kind in enumerate(said[:end]) if kind == "beacon" and first is not None and place > first
    ]
    return first, values[-1] if values else None


@given(st.lists(kinds, max_size=12))
def test_what_counts_comes_before_the_first_word_about_an_item(said):
    ledger = Ledger.of(event(kind, number) for number, kind in enumerate(said))
    first, last = reference(said)
    assert (ledger.registration or {}).get("digest") == (None if first is None else str(first))
    assert ledger.beacon == (None if last is None else str(last))

"""A run that is driven elsewhere, seen through its journal: what it asks for, and a way to answer."""

from __future__ import annotations

from collections.abc import Callable

from replical.classes.base import Label
from replical.errors import BadJournal, BadLabel
from replical.lab.journal import Event, Journal
from replical.lab.ledger import Ledger


class Elsewhere:
    """Open items are those the journal asks for and nobody has answered.

    Parameters
    ----------
    journal
        Opened with ``runner=False``: the run itself holds the lock.
    """

    def __init__(self, journal: Journal) -> None:
        created = journal.created
        if created is None:
            raise BadJournal(f"the journal {journal.where} is empty: start the run first, with --ask journal")
        self.journal = journal
        self.labels: tuple[Label, ...] = tuple(created["protocol"]["labels"]["values"])
        # the protocol's budget is for its own runs
        self.budget: int | None = None if "claim" in created else created["protocol"]["learner"].get("max_labels")
        self.ledger, self.mass = Ledger(), 0.0
        self._last_event = 0
        self._done = False
        self.refresh()

    def refresh(self) -> None:
        """Take in what the run and other people have written."""
        for event in self.journal.events(after=self._last_event):
            self._last_event = event.seq
            self.ledger.hear(event)
            if event.kind in ("done", "open", "undo", "skip", "correction"):  # a late answer changes nothing
                self._done = event.kind == "done"
            if event.kind == "open" and event.detail is not None:
                count, total = event.detail["disagreement"]
                self.mass = count / total

    @property
    def open(self) -> list[str]:
        """What the run waits for."""
        return self.ledger.waiting

    @property
    def ended(self) -> bool:
        """Has the run written its result?"""
        return self._done and not self.open

    def answer(self, item: str, label: Label, *, annotator: str | None = None) -> None:
        """A label; the run hears it when it looks at the journal."""
        event = Event(kind="answer", item=item, label=self.labels.index(label), annotator=annotator)
        self._write(lambda: self._if_open(item, [event]))

    def vote(self, item: str, label: Label | None, *, annotator: str, needed: int) -> None:
        """One of several opinions."""
        code = None if label is None else self.labels.index(label)
        self._write(lambda: self._if_open(item, self.ledger.ballot(item, code, annotator, needed)))

    def skip(self, item: str, *, annotator: str | None = None) -> None:
        """Nobody can say."""
        self._write(lambda: self._if_open(item, [Event(kind="skip", item=item, annotator=annotator)]))

    def undo(self, item: str, *, annotator: str | None = None) -> None:
        """Take back."""

        def events() -> list[Event]:
            if self._done:
                raise BadLabel("the run has ended: its labels are changed with replical correct")
            if not self.ledger.gave(item, annotator):
                raise BadLabel(f"there is nothing of yours to take back about the item {item!r}")
            return [Event(kind="undo", item=item, annotator=annotator)]

        self._write(events)

    def _if_open(self, item: str, events: list[Event]) -> list[Event]:
        if item not in self.open:
            raise BadLabel(f"the item {item!r} has its label already, or is not asked for: take the next one")
        return events

    def _write(self, events: Callable[[], list[Event]]) -> None:
        """Look and write as one: whatever somebody else writes in between is heard first, and the events made anew."""
        self.refresh()
        while not self.journal.append(events(), last=self._last_event):
            self.refresh()
        self.refresh()

"""A run that is driven elsewhere, seen through its journal: what it asks for, and a way to answer."""

from __future__ import annotations

from replical.classes.base import Label
from replical.errors import BadJournal, BadLabel
from replical.journal import Event, Journal
from replical.known import Known


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
        self._journal = journal
        self.labels: tuple[Label, ...] = tuple(created["protocol"]["labels"]["values"])
        self.budget: int | None = created["protocol"]["learner"].get("max_labels")
        self.known, self.mass = Known(), 0.0
        self._heard = 0
        self._done = False
        self.refresh()

    def refresh(self) -> None:
        """Take in what the run and other people have written."""
        for event in self._journal.events(after=self._heard):
            self._heard = event.seq
            self.known.hear(event)
            self._done = event.kind == "done"
            if event.kind == "open" and event.detail is not None:
                count, total = event.detail["disagreement"]
                self.mass = count / total

    @property
    def open(self) -> list[str]:
        """What the run waits for."""
        return self.known.waiting

    @property
    def ended(self) -> bool:
        """Has the run written its result?"""
        return self._done and not self.open

    def answer(self, item: str, label: Label, *, annotator: str | None = None) -> None:
        """A label; the run hears it when it looks at the journal."""
        self._write("answer", item, label, annotator)

    def vote(self, item: str, label: Label, *, annotator: str, needed: int) -> None:
        """One of several opinions."""
        self.refresh()
        decided = self.known.decision(item, annotator, self.labels.index(label), needed)
        self._write("vote", item, label, annotator, decided=decided)

    def skip(self, item: str, *, annotator: str | None = None) -> None:
        """Nobody can say."""
        self._journal.append([Event(kind="skip", item=item, annotator=annotator)])
        self.refresh()

    def undo(self, item: str, *, annotator: str | None = None) -> None:
        """Take back."""
        self._journal.append([Event(kind="undo", item=item, annotator=annotator)])
        self.refresh()

    def _write(self, kind: str, item: str, label: Label, annotator: str | None, *, decided: int | None = None) -> None:
        """An answer, or a vote together with the answer that it decides."""
        self.refresh()
        if item not in self.open:
            raise BadLabel(f"the item {item!r} has its label already, or is not asked for: take the next one")
        events = [Event(kind=kind, item=item, label=self.labels.index(label), annotator=annotator)]
        if decided is not None:
            events.append(Event(kind="answer", item=item, label=decided, annotator="vote"))
        self._journal.append(events)
        self.refresh()

"""Several people label one run: who gets which item, votes, and taking back. One lock, so nothing is charged twice.

The run may be driven elsewhere: then it is seen through its journal, what it asks for and a way to answer.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from replical.classes.grading import Gold, Said, Scores
from replical.errors import BadLabel, BadUsage, ValueOutOfRange
from replical.lab.columns import said_code
from replical.lab.journal.binding import kept_protocol
from replical.lab.journal.journal import Event, Journal, saying
from replical.lab.journal.ledger import Ledger
from replical.lab.sessions.session import Session

# For how long an item is left to whoever was shown it: three times the usual answer, within these limits, in seconds.
_LEAST, _FIRST, _MOST, _TIMES, _RECENT = 10.0, 30.0, 120.0, 3, 50


def check_votes(votes: int) -> None:
    """Refuse a number of votes that decides nothing."""
    if isinstance(votes, bool) or not isinstance(votes, int) or votes < 1 or votes % 2 == 0:
        raise ValueOutOfRange(f"votes must be an odd number, so that they decide, got {votes!r}")


class Desk:
    """Hands out open items and hears answers; with several `votes` an item the commonest label counts.

    The `session` may also be a run that is driven elsewhere. An `outlook` is told when to look, and says `about` how many
    labels are left, and `within` how much of the best the first of a public order is proven to be; None where nobody knows.
    Who is labelling what is known to all desks of it.
    """

    def __init__(
        self,
        session: Session | RemoteRun,
        *,
        votes: int = 1,
        outlook: Any = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_votes(votes)
        if votes > 1 and isinstance(session.answers, Scores):
            raise BadUsage("each output is scored once: leave out votes, and let more people score more items")
        self.session, self.votes, self._outlook = session, votes, outlook
        self._reservations = session.journal.reservations
        self._clock = clock
        self._spoke: set[str] = set()  # who has ever said something of an item
        self._silent: dict[str, float] = {}  # who has not, and since when they are shown items
        self.lock = threading.RLock()
        self._took: deque[float] = deque(maxlen=_RECENT)  # seconds of the last answers
        self._history: dict[str, list[str]] = {}  # items that each may take back
        self._look()

    def next(self, annotator: str) -> str | None:
        """An open item for this annotator; None if there is none for them now.

        What one was shown stays theirs. Nobody is given an item that enough others are labelling at this moment: their
        work would count for nothing. Somebody slow, or gone, keeps an item for a while only; somebody who has never
        said anything keeps none after that.
        """
        with self.lock:
            self.session.refresh()
            item = self._reservations.take(annotator, self._places(annotator), self._patience)
            while item is not None:
                self.session.refresh()  # another desk may have heard the last answer since, and have freed the place
                places = self._places(annotator)
                if item in places:
                    if self._is_silent(annotator):
                        self._reservations.release(annotator, item, labelled=False)
                    return item
                self._reservations.release(annotator, item, labelled=item not in self.session.open)
                item = self._reservations.take(annotator, places, self._patience)
            return None

    def _is_silent(self, annotator: str) -> bool:
        """Has this annotator been shown items for too long, and never said a word?"""
        if annotator in self._spoke:
            return False
        now = self._clock()
        return now - self._silent.setdefault(annotator, now) >= self._patience

    def _places(self, annotator: str) -> dict[str, int]:
        """Items that this annotator may label, and how many people may be at each.

        While enough votes are tied, or more are open after a vote was taken back, one more person decides.
        """
        voted = self.session.ledger.votes
        mine = [item for item in self.session.open if not self._has_voted(annotator, item)]
        return {item: max(1, self.votes - len(voted.get(item, {}))) for item in mine}

    @property
    def _patience(self) -> float:
        """For how long an item is left to whoever was shown it, in seconds."""
        return min(max(_LEAST, _TIMES * median(self._took)), _MOST) if self._took else _FIRST

    def shown(self, item: str) -> list[str]:
        """Outputs of an `item` that is being judged, to be judged now: one to be scored, or two that duel."""
        with self.lock:
            ledger = self.session.ledger
            together = 1 if isinstance(self.session.answers, Scores) else 2
            return ledger.to_judge(item)[:together] if item in ledger.shown else []

    def show(self, annotator: str, item: str) -> None:
        """The annotator sees what is to be judged, and cannot skip the item any more."""
        with self.lock:
            self.check_open(annotator, item)
            self.session.show(item, annotator=annotator)

    def judge(self, annotator: str, item: str, choice: str, outputs: list[str]) -> None:
        """What the annotator says of the `outputs` that they were shown."""
        with self.lock:
            self.check_open(annotator, item)
            if not isinstance(answers := self.session.answers, Gold) or outputs != self.shown(item):
                raise BadLabel(f"this output of the item {item!r} has its score already: take the next one")
            self.answer(annotator, item, answers.judged(choice, outputs))

    def answer(self, annotator: str, item: str, label: Said | None) -> None:
        """A label or a vote, None from who cannot say; when this returns it is on the disk."""
        with self.lock:
            self.check_open(annotator, item)
            with self._remember(annotator, item):
                if self.votes > 1:
                    self.session.vote(item, label, annotator=annotator, needed=self.votes)
                elif label is None:
                    self.session.skip(item, annotator=annotator)
                else:
                    self.session.answer(item, label, annotator=annotator)

    def skip(self, annotator: str, item: str) -> None:
        """The annotator cannot say."""
        self.answer(annotator, item, None)

    def undo(self, annotator: str) -> str:
        """Take this annotator's last action back; the item is open again if the run still asks for it."""
        with self.lock:
            if not self._history.get(annotator):
                raise BadLabel("there is nothing to take back")
            item = self._history[annotator][-1]
            self.session.undo(item, annotator=annotator)
            self._history[annotator].pop()  # only now: writing may fail
            self._reservations.hold(annotator, item)
            self._look()
            return item

    def check_open(self, annotator: str, item: str) -> None:
        """Refuse what has its label, or this annotator's vote."""
        self._spoke.add(annotator)
        self._silent.pop(annotator, None)
        if item not in self.session.open:
            raise BadLabel(f"the item {item!r} has its label already, or is not asked for: take the next one")
        if self._has_voted(annotator, item):
            raise BadLabel(f"{annotator} has voted on the item {item!r} already")

    def _has_voted(self, annotator: str, item: str) -> bool:
        """Votes of an earlier start with several of them count for nothing where one label is enough."""
        return self.votes > 1 and annotator in self.session.ledger.votes.get(item, {})

    @contextmanager
    def _remember(self, annotator: str, item: str) -> Iterator[None]:
        """Whatever was written may be taken back, also if the run cannot go on with it."""
        try:
            yield
        finally:
            if self.session.ledger.may_take_back(item, annotator):
                self._note_action(annotator, item)

    def _note_action(self, annotator: str, item: str) -> None:
        self._history.setdefault(annotator, []).append(item)
        still = item in self.session.open
        took = self._reservations.release(annotator, item, labelled=not still)
        if still and self.session.ledger.outputs.get(item) and self.votes == 1:  # the next output is theirs too
            self._reservations.hold(annotator, item)
        if took is not None:
            self._took.append(took)
        self._look()

    def _look(self) -> None:
        if self._outlook is not None:
            self._outlook.look()

    @property
    def ended(self) -> bool:
        """Has the run ended?"""
        return self.session.ended

    def progress(self) -> dict[str, Any]:
        """What a person who labels may see: counts, about how many are left, what is proven; no labels or predictions."""
        with self.lock:
            labels, most = self.session.ledger.label_count, self.session.budget
            return {
                "labels": labels,
                "open": len(self.session.open),
                "ended": self.ended,
                "left": None if most is None else max(0, most - labels),
                "about": None if self._outlook is None else self._outlook.about,
                "within": None if self._outlook is None or self.ended else self._outlook.within,
                "agreement": self.agreement(),
            }

    def agreement(self) -> dict[str, Any] | None:
        """How often two people who labelled one item said the same; None without votes."""
        return None if self.votes == 1 else self.session.ledger.agreement()


class RemoteRun:
    """A run seen through its `journal`: open items are those it asks for and nobody has answered."""

    def __init__(self, journal: Journal) -> None:
        self.journal, self.protocol = journal, kept_protocol(journal)
        self.answers = self.protocol.answers
        own = "confirms" not in (journal.created or {})  # the protocol's budget is for its own runs
        self.budget = self.protocol.content["learner"].get("max_labels") if own else None
        self.ledger = Ledger()
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

    @property
    def open(self) -> list[str]:
        """What the run waits for."""
        return self.ledger.open_items

    @property
    def ended(self) -> bool:
        """Has the run written its result?"""
        return self._done and not self.open

    def show(self, item: str, *, annotator: str | None = None) -> None:
        """Somebody sees what is to be judged."""
        self._write(lambda: self._check_open(item, [Event(kind="show", item=item, annotator=annotator)]))

    def answer(self, item: str, label: Said, *, annotator: str | None = None) -> None:
        """A label; the run hears it when it looks at the journal."""
        event = saying("answer", item, said_code(label, self.answers, f"the answer of the item {item!r}"), annotator)
        self._write(lambda: self._check_open(item, [event]))

    def vote(self, item: str, label: Said | None, *, annotator: str, needed: int) -> None:
        """One of several opinions."""
        code = None if label is None else said_code(label, self.answers, f"the answer of the item {item!r}")
        self._write(lambda: self._check_open(item, self.ledger.ballot(item, code, annotator, needed)))

    def skip(self, item: str, *, annotator: str | None = None) -> None:
        """Nobody can say."""
        self._write(lambda: self._check_open(item, [Event(kind="skip", item=item, annotator=annotator)]))

    def undo(self, item: str, *, annotator: str | None = None) -> None:
        """Take back."""

        def events() -> list[Event]:
            if self._done:
                raise BadLabel("the run has ended: its labels are changed with replical journal correct")
            if not self.ledger.may_take_back(item, annotator):
                raise BadLabel(f"there is nothing of yours to take back about the item {item!r}")
            return [Event(kind="undo", item=item, annotator=annotator)]

        self._write(events)

    def _check_open(self, item: str, events: list[Event]) -> list[Event]:
        if item not in self.open:
            raise BadLabel(f"the item {item!r} has its label already, or is not asked for: take the next one")
        if any(event.kind in ("skip", "vote") and event.answer is None for event in events):
            self.ledger.check_skip(item)
        return [event for event in events if event.kind != "show" or item not in self.ledger.shown]

    def _write(self, events: Callable[[], list[Event]]) -> None:
        """Look and write as one: whatever somebody else writes in between is heard first, and the events made anew."""
        self.refresh()
        while not self.journal.append(events(), last=self._last_event):
            self.refresh()
        self.refresh()

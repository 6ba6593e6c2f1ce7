"""A run that lives in its journal: ask, tell, skip, correct, stop, go on tomorrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from replical.classes.grading import Answering, Gold, Said, Scores
from replical.core.canonical import canonical, digest_of
from replical.core.memory import without_garbage_collection
from replical.core.randomness import PrivateRandomness
from replical.errors import BadJournal, BadLabel, ReplicalError, ValueOutOfRange
from replical.lab.journal.binding import bind, check_registered, name_events, seed_of
from replical.lab.journal.journal import Event, Journal, saying
from replical.lab.journal.ledger import CHANGES, Ledger
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.learners.base import Course, Learner
from replical.learners.measured import Measured
from replical.learners.planning import learner_for
from replical.learners.result import Result
from replical.pools.pool import Pool
from replical.pools.query import Answers, Query


class Replay:
    """What a journal says, and the conversation with it of the `learner`: every label known so far is told to it again.

    The state of a run is a function of protocol, pool, private seed and what the journal says of each item: its label, or
    that nobody could label it. Whatever happened between two labels, the same journal gives the same result to the byte.

    What the lab wants to spend the `budgets` say, or the journal where there are none.
    """

    def __init__(
        self, protocol: Protocol, lab: LabPool, journal: Journal, *, secret: bytes, budgets: Budgets | None
    ) -> None:
        self.protocol, self.lab, self.journal = protocol, lab, journal
        self.secret, self._learner, self._given = secret, protocol.learner, budgets
        self.places = {each: number for number, each in enumerate(lab.ids)}
        self.ledger = Ledger()
        self.private = b""  # the seed of the lab's private randomness, once the journal has been heard
        self._last = 0  # the last event that was heard
        self._course: Course | None = None

    def hear(self) -> None:
        """Take in the events since the last one that was heard."""
        with without_garbage_collection():
            self._hear()
        if not self.private:
            self._draw()

    def go_on(self) -> Query | None:
        """Tell the learner every label known so far, from the first one if need be; what it asks for then."""
        course = self.course
        while (query := course.query) is not None and not self.unanswered(query):
            try:
                course.tell(self._answers(query))
            except (ReplicalError, ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
                self._course = None  # it cannot go on, but has not ended: the labels may still be corrected
                raise
        return query

    def unanswered(self, query: Query) -> list[str]:
        """Ids of the items of a `query` that have no label yet."""
        ids, labels = self.lab.ids, self.ledger.labels
        return [
            ids[item] for item in query.items.tolist() if ids[item] not in labels or self.unscored(ids[item], query)
        ]

    def unscored(self, item: str, query: Query) -> list[str]:
        """Where outputs are scored: those of an item of the `query` without a score, in an order of this lab's own."""
        if not query.outputs:
            return []
        codes = query.outputs[query.items.tolist().index(self.places[item])]
        outputs, scored = cast(Any, self.lab.items).outputs[self.places[item]], self.ledger.labels.get(item)
        known = scored if isinstance(scored, Mapping) else {}
        return self.shuffle(item, [outputs[code] for code in codes if outputs[code] not in known])

    def shuffle(self, item: str, outputs: Iterable[str]) -> list[str]:
        """Outputs of an item in an order of this lab's own."""
        return sorted(outputs, key=lambda output: self.rank(item, output))

    def rank(self, item: str, output: str) -> str:
        """A private random number of an output of an item."""
        return digest_of(self.private + canonical([item, output]).encode())

    def pool_without(self, skipped: Iterable[str]) -> Pool:
        """The lab's items in private order, where the items `skipped` cannot be labelled."""
        pool = self.lab.pool(PrivateRandomness(self.private))
        unasked = np.array(sorted(self.places[each] for each in skipped), dtype=np.int64)
        return pool.without(unasked) if len(unasked) else pool

    @property
    def course(self) -> Course:
        """The conversation, begun anew where what was said before has changed."""
        if self._course is None:
            self._course = Course(self.learner, self.pool_without(self.ledger.skipped), self.protocol.shared)
        return self._course

    @property
    def learner(self) -> Learner:
        """Who asks."""
        return self.budgets.of(self._learner)

    @property
    def error_labels(self) -> int:
        """Labels to ask for after the answer is known."""
        return self.budgets.error

    @property
    def budgets(self) -> Budgets:
        """What the lab wants to spend."""
        return self._given or Budgets(self.ledger.budget, self.ledger.error_labels)

    def _hear(self) -> None:
        ledger = self.ledger
        for event, _ in self.journal.news(self._last):
            if event.answer is not None or event.item not in self.places:
                self._check(event)
            if event.kind in CHANGES or event.item in ledger.skipped:
                self._course = None  # what was said before has changed
            ledger.hear(event)
            self._last = max(self._last, event.seq)

    def _check(self, event: Event) -> None:
        where = f"event {event.seq} of {self.journal.where}"
        if event.item is not None and event.item not in self.places:
            raise BadJournal(f"{where} is about {event.item!r}, which is not in the pool")
        answers, said = self.protocol.answers, event.answer
        if isinstance(answers, Gold):
            known = said is None or answers.reads(said)
        else:
            known = said is None or (isinstance(said, int) and 0 <= said < len(answers))
        if not known:
            raise BadJournal(f"{where} has a label that the protocol does not have")

    def _draw(self) -> None:
        """The private seed. A run of a protocol that asks for a registration waits for it, and for the beacon's value."""
        check_registered(self.protocol, self.lab, self.journal, self.ledger, self.secret)
        self.private = seed_of(self.secret, self.ledger.beacon)

    def _answers(self, query: Query) -> Answers:
        said = [self.ledger.labels[self.lab.ids[item]] for item in query.items.tolist()]
        return Answers.of(query, said, self.lab.recipe.C, self.lab.items)


class Budgets(NamedTuple):
    """Labels that a lab wants to spend, None where the plan decides; and those to measure the answer's error with."""

    choose: int | None = None
    error: int = 0

    def of(self, learner: Learner) -> Learner:
        """The `learner` with these, and after it what measures the error of its answer."""
        if self.choose is not None:
            learner = learner_for(learner.plan.spending(self.choose))
        return Measured(learner, self.error) if self.error else learner


class Session(Replay):
    """One lab's run of a protocol on its pool.

    Parameters
    ----------
    protocol
        What is published.
    lab
        The lab's own items, from `read_pool`.
    journal
        A new journal is bound to protocol and pool; an old one must belong to them.
    annotator
        Who labels, unless a call names somebody.
    budgets
        Labels that the lab wants to spend, and those to measure the answer's error with; what the journal says if left out.
    note
        Called with sentences for whoever runs it.

    Attributes
    ----------
    ledger
        What the journal adds up to: ``labels`` has the label codes by item, ``skipped`` the items nobody could label.
    secret
        What this lab commits to.
    private
        The seed of the lab's private randomness: the secret, or a hash of it and a beacon's value, if there is one.
    fresh
        Had nothing been asked when the journal was opened?

    Raises
    ------
    BadJournal
        If the journal belongs to another protocol or pool, is damaged, or lacks a registration that the protocol asks for.
    PlanMismatch
        If the protocol's plan was not made for such a pool.

    Examples
    --------
    >>> import tempfile
    >>> from replical import Session, read_pool
    >>> from replical.lab.journal.journal import Journal
    >>> from replical.lab.protocol import Protocol
    >>> protocol = Protocol.of({"schema": "replical.protocol/1", "seed": "doctest",
    ...     "class": {"kind": "thresholds", "features": ["x"], "count": 100}, "labels": {"values": ["no", "yes"]},
    ...     "learner": {"name": "cal", "epsilon": .1, "delta": .1, "rho": .1}})
    >>> pool = read_pool({"id": list(range(1000)), "x": [i % 99 for i in range(1000)]}, protocol.recipe)
    >>> with tempfile.TemporaryDirectory() as folder, Journal(f"{folder}/a.db") as journal:
    ...     session = Session(protocol, pool, journal)
    ...     while session.open:
    ...         item = session.open[0]
    ...         session.answer(item, "yes" if int(item) % 99 >= 40 else "no")
    ...     session.result.labels == len(session.ledger.labels), len(session.open), session.counts["skipped"]
    (True, 0, 0)
    """

    def __init__(
        self,
        protocol: Protocol,
        lab: LabPool,
        journal: Journal,
        *,
        annotator: str | None = None,
        budgets: Budgets | None = None,
        note: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._annotator = annotator
        secret, lab = bind(protocol, lab, journal, (budgets or Budgets()).of(protocol.learner), note)
        super().__init__(protocol, lab, journal, secret=secret, budgets=budgets)
        self.hear()
        self.fresh = not self.ledger.asked
        self.refresh()

    def refresh(self) -> None:
        """Read what was added to the journal since, by this session or others, and go on from there."""
        self.hear()
        query = self.go_on()
        self._check_conclusion(query)
        if query is None:
            return
        if self.journal.writable and self.open != self.ledger.open_items:
            fresh = [Event(kind="ask", item=each) for each in self.open if each not in self.ledger.asked]
            detail: dict[str, Any] = {"items": self.open, "disagreement": list(query.disagreement)}
            if getattr(self.protocol.answers, "choices", ()):  # outputs are shown to be judged
                detail["outputs"] = {item: self.outputs(item) or self.pair(item) for item in self.open}
            self._record([*fresh, Event(kind="open", detail=detail)])

    def _check_conclusion(self, query: Query | None) -> None:
        """Refuse a run that had ended and comes to something else now, although nobody changed anything."""
        if self.protocol.binding or not self.ledger.results or self.ledger.changed or self.ledger.grown:
            return  # the budget of a confirmation may be raised
        was, more = self.ledger.results[-1], query is not None and self._given is None
        if more or (query is None and was != self.result.conclusion):
            now = "asks for more labels" if more else f"comes to hypothesis {self.result.conclusion}"
            raise BadJournal(
                f"the run in the journal {self.journal.where} had ended with hypothesis {was} and {now} now, although no "
                "label was corrected, taken back or skipped since: use the version of replical that made it, or give the "
                "items that are wrong their labels with replical journal correct"
            )

    def _record(self, events: list[Event]) -> None:
        """First on the disk, then in memory."""
        if events:
            self.journal.append(events)
            self.refresh()

    @property
    def open(self) -> list[str]:
        """Ids of the items to label now; none when the run has ended."""
        query = self.course.query
        return [] if query is None else self.unanswered(query)

    def outputs(self, item: str) -> list[str]:
        """Of an open `item` the outputs that need a score, in a private order; none where outputs are not scored."""
        query = self.course.query
        return [] if query is None else self.unscored(item, query)

    def wanted(self, item: str, said: Said) -> Said:
        """Of what is `said` of an open `item`, what is asked for: where outputs are scored, scores of those that need one.

        Raises
        ------
        BadLabel
            If one of them lacks.
        """
        scores = self.protocol.code(item, said)
        if not isinstance(scores, Mapping):
            return said
        outputs = self.outputs(item)
        if missing := [output for output in outputs if output not in scores]:
            raise BadLabel(
                f"the output {missing[0]!r:.60} of the item {item!r} has no score: give every different output one"
            )
        return {output: scores[output] for output in outputs}

    def pair(self, item: str) -> list[str]:
        """All outputs of an `item`, in a private order."""
        return self.shuffle(item, cast(Any, self.lab.items).outputs[self.places[item]])

    @property
    def ended(self) -> bool:
        """Has the run ended?"""
        return self.course.query is None

    @property
    def result(self) -> Result:
        """What the run returned; `BadLabel` is raised while labels are missing."""
        return self.course.result()

    @property
    def answers(self) -> Answering:
        """What may be said of an item."""
        return self.protocol.answers

    @property
    def counts(self) -> dict[str, int]:
        """How many labels were asked, answered, skipped and corrected, and the budget of the lab that has one.

        Where outputs are scored these are items, and `judgements` counts scores.
        """
        labels, skipped = self.used_labels
        counts = {
            "asked": self.course.asked,
            "answered": len(labels),
            "skipped": len(skipped),
            "corrected": self.ledger.corrected,
        }
        if isinstance(self.protocol.answers, Scores):
            counts["judgements"] = self.course.judged
        if self.budgets.choose is not None:
            counts["budget"] = self.budgets.choose
        return counts

    @property
    def used_labels(self) -> tuple[dict[str, Said], set[str]]:
        """Labels, and items that nobody could label, as far as a run that has ended looked: a later one may look further."""
        ledger, reach = self.ledger, self.result.items_scanned if self.ended else None
        if reach is None:
            return ledger.labels, ledger.skipped
        order = self.lab.order(PrivateRandomness(self.private))
        seen = {self.lab.ids[item] for item in order[:reach].tolist()}
        labels = {item: code for item, code in ledger.labels.items() if item in seen}
        return labels, ledger.skipped & seen

    @property
    def budget(self) -> int | None:
        """The most labels the run may ask for, where the protocol or the lab says so."""
        most = self.budgets._replace(error=0).of(self.protocol.learner).plan.budget
        return None if most is None else most + self.error_labels

    def measure_error(self, labels: int) -> None:
        """Measure how often the answer errs, with so many more `labels`; the journal remembers the largest number.

        Raises
        ------
        PlanMismatch
            If the learner looks at the whole pool.
        ValueOutOfRange
            If it is no whole number of at least 1.
        """
        Measured(self.protocol.learner, labels)
        if labels > self.ledger.error_labels:
            self._record([Event(kind="measure", detail={"labels": labels})])

    def spend(self, labels: int) -> None:
        """Ask for exactly this many `labels` in all; the journal remembers the last number.

        Where the first of a public order is proven before, the others sharpen its tolerance.

        Raises
        ------
        PlanMismatch
            If the learner asks for as many labels as its plan says.
        ValueOutOfRange
            If it is no whole number of at least 1.
        """
        if isinstance(labels, bool) or not isinstance(labels, int) or labels < 1:
            raise ValueOutOfRange(
                f"a lab spends at least 1 label, got until_budget = {labels!r}: give a number like 200"
            )
        self.protocol.plan.spending(labels)
        if labels != self.ledger.budget:
            self._record([Event(kind="budget", detail={"labels": labels})])

    def sign(self, name: str) -> None:
        """Name the lab, once and for all: certificates carry the `name`.

        Raises
        ------
        BadUsage
            If it is no name, or none that the protocol lists.
        BadJournal
            If the journal has another one.
        """
        self._record(name_events(self.protocol, self.journal, self.ledger, name))

    def answer(self, item: str, label: Said, *, annotator: str | None = None) -> None:
        """Give an open `item` its `label`. When this returns, it is on the disk, with the name of the `annotator`.

        Raises
        ------
        BadLabel
            If the item is not open, or the label is not in the label set.
        """
        self.answer_all({item: label}, annotator=annotator)

    def answer_all(self, labels: Mapping[str, Said], *, annotator: str | None = None) -> None:
        """Give open items their `labels`, by id, all or none, with the name of the `annotator`.

        Raises
        ------
        BadLabel
            If an item is not open, or a label is not in the label set.
        """
        wanted = set(self.open)
        for item in labels:
            if item not in wanted:
                raise BadLabel(f"the item {item!r} is not asked for now; open are {', '.join(self.open[:5]) or 'none'}")
        who = annotator or self._annotator
        self._record([saying("answer", item, self._code(item, label), who) for item, label in labels.items()])

    def _code(self, item: str, label: Said) -> Said:
        """What a journal keeps of a `label`, which is about nothing but outputs of its item."""
        code, answers = self.protocol.code(item, label), self.protocol.answers
        stray = answers.stray(code, self.pair(item)) if isinstance(answers, Gold) and answers.choices else None
        if stray is not None:
            raise BadLabel(f"the answer of the item {item!r} is about {stray!r:.60}, which no candidate says there")
        return code

    def show(self, item: str, *, annotator: str | None = None) -> None:
        """Record that `annotator` sees an output of this `item`: from now on nobody can skip it."""
        if item not in self.ledger.shown:
            self._record([Event(kind="show", item=item, annotator=annotator or self._annotator)])

    def skip(self, item: str, *, annotator: str | None = None) -> None:
        """Record that nobody can label this open `item`, as `annotator` says; the next one of the scan takes its place.

        Raises
        ------
        BadLabel
            If the item is not open.
        """
        if item not in self.open:
            raise BadLabel(f"the item {item!r} is not asked for now, so it cannot be skipped")
        self.ledger.check_skip(item)
        self._record([Event(kind="skip", item=item, annotator=annotator or self._annotator)])

    def vote(self, item: str, label: Said | None, *, annotator: str, needed: int) -> None:
        """Record one of several opinions on an open item; the commonest counts once there are enough.

        Parameters
        ----------
        item
            Its id.
        label
            What this person says; None if they cannot say.
        annotator
            Who they are; a second vote replaces the first.
        needed
            How many opinions decide, at least; a tie decides nothing.

        Raises
        ------
        BadLabel
            If the item is not open, or the label is not in the label set.
        """
        if item not in self.open:
            raise BadLabel(f"the item {item!r} is not asked for now")
        if label is None:
            self.ledger.check_skip(item)
        code = None if label is None else self._code(item, label)
        self._record(self.ledger.ballot(item, code, annotator, needed))

    def undo(self, item: str, *, annotator: str | None = None) -> None:
        """Take back what `annotator` said of `item`: an answer, a skip or a vote. Without a name, what anybody said.

        The run is replayed without it.

        Raises
        ------
        BadLabel
            If there is nothing to take back.
        """
        if not self.ledger.may_take_back(item, annotator):
            raise BadLabel(f"there is nothing to take back about the item {item!r}")
        self._record([Event(kind="undo", item=item, annotator=annotator)])

    def correct(self, item: str, label: Said, *, annotator: str | None = None) -> None:
        """Replace the label of an answered `item` by `label`, as `annotator` says; the run is replayed with it.

        Raises
        ------
        BadLabel
            If the item has no label, has this one already, or the label is not in the label set.
        """
        if item not in self.ledger.labels:
            raise BadLabel(f"the item {item!r} has no label to correct")
        code = self._code(item, label)
        if code == self.ledger.labels[item]:
            raise BadLabel(f"the item {item!r} already has the label {label!r}: nothing recorded")
        self._record([saying("correction", item, code, annotator or self._annotator)])

    def finish(self) -> None:
        """Record what the run came to, once it has ended."""
        result = self.result
        if not self.ledger.results or self.ledger.results[-1] != result.conclusion or self.ledger.grown:
            detail: dict[str, int | str | None] = {"hypothesis": result.hypothesis, "labels": result.labels}
            if result.conclusion != result.hypothesis:
                detail["outcome"] = result.conclusion
            self._record([Event(kind="done", detail=detail)])


def transcript(session: Session) -> list[list[Any]]:
    """Items and labels of a `session` by id, then what was skipped, with None: what a certificate commits to."""
    labels, skipped = session.used_labels
    entries: list[list[Any]] = [[item, labels[item]] for item in sorted(labels)]
    return entries + [[item, None] for item in sorted(skipped)]

"""The conversation of a run, rebuilt from its journal: every label known so far is told to the learner again.

The state of a run is a function of protocol, pool, private seed and what the journal says of each item: its label, or
that nobody could label it. So a run is rebuilt by replaying the learner's conversation with the labels known so far;
whatever happened between two labels, the same journal gives the same result to the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from replical.classes.grading import Gold
from replical.core.canonical import canonical, digest_of
from replical.core.memory import without_garbage_collection
from replical.core.randomness import PrivateRandomness
from replical.errors import BadJournal, ReplicalError
from replical.lab.journal.binding import check_registered, seed_of
from replical.lab.journal.journal import Event, Journal
from replical.lab.journal.ledger import CHANGES, Ledger
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.learners.base import Course, Learner
from replical.learners.measured import Measured
from replical.learners.planning import learner_for
from replical.pools.pool import Pool
from replical.pools.query import Answers, Query


class Replay:
    """What a journal says, and the conversation with it of the `learner`.

    What the lab wants to spend the `budgets` say, or the journal where there are none.
    """

    def __init__(
        self,
        protocol: Protocol,
        lab: LabPool,
        journal: Journal,
        *,
        secret: bytes,
        learner: Learner,
        budgets: Budgets | None,
    ) -> None:
        self._protocol, self._lab, self._journal = protocol, lab, journal
        self._secret, self._learner, self._given = secret, learner, budgets
        self.places = {each: number for number, each in enumerate(lab.ids)}
        self.ledger = Ledger()
        self.private = b""  # the seed of the lab's private randomness, once the journal has been heard
        self._heard = 0  # the last event that was heard
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
        while (query := course.query) is not None and not self.open(query):
            try:
                course.tell(self._answers(query))
            except (ReplicalError, ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
                self._course = None  # it cannot go on, but has not ended: the labels may still be corrected
                raise
        return query

    def open(self, query: Query) -> list[str]:
        """Ids of the items of a `query` that have no label yet."""
        ids, labels = self._lab.ids, self.ledger.labels
        return [
            ids[item] for item in query.items.tolist() if ids[item] not in labels or self.unscored(ids[item], query)
        ]

    def unscored(self, item: str, query: Query) -> list[str]:
        """Where outputs are scored: those of an item of the `query` without a score, in an order of this lab's own."""
        if not query.outputs:
            return []
        codes = query.outputs[query.items.tolist().index(self.places[item])]
        outputs, scored = cast(Any, self._lab.items).outputs[self.places[item]], self.ledger.labels.get(item)
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
        pool = self._lab.pool(PrivateRandomness(self.private))
        unasked = np.array(sorted(self.places[each] for each in skipped), dtype=np.int64)
        return pool.without(unasked) if len(unasked) else pool

    @property
    def course(self) -> Course:
        """The conversation, begun anew where what was said before has changed."""
        if self._course is None:
            self._course = Course(self.learner, self.pool_without(self.ledger.skipped), self._protocol.shared)
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
        for event, _ in self._journal.news(self._heard):
            if event.answer is not None or event.item not in self.places:
                self._check(event)
            if event.kind in CHANGES or event.item in ledger.skipped:
                self._course = None  # what was said before has changed
            ledger.hear(event)
            self._heard = max(self._heard, event.seq)

    def _check(self, event: Event) -> None:
        where = f"event {event.seq} of {self._journal.where}"
        if event.item is not None and event.item not in self.places:
            raise BadJournal(f"{where} is about {event.item!r}, which is not in the pool")
        answers, said = self._protocol.answers, event.answer
        if isinstance(answers, Gold):
            known = said is None or answers.reads(said)
        else:
            known = said is None or (isinstance(said, int) and 0 <= said < len(answers))
        if not known:
            raise BadJournal(f"{where} has a label that the protocol does not have")

    def _draw(self) -> None:
        """The private seed. A run of a protocol that asks for a registration waits for it, and for the beacon's value."""
        check_registered(self._protocol, self._lab, self._journal, self.ledger, self._secret)
        self.private = seed_of(self._secret, self.ledger.beacon)

    def _answers(self, query: Query) -> Answers:
        said = [self.ledger.labels[self._lab.ids[item]] for item in query.items.tolist()]
        return Answers.of(query, said, self._lab.recipe.C, self._lab.items)


class Budgets(NamedTuple):
    """Labels that a lab wants to spend, None where the plan decides; and those to measure the answer's error with."""

    choose: int | None = None
    error: int = 0

    def of(self, learner: Learner) -> Learner:
        """The `learner` with these, and after it what measures the error of its answer."""
        if self.choose is not None:
            learner = learner_for(learner.plan.spending(self.choose))
        return Measured(learner, self.error) if self.error else learner

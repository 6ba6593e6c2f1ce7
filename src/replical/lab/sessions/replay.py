"""The conversation of a run, rebuilt from its journal: every label known so far is told to the learner again.

The state of a run is a function of protocol, pool, private seed and what the journal says of each item: its label, or
that nobody could label it. So a run is rebuilt by replaying the learner's conversation with the labels known so far;
whatever happened between two labels, the same journal gives the same result to the byte.

A long run goes on from a snapshot: what it remembered at some event. A snapshot is kept beside the events and is never part
of what is known: it says for which protocol, pool, private seed and version it was made, and at which event and hash of the
chain. A damaged or foreign one is ignored. Whoever goes on from one replays the run from its first label before it ends, so
no answer and no certificate ever rests on a snapshot: the worst that a forged one does is to have people asked about other
items.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from typing import Any, NamedTuple, cast

import numpy as np

from replical.classes.gold import Gold
from replical.core.canonical import canonical, digest_of
from replical.core.memory import without_garbage_collection
from replical.core.randomness import PrivateRandomness
from replical.errors import BadJournal, ReplicalError
from replical.lab.journal.journal import Event, Journal, Link
from replical.lab.journal.ledger import CHANGES, Ledger
from replical.lab.journal.owner import check_registered, seed_of
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.learners.base import Course, Learner, State
from replical.learners.measured import Measured
from replical.learners.planning import learner_for
from replical.pools.pool import Pool
from replical.pools.query import Answers, Query

EVERY = 2000  # labels between two snapshots
# What a run may come to that goes on from a snapshot which is none of its own.
_STUMBLES = (ReplicalError, ArithmeticError, AssertionError, LookupError, TypeError, ValueError)


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
        note: Callable[[str], None],
    ) -> None:
        self._protocol, self._lab, self._journal = protocol, lab, journal
        self._secret, self._note = secret, note
        self._learner, self._given = learner, budgets
        self.places = {each: number for number, each in enumerate(lab.ids)}
        self.ledger = Ledger()
        self.private = b""  # the seed of the lab's private randomness, once the journal has been heard
        self.trusting = False  # did the conversation go on from a snapshot?
        self._link = Link()  # how far the journal has been heard
        self._course: Course | None = None
        self._snapshot = self._find_snapshot()
        self._replayed = 0  # labels when the last snapshot was made

    def hear(self) -> None:
        """Take in the events since the last one that was heard."""
        with without_garbage_collection():
            self._hear()
        if not self.private:
            self._draw()

    def go_on(self) -> Query | None:
        """Tell the learner every label known so far, from the first one if need be; what it asks for then."""
        query = self._tell_labels()
        if query is None and self.trusting:
            self._note("The run is replayed from its first label before it ends.")
            self._snapshot = self._course = None
            query = self._tell_labels()
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
        return sorted(outputs, key=lambda output: digest_of(self.private + canonical([item, output]).encode()))

    def pool_without(self, skipped: Iterable[str]) -> Pool:
        """The lab's items in private order, where the items `skipped` cannot be labelled."""
        pool = self._lab.pool(PrivateRandomness(self.private))
        unasked = np.array(sorted(self.places[each] for each in skipped), dtype=np.int64)
        return pool.without(unasked) if len(unasked) else pool

    @property
    def course(self) -> Course:
        """The conversation, begun anew where what was said before has changed."""
        if self._course is None:
            pool, shared = self.pool_without(self.ledger.skipped), self._protocol.shared
            learner = self.learner
            if self._snapshot is not None:
                try:
                    self._course = Course(learner, pool, shared, state=self._snapshot.kept)
                except _STUMBLES as error:
                    self._ignore(f"the run cannot go on from it: {error}")
            self.trusting = self._course is not None
            self._course = Course(learner, pool, shared) if self._course is None else self._course
            self._replayed = self._course.asked if self.trusting else 0
        return self._course

    @property
    def learner(self) -> Learner:
        """Who asks."""
        return self.budgets.of(self._learner)

    @property
    def measuring(self) -> int:
        """Labels to ask for after the answer is known."""
        return self.budgets.measure

    @property
    def budgets(self) -> Budgets:
        """What the lab wants to spend."""
        return self._given or Budgets(self.ledger.budget, self.ledger.measure)

    def keep(self) -> None:
        """Keep a snapshot now and then, where the run remembers anything."""
        course = self.course
        if not self._journal.drives or course.asked - self._replayed < EVERY:
            return
        self._replayed = course.asked
        if (kept := course.state) is not None:
            snapshot = Snapshot(self._link, kept)
            if (content := pack(snapshot, self.about)) is not None:
                self._journal.keep(content)
                self._snapshot = snapshot

    @property
    def about(self) -> dict[str, Any]:
        """Of which run a snapshot is."""
        private = digest_of(b"replical snapshot\0" + self._secret)
        return {
            "protocol": self._protocol.fingerprint,
            "pool": self._lab.fingerprint,
            "private seed": private,
        }

    def _hear(self) -> None:
        ledger, heard = self.ledger, self._link
        made = Link(0) if self._snapshot is None else self._snapshot.link
        for event, now in self._journal.news(heard.seq):
            if event.said is not None or event.item not in self.places:
                self._check(event)
            if event.kind in CHANGES or event.item in ledger.skipped:
                self._course = None  # what was said before has changed
                self._forget(event)
            ledger.hear(event)
            if event.seq >= heard.seq:
                heard = self._link = Link(event.seq, now)
            if event.seq == made.seq and now != made.hash:
                self._ignore("it belongs to other events")
        if self._snapshot is not None and self._snapshot.link.seq > self._link.seq:
            self._ignore("it belongs to later events")

    def _check(self, event: Event) -> None:
        where = f"event {event.seq} of {self._journal.where}"
        if event.item is not None and event.item not in self.places:
            raise BadJournal(f"{where} is about {event.item!r}, which is not in the pool")
        answers, said = self._protocol.answers, event.said
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

    def _find_snapshot(self) -> Snapshot | None:
        """The snapshot to go on from, as far as can be told before the journal has been read."""
        if not self._journal.drives:
            return None
        try:
            content = self._journal.snapshot
            return None if content is None else unpack(content, self.about)
        except (BadJournal, ValueError) as error:
            self._ignore(str(error))
            return None

    def _ignore(self, why: str) -> None:
        self._snapshot = None
        self._note(
            f"The snapshot in {self._journal.where} is ignored ({why}): the run is replayed from its first label."
        )

    def _forget(self, event: Event) -> None:
        """A snapshot that rests on what an event changes is of no use any more."""
        source = None if event.item is None else self.ledger.sources.get(event.item)
        made_at = 0 if self._snapshot is None else self._snapshot.link.seq
        if event.seq > made_at and (event.item is None or (source is not None and source.seq <= made_at)):
            self._snapshot = None

    def _tell_labels(self) -> Query | None:
        """Tell the course every label that it asks for and that is known; what it asks for then."""
        course = self.course
        while (query := course.query) is not None and not self.open(query):
            try:
                course.tell(self._answers(query))
            except _STUMBLES as error:
                self._course = None  # it cannot go on, but has not ended: the labels may still be corrected
                if not self.trusting:
                    raise
                self._ignore(f"the run cannot go on from it: {error}")
                return self._tell_labels()
        return query

    def _answers(self, query: Query) -> Answers:
        said = [self.ledger.labels[self._lab.ids[item]] for item in query.items.tolist()]
        return Answers.told(query, said, self._lab.recipe.C, self._lab.items)


class Budgets(NamedTuple):
    """Labels that a lab wants to spend, None where the plan decides; and those to measure the answer's error with."""

    choose: int | None = None
    measure: int = 0

    def of(self, learner: Learner) -> Learner:
        """The `learner` with these, and after it what measures the error of its answer."""
        if self.choose is not None:
            learner = learner_for(learner.plan.spending(self.choose))
        return Measured(learner, self.measure) if self.measure else learner


SCHEMA = "replical.snapshot/1"
_BOUND = "bound"  # the array that says what a snapshot belongs to
_MOST = 2**28  # bytes: a larger one would take longer to write than it saves


class Snapshot(NamedTuple):
    """What a run kept when the journal ended at `link`."""

    link: Link
    kept: State


def pack(snapshot: Snapshot, about: Mapping[str, Any]) -> bytes | None:
    """The bytes of a snapshot of the run that `about` describes, after their own digest; None if they are too many."""
    if sum(array.nbytes for array in snapshot.kept.values()) > _MOST:
        return None
    told = canonical(_origin(snapshot.link, about)).encode()
    file = io.BytesIO()
    assert all(not array.dtype.hasobject for array in snapshot.kept.values()), "numbers alone: nothing is pickled"
    arrays: dict[str, Any] = {_BOUND: np.frombuffer(told, dtype=np.uint8), **snapshot.kept}
    np.savez(file, **arrays)
    content = file.getvalue()
    return hashlib.sha256(content).digest() + content


def unpack(content: bytes, about: Mapping[str, Any]) -> Snapshot:
    """The snapshot in these bytes, if it is one of the run that `about` describes."""
    if hashlib.sha256(content[32:]).digest() != content[:32]:
        raise ValueError("it is damaged")
    try:
        with np.load(io.BytesIO(content[32:]), allow_pickle=False) as file:
            kept = {name: file[name] for name in file.files}
        told = json.loads(kept.pop(_BOUND).tobytes())
        link = Link(told["event"], bytes.fromhex(told["hash"]))
    except (KeyError, TypeError, ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError("it is damaged") from error
    expected = _origin(link, about)
    if told != expected:
        other = next((key for key in expected if told.get(key) != expected[key]), "schema")
        raise ValueError(f"it belongs to another {other}")
    return Snapshot(link, kept)


def _origin(link: Link, about: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema": SCHEMA, "version": version("replical"), **about, "event": link.seq, "hash": link.hash.hex()}

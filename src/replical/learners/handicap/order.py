"""A public order, from public items that nobody scans: a hundred of them asked where candidates in play differ.

Labels on which all good candidates agree tell nobody apart, so few of a random hundred say who comes first. Here public
items are walked through in an order that is public too:

    repeat until 100 labels are known, or the items end:
      in play are those with at most 3 errors more than the best, on the items asked so far
      walk to the next item on which they differ, and ask it; whoever cannot label it skips it
    order: fewest errors on the items asked, then most agreement with the vote of all candidates, then by name

Claim: any rule is valid, this one and every other, as long as no lab scans an item that was looked at, labelled or not: the
order is a function of public data, and the proof conditions on it (docs/claims/handicap.md).
Reference: ours; measured in docs/how-to/choose-among-my-models.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass, Indices, Items
from replical.classes.losses import Losses
from replical.classes.predictions.base import Predictions, predictions_of
from replical.classes.prior import Prior
from replical.core.canonical import fingerprint
from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation
from replical.learners.catalogue import Record
from replical.learners.plan import Number, Plan
from replical.learners.result import Result
from replical.pools.pool import AnyPool
from replical.pools.query import Query

MOST = 100  # labels: as many as a public sample usually has
BEHIND = 3  # errors more than the best with which a candidate is still in play


class Reply(NamedTuple):
    """An item that was asked, and the code of its label; None where nobody could say."""

    item: int
    code: int | None


@dataclass(kw_only=True, eq=False)
class Inquiry:
    """Public items while they are asked about, of a class `C`: who is in play, and what comes next.

    Attributes
    ----------
    C, items
        The class, and what it sees of the public items.
    walk
        The items in the order in which they are looked at.
    losses
        What predictions cost; None where errors are counted.
    asked
        What was asked so far, in this order.
    predictions
        What each hypothesis says about each item.
    lost
        What each hypothesis has lost on these, in whole parts of the costliest error: its errors, where losses are alike.

    Examples
    --------
    >>> from replical import PredictionTable
    >>> C = PredictionTable(["a", "b", "c"])
    >>> said = C.items(np.array([[0, 0, 0], [0, 1, 1], [1, 1, 0]]))
    >>> inquiry = Inquiry(C=C, items=said, walk=np.array([2, 0, 1]))
    >>> for item in inquiry.rows():  # item 0 is passed: all agree on it
    ...     inquiry.hear(item, [0, 0, 1][item])
    >>> inquiry.prior.places.tolist(), inquiry.asked
    ([0, 1, 2], [Reply(item=2, code=1), Reply(item=1, code=0)])
    """

    C: HypothesisClass
    items: Items
    walk: Indices
    losses: Losses | None = None
    asked: list[Reply] = field(default_factory=list)
    lost: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.lost = np.zeros(len(self.C), dtype=np.int64)
        self._everyone = np.arange(len(self.C), dtype=np.int64)
        self.predictions: Predictions = predictions_of(self.C, self.items)
        self._labels, self._at = 0, 0

    @property
    def in_play(self) -> Indices:
        """Who is at most so many errors behind the best that asking may still put them first."""
        unit = 1 if self.losses is None else self.losses.unit
        return np.flatnonzero(self.lost <= self.lost.min() + BEHIND * unit)

    @property
    def ahead(self) -> Indices:
        """The items ahead on which those in play differ, in the order of the walk; none at the end."""
        rest, alive = self.walk[self._at :], self.in_play
        if self._labels >= MOST or len(alive) < 2 or len(rest) == 0:
            return rest[:0]
        return rest[self.predictions.disagreement(alive, rest)]

    def hear(self, item: int, code: int | None) -> None:
        """The label of the next item that those in play differ on; None from who cannot say."""
        self._at += 1 + int(np.flatnonzero(self.walk[self._at :] == item)[0])
        self.asked.append(Reply(item, code))
        if code is None:
            return
        said = self.predictions.codes_of_item(item, self._everyone)
        self.lost += (said != code) if self.losses is None else self.losses.row(code)[said]
        self._labels += 1

    def rows(self) -> Iterator[int]:
        """Item after item that has to be asked; each is heard before the next."""
        while len(ahead := self.ahead):
            yield int(ahead[0])

    @property
    def prior(self) -> Prior:
        """The strict order: fewest errors, then most agreement with the vote, then by name."""
        return Prior.by_errors(self.C, self.lost, against_the_vote(self.C, self.predictions, len(self.walk)))


def walk(ids: tuple[str, ...]) -> Indices:
    """A public order of items that depends on their ids alone, given in order.

    Not that of rows, which a table may have sorted by what it is about; and neither candidates nor a string decide, so the
    hundred can be asked before either is final.

    Examples
    --------
    >>> walk(("a", "b", "c", "d")).tolist()
    [3, 1, 0, 2]
    """
    words = SharedRandomness(fingerprint(list(ids))).words("public walk", count=len(ids))
    return np.argsort(words, kind="stable").astype(np.int64)


def against_the_vote(C: HypothesisClass, predictions: Predictions, items: int) -> NDArray[np.int64]:
    """On how many of so many items each hypothesis says something else than most of them do, ties to the first label."""
    every = np.arange(items, dtype=np.int64)
    votes = predictions.votes(np.arange(len(C), dtype=np.int64), every)
    counts = np.zeros_like(votes)
    counts[every, votes.argmax(axis=1)] = 1
    return predictions.errors(every, counts, np.arange(len(C), dtype=np.int64))


# In no list of learners: what it makes is an order, before there is a protocol.
ORDER = Record(
    id="order",
    learner="replical.learners.handicap.order:PublicOrder",
    setting="agnostic",
    replicable=False,
    active=True,
    weighs=True,
    paper=None,
    tight=None,
    colour="#000000",
    marker=".",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicOrder:
    """An inquiry as a learner, for sessions with people: `walk` says in which order its items are looked at."""

    walk: Indices
    losses: Losses | None
    plan: Plan

    @classmethod
    def of(cls, n: int, walk: Indices, losses: Losses | None) -> PublicOrder:
        """For so many hypotheses."""
        numbers = (
            Number(name="max_labels", value=MOST, source="labels, where items last"),
            Number(name="behind", value=BEHIND, source="errors more than the best with which one is in play"),
        )
        # an order promises nothing about errors
        made = Plan(learner="order", name="tight", n=n, epsilon=Fraction(1), numbers=numbers, max_labels=MOST)
        return cls(walk=walk, losses=losses, plan=made)

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Ask about items of `pool`, whose own order does not count; nothing is taken from the `shared` string.

        Returns
        -------
        conversation
            Its result's ``hypothesis`` is the first of the order, ``V`` those in play.
        """
        inquiry = Inquiry(C=pool.C, items=pool.items, walk=self.walk, losses=self.losses)
        skipped, whole = set(pool.unasked.tolist()), pool.version_space()
        while len(ahead := inquiry.ahead):
            item = int(ahead[0])
            if item in skipped:
                inquiry.hear(item, None)
                continue
            answers = yield Query(
                items=ahead[:1],
                counts=np.ones(1, dtype=np.int64),
                scanned=1,
                disagreement=(len(ahead), len(self.walk)),
                survivors=len(inquiry.in_play),
            )
            inquiry.hear(item, int(np.argmax(answers.counts[0])))
        first = int(np.argmin(inquiry.prior.values)) if inquiry.prior.values is not None else 0
        return Result(hypothesis=first, unrounded=first, V=whole.restrict(inquiry.in_play), conditions=())

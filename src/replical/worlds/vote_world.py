"""A world in which weighted votes of the candidates decide the labels, more or less surely."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replical.classes.predictions.sharded_rows import ShardedRows
from replical.classes.rows import PackedRows
from replical.core.randomness import PrivateRandomness
from replical.pools.pool import Pool
from replical.pools.query import Answers, Query

Numbers = NDArray[np.float64]
Table = NDArray[np.uint16]  # label codes: items x candidates
Places = NDArray[np.int64]

SLIP = 0.02  # share of labels that no vote decides
_CODES = 2**24  # unpacked at a time


@dataclass(frozen=True, kw_only=True, eq=False)
class VoteWorld:
    """A world in which weighted votes decide labels.

    Attributes
    ----------
    voters, weights, tau, labels
        Who votes, with which weights adding up to 1, how sharply that decides, and how many labels there are.
    lead, leader
        The share of labels that one candidate decides alone, and which candidate that is.
    best
        The candidate with the smallest error.
    certain
        Is the label always what `best` says? For learners that suppose a candidate without an error.
    """

    voters: Places
    weights: Numbers
    tau: float
    labels: int
    lead: float
    leader: int
    best: int
    certain: bool

    def law(self, rows: Table) -> Numbers:
        """Probabilities of the labels of items (one row each), given what all candidates say about them (`rows`)."""
        return led(
            law(shares(rows[:, self.voters], self.weights, self.labels), self.tau), rows[:, self.leader], self.lead
        )

    def answers(self, pool: Pool, private: PrivateRandomness) -> VoteLabels:
        """Whoever answers for the items of `pool` in this world; labels are drawn by `private`."""
        return VoteLabels(self, pool, private.generator("labels"))


class VoteLabels:
    """Labels of a `VoteWorld`, drawn when they are asked for; what was heard before (item: code) stays as it is."""

    def __init__(
        self, world: VoteWorld, pool: Pool, generator: np.random.Generator, heard: dict[int, int] | None = None
    ) -> None:
        self._world, self._items, self._generator, self._heard = world, pool.items, generator, heard or {}

    @cached_property
    def _law(self) -> Numbers:
        """Of every item at once: a label at a time would take longer."""
        if not isinstance(self._items, PackedRows | ShardedRows):
            return self._world.law(self._items)
        return np.concatenate([self._world.law(codes) for _, codes in self._items.blocks(_CODES)])

    def answer(self, query: Query) -> Answers:
        """Labels for `query`."""
        world = self._world
        if world.certain:
            return Answers.unanimous(query, self._items[query.items, world.best], world.labels)
        counts = self._generator.multinomial(query.counts.astype(np.int64), self._law[query.items]).astype(np.int64)
        for place, item in enumerate(query.items.tolist() if self._heard else ()):
            if item in self._heard:
                counts[place] = 0
                counts[place, self._heard[item]] = query.counts[place]
        return Answers(items=query.items, counts=counts)


def shares(rows: Table, weights: Numbers, labels: int) -> Numbers:
    """The weight of those who say each label (columns) of each item (rows)."""
    return np.stack([(rows == label) @ weights for label in range(labels)], axis=1)


def law(votes: Numbers, tau: float) -> Numbers:
    """Probabilities of the labels where they have these shares of the votes.

    Examples
    --------
    >>> law(np.array([[.7, .3]]), 2.0).round(4).tolist()
    [[0.8379, 0.1621]]
    """
    sharp = np.maximum(votes, 0.0) ** tau
    sharp = (1 - SLIP) * sharp / sharp.sum(axis=1, keepdims=True) + SLIP / votes.shape[1]
    probabilities: Numbers = sharp / sharp.sum(axis=1, keepdims=True)
    return probabilities


def led(probabilities: Numbers, says: NDArray[np.uint16], lead: float) -> Numbers:
    """The same where somebody who `says` a label of each item decides a share `lead` of the labels.

    Examples
    --------
    >>> led(np.array([[.8, .2]]), np.array([1], dtype=np.uint16), .5).round(4).tolist()
    [[0.4, 0.6]]
    """
    mixed = (1 - lead) * probabilities
    mixed[np.arange(len(says)), says] += lead
    return np.minimum(mixed, 1.0)  # rounding

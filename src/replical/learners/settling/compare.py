"""One block of items: who was wrong on those whose label is known. On most others everyone compared says the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.losses import Losses
from replical.errors import BadLabel
from replical.learners.settling.groups import Everyone
from replical.learners.settling.known import Labelled

Codes = NDArray[np.uint16]
Indices = NDArray[np.int64]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Items scanned, and who was wrong on those whose labels are known.

    Attributes
    ----------
    scanned
        Items, disputed or not.
    places
        Who is compared, ascending.
    wrong
        For each disputed item whose label is known (rows), who of them (columns) was wrong.
    unknown
        For each disputed item that counts against the favourite because nobody could label it, what they say.
    """

    scanned: int
    places: Indices
    wrong: Mask
    unknown: Codes

    @property
    def errors(self) -> NDArray[Any]:
        """Errors of each of them, in the order of `places`."""
        errors: Counts = self.wrong.sum(axis=0, dtype=np.int64)
        return errors

    def apart(self, one: int, others: Indices) -> Counts:
        """For each of those at `others`: items on which Z was 0, `one` alone was wrong, `one` alone was right (rows)."""
        place, theirs = np.searchsorted(self.places, one), self.wrong.take(others, axis=1)
        counts = np.zeros((3, theirs.shape[1]), dtype=np.int64)
        counts[0] = self.scanned  # on whatever has no label Z is 0
        for wrong, mine in zip(theirs, self.wrong[:, place].tolist(), strict=True):
            alone = ~wrong if mine else wrong
            counts[1 if mine else 2] += alone
            counts[0] -= alone
        return counts

    def at_worst(self, one: int, others: Indices) -> Counts:
        """The same, if `one` alone was wrong wherever they differ and the label is unknown."""
        counts, place = self.apart(one, others), np.searchsorted(self.places, one)
        for codes in self.unknown:
            differ = codes[others] != codes[place]
            counts[1] += differ
            counts[0] -= differ
        return counts


@dataclass(frozen=True, kw_only=True, eq=False)
class Priced(Block):
    """The same, where predictions cost more or less.

    Attributes
    ----------
    losses
        What they cost.
    costs
        For each disputed item whose label is known (rows), what each of them (columns) lost.
    """

    losses: Losses
    costs: Counts

    @property
    def errors(self) -> NDArray[Any]:
        """What each of them lost, in costliest errors."""
        total: NDArray[np.float64] = self.costs.sum(axis=0, dtype=np.int64) / self.losses.unit
        return total

    def apart(self, one: int, others: Indices) -> Counts:
        """For each of those at `others`: on how many items the loss of `one` less theirs had each value (rows)."""
        place, theirs = np.searchsorted(self.places, one), self.costs.take(others, axis=1)
        counts = np.zeros((len(self.losses.differences), theirs.shape[1]), dtype=np.int64)
        counts[0] = self.scanned  # on whatever has no label Z is 0
        columns = np.arange(theirs.shape[1])
        for row, mine in zip(theirs, self.costs[:, place].tolist(), strict=True):
            counts[0] -= 1
            counts[self.losses.places(mine - row), columns] += 1
        return counts


def heard(
    groups: Everyone, S: Indices, known: Labelled, unknown: Indices, scanned: int, losses: Losses | None = None
) -> Block:
    """Who was wrong on the items whose labels are `known`, and what they say about the `unknown` ones."""
    answered = [groups.codes(item, S) for item in known[0].tolist()]
    wrong = [said != code for said, code in zip(answered, known[1].tolist(), strict=True)]
    says = [groups.codes(item, S) for item in unknown.tolist()]
    block = Block(
        scanned=scanned,
        places=S,
        wrong=np.array(wrong, dtype=np.bool_).reshape(-1, len(S)),
        unknown=np.array(says, dtype=np.uint16).reshape(-1, len(S)),
    )
    if losses is None:
        return block
    if (known[1] >= losses.labels).any():
        raise BadLabel("a label is what candidates say that abstain, and nobody's label ever is that")
    costs = [losses.table[code][said] for said, code in zip(answered, known[1].tolist(), strict=True)]
    return Priced(**vars(block), losses=losses, costs=np.array(costs, dtype=np.int64).reshape(-1, len(S)))

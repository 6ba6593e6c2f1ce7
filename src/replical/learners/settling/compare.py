"""One block of items: who was wrong on those that were asked. On all others everyone who is compared says the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replical.learners.settling.groups import Everyone
from replical.pools.query import Answers

Indices = NDArray[np.int64]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Items scanned, and who was wrong on those asked.

    Attributes
    ----------
    scanned
        Items, asked or not.
    places
        Who is compared, ascending.
    wrong
        For each item asked (rows), who of them (columns) was wrong.
    """

    scanned: int
    places: Indices
    wrong: Mask

    @property
    def errors(self) -> Counts:
        """Errors of each of them, in the order of `places`."""
        errors: Counts = self.wrong.sum(axis=0, dtype=np.int64)
        return errors

    def apart(self, one: int, others: Mask) -> Counts:
        """For each of the `others`: items on which Z was 0, `one` alone was wrong, and `one` alone was right (rows)."""
        place, theirs = np.searchsorted(self.places, one), self.wrong[:, others]
        counts = np.zeros((3, theirs.shape[1]), dtype=np.int64)
        counts[0] = self.scanned  # on whatever was not asked Z is 0
        for wrong, mine in zip(theirs, self.wrong[:, place].tolist(), strict=True):
            alone = ~wrong if mine else wrong
            counts[1 if mine else 2] += alone
            counts[0] -= alone
        return counts


def heard(groups: Everyone, S: Indices, answers: Answers | None, scanned: int) -> Block:
    """Who was wrong on the answers; None where nothing was asked."""
    if answers is None:
        return Block(scanned=scanned, places=S, wrong=np.zeros((0, len(S)), dtype=np.bool_))
    labels = np.argmax(answers.counts, axis=1)
    wrong = [
        groups.codes(item, S) != label for item, label in zip(answers.items.tolist(), labels.tolist(), strict=True)
    ]
    return Block(scanned=scanned, places=S, wrong=np.array(wrong))

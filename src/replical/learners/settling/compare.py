"""One block of items: who was wrong on those that were asked. On all others everyone who is compared says the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replical.classes.predictions import Predictions
from replical.pools.query import Answers
from replical.pools.version_space import VersionSpace

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
        errors: Counts = np.count_nonzero(self.wrong, axis=0).astype(np.int64)
        return errors

    def apart(self, one: int, others: Indices) -> tuple[Counts, Counts]:
        """On how many items `one` was wrong and each of the `others` right, and the other way round."""
        mine = self.wrong[:, np.searchsorted(self.places, one), None]
        theirs = self.wrong[:, np.searchsorted(self.places, others)]
        return np.count_nonzero(mine & ~theirs, axis=0), np.count_nonzero(~mine & theirs, axis=0)


def heard(predictions: Predictions, order: Indices, places: Indices, answers: Answers | None, scanned: int) -> Block:
    """Who was wrong on the answers; None where nothing was asked."""
    if answers is None:
        return Block(scanned=scanned, places=places, wrong=np.zeros((0, len(places)), dtype=np.bool_))
    labels = np.argmax(answers.counts, axis=1)
    hypotheses = order[places]
    ascending = np.argsort(hypotheses)
    wrong = np.empty((len(labels), len(places)), dtype=np.bool_)
    for row, (item, label) in enumerate(zip(answers.items.tolist(), labels.tolist(), strict=True)):
        wrong[row, ascending] = predictions.codes_of_item(item, hypotheses[ascending]) != label
    return Block(scanned=scanned, places=places, wrong=wrong)


class Region:
    """The version space of whoever is compared; a smaller set is looked for where the last one disagreed."""

    def __init__(self, whole: VersionSpace) -> None:
        self._whole = self._last = whole

    def of(self, hypotheses: Indices) -> VersionSpace:
        """The version space of these."""
        mask = np.zeros(self._whole.size, dtype=np.bool_)
        mask[hypotheses] = True
        among = mask[self._last.indices]
        nested = np.count_nonzero(among) == len(hypotheses)
        self._last = self._last.keep(among) if nested else self._whole.keep(mask)
        return self._last

"""The star: a centre and leaves that each differ from it on a cell of their own.

The paper's worst case for active learning: every cell has to be looked at, and the disagreement coefficient is the
number of leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import Codes, Indices, Items, Label, Listed, cell_numbers, class_size, two_labels
from replical.classes.recipe import Recipe, Section
from replical.core.canonical import fingerprint


class Star(Listed):
    """Index 0 is the centre, index i the leaf that differs on cell ``i - 1``.

    Parameters
    ----------
    leaves
        Number of leaves, and of cells.
    labels
        What the centre says, and what each leaf says on its own cell.

    Raises
    ------
    ValueOutOfRange
        If `leaves` is not a positive whole number up to 2⁴⁰.
    BadLabel
        If there are not two distinct labels.

    Examples
    --------
    >>> C = Star(3)
    >>> C.predict([0, 1, 2]).tolist()
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> C.describe(2)
    '1 on cell 1, else 0'
    """

    def __init__(self, leaves: int, *, labels: Sequence[Label] = (0, 1)) -> None:
        self.leaves = class_size("the number of leaves", leaves)
        self.labels = two_labels(labels)

    def __len__(self) -> int:
        return self.leaves + 1

    @property
    def fingerprint(self) -> str:
        """A hash of everything that defines the class."""
        return fingerprint({"kind": "star", "leaves": self.leaves, "labels": list(self.labels)})

    def describe(self, h: int) -> str:
        """Hypothesis `h` in words."""
        low, high = self.labels
        return f"{low} everywhere" if h == 0 else f"{high} on cell {h - 1}, else {low}"

    def items(self, X: ArrayLike) -> Items:
        """Check `X`, a list of cell numbers.

        Raises
        ------
        BadTable
            If it holds anything but cell numbers.
        """
        return cell_numbers(X, self.leaves)

    def codes(self, items: Items, hypotheses: Indices) -> Codes:
        """Label codes of `hypotheses` (rows) on checked `items` (columns)."""
        own: NDArray[np.bool_] = np.asarray(hypotheses)[:, None] - 1 == items[None, :]
        return own.astype(np.uint16)

    def cells(self) -> Items:
        """One cell a leaf."""
        return np.arange(self.leaves, dtype=np.int64)


def recipe(section: Section) -> Recipe:
    """From a protocol: items are cell numbers."""
    feature = section.feature
    C = Star(section.whole("count"), labels=section.labels)
    return Recipe(C=C, columns=(feature,), to_items=lambda columns: columns[0])

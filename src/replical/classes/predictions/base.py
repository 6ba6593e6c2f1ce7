"""What every hypothesis says about every item of one pool, in the form that suits the class.

`predictions_of` picks the form: thresholds are a line, stumps a line a feature, intervals and boxes cells of a grid, and
only classes without such a structure need a packed matrix, in memory. All keep one interface and
agree to the bit.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, HypothesisClass, Indices, Items
from replical.classes.boxes import Boxes
from replical.classes.intervals import Intervals
from replical.classes.predictions.boxes import BoxPredictions
from replical.classes.predictions.line import LinePredictions
from replical.classes.predictions.packed import PackedPredictions, check_memory
from replical.classes.predictions.stumps import StumpPredictions
from replical.classes.stumps import Stumps
from replical.classes.table import PackedRows
from replical.classes.thresholds import Thresholds


class Predictions(Protocol):
    """The predictions of a class on a fixed list of items."""

    def disagreement(self, alive: Indices, within: Indices, seen: Indices | None = None) -> NDArray[np.bool_]:
        """For each item of `within`: do two hypotheses of `alive` differ on it?

        `seen`, from `blank_memory`, remembers how far each item was looked at for a larger version space.
        """
        ...

    def blank_memory(self, items: int) -> Indices | None:
        """Nothing seen of so many items yet; None in a form that has no need to remember."""
        ...

    def errors(self, items: Indices, counts: NDArray[np.int64], alive: Indices) -> NDArray[np.int64]:
        """For each hypothesis of `alive`: how many labels it contradicts, of those in `counts` (`items` × codes)."""
        ...

    def votes(self, alive: Indices, within: Indices) -> NDArray[np.int64]:
        """For each item of `within` (rows): how many of `alive` predict each label code (columns)."""
        ...

    def codes(self, h: int, within: Indices | None = None) -> Codes:
        """What hypothesis `h` says about every item, or about those of `within`."""
        ...

    def codes_of_item(self, item: int, alive: Indices) -> Codes:
        """What each hypothesis of `alive` says about one `item`."""
        ...

    def take(self, items: Indices) -> Predictions:
        """The predictions on some of the items, `items`, in the order given, repeats allowed."""
        ...

    def nearness(self, items: Indices) -> Nearness:
        """Distances between hypotheses, measured on `items` alone."""
        ...


class Nearness(Protocol):
    """Which of some hypotheses is nearest to each of others."""

    def nearest_marks(self, alive: Indices, among: Indices, marks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """For each hypothesis of `alive` (ascending): is the nearest one at the places `among` marked?"""
        ...


def predictions_of(C: HypothesisClass, items: Items) -> Predictions:
    """The predictions of `C` on `items`, structured where the class allows it; refused if they do not fit into memory.

    >>> C = Thresholds(4)
    >>> predictions = predictions_of(C, C.items([0, 1, 2]))
    >>> predictions.codes(2).tolist(), predictions.votes(np.arange(4), np.array([1])).tolist()
    ([0, 0, 1], [[2, 2]])
    """
    check_memory(C, len(items))
    if isinstance(C, Thresholds):
        return LinePredictions(C, items)
    if isinstance(C, Stumps):
        return StumpPredictions(C, items)
    if isinstance(C, Intervals):
        return BoxPredictions(items, (C.grid,), empty=True)
    if isinstance(C, Boxes):
        return BoxPredictions(C.cells_of(items), (C.bins,) * C.dimensions, empty=False)
    if isinstance(items, PackedRows):  # the rows of a table are its predictions
        return PackedPredictions.of(items.planes, len(C), len(C.labels))
    return PackedPredictions(C, items)

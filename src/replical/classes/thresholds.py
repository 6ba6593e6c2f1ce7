"""Thresholds on a line: h_i says "high" from its cut on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import Codes, Indices, Items, Label, Listed, class_size, two_labels
from replical.classes.recipe import Recipe, Section
from replical.core.canonical import fingerprint
from replical.errors import BadProtocol, BadTable, ValueOutOfRange


class Thresholds(Listed):
    """Hypotheses ``h_i(x) = 1[x >= cut_i]``, i = 0 .. n-1, with cuts in ascending order.

    Parameters
    ----------
    n
        Number of hypotheses with the default cuts 0, 1, .., n-1, over the cells 0, .., n-2.
    cuts
        Public cut points instead of `n`, strictly ascending.
    labels
        What is said below the cut, and from the cut on.

    Raises
    ------
    ValueOutOfRange
        If not exactly one of `n` and `cuts` is given, or cuts are not finite and strictly ascending.
    BadLabel
        If there are not two distinct labels.

    Examples
    --------
    >>> C = Thresholds(4)
    >>> C.predict([0, 1, 2]).tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0]]
    >>> C.describe(2)
    '1 if x >= 2 else 0'
    """

    def __init__(
        self, n: int | None = None, *, cuts: Sequence[float] | None = None, labels: Sequence[Label] = (0, 1)
    ) -> None:
        if (n is None) == (cuts is None):
            raise ValueOutOfRange("Thresholds takes either a number of hypotheses or a list of cuts")
        self._cuts = None if cuts is None else np.asarray(cuts, dtype=np.float64)
        if self._cuts is not None and not (np.isfinite(self._cuts).all() and (np.diff(self._cuts) > 0).all()):
            raise ValueOutOfRange("cuts must be finite and strictly ascending")
        self._size = class_size("the number of thresholds", len(self._cuts) if self._cuts is not None else n or 0)
        self.labels = two_labels(labels)

    def __len__(self) -> int:
        return self._size

    @property
    def fingerprint(self) -> str:
        """A hash of everything that defines the class."""
        cuts = None if self._cuts is None else self._cuts.tolist()
        return fingerprint({"kind": "thresholds", "n": self._size, "cuts": cuts, "labels": list(self.labels)})

    def describe(self, h: int) -> str:
        """Hypothesis `h` in words."""
        cut = h if self._cuts is None else self._cuts[h].item()
        return f"{self.labels[1]} if x >= {cut} else {self.labels[0]}"

    def items(self, X: ArrayLike) -> Items:
        """Check `X`, a one-dimensional array of finite numbers.

        Raises
        ------
        BadTable
            If it has another shape or kind, or a value is missing or infinite.
        """
        x = np.asarray(X)
        if x.ndim != 1 or x.dtype.kind not in "iuf":
            raise BadTable(f"items must be a one-dimensional array of numbers, got {x!r:.60}")
        if x.dtype.kind == "f" and not np.isfinite(x).all():
            raise BadTable(f"the value at position {int(np.argmin(np.isfinite(x)))} is missing or infinite")
        return x.astype(np.float64) if x.dtype.kind == "f" else x.astype(np.int64)

    def positions(self, items: Items) -> NDArray[np.int64]:
        """How many cuts each of `items` has reached: ``h_i(x) = 1`` exactly when ``i < position``."""
        if self._cuts is not None:
            return np.searchsorted(self._cuts, items, side="right").astype(np.int64)
        whole = items if items.dtype.kind == "i" else np.floor(items)
        return np.clip(whole, -1, self._size - 1).astype(np.int64, copy=False) + 1

    def codes(self, items: Items, hypotheses: Indices) -> Codes:
        """Label codes of `hypotheses` (rows) on checked `items` (columns)."""
        return (np.asarray(hypotheses)[:, None] < self.positions(items)[None, :]).astype(np.uint16)

    def cells(self) -> Items:
        """One item between any two neighbouring cuts (a single one where there is only one hypothesis)."""
        if self._cuts is not None:
            return self._cuts[: max(1, self._size - 1)]
        return np.arange(max(1, self._size - 1), dtype=np.int64)


def recipe(section: Section) -> Recipe:
    """From a protocol: so many cuts at whole numbers, or cuts of its own."""
    feature = section.feature
    if "count" in section.content:
        if len(section.content) > 3:
            raise BadProtocol("a class of kind thresholds has a count, or cuts, or range and bins, not several of them")
        C = Thresholds(section.whole("count"), labels=section.labels)
    else:
        C = Thresholds(cuts=section.cuts()[0], labels=section.labels)
    return Recipe(C=C, columns=(feature,), to_items=lambda columns: columns[0])

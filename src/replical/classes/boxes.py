"""Axis-parallel boxes on a public grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import Codes, Indices, Items, Label, Listed, class_size, features, two_labels
from replical.classes.intervals import ends, runs
from replical.classes.recipe import Recipe, Section, stack_features
from replical.core.canonical import fingerprint


class Boxes(Listed):
    """All products of runs of neighbouring bins, `bins` equal bins of [0, 1] in each of `dimensions` features.

    A box says "high" inside. Features below 0 or from 1 on lie outside every box. The index counts the last feature
    fastest; within a feature, runs are ordered by first bin, then by last.

    Parameters
    ----------
    dimensions
        Number of features.
    bins
        Bins a feature; there are ``(bins (bins + 1) / 2) ** dimensions`` boxes.
    labels
        What is said outside and inside.

    Raises
    ------
    ValueOutOfRange
        If a number is not a positive whole number, or there are more than 2⁴⁰ boxes.
    BadLabel
        If there are not two distinct labels.

    Examples
    --------
    >>> C = Boxes(2, 8)
    >>> len(C), C.describe(1)
    (1296, '1 if 0 <= x0 < 0.125 and 0 <= x1 < 0.25 else 0')
    >>> int(C.predict([[0.1, 0.1]]).sum())
    64
    """

    def __init__(self, dimensions: int, bins: int, *, labels: Sequence[Label] = (0, 1)) -> None:
        self.dimensions = class_size("the number of features", dimensions)
        self.bins = class_size("the number of bins", bins)
        self._size = class_size("the number of boxes", runs(self.bins) ** self.dimensions)
        self.labels = two_labels(labels)

    def __len__(self) -> int:
        return self._size

    @property
    def fingerprint(self) -> str:
        """A hash of everything that defines the class."""
        shape: dict[str, int] = {"dimensions": self.dimensions, "bins": self.bins}
        return fingerprint({"kind": "boxes", **shape, "labels": list(self.labels)})

    def _sides(self, hypotheses: Indices) -> list[tuple[Indices, Indices]]:
        """First and last bin of each feature."""
        index, sides = np.asarray(hypotheses, dtype=np.int64), runs(self.bins)
        return [ends(index // sides ** (self.dimensions - 1 - d) % sides, self.bins) for d in range(self.dimensions)]

    def describe(self, h: int) -> str:
        """Hypothesis `h` in words."""
        return self.words(h, [f"x{d}" for d in range(self.dimensions)], [(0.0, 1.0)] * self.dimensions)

    def words(self, h: int, names: Sequence[str], ranges: Sequence[tuple[float, float]]) -> str:
        """Hypothesis `h` in words, where features have these `names`, and [0, 1] stands for these `ranges`."""
        sides = zip(names, self.ends(h), ranges, strict=True)
        inside = " and ".join(
            f"{low + (high - low) * first:g} <= {name} < {low + (high - low) * last:g}"
            for name, (first, last), (low, high) in sides
        )
        return f"{self.labels[1]} if {inside} else {self.labels[0]}"

    def ends(self, h: int) -> list[tuple[float, float]]:
        """Low and high end of each side of box `h`."""
        sides = self._sides(np.array([h]))
        return [(float(first[0]) / self.bins, float(last[0] + 1) / self.bins) for first, last in sides]

    def items(self, X: ArrayLike) -> Items:
        """Check `X`, a table of numbers with one row an item and one column a feature.

        Raises
        ------
        BadTable
            If the table has another shape, or a value is missing or infinite.
        """
        return features(X, self.dimensions)

    def codes(self, items: Items, hypotheses: Indices) -> Codes:
        """Label codes of `hypotheses` (rows) on checked `items` (columns)."""
        inside = np.ones((len(hypotheses), len(items)), dtype=np.bool_)
        for bins, (first, last) in zip(self._bins_of(items).T, self._sides(hypotheses), strict=True):
            inside &= (first[:, None] <= bins) & (bins <= last[:, None])
        return inside.astype(np.uint16)

    def _bins_of(self, items: Items) -> Indices:
        bins: Indices = np.floor(np.clip(items, -1, 2) * self.bins).astype(np.int64)
        return bins

    def cells_of(self, items: Items) -> Indices:
        """The cell of each of `items`, counted with the last feature fastest; the number of cells if it is in no box."""
        bins: Indices = self._bins_of(items)
        inside = ((bins >= 0) & (bins < self.bins)).all(axis=1)
        powers = self.bins ** np.arange(self.dimensions - 1, -1, -1, dtype=np.int64)
        cells: Indices = np.where(inside, bins @ powers, self.bins**self.dimensions)
        return cells


def recipe(section: Section) -> Recipe:
    """From a protocol: bins in a public range of each feature."""
    names, ranges = section.features, section.ranges()
    C, ends = Boxes(len(names), section.whole("bins"), labels=section.labels), np.array(ranges)

    def scale(columns: list[NDArray[Any]]) -> NDArray[np.float64]:
        inside: NDArray[np.float64] = (stack_features(columns) - ends[:, 0]) / (ends[:, 1] - ends[:, 0])
        return inside

    return Recipe(C=C, columns=names, to_items=scale, in_words=lambda h: C.words(h, names, ranges))

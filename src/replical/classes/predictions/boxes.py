"""Boxes and intervals without a matrix: sums over boxes are differences of prefix sums over cells, and vice versa.

And who is nearest to whom in any structured class: distances between behaviours on a few items.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, Indices
from replical.classes.intervals import all_ends, offsets, order_by_last, runs
from replical.core.bits import bincount, summable

Counts = NDArray[np.int64]

MEASURED = 1024  # items on which nearness is measured: any number is valid, this one resolves distances to 3%
_RIVALS = 64  # rivals considered at a time; a power of two
_KEPT = 2**27  # bytes of distances that are kept, because rivals come back


class BoxPredictions:
    """Predictions of all boxes on a grid: a cell number an item, in O(hypotheses + items) memory and time.

    `cells` has the cell of each item, counted with the last feature fastest; the number of cells if it lies outside all
    boxes. The grid has `shape` cells in each feature. `empty`: a hypothesis before all boxes holds no cell.
    """

    def __init__(self, cells: Indices, shape: tuple[int, ...], *, empty: bool) -> None:
        self._cells, self._shape, self._empty = cells, shape, int(empty)
        self._runs = tuple(map(runs, shape))
        self._ends = [all_ends(bins) for bins in shape]
        self._count, self._boxes = prod(shape), prod(self._runs)

    def take(self, items: Indices) -> BoxPredictions:
        """The predictions on some of the items, `items`."""
        some = BoxPredictions.__new__(BoxPredictions)
        some.__dict__ |= self.__dict__ | {"_cells": self._cells[items]}
        return some

    def blank_memory(self, items: int) -> None:
        """An item is looked at once."""

    def disagreement(self, alive: Indices, within: Indices, seen: Indices | None = None) -> NDArray[np.bool_]:
        """An item is disputed when some survivors hold its cell, but not all."""
        holding = self._holders(alive)
        disputed: NDArray[np.bool_] = ((holding > 0) & (holding < len(alive)))[self._cells[within]]
        return disputed

    def errors(self, items: Indices, counts: Counts, alive: Indices) -> Counts:
        """All high labels, less those inside the box, and the low labels inside."""
        if len(items) == 1:  # the common case, label by label
            wrong: Counts = counts[0][1 - self.codes_of_item(int(items[0]), alive)]
            return wrong
        gains = bincount(self._cells[items], summable(counts[:, 0] - counts[:, 1]), self._count + 1)[:-1]
        errors = np.full(len(alive), int(counts[:, 1].sum()), dtype=np.int64)
        index = self._index(alive)
        errors[len(alive) - len(index) :] += self._sums_inside(gains.reshape(self._shape), index)
        return errors

    def votes(self, alive: Indices, within: Indices) -> Counts:
        """The survivors that hold an item's cell predict the high label."""
        high = self._holders(alive)[self._cells[within]]
        return np.stack([len(alive) - high, high], axis=1)

    def codes(self, h: int, within: Indices | None = None) -> Codes:
        """What box `h` says about every item, or about those of `within`."""
        box = np.zeros(self._count + 1, dtype=np.uint16)
        if h >= self._empty:
            sides = np.unravel_index(h - self._empty, self._runs)
            inside = tuple(slice(first[k], last[k] + 1) for (first, last), k in zip(self._ends, sides, strict=True))
            box[:-1].reshape(self._shape)[inside] = 1
        return box[self._cells if within is None else self._cells[within]]

    def codes_of_item(self, item: int, alive: Indices) -> Codes:
        """A box holds an item if each of its sides does."""
        codes, index = np.zeros(len(alive), dtype=np.uint16), self._index(alive)
        if self._cells[item] < self._count:
            inside = np.ones(len(index), dtype=np.bool_)
            cell = np.unravel_index(self._cells[item], self._shape)
            for x, (first, last), side in zip(cell, self._ends, self._sides(index), strict=True):
                inside &= ((first <= x) & (x <= last))[side]
            codes[len(alive) - len(index) :] = inside
        return codes

    def nearness(self, items: Indices) -> StructuredNearness:
        """Distances between boxes, measured on (some of) `items` alone: cells without an item make no difference."""
        measured = self._cells[items[:MEASURED]]
        inside = measured < self._count
        kept, shape = np.zeros(1, dtype=np.int64), []
        cells = np.zeros(np.count_nonzero(inside), dtype=np.int64)
        for place, (first, last) in zip(np.unravel_index(measured[inside], self._shape), self._ends, strict=True):
            used, rank = np.unique(place, return_inverse=True) if len(place) else (np.zeros(1, dtype=np.int64), place)
            low, high = np.searchsorted(used, first), np.searchsorted(used, last, side="right") - 1
            side = np.where(low <= high, offsets(len(used))[np.minimum(low, len(used) - 1)] + high - low, -1)
            both = (kept[:, None] >= 0) & (side >= 0)
            kept = np.where(both, kept[:, None] * runs(len(used)) + side, -1).ravel()
            cells = cells * len(used) + rank
            shape.append(len(used))
        small_cells = np.full(len(measured), prod(shape), dtype=np.int64)
        small_cells[inside] = cells
        small = BoxPredictions(small_cells, tuple(shape), empty=True)
        behaviour = np.concatenate([np.zeros(self._empty, dtype=np.int32), (kept + 1).astype(np.int32)])
        return StructuredNearness(small, 1 + small._boxes, len(measured), behaviour)

    def _index(self, alive: Indices) -> Indices:
        """The survivors that are boxes, counted from 0."""
        return alive[np.searchsorted(alive, 1) :] - 1 if self._empty else alive

    def _sides(self, index: Indices) -> tuple[Indices, ...]:
        return (index,) if len(self._runs) == 1 else np.unravel_index(index, self._runs)

    def _few(self, index: Indices) -> bool:
        """Are corners of some boxes less work than sums over all boxes?"""
        return len(index) << len(self._shape) <= self._boxes

    def _corners(self, index: Indices) -> list[tuple[int, Indices]]:
        """Sign and place, on a grid one larger in every feature, of each corner of boxes."""
        larger, sides = tuple(bins + 1 for bins in self._shape), self._sides(index)
        corners = []
        for which in product((0, 1), repeat=len(self._shape)):
            place = np.zeros(len(index), dtype=np.int64)
            for beyond, bins, (first, last), side in zip(which, larger, self._ends, sides, strict=True):
                place = place * bins + (last[side] + 1 if beyond else first[side])
            corners.append(((-1) ** sum(which), place))
        return corners

    def _holders(self, alive: Indices) -> Counts:
        """How many survivors hold each cell; last, none hold what is outside."""
        index = self._index(alive)
        grid = self._count_by_corners(index) if self._few(index) else self._count_by_sides(index)
        return np.append(grid.ravel(), 0)

    def _count_by_corners(self, index: Indices) -> Counts:
        larger = tuple(bins + 1 for bins in self._shape)
        grid = np.zeros(prod(larger), dtype=np.int64)
        for sign, place in self._corners(index):
            grid += sign * np.bincount(place, minlength=len(grid))
        grid = grid.reshape(larger)
        for axis in range(len(larger)):
            grid = np.cumsum(grid, axis=axis)
        return grid[(slice(-1),) * len(larger)]

    @cached_property
    def _by_last(self) -> list[Indices]:
        """The sides of each feature, ordered by their last cell."""
        return [order_by_last(bins) for bins in self._shape]

    def _count_by_sides(self, index: Indices) -> Counts:
        """Feature by feature, counts of sides become counts of cells: every side begins once and ends once."""
        grid = np.zeros(self._boxes, dtype=np.int64)
        grid[index] = 1
        grid = grid.reshape(self._runs)
        for axis, bins in enumerate(self._shape):
            begins = np.add.reduceat(grid, offsets(bins), axis=axis)
            ending = np.arange(bins) * np.arange(1, bins + 1) // 2  # sides that end before cell k: k + 1 end in it
            finishes = np.add.reduceat(grid.take(self._by_last[axis], axis=axis), ending, axis=axis)
            grid = np.cumsum(begins, axis=axis) - np.cumsum(finishes, axis=axis) + finishes
        return grid

    def _sums_inside(self, grid: Counts, index: Indices) -> Counts:
        """The sum of the cells inside each box."""
        if self._few(index):
            prefix = _prefix(grid, range(grid.ndim)).ravel()
            total = np.zeros(len(index), dtype=np.int64)
            for sign, place in self._corners(index):
                total += (-1) ** grid.ndim * sign * prefix[place]
            return total
        for axis, (first, last) in enumerate(self._ends):  # feature by feature, sums of cells become sums of sides
            prefix = _prefix(grid, [axis])
            grid = prefix.take(last + 1, axis=axis) - prefix.take(first, axis=axis)
        return grid.ravel() if len(index) == self._boxes else grid.ravel()[index]


def _prefix(grid: Counts, axes: range | list[int]) -> Counts:
    """Sums of all cells before each one, in these directions, and one beyond the last."""
    for axis in axes:
        grid = np.pad(np.cumsum(grid, axis=axis), [(int(k == axis), 0) for k in range(grid.ndim)])
    return grid


# ---- nearness ----


class Behaviours(Protocol):
    """What those say who differ on the measured items."""

    def codes(self, h: int) -> Codes:
        """What behaviour `h` is on each item."""
        ...

    def errors(self, items: Indices, counts: NDArray[np.int64], alive: Indices) -> NDArray[np.int64]:
        """How many labels each behaviour of `alive` contradicts."""
        ...


def choose_rivals(among: Indices) -> Indices:
    """`among`, or an even selection where they are many.

    >>> choose_rivals(np.arange(1000))[:4].tolist()
    [0, 15, 31, 47]
    """
    return among if len(among) <= _RIVALS else among[np.linspace(0, len(among) - 1, _RIVALS).astype(np.int64)]


class StructuredNearness:
    """Hypotheses that say the same on the items measured are one behaviour: far fewer distances are needed.

    `small` has what every behaviour says; there are so many behaviours, `size`, and `items`; `behaviour` is that of each
    hypothesis of the class.
    """

    def __init__(self, small: Behaviours, size: int, items: int, behaviour: NDArray[np.int32]) -> None:
        self._small, self._behaviour = small, behaviour
        self._everyone, self._items = np.arange(size, dtype=np.int64), np.arange(items, dtype=np.int64)
        self._known: dict[int, NDArray[np.uint32]] = {}

    def nearest(self, alive: Indices, among: Indices) -> Indices:
        """The places of the nearest survivors among those at `among`, or at an even selection where they are many."""
        among = choose_rivals(among)
        behaviour = self._behaviour[alive].astype(np.int64)
        rivals, first = np.unique(behaviour[among], return_index=True)
        rivals, first = rivals[np.argsort(first)], np.sort(first)  # of rivals that say the same the first counts
        compared = self._everyone if len(alive) > len(self._everyone) else behaviour
        best, each = np.full((2, len(compared)), 2**32 - 1, dtype=np.uint32)
        for number, rival in enumerate(rivals.tolist()):
            np.take(self._from(rival), compared, out=each, mode="clip")  # a mode that needs no copy
            np.bitwise_or(each, number, out=each)
            np.minimum(best, each, out=best)  # of equal distances the first
        nearest: Indices = among[first][best & (_RIVALS - 1)]
        return nearest if compared is behaviour else nearest[behaviour]

    def nearest_marks(self, alive: Indices, among: Indices, marks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Is the nearest marked? Nobody looks for it where all who are considered are, or none is."""
        rivals = marks[choose_rivals(among)]
        return np.full(len(alive), rivals[0]) if (rivals == rivals[0]).all() else marks[self.nearest(alive, among)]

    def _from(self, h: int) -> NDArray[np.uint32]:
        """Distances times the number of rivals: room for the number of one."""
        row = self._known.pop(h, None)
        if row is None:
            counts = np.zeros((len(self._items), 2), dtype=np.int64)
            counts[self._items, self._small.codes(h)] = 1
            row = (_RIVALS * self._small.errors(self._items, counts, self._everyone)).astype(np.uint32)
            while self._known and (len(self._known) + 1) * row.nbytes > _KEPT:
                del self._known[next(iter(self._known))]
        self._known[h] = row  # the latest is last
        return row

"""The half-spaces that contradict no label: a cone of directions, its middle, and how far it reaches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replical.classes.linear import Floats, Linear, heights
from replical.core.centre import Centre
from replical.core.cones import Extent, Reach, Slice, extent
from replical.errors import BadTable

Indices = NDArray[np.int64]

_NEAREST = 256  # items near the boundary among which the best cut is looked for
_TOUCHES = 1e-9  # a plane this near to the cone's edge does not cut it
_DIGITS = 10**6  # of a cell that are told
_INWARDS = 1e-3  # a corner of the slice is moved so far to its middle: inside, whatever rounding does
_THIN = 1e-7  # across an item, of the length of a direction: doubles cannot cut any finer


class Cone:
    """V = {w : w.x >= 0 for items labelled 1, <= 0 for those labelled 0}, on the items of a pool.

    Parameters
    ----------
    C
        The lattice.
    items
        The pool's items, checked.
    order
        The private order of those that may be asked.

    Attributes
    ----------
    rows
        The items as unit vectors; those that are 0 stay 0.
    centre
        The middle of V.
    extent
        How far V reaches, where that was computed since the last label.
    """

    def __init__(self, C: Linear, items: Floats, order: Indices) -> None:
        self.C, self._order = C, order
        largest = np.abs(items).max(axis=1)
        if not (largest > 0).any():
            raise BadTable("every item is 0 in all features: no half-space tells them apart")
        self._items = items / np.where(largest > 0, largest, 1.0)[:, None]  # their squares neither overflow nor vanish
        lengths = np.sqrt((self._items**2).sum(axis=1))
        self.rows = self._items / np.where(lengths > 0, lengths, 1.0)[:, None]
        self._askable = np.zeros(len(items), dtype=np.bool_)
        self._askable[order] = True
        self._askable &= lengths > 0
        self.centre = Centre.of_ball(C.d)
        self._inside: dict[int, Floats] = {}  # an item to be asked, and a direction that contradicts the centre there
        self.extent: Extent | None = None
        self._across = 0  # the axis whose wall was crossed last, and
        self._beyond: Floats | None = None  # a direction of V beyond it

    @property
    def empty(self) -> bool:
        """Is nothing known yet?"""
        return len(self.centre.A) == 0

    @property
    def direction(self) -> Floats:
        """The direction in its middle."""
        return self.centre.direction

    def next(self) -> int | None:
        """An item whose plane cuts V near the middle, private to this pool; None if none is found."""
        if self.empty:
            first = self._order[self._askable[self._order]]
            return int(first[0]) if len(first) else None
        distances = np.where(self._askable, self.distances(), np.inf)
        count = min(_NEAREST, int(self._askable.sum()))
        nearest = np.argpartition(distances, count - 1)[:count] if count else np.zeros(0, dtype=np.int64)
        thick = self.centre.widths(self.rows[nearest]) > _THIN
        nearest = nearest[thick]
        scores = self.centre.scores(self.rows[nearest])
        for place in np.argsort(scores, kind="stable").tolist():
            item = int(nearest[place])
            if scores[place] < 1 or self._cuts(item):
                return item
            self._askable[item] = False  # V says one thing about it, and will go on saying it
        return None

    def distances(self, items: Indices | slice = slice(None)) -> Floats:
        """How far items are from the plane of the middle, as an angle from their origin."""
        return np.asarray(np.abs(self.rows[items] @ self.direction))

    def _cuts(self, item: int) -> bool:
        """Does some direction of V contradict the centre about this item?"""
        row = self.rows[item]
        against = -row if row @ self.centre.w >= 0 else row
        reach = Slice(self.centre.A, self.direction).reach(against)
        if reach.point is not None:
            self._inside[item] = reach.point
        return reach.point is not None and float(against @ reach.point) > _TOUCHES

    def tell(self, item: int, one: bool) -> None:
        """Keep the directions that give `item` label 1, or 0; all of them, if doubles cannot tell those apart."""
        self._askable[item] = False
        row = self.rows[item] if one else -self.rows[item]
        centre = self.centre.cut(row, self._inside.pop(item, None))
        if centre is None:  # V stays larger than it need be, and all that is said of it stays true
            return
        self.centre = centre
        if self._beyond is not None and row @ self._beyond < 0:
            self._beyond = None
        self.extent = None

    def look(self) -> bool:
        """Does V lie in one cell of the lattice? How far V reaches is kept in `extent` where all of it was computed."""
        C = self.C
        if len(self.centre.A) < C.d:
            return False
        if self._beyond is not None and C.cell(self._beyond) != C.cell(self.direction):
            return False
        place, radii = C.place(self.direction), self.centre.radii(C.rotation) / C.step
        if (np.floor(place - radii) != np.floor(place + radii)).any():
            return False  # the ellipsoid inside of V crosses a wall
        slice_, reaches = Slice(self.centre.A, self.direction), dict[int, tuple[Reach, Reach]]()
        for j in [self._across, *(j for j in range(C.d) if j != self._across)]:
            up, down = slice_.reach(C.rotation[j]), slice_.reach(-C.rotation[j])
            low, high = np.array([-down.bound, up.bound]) / C.step - C.shift[j]
            if np.floor(low) != np.floor(high):  # or one of them is infinite
                self._across, self._beyond = j, self._other_cell(up, down)
                return False
            reaches[j] = (up, down)
        self.extent = extent(
            C.rotation, self.direction, [reaches[j][0] for j in range(C.d)], [reaches[j][1] for j in range(C.d)]
        )
        return self.extent is not None and enclosed(C, self.extent)

    def _other_cell(self, *reaches: Reach) -> Floats | None:
        """A direction of V in another cell than its middle, from where linear programs ended."""
        here = self.C.cell(self.direction)
        ends = (_INWARDS * self.direction + (1 - _INWARDS) * each.point for each in reaches if each.point is not None)
        return next((end for end in ends if self.C.cell(end) != here and (self.centre.A @ end >= 0).all()), None)

    def measure(self) -> Extent | None:
        """How far V reaches along every axis; None if it holds a line."""
        if self.extent is None and not self.empty:
            axes, slice_ = self.C.rotation, Slice(self.centre.A, self.direction)
            self.extent = extent(axes, self.direction, [*map(slice_.reach, axes)], [*map(slice_.reach, -axes)])
        return self.extent

    def certain(self) -> NDArray[np.bool_]:
        """Items about which all of V surely say what its middle says."""
        if self.extent is None:
            return np.zeros(len(self._items), dtype=np.bool_)
        middle, half = _box(self.extent)
        tilted = self._tilted
        reach = np.abs(tilted) @ half * (1 + 1e-9) + 1e-9 * np.abs(tilted).sum(axis=1)
        return np.asarray(np.abs(tilted @ middle) > reach)

    @cached_property
    def _tilted(self) -> Floats:
        """The items along the lattice's axes: x.z = tilted.(Qz)."""
        return np.asarray(np.linalg.solve(self.C.rotation.T, self._items.T).T)

    @property
    def size(self) -> int:
        """Cells that V may touch."""
        if self.extent is None:
            return self.C.size
        counts = 1
        for each in (_cells(self.C, self.extent.high) - _cells(self.C, self.extent.low) + 1).astype(int).tolist():
            counts *= each
        return counts

    @property
    def mass(self) -> Fraction:
        """Share of the items about which V may differ."""
        return Fraction(int((~self.certain()).sum()), len(self._items))

    @property
    def indices(self) -> NDArray[np.object_]:
        """The cell of its middle."""
        return np.array([self.C.number(self.C.cell(self.direction))], dtype=object)

    def says(self) -> NDArray[np.bool_]:
        """What its middle says about the pool's items, whatever their size."""
        return np.asarray(heights(self._items, self.direction) >= 0)


def _box(each: Extent) -> tuple[Floats, Floats]:
    return (each.slice_high + each.slice_low) / 2, (each.slice_high - each.slice_low) / 2


def _cells(C: Linear, coordinates: Floats) -> Floats:
    return np.asarray(np.floor(coordinates / C.step - C.shift))


def enclosed(C: Linear, each: Extent) -> bool:
    """Do all unit vectors within these bounds lie in one cell, with room for rounding?"""
    guard = 1e-9
    low, high = each.low / C.step - C.shift - guard, each.high / C.step - C.shift + guard
    return bool((np.floor(low) == np.floor(high)).all())


def axes_of(C: Linear, each: Extent) -> tuple[tuple[float, float], ...]:
    """The same bounds in cells along each axis, rounded outwards to six digits: what is told of them is what is proven."""
    low, high = each.low / C.step - C.shift, each.high / C.step - C.shift
    low, high = np.floor(low * _DIGITS - 1e-3) / _DIGITS, np.ceil(high * _DIGITS + 1e-3) / _DIGITS
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def crossings_of(axes: Sequence[tuple[float, float]]) -> float:
    """With what probability a wall of a lattice with a fresh shift crosses such bounds, at most 1."""
    return min(1.0, sum(high - low for low, high in axes) * (1 + 1e-12) + len(axes) * 2.0**-52)


def cells_of(axes: Sequence[tuple[float, float]]) -> int:
    """How many cells lie between such bounds."""
    return math.prod(max(1, math.ceil(high) - math.floor(low)) for low, high in axes)


def crossings(C: Linear, each: Extent) -> float:
    """With what probability a wall of a lattice with a fresh shift crosses these bounds, at most."""
    return float(((each.high - each.low) / C.step).sum() * (1 + 1e-12)) + C.d * 2.0**-52


def differ_estimate(V: Cone) -> float:
    """An estimate of how often two labs with such cones differ, not a bound.

    In d dimensions a body of width b has a standard deviation of about b/(2√(d+2)) along an axis; two middles lie apart by
    √2 of that, and by 0.8 of it on the average; a wall lies between them with that probability, in cells.
    """
    reach = V.measure()
    if reach is None:
        return 1.0
    return min(1.0, 0.8 * math.sqrt(2) * crossings(V.C, reach) / (2 * math.sqrt(V.C.d + 1)))

"""The half-spaces that contradict no label: a cone of directions, its middle, and how far it reaches.

A cone is {w : Aw >= 0}. Its middle is the analytic centre inside the unit ball, far from every wall, and moved a little by
each further row: it minimises -Σ log(a_i.w) - log(1 - |w|²), and Newton's method starts from where the last one was.

How far the unit vectors of a cone reach is found by linear programs whose answers are bounds whatever the solver did. They
are looked at through the slice z.c = 1, c a unit vector inside: w = z/|z|. For any λ >= 0 and μ, every z of the slice has
v.z = μ - λ.Az + r.z <= μ + |r||z|, where r = v + Aᵀλ - μc is what the solver left over. So its duals prove a bound, and its
rounding is paid for. Claim: docs/claims/lattice.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replical.errors import BadTable
from replical.lattice.linear import Floats, Linear, heights

Indices = NDArray[np.int64]

_NEAREST = 256  # items near the boundary among which the best cut is looked for
_TOUCHES = 1e-9  # a plane this near to the cone's edge does not cut it
_DIGITS = 10**6  # of a cell that are told
_INWARDS = 1e-3  # a corner of the slice is moved so far to its middle: inside, whatever rounding does
_THIN = 1e-7  # across an item, of the length of a direction: doubles cannot cut any finer
_NEAR = 1e-6  # Newton decrement at which the centre is found; any point inside would do, so nothing depends on it
_MOST_STEPS = 100
_MOST_HALVINGS = 60  # of a step that leads outside
_ROUNDING = 2.0**-52


class Cone:
    """V = {w : w.x >= 0 for items labelled 1, <= 0 for those labelled 0}, on the checked `items` of a pool.

    `order` is the private one of those that may be asked.

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
        self.centre = ConeCentre.of_ball(C.d)
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
        return self.extent is not None and is_enclosed(C, self.extent)

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
        tilted = self._along_axes
        reach = np.abs(tilted) @ half * (1 + 1e-9) + 1e-9 * np.abs(tilted).sum(axis=1)
        return np.asarray(np.abs(tilted @ middle) > reach)

    @cached_property
    def _along_axes(self) -> Floats:
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


def is_enclosed(C: Linear, each: Extent) -> bool:
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


# ---- the middle of a cone ----


@dataclass(frozen=True, eq=False)
class ConeCentre:
    """The centre `w` of {w : Aw >= 0, |w| <= 1}, rows of A unit vectors, and the ellipsoid around it that lies inside.

    The ellipsoid's `shape` is H⁻¹: every w + x with x.Hx < 1 is inside.
    """

    A: Floats
    w: Floats
    shape: Floats

    @classmethod
    def of_ball(cls, d: int) -> ConeCentre:
        """Of the ball alone, before there is any row."""
        return cls(np.zeros((0, d)), np.zeros(d), np.eye(d) / 2)

    @property
    def direction(self) -> Floats:
        """The centre as a unit vector."""
        return np.asarray(self.w / np.sqrt((self.w**2).sum()))

    def scores(self, rows: Floats) -> Floats:
        """How far each row's plane is from the centre, in radii of the ellipsoid: below 1 it surely cuts the cone."""
        return np.asarray(np.abs(rows @ self.w) / (self._lengths(rows) + 1e-300))

    def widths(self, rows: Floats) -> Floats:
        """How wide the ellipsoid is across each row's plane, in lengths of the centre."""
        return np.asarray(self._lengths(rows) / np.sqrt((self.w**2).sum()))

    def _lengths(self, rows: Floats) -> Floats:
        return np.asarray(np.sqrt(np.maximum(0.0, np.einsum("ij,jk,ik->i", rows, self.shape, rows))))

    def cut(self, a: Floats, inside: Floats | None = None) -> ConeCentre | None:
        """The centre with one row `a`, a unit vector, more; None if what is left is too thin for doubles.

        `inside` is a point of the cone with ``a.w > 0``, where the row's plane lies outside of the ellipsoid.
        """
        height, towards = float(a @ self.w), self.shape @ a
        width = float(a @ towards)
        w = self.w
        if height <= 1e-3 * width**0.5:  # on the wrong side, or hardly on the right one
            if height**2 < width:  # half-way between the plane and the ellipsoid's end
                w = w + (-height / width + 1 / np.sqrt(width)) / 2 * towards
            elif inside is not None:
                other = inside / np.sqrt((inside**2).sum()) * np.sqrt((self.w**2).sum())
                least = -height / (float(a @ other) - height)
                w = w + (least + 0.3 * (1 - least)) * (other - w)
        return _find_centre(np.vstack([self.A, a]), w)

    def radii(self, rows: Floats) -> Floats:
        """How far the ellipsoid surely reaches along each row, for unit vectors about the direction."""
        across = rows - np.outer(rows @ self.direction, self.direction)
        return self.widths(across)


def _find_centre(A: Floats, w: Floats) -> ConeCentre | None:
    if not _inside(A, w):
        return None
    try:
        for _ in range(_MOST_STEPS):
            gradient, hessian = _derivatives(A, w)
            step: Floats = np.asarray(np.linalg.solve(hessian, -gradient), dtype=np.float64)
            decrement = max(0.0, float(-gradient @ step)) ** 0.5
            if decrement < _NEAR:
                break
            length = 1.0 if decrement < 0.25 else 1 / (1 + decrement)
            lengths = (length / 2**halvings for halvings in range(_MOST_HALVINGS))
            further = next((each for each in lengths if _inside(A, w + each * step)), 0.0)
            w = w + further * step
        return ConeCentre(A, w, np.asarray(np.linalg.inv(_derivatives(A, w)[1]), dtype=np.float64))
    except np.linalg.LinAlgError:
        return None


def _inside(A: Floats, w: Floats) -> bool:
    return bool((A @ w > 0).all() and w @ w < 1)


def _derivatives(A: Floats, w: Floats) -> tuple[Floats, Floats]:
    scaled, room = A / (A @ w)[:, None], 1 - float(w @ w)
    gradient = -scaled.sum(axis=0) + 2 * w / room
    hessian = scaled.T @ scaled + 2 * np.eye(len(w)) / room + 4 * np.outer(w, w) / room**2
    return np.asarray(gradient), np.asarray(hessian)


# ---- how far a cone reaches ----


@dataclass(frozen=True, eq=False)
class Reach:
    """How far a slice reaches in a direction v: v.z is at most `bound` + `left_over` |z|, infinite if none was found.

    `point` is where it is reached, about; None if the solver found none.
    """

    bound: float
    left_over: float
    point: Floats | None


@dataclass(frozen=True, eq=False)
class Slice:
    """The points z of a cone, whose rows A are unit vectors, with z.c = 1 for a unit vector `c` inside."""

    A: Floats
    c: Floats

    def reach(self, v: Floats) -> Reach:
        """How far it reaches in the direction `v`."""
        from scipy.optimize import linprog

        d = len(self.c)
        if len(self.A) < d - 1:
            return Reach(math.inf, math.inf, None)  # a cone of so few rows holds a line across c
        found = linprog(
            -v,
            A_ub=-self.A,
            b_ub=np.zeros(len(self.A)),
            A_eq=self.c[None],
            b_eq=[1.0],
            bounds=(None, None),
            method="highs-ds",
        )
        if found.status != 0:
            return Reach(math.inf, math.inf, None)
        weights, bound = np.maximum(-found.ineqlin.marginals, 0.0), -float(found.eqlin.marginals[0])
        left_over = v + weights @ self.A - bound * self.c
        size = np.abs(v) + weights @ np.abs(self.A) + abs(bound) * np.abs(self.c)
        slack = (len(self.A) + 4) * _ROUNDING * size  # of computing it
        return Reach(bound, float(np.sqrt(((np.abs(left_over) + slack) ** 2).sum())) * (1 + 1e-12), found.x)


@dataclass(frozen=True, eq=False)
class Extent:
    """Between which bounds all unit vectors of a cone lie, along each axis: of (Qw)_j, and of (Qz)_j in the slice."""

    low: Floats
    high: Floats
    slice_low: Floats
    slice_high: Floats


def extent(Q: Floats, c: Floats, up: list[Reach], down: list[Reach]) -> Extent | None:
    """Bounds for all axes from the reach along each row of `Q` (nearly orthogonal) and against it.

    None if the cone may hold a whole line, or the solver was too far off.
    """
    high, low = np.array([each.bound for each in up]), np.array([-each.bound for each in down])
    off = np.array([max(a.left_over, b.left_over) for a, b in zip(up, down, strict=True)])
    if not (np.isfinite(high).all() and np.isfinite(low).all() and np.isfinite(off).all()):
        return None
    # |Qz| >= t|z|, and |Qz| <= |bounds| + |off||z|: so |z| is bounded, and with it what the solver left over is worth.
    t = math.sqrt(max(0.0, 1 - float(np.sqrt(((Q.T @ Q - np.eye(len(Q))) ** 2).sum())) - 1e-12))
    room = t - float(np.sqrt((off**2).sum()))
    if room <= 0.5:
        return None
    longest = float(np.sqrt((np.maximum(np.abs(high), np.abs(low)) ** 2).sum())) / room * (1 + 1e-12)
    high, low = high + off * longest + 1e-14, low - off * longest - 1e-14
    # z = c + h with h across c: |z|² = 1 + |h|².
    across = np.maximum(high - Q @ c, Q @ c - low) + 1e-14
    length = math.sqrt(1 + float((across**2).sum()) / t**2) * (1 + 1e-12)
    most, least = 1 + 1e-12, 1 / length
    return Extent(
        low=np.minimum(low * most, low * least),
        high=np.maximum(high * most, high * least),
        slice_low=low,
        slice_high=high,
    )

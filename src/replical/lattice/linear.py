"""All half-spaces of R^d, rounded to the cells of a published lattice.

There is no list of them. A direction w belongs to one cell of a lattice that is rotated and shifted at random, and a
cell has one half-space, its middle: labs whose directions are near each other return the same one, unless a wall lies
between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import Codes, Indices, Items, Label, class_size, features, two_labels
from replical.classes.halfspaces import gaussians
from replical.classes.recipe import UNIT, Recipe, Section, rescale, stack_features
from replical.core.canonical import digest_of, fingerprint
from replical.core.randomness import SharedRandomness
from replical.errors import BadSpec, ValueOutOfRange

Floats = NDArray[np.float64]

MOST_DIMENSIONS = 1000
_MOST_CELLS = 10**4000  # numbers beyond are not read as texts
_DEPENDENT = 1e-9  # of a column's length: what is left of one that others explain
_FINEST = 1e-6  # a cell's edge
_DOWN = 2.0**-12  # more than 1,000 weights below 2 add up to
_STEP = 2.0**-20  # coordinates are multiples of this: the last bit of a platform's arithmetic then changes nothing


class Linear:
    """Half-spaces ``h(x) = 1[w.x >= 0]``, or with an intercept ``1[w.x + b >= 0]``, one a cell of a shared lattice.

    Parameters
    ----------
    dimensions
        Number of features.
    step
        Length of a cell's edge; `step_for` finds one from an error.
    seed
        The published text that rotation and shift are drawn from.
    intercept
        A public constant c: every item has it as one feature more, so that b = c times its weight. It should be about as
        large as the other features are. None for half-spaces through the origin.
    labels
        What is said where ``w.x < 0``, and where ``w.x >= 0``.

    Attributes
    ----------
    d
        Coordinates of a direction: the features, and the intercept if there is one.
    rotation
        Q, whose rows are the lattice's axes.
    shift
        u, by which share of a cell each axis is shifted.
    size
        Number of cells, as a Python integer; most are beyond anything that could be listed, so there is no ``len``.
    listed
        False: they are no list.

    Raises
    ------
    ValueOutOfRange
        If a number is out of its range, or the seed is no text.
    BadLabel
        If there are not two distinct labels.

    Examples
    --------
    >>> C = Linear(2, step=.1, seed="published")
    >>> h = C.number(C.cell(np.array([.6, .8])))
    >>> h, C.describe(h), C.codes(C.items([[1., 0.], [0., -1.]]), [h]).tolist()
    (326, '1 if 0.63 x0 + 0.785 x1 >= 0 else 0', [[1, 0]])
    """

    listed = False

    def __init__(
        self,
        dimensions: int,
        *,
        step: float,
        seed: str,
        intercept: float | None = None,
        labels: Sequence[Label] = (0, 1),
    ) -> None:
        self.dimensions = class_size("the number of features", dimensions)
        if self.dimensions > MOST_DIMENSIONS:
            raise ValueOutOfRange(f"a lattice has at most {MOST_DIMENSIONS} dimensions, got {dimensions}")
        if not isinstance(seed, str):
            raise ValueOutOfRange(f"a lattice is drawn from a published text, got {type(seed).__name__}")
        if isinstance(step, bool) or not isinstance(step, int | float | np.number) or not _FINEST <= step <= 1:
            raise ValueOutOfRange(f"the step of a lattice must be in [1e-6, 1], got {step!r}")
        if intercept is not None and not _constant(intercept):
            raise ValueOutOfRange(f"an intercept is a public constant above 0, got {intercept!r}")
        self.step, self.seed, self.labels = float(step), seed, two_labels(labels)
        self.intercept = None if intercept is None else float(intercept)
        self.d = self.dimensions + (intercept is not None)
        self._across = 2 * math.ceil(1.001 / self.step) + 3  # cells that unit vectors may lie in, along an axis
        if self.size > _MOST_CELLS:
            raise ValueOutOfRange(
                f"a lattice with {self.d} coordinates and step {self.step:g} has too many cells to number: give a larger "
                "step or fewer features"
            )
        self.rotation, self.shift = _draw(seed, self.d)

    @property
    def size(self) -> int:
        """Number of cells."""
        return int(self._across**self.d)

    def __len__(self) -> int:
        raise BadSpec(
            "half-spaces on a lattice are no list, and this needs a list of hypotheses: use the learner lattice and what it "
            "returns, or the class halfspaces:D,N, a list of N of them"
        )

    @property
    def fingerprint(self) -> str:
        """A hash of everything that defines the lattice, its rotation as computed here included."""
        rotation = digest_of(np.round(self.rotation / _STEP).astype("<i4").tobytes())
        shape: dict[str, Any] = {"dimensions": self.dimensions, "step": repr(self.step), "seed": self.seed}
        constant = None if self.intercept is None else repr(self.intercept)
        return fingerprint(
            {"kind": "linear", **shape, "intercept": constant, "labels": list(self.labels), "rotation": rotation}
        )

    def place(self, w: Floats) -> Floats:
        """Where a unit direction `w` lies, in cells along each axis: (Qw)/s - u."""
        return np.asarray(self.rotation @ w / self.step - self.shift)

    def cell(self, w: Floats) -> tuple[int, ...]:
        """The cell of a direction `w`, one whole number an axis.

        Raises
        ------
        ValueOutOfRange
            If it has another number of coordinates, or no length.
        """
        w = np.asarray(w, dtype=np.float64)
        length = float(np.sqrt((w**2).sum()))
        if w.shape != (self.d,) or not (0 < length < math.inf):
            raise ValueOutOfRange(f"a direction is {self.d} numbers that are not all 0, got {w!r:.60}")
        return tuple(int(each) for each in np.floor(self.place(w / length)))

    def number(self, cell: Sequence[int]) -> int:
        """The number of a `cell`: its coordinates as the digits of one whole number.

        Raises
        ------
        ValueOutOfRange
            If no unit direction comes near it.
        """
        low, h = -(self._across // 2), 0
        for each in reversed(cell):
            if not 0 <= each - low < self._across:
                raise ValueOutOfRange(f"the lattice has cells {low} to {low + self._across - 1} an axis, got {each}")
            h = h * self._across + each - low
        return h

    def cell_of(self, h: int) -> tuple[int, ...]:
        """The cell with the number `h`.

        Raises
        ------
        ValueOutOfRange
            If there is none.
        """
        if isinstance(h, bool) or not isinstance(h, int | np.integer) or not 0 <= h < self.size:
            raise ValueOutOfRange(f"the lattice has cells 0 to {self.size - 1}, got {h!r}")
        rest, cell = int(h), []
        for _ in range(self.d):
            rest, digit = divmod(rest, self._across)
            cell.append(digit - self._across // 2)
        return tuple(cell)

    def normal(self, h: int) -> Floats:
        """The direction in the middle of cell `h`."""
        middle = (np.array(self.cell_of(h), dtype=np.float64) + 0.5 + self.shift) * self.step
        return _coarse(self.rotation.T @ middle)

    def describe(self, h: int) -> str:
        """Cell `h` in words."""
        return self.in_words(h, [f"x{d}" for d in range(self.dimensions)])

    def in_words(self, h: int, names: Sequence[str], ends: Floats | None = None) -> str:
        """Cell `h` in words, with the `names` of the features; in their units if they were rescaled by `ends`."""
        w = self.normal(h)
        weights, offset = w[: self.dimensions], 0.0 if self.intercept is None else -w[-1] * self.intercept
        if ends is not None:
            weights = weights * UNIT / (ends[:, 1] - ends[:, 0])
            offset += float((weights * ends.mean(axis=1)).sum())
        signed = [
            f"{'-' if weight < 0 else '+'} {abs(weight):.3g} {name}"
            for weight, name in zip(weights, names, strict=True)
        ]
        side = " ".join(signed).removeprefix("+ ")
        return f"{self.labels[1]} if {side} >= {offset:.3g} else {self.labels[0]}"

    def items(self, X: ArrayLike) -> Items:
        """Check `X`, a table of numbers with one row an item and one column a feature; the intercept is added to it.

        Raises
        ------
        BadTable
            If the table has another shape, or a value is missing or infinite.
        """
        checked = features(X, self.dimensions)
        if self.intercept is None:
            return checked
        return np.column_stack([checked, np.full(len(checked), self.intercept)])

    def codes(self, items: Items, hypotheses: Sequence[int] | Indices) -> Codes:
        """Label codes of the cells `hypotheses` (rows) on checked `items` (columns)."""
        return np.stack([(heights(items, self.normal(h)) >= 0).astype(np.uint16) for h in hypotheses])

    def cells(self) -> None:
        """Too many to list."""
        return

    def some(self, shared: SharedRandomness, *name: str | int, count: int) -> list[int]:
        """The cells of `count` directions that point anywhere, from the words that `shared` has under `name`."""
        directions = _coarse(gaussians(shared, *name, count=count * self.d).reshape(count, self.d))
        return [self.number(self.cell(w)) for w in directions]


def heights(items: Items, w: Floats) -> Floats:
    """w.x, added up feature by feature: a matrix product may add in another order on another machine.

    Items near the largest double are made smaller first, so that no sum of theirs is infinite on its way.

    >>> X = np.array([[2.0**1023, 2.0**1023, -2.0**1023], [1.0, 2.0, 3.0]])
    >>> heights(X, np.array([1.0, .75, .5])).tolist() == [1.25 * 2.0**1023, 4.0]
    True
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = _sum(items, w)
        large = ~np.isfinite(total)
        if large.any():
            total[large] = _sum(items[large] * _DOWN, w) / _DOWN
    return total


def _sum(items: Items, w: Floats) -> Floats:
    total = np.zeros(len(items))
    for d, weight in enumerate(w):
        total += weight * items[:, d]
    return total


def step_for(epsilon: float, dimensions: int) -> float:
    """The step with which rounding costs about half of `epsilon` where items have no preferred direction.

    Rounding moves a direction by s√(d/12), root mean square; of items that look alike from every side that share,
    divided by π, changes sides.

    >>> round(step_for(.04, 10), 4)
    0.0688
    """
    found = epsilon / 2 * math.pi / math.sqrt(dimensions / 12)
    if found < _FINEST:
        raise ValueOutOfRange(
            f"epsilon {epsilon:g} with {dimensions} coordinates takes a lattice whose step is {found:.1e}, and none is "
            f"finer than {_FINEST:g}: give a larger epsilon, or the step"
        )
    return min(1.0, found)


def dependent_columns(items: Items) -> list[int]:
    """Columns that follow from those before them, the last column (an intercept) first: constant ones, copies, sums.

    No label tells anything of their weights.

    >>> dependent_columns(np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 1.0], [4.0, 8.0, 3.0]]))
    [1]
    """
    largest = np.abs(items).max(axis=0)
    unit = items / np.where(largest > 0, largest, 1.0)  # their squares neither overflow nor vanish
    lengths = np.sqrt((unit**2).sum(axis=0))
    scaled = np.asarray(unit / np.where(lengths > 0, lengths, 1.0))
    columns: Floats = np.linalg.qr(scaled)[1]  # the same dependences, in few rows
    found, basis = list[int](), np.zeros((len(columns), 0))
    for j in (items.shape[1] - 1, *range(items.shape[1] - 1)):
        rest = columns[:, j]
        for _ in range(2):  # twice is enough
            rest = rest - basis @ (basis.T @ rest)
        left = float(np.sqrt((rest**2).sum()))
        if left < _DEPENDENT:
            found.append(j)
        else:
            basis = np.column_stack([basis, rest / left])
    return found


def recipe(section: Section) -> Recipe:
    """From a protocol: a lattice drawn from its string; features with a public range are brought to variance one."""
    names, labels, content = section.features, section.labels, section.content
    constant = section.number("intercept") if "intercept" in content else None
    C = Linear(len(names), step=section.number("step"), seed=section.seed, intercept=constant, labels=labels)
    if "range" not in content:
        return Recipe(C=C, columns=names, to_items=stack_features, in_words=lambda h: C.in_words(h, names))
    ends = np.array(section.ranges())
    return Recipe(C=C, columns=names, to_items=rescale(ends), in_words=lambda h: C.in_words(h, names, ends))


@lru_cache(maxsize=4)
def _draw(seed: str, d: int) -> tuple[Floats, Floats]:
    """Rotation and shift that a text gives to d coordinates; nobody may write into them."""
    shared = SharedRandomness(seed)
    orthogonal, upper = np.linalg.qr(gaussians(shared, "lattice", "rotation", count=d * d).reshape(d, d))
    rotation = _coarse((orthogonal * np.sign(np.diag(upper))).T)
    shift = (shared.words("lattice", "shift", count=d) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    rotation.flags.writeable = shift.flags.writeable = False
    return rotation, shift


def _coarse(values: Floats) -> Floats:
    return np.asarray(np.round(values / _STEP) * _STEP)


def _constant(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(0 < value < math.inf)

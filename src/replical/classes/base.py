"""What a hypothesis class is: finite, ordered, public, and independent of anything a lab measured.

Inside the library a label is its *code*, the position in the class's label set; values appear at the border only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.core.text import is_seen
from replical.errors import BadLabel, BadTable, ValueOutOfRange

Label = str | int
Codes = NDArray[np.uint16]
Items = NDArray[Any]  # or what is indexed like one: the rows of a table stay packed
Indices = NDArray[np.int64]

_MOST_LABELS = 2**16  # codes are 16-bit
_MOST_HYPOTHESES = 2**40  # indices are 64-bit and are added to positions


@runtime_checkable
class HypothesisClass(Protocol):
    """A finite ordered class C of hypotheses; anything with these members can be learned.

    ``len(C)`` is the number of hypotheses; a hypothesis is its index, from 0 on.
    """

    @property
    def labels(self) -> tuple[Label, ...]:
        """The label set, in its public order."""
        ...

    @property
    def fingerprint(self) -> str:
        """A hash of everything that defines the class."""
        ...

    def __len__(self) -> int: ...

    def describe(self, h: int) -> str:
        """Hypothesis `h` in words."""
        ...

    def items(self, X: ArrayLike) -> Items:
        """Check the raw items `X` and bring them into the form `codes` takes; the first axis counts items."""
        ...

    def codes(self, items: Items, hypotheses: Indices) -> Codes:
        """Label codes of `hypotheses` (rows) on checked `items` (columns)."""
        ...

    def cells(self) -> Items | None:
        """Items that stand for every way the class can tell points apart, if they can be listed."""
        ...


def is_listed(C: HypothesisClass) -> bool:
    """Can its hypotheses be listed? Those of a lattice (`Linear`) can be numbered, and are far too many to count up."""
    return bool(getattr(C, "listed", True))


def size_of(C: HypothesisClass) -> int:
    """Its number of hypotheses, which of a lattice may have hundreds of digits."""
    return len(C) if is_listed(C) else int(getattr(C, "size"))  # noqa: B009 - what is not listed has it


class Listed:
    """What classes have in common whose hypotheses are a list."""

    def predict(self: HypothesisClass, X: Any) -> NDArray[Any]:
        """Label values of every hypothesis (rows) on every item of `X` (columns)."""
        return values(self.codes(self.items(X), np.arange(len(self), dtype=np.int64)), self.labels)

    def cells(self) -> Items | None:
        """None: too many to list, or nobody knows which there are; a population gives atoms instead."""
        return None


def label_set(labels: Sequence[Label]) -> tuple[Label, ...]:
    """Check a label set, in its public order: two or more distinct texts or integers; `BadLabel` is raised if it is none.

    >>> label_set(["no", "yes"])
    ('no', 'yes')
    """
    if isinstance(labels, set | frozenset):
        raise BadLabel("a set has no order, and the order of the labels is public: give a list")
    members = tuple(label.item() if isinstance(label, np.integer | np.str_) else label for label in labels)
    if any(not isinstance(label, str | int) for label in members):
        raise BadLabel(f"labels must be texts or integers, got {list(members)!r}")
    if hidden := [label for label in members if isinstance(label, str) and not is_seen(label)]:
        raise BadLabel(f"a label is one line of letters that are seen, got {hidden[0]!r:.80}: write it otherwise")
    if not 2 <= len(members) <= _MOST_LABELS or len(set(members)) < len(members):
        raise BadLabel(f"a label set must hold 2 to {_MOST_LABELS} distinct labels, got {list(members)!r:.60}")
    return members


def two_labels(labels: Sequence[Label]) -> tuple[Label, ...]:
    """Check `labels` for a class that only ever says "low" or "high"; `BadLabel` is raised if there are not two."""
    members = label_set(labels)
    if len(members) != 2:
        raise BadLabel(f"this class tells two labels apart, got {list(members)!r}")
    return members


def class_size(name: str, size: int) -> int:
    """Check the `size` of a class, called `name` in the error: `ValueOutOfRange` outside 1 to 2⁴⁰."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer):
        raise ValueOutOfRange(f"{name} must be a whole number, got {size!r}")
    if size < 1:
        raise ValueOutOfRange(f"{name} must be positive, got {size}: a class needs at least one hypothesis")
    if size > _MOST_HYPOTHESES:
        raise ValueOutOfRange(f"{name} must be at most 2**40, got {Decimal(int(size)):.3g}")
    return int(size)


def cell_numbers(X: ArrayLike, cells: int) -> Indices:
    """Check that the items `X` are cell numbers 0 to ``cells - 1``; `BadTable` is raised if they are not."""
    raw = np.asarray(X)
    if raw.ndim != 1 or raw.dtype.kind not in "iu":
        raise BadTable(f"items must be a one-dimensional array of cell numbers 0 to {cells - 1}, got {raw!r:.60}")
    if raw.size and not (raw.min() >= 0 and raw.max() < cells):
        wrong = raw[(raw < 0) | (raw >= cells)][0]
        raise BadTable(f"items must be cell numbers 0 to {cells - 1}, got {wrong}")
    return raw.astype(np.int64, copy=False)


def features(X: ArrayLike, dimensions: int) -> Items:
    """Check that `X` is a table of finite numbers, one row an item, one of `dimensions` columns a feature."""
    raw = np.asarray(X)
    if raw.ndim != 2 or raw.shape[1] != dimensions or raw.dtype.kind not in "biuf":
        raise BadTable(
            f"items must be a table of numbers with {dimensions} columns, got shape {raw.shape} of {raw.dtype}"
        )
    if not np.isfinite(raw).all():
        row, column = np.argwhere(~np.isfinite(raw))[0]
        raise BadTable(f"the feature in row {row}, column {column} is missing or infinite")
    return raw.astype(np.float64, copy=False)


def encode(raw: ArrayLike, labels: tuple[Label, ...], *, before: int = 0) -> Codes:
    """Turn label values into codes; the first value that is missing or no label is named with its place.

    `before` so many rows came before these, where a table is encoded in blocks.

    >>> encode(["yes", "no"], ("no", "yes")).tolist()
    [1, 0]
    >>> encode([1, 7], (0, 1))
    Traceback (most recent call last):
        ...
    replical.errors.BadLabel: 7 at position 1 is not in the label set [0, 1]
    """
    array = np.asarray(raw)
    texts = all(isinstance(label, str) and not label.endswith("\0") for label in labels)  # NumPy drops zeros at the end
    numbers = not any(isinstance(label, str) for label in labels)
    as_it_is = array.dtype.kind in "iufb" if numbers else texts and array is raw and array.dtype.kind == "U"
    if not as_it_is:
        array = np.asarray(raw, dtype=object)
    codes = np.zeros(array.shape, dtype=np.uint16)
    known = np.zeros(array.shape, dtype=np.bool_)
    for code, label in enumerate(labels):
        same = np.asarray(array == label, dtype=np.bool_)
        codes[same] = code
        known |= same
    if not known.all():
        place = tuple(int(i) for i in np.argwhere(~known)[0])
        row = before + place[0]
        where = f"position {row}" if len(place) == 1 else f"row {row}, column {place[1]}"
        value = array[place]
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            raise BadTable(f"the value at {where} is missing; every item needs one of {list(labels)!r}")
        python_value = value.item() if isinstance(value, np.generic) else value
        raise BadLabel(f"{python_value!r} at {where} is not in the label set {list(labels)!r}")
    return codes


def values(codes: Codes, labels: tuple[Label, ...]) -> NDArray[Any]:
    """Turn `codes` back into values of the label set `labels`."""
    plain = all(isinstance(label, str) for label in labels) or not any(isinstance(label, str) for label in labels)
    return np.array(labels, dtype=None if plain else object)[codes]

"""A yardstick: published unlabelled items on which every lab measures distances, in place of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import DrawsItems, HypothesisClass, Items
from replical.classes.table import digest
from replical.core.canonical import fingerprint
from replical.core.randomness import SharedRandomness, below
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.pools.pool import cell_weights
from replical.pools.version_space import VersionSpace

_MOST = 2**22  # items: a table of balls by their radius is held in memory


class Yardstick:
    """Published unlabelled items. Every lab counts on them how far hypotheses are apart.

    They must be fixed before the shared string is known, or be drawn from words of it that nothing else uses: whoever
    chooses them after the threshold and the order breaks the promise (docs/claims/yardstick.md). They need not be like
    any lab's own items; whether an answer is accurate is judged on those.

    Parameters
    ----------
    C
        The class; it checks the items.
    X
        The items.
    weights
        How often each item counts, whole numbers of at least 1; once each if left out.

    Attributes
    ----------
    C
        The class.
    weights
        How often each item counts.

    Raises
    ------
    ValueOutOfRange
        If there is no item, a weight is not a whole number of at least 1, or they add up to more than 4,194,304.
    BadTable
        If the class cannot read the items.

    Examples
    --------
    >>> from replical import Thresholds
    >>> yardstick = Yardstick(Thresholds(5), [0, 1, 2, 3], weights=[1, 1, 2, 1])
    >>> yardstick.size, yardstick.version_space().distances(0).tolist()
    (5, [0, 1, 2, 4, 5])
    """

    _load: Callable[[], Items] | None

    def __init__(self, C: HypothesisClass, X: ArrayLike, *, weights: ArrayLike | None = None) -> None:
        self._set(C, C.items(X), weights)

    def _set(self, C: HypothesisClass, items: Items, weights: ArrayLike | None) -> None:
        if len(items) == 0:
            raise ValueOutOfRange("a yardstick needs at least one item, got none")
        self.C, self._load, self.items = C, None, items
        self.weights: NDArray[np.int64] = cell_weights(weights, len(items))
        if self.weights.min() < 1:
            raise ValueOutOfRange(
                f"item {int(self.weights.argmin())} of the yardstick has weight 0 and measures nothing: leave it out, or "
                "give it a weight of at least 1"
            )
        if self.size > _MOST:
            raise ValueOutOfRange(
                f"the weights of a yardstick add up to at most {_MOST:,}, got {self.size:,}: take fewer items or smaller "
                "weights"
            )

    @classmethod
    def lazy(cls, C: HypothesisClass, size: int, load: Callable[[], Items]) -> Yardstick:
        """A yardstick of the class `C` of which only the `size` is needed at first; `load` gives its items, each once.

        Raises
        ------
        ValueOutOfRange
            If it has no item, or more than 4,194,304.

        Examples
        --------
        >>> from replical import Thresholds
        >>> yardstick = Yardstick.lazy(Thresholds(5), 4, lambda: np.arange(4))
        >>> yardstick.size, yardstick.items.tolist()
        (4, [0, 1, 2, 3])
        """
        if not 1 <= size <= _MOST:
            raise ValueOutOfRange(f"a yardstick has 1 to {_MOST:,} items, got {size:,}")
        yardstick = cls.__new__(cls)
        yardstick.C, yardstick._load, yardstick.weights = C, load, np.ones(size, dtype=np.int64)
        return yardstick

    @cached_property
    def items(self) -> Items:
        """The items, checked and encoded by the class."""
        assert self._load is not None, "set at once, or read when they are needed"
        return self._load()

    @classmethod
    def cells(cls, C: HypothesisClass, cells: Items | None = None, *, weights: ArrayLike | None = None) -> Yardstick:
        """Every cell of a class once: nothing is shared but the string.

        Parameters
        ----------
        C
            The class.
        cells
            Checked items, one a cell, where the class does not list its own.
        weights
            How often each cell counts.

        Returns
        -------
        yardstick
            The yardstick.

        Raises
        ------
        ValueOutOfRange
            If the class does not list its cells and none are given.

        Examples
        --------
        >>> from replical import Thresholds
        >>> Yardstick.cells(Thresholds(1000)).size
        999
        """
        listed = _listed(C) if cells is None else cells
        if listed is None:
            raise ValueOutOfRange(
                f"this class does not list its cells: {_draw(C)}publish a file of items as the yardstick instead"
            )
        yardstick = cls.__new__(cls)
        yardstick._set(C, listed, weights)
        return yardstick

    @classmethod
    def drawn(cls, C: HypothesisClass, count: int, shared: SharedRandomness) -> Yardstick:
        """`count` items of the class `C`, drawn from words of the string that nothing else uses.

        Cells with equal chances where the class lists them, otherwise items of the public law that boxes, stumps and
        half-spaces have: uniform on bins, uniform between cuts, standard normal.

        Parameters
        ----------
        C
            The class.
        count
            How many draws.
        shared
            The published string.

        Returns
        -------
        yardstick
            The items drawn, each with a weight for how often it was.

        Raises
        ------
        ValueOutOfRange
            If `count` is no whole number of at least 1, or the class neither lists its cells nor draws items.

        Examples
        --------
        >>> from replical import SharedRandomness, Thresholds
        >>> Yardstick.drawn(Thresholds(6), 100, SharedRandomness("published")).weights.tolist()
        [18, 26, 19, 24, 13]
        """
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= _MOST:
            raise ValueOutOfRange(f"a yardstick is drawn with 1 to {_MOST:,} items, got {count!r}")
        listed = _listed(C)
        if listed is not None:
            # Chances differ by one part in 2³²/cells at most; the promise is for any items, so that costs nothing.
            chosen = below(shared.words("yardstick", count=int(count)), len(listed))
            cells, weights = np.unique(chosen, return_counts=True)
            return cls.cells(C, listed[cells], weights=weights)
        if not isinstance(C, DrawsItems):
            raise ValueOutOfRange(
                "this class neither lists its cells nor draws items: publish a file of items as the yardstick instead"
            )
        drawn, weights = np.unique(C.draw_items(shared, "yardstick", count=int(count)), axis=0, return_counts=True)
        return cls.cells(C, drawn, weights=weights)

    @property
    def size(self) -> int:
        """M: how many items it counts."""
        return int(self.weights.sum())

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the class, the items and their weights."""
        return fingerprint(
            {"class": self.C.fingerprint, "items": _digest(self.items), "weights": _digest(self.weights)}
        )

    @cached_property
    def _whole(self) -> VersionSpace:
        return VersionSpace.whole(self.C, self.items, self.weights)

    def version_space(self) -> VersionSpace:
        """The whole class, seen on the yardstick."""
        return self._whole

    def check(self, C: HypothesisClass) -> None:
        """Refuse a class `C` that this yardstick was not made for.

        Raises
        ------
        PlanMismatch
            If it is another class.
        """
        if C.fingerprint != self.C.fingerprint:
            raise PlanMismatch(
                f"the yardstick is for the class {self.C.fingerprint[:23]}, and this one is {C.fingerprint[:23]}: measure "
                "on items of the same class, with the same candidates in the same order"
            )


def _listed(C: HypothesisClass) -> Items | None:
    """The cells of a class, unless they are far too many to be listed."""
    if len(C) > 16 * _MOST:
        raise ValueOutOfRange(
            f"a class of {len(C):,} hypotheses has too many cells for a yardstick: publish a file of items instead"
        )
    return C.cells()


def _draw(C: HypothesisClass) -> str:
    return "draw some from the string (string:M), or " if isinstance(C, DrawsItems) else ""


def _digest(values: Items) -> str:
    return f"{np.dtype(values.dtype).newbyteorder('<').str} {values.shape} {digest(values)}"

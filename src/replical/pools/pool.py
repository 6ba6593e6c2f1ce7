"""A lab's unlabelled items, or a known distribution in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import HypothesisClass, Indices, Items, is_listed
from replical.classes.predictions.base import Predictions, predictions_of
from replical.core.randomness import PrivateRandomness
from replical.errors import PoolExhausted, ValueOutOfRange
from replical.pools.groups import group_codes, group_order
from replical.pools.scan import ExactBlocks, ExactScan, FiniteBlocks, FiniteScan, GroupBlocks
from replical.pools.version_space import VersionSpace

_TAIL = 10_000  # items to measure on where any number could be drawn
_MOST_WEIGHT = 2**53  # masses stay exact in doubles


class Pool:
    """A finite pool of items, scanned once in a private order fixed before any label.

    Parameters
    ----------
    C
        The class the items are for; it checks them.
    X
        The items; of a prediction table rows (an array, a data frame, lists), or a mapping of candidates to columns. They
        are checked and packed block by block: beside `X` a pool of n items and k candidates with two labels takes
        n·k / 8 bytes, and some 50 MB while it is made.
    private
        This lab's own randomness: it decides the order of the scan.
    weights
        How many separate items each row stands for; one each if left out. Each of them must be a draw of its own: bounds
        count them so. Importance weights are something else. Where labels may be wrong, one label for such a row is
        refused, since each item has its own.
    groups
        Which items belong together, a value an item: groups are scanned whole, in private order. None where each is a draw
        of its own.

    Attributes
    ----------
    items
        The items, checked and encoded by the class.
    weights
        How often each item occurs among those that measure masses.
    ids
        Which item of the outside world each item is: its row in `X`, or its cell in a population.
    groups
        The number of each item's group; None where each is a draw of its own.
    order
        The private order: item numbers, each as often as the item occurs.
    unasked
        Items that nobody can label.
    exact
        False: masses are measured, not known.

    Raises
    ------
    ValueOutOfRange
        If `private` is not this lab's own randomness, weights are no whole numbers, or there is no item.
    BadTable
        If the class cannot read the items.

    Examples
    --------
    >>> from replical import PrivateRandomness, Thresholds
    >>> pool = Pool(Thresholds(4), [0, 1, 1, 2], PrivateRandomness.simulated("doctest"))
    >>> len(pool), pool.version_space().mass
    (4, Fraction(1, 1))
    """

    exact = False

    def __init__(
        self,
        C: HypothesisClass,
        X: ArrayLike | Mapping[str, ArrayLike],
        private: PrivateRandomness,
        *,
        weights: ArrayLike | None = None,
        groups: Sequence[Any] | None = None,
    ) -> None:
        if not isinstance(private, PrivateRandomness):
            raise ValueOutOfRange(f"a pool is scanned in private order, got {type(private).__name__}")
        items = C.items(cast(ArrayLike, X))
        if groups is not None:
            if weights is not None:
                raise ValueOutOfRange("items of a group are rows of their own: leave out weights, or groups")
            codes = group_codes(groups, len(items))
            everything = np.arange(len(items), dtype=np.int64)
            order = group_order(codes, private.permutation(int(codes.max()) + 1))
            self._set(C, items, everything, weights=np.ones_like(everything), order=order)
            self.groups: Indices | None = codes
            return
        counts = cell_weights(weights, len(items))
        everything = np.repeat(np.arange(len(items), dtype=np.int64), counts)
        order = everything[private.permutation(len(everything))]
        self._set(C, items, np.arange(len(items), dtype=np.int64), weights=counts, order=order)

    @classmethod
    def in_order(
        cls,
        C: HypothesisClass,
        items: Items,
        ids: Indices,
        order: Indices,
        predictions: Predictions | None,
        ends: Sequence[int] = (),
        groups: Indices | None = None,
    ) -> Pool:
        """A pool whose scan order is known.

        Parameters
        ----------
        C
            The class.
        items
            Checked items.
        ids
            Which item of the outside world each of them is.
        order
            The private order: item numbers, each as often as the item occurs.
        predictions
            What every hypothesis says about every item; None where the class is no list.
        ends
            How far the order went before more items were added; each time, if that happened several times.
        groups
            The number of each item's group, where items belong together; the order keeps them together.

        Returns
        -------
        pool
            The pool.
        """
        pool = cls.__new__(cls)
        pool._set(C, items, ids, weights=_tally(order, len(items)), order=order)
        pool._ends, pool.groups = tuple(ends), groups
        if predictions is not None:
            pool.predictions = predictions
        return pool

    def _set(
        self, C: HypothesisClass, items: Items, ids: Indices, *, weights: NDArray[np.int64], order: Indices
    ) -> None:
        if len(order) == 0:
            raise ValueOutOfRange("a pool needs at least one item, got none")
        self.C, self.items, self.ids, self.weights, self.order = C, items, ids, weights, order
        self.groups = None
        self.unasked: Indices = order[:0]
        self._ends: tuple[int, ...] = ()

    def without(self, unasked: Indices) -> Pool:
        """The same pool, whose scan passes over the items `unasked`: they still measure masses, but have no label."""
        pool = Pool.in_order(self.C, self.items, self.ids, self.order, self._common, self._ends, self.groups)
        pool.unasked = unasked
        return pool

    def __len__(self) -> int:
        return len(self.order)

    @property
    def size(self) -> int:
        """Items in the pool."""
        return len(self.order)

    @property
    def most_copies(self) -> int:
        """For how many items one row stands at most."""
        return int(_tally(self.order, len(self.items)).max())

    def first(self, items: int | None) -> Pool:
        """The first `items` of the private order as a pool of their own; all of them if None is given."""
        return self if items is None or items == len(self) else self._of(self.order[:items])

    def _of(self, order: Indices) -> Pool:
        return Pool.in_order(self.C, self.items, self.ids, order, self._common).without(self.unasked)

    def reserve(self, measuring: int) -> Pool:
        """Set the last `measuring` items of the private order aside: they measure masses and are never asked.

        Raises
        ------
        PoolExhausted
            If the pool holds no more items than that.
        """
        if measuring == 0:
            return self
        if measuring >= len(self):
            raise PoolExhausted(
                f"the plan sets {measuring} items aside to measure disagreement, but the pool holds {len(self)}: "
                f"at least {measuring + 1 - len(self)} more are needed"
            )
        asked, measured = self.order[:-measuring], self.order[-measuring:]
        pool = Pool.__new__(Pool)
        pool._set(self.C, self.items, self.ids, weights=_tally(measured, len(self.items)), order=asked)
        pool.unasked = self.unasked
        if (common := self._common) is not None:
            pool.predictions = common
        return pool

    def part(self, number: int, *, of: int) -> Pool:
        """Part `number` of `of` equal parts of the private order, as a pool of its own.

        Raises
        ------
        PoolExhausted
            If there are more parts than items.
        """
        size = len(self) // of
        if size == 0:
            raise PoolExhausted(
                f"a pool of {len(self)} items has no {of} parts: bring a larger pool or make fewer runs"
            )
        return self._of(self.order[number * size : (number + 1) * size])

    @cached_property
    def predictions(self) -> Predictions:
        """What every hypothesis says about every item."""
        return predictions_of(self.C, self.items)

    @property
    def _common(self) -> Predictions | None:
        """What pools made from this one share with it; None where the class is no list."""
        return self.predictions if is_listed(self.C) else None

    def version_space(self) -> VersionSpace:
        """V = C on this pool."""
        return VersionSpace.whole(self.C, self.items, self.weights, self.predictions)

    def scan(self, *, sparing: int = 0) -> FiniteScan:
        """A fresh pass from the first item of the private order that never asks the last `sparing` items."""
        order = self.order[: len(self) - sparing]
        return FiniteScan(order if len(self.unasked) == 0 else order[~np.isin(order, self.unasked)])

    def blocks(self) -> FiniteBlocks:
        """A fresh pass in blocks from the first item of the private order; items nobody can label are scanned too."""
        if self.groups is not None:
            return GroupBlocks(self.order, self.unasked, self._ends, self.groups)
        return FiniteBlocks(self.order, self.unasked, self._ends)

    def unscanned(self, scanned: int, most: int) -> tuple[Indices, int]:
        """The next `most` items of the private order after those `scanned`; what nobody can label is passed over."""
        ahead = self.order[scanned:]
        places = np.flatnonzero(~np.isin(ahead, self.unasked))[:most]
        return ahead[places], int(places[-1]) + 1 - len(places) if len(places) else 0

    def tail(self, part: Fraction) -> Indices:
        """The last `part` of the private order, as item numbers."""
        return self.order[len(self) - floor(part * len(self)) :]


class ExactPool:
    """A known distribution in place of a sample: masses are exact and fresh items never run out.

    Parameters
    ----------
    C
        The class the items are for.
    items
        One checked item a cell.
    weights
        Integer masses of the cells.
    private
        This lab's own randomness: it decides what is drawn.
    predictions
        What every hypothesis says about every cell.

    Attributes
    ----------
    ids
        The numbers of the cells.
    exact
        True: masses are known.

    Examples
    --------
    >>> from replical import Population, PrivateRandomness, Thresholds
    >>> world = Population(Thresholds(4), target=1, weights=[1, 2, 1])
    >>> pool = world.pool("exact", PrivateRandomness.simulated("doctest"))
    >>> pool.size, pool.version_space().keep(np.array([False, True, True, False])).mass
    (4, Fraction(1, 2))
    """

    exact = True
    groups = None
    most_copies = 1  # a cell's label is part of the distribution, and each draw is its own
    unasked: Indices = np.zeros(0, dtype=np.int64)  # whatever is drawn has a label

    def __init__(
        self,
        C: HypothesisClass,
        items: Items,
        weights: NDArray[np.int64],
        private: PrivateRandomness,
        predictions: Predictions,
    ) -> None:
        self.C, self.items, self.weights, self._private = C, items, weights, private
        self.predictions = predictions
        self.ids = np.arange(len(items), dtype=np.int64)

    @property
    def size(self) -> int:
        """Total weight of the distribution."""
        return int(self.weights.sum())

    def first(self, items: int | None) -> ExactPool:
        """The distribution itself, whatever `items` is: it has no first ones."""
        return self

    def reserve(self, measuring: int) -> ExactPool:
        """The distribution itself, whatever `measuring` is: nothing has to be measured where masses are known."""
        return self

    def part(self, number: int, *, of: int) -> ExactPool:
        """The distribution with draws of its own for every `number`, however many parts `of` there are."""
        return ExactPool(self.C, self.items, self.weights, self._private.derived("part", number), self.predictions)

    def generator(self, *name: str | int) -> np.random.Generator:
        """Draws of this lab's own under a `name`, for whoever makes many at once."""
        return self._private.generator(*name)

    def version_space(self) -> VersionSpace:
        """V = C on this distribution."""
        return VersionSpace.whole(self.C, self.items, self.weights, self.predictions)

    def scan(self, *, sparing: int = 0) -> ExactScan:
        """A fresh sequence of draws, the same one at every call; nothing runs out, so `sparing` changes nothing."""
        return ExactScan(self.weights, self._private.generator("draws"))

    def blocks(self) -> ExactBlocks:
        """A fresh sequence of draws in blocks, the same one at every call."""
        return ExactBlocks(self.weights, self._private.generator("draws"))

    def unscanned(self, scanned: int, most: int) -> tuple[Indices, int]:
        """`most` draws, apart from those a pass makes, however many it `scanned`."""
        return self._draw("unscanned", most), 0

    def tail(self, part: Fraction) -> Indices:
        """10,000 items to measure on, whatever `part` is, drawn apart from those a scan asks about."""
        return self._draw("tail", _TAIL)

    def _draw(self, purpose: str, count: int) -> Indices:
        ticks = self._private.generator(purpose).integers(int(self.weights.sum()), size=count)
        return np.searchsorted(np.cumsum(self.weights), ticks, side="right").astype(np.int64)


AnyPool = Pool | ExactPool  # what a learner sees


def cell_weights(weights: ArrayLike | None, count: int) -> NDArray[np.int64]:
    """Check `count` integer weights, one an item; equal if None is given."""
    if weights is None:
        return np.ones(count, dtype=np.int64)
    raw = np.asarray(weights)
    if raw.shape != (count,) or raw.dtype.kind not in "iu":
        raise ValueOutOfRange(
            f"weights must be {count} whole numbers, one an item, got shape {raw.shape} of {raw.dtype}"
        )
    added = raw.astype(np.float64).sum()  # as doubles: integers could wrap around
    if raw.size and (raw.min() < 0 or not 0 < added <= _MOST_WEIGHT):
        raise ValueOutOfRange(f"weights must be non-negative and add up to 1 .. 2**53, got a sum of {added:g}")
    return raw.astype(np.int64)


def _tally(order: Indices, count: int) -> NDArray[np.int64]:
    return np.bincount(order, minlength=count).astype(np.int64)

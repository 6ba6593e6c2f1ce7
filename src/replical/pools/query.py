"""What a learner says and hears: items it wants labelled, how often each label came back, and who answers.

Numbers of labels may be of any size where a distribution is known: so may the binomial and multinomial draws of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import HypothesisClass, Items, encode
from replical.classes.grading import loss_of
from replical.errors import BadLabel, ValueOutOfRange

Indices = NDArray[np.int64]
# int64 while a query asks for fewer than 2**62 labels, Python integers (dtype object) beyond.
Counts = NDArray[np.int64] | NDArray[np.object_]

_NONE: Indices = np.zeros(0, dtype=np.int64)
_LIMB = 40  # bits of a part: 2**22 parts of 40 bits still add up inside 63 bits


@dataclass(frozen=True, kw_only=True, eq=False)
class Query:
    """What a learner asks, with the state of the version space V that asks.

    Attributes
    ----------
    items
        Items to label, as numbers of the pool.
    counts
        How many labels each of them needs.
    scanned
        Unlabelled items looked at to find these.
    disagreement
        Mass of DIS(V), the items on which survivors differ, when asking; as [count, total].
    survivors
        Hypotheses in V when asking.
    known
        Disputed items among those looked at that need not be asked, because their labels are known.
    unlabelled
        Disputed items among those looked at that nobody can label.
    sizes, owners
        Where items come in groups: how many items each group has that was looked at, and in which of these every item to
        label is.
    outputs
        Where outputs are scored: for each item the codes of those that need a score.
    standing
        What is proven when asking, and how the rest of the run may go, where the learner can say so.

    Examples
    --------
    >>> asked = Query(items=np.array([7]), counts=np.array([2]), scanned=9, disagreement=(30, 100), survivors=4)
    >>> asked.total
    2
    """

    items: Indices
    counts: Counts
    scanned: int
    disagreement: tuple[int, int]
    survivors: int
    known: Indices = field(default_factory=lambda: _NONE)
    unlabelled: Indices = field(default_factory=lambda: _NONE)
    sizes: Indices | None = None
    owners: Indices = field(default_factory=lambda: _NONE)
    outputs: tuple[tuple[int, ...], ...] = ()
    standing: Callable[[], Any] | None = None

    @cached_property
    def total(self) -> int:
        """How many labels this asks for."""
        return total(self.counts)

    @cached_property
    def judgements(self) -> int:
        """The same, where outputs are scored a label for each of them."""
        return sum(map(len, self.outputs)) if self.outputs else self.total


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """What a learner hears.

    Attributes
    ----------
    items
        The items that were asked.
    counts
        How often each label code (column) came back for each item (row).
    losses
        Where the class compares outputs: what each output code (column) loses on each item (row), in whole parts of 1/q;
        `counts` then has one column.

    Examples
    --------
    >>> asked = Query(items=np.array([7]), counts=np.array([2]), scanned=9, disagreement=(30, 100), survivors=4)
    >>> Answers.unanimous(asked, np.array([1], dtype=np.uint16), labels=2).counts.tolist()
    [[0, 2]]
    """

    items: Indices
    counts: Counts
    losses: NDArray[np.int64] | None = None

    @classmethod
    def unanimous(cls, query: Query, codes: NDArray[np.uint16], labels: int) -> Answers:
        """Answers to `query` where every copy of an item came back with its one label.

        Parameters
        ----------
        query
            What was asked.
        codes
            The label code of each item asked.
        labels
            How many labels there are.

        Returns
        -------
        answers
            Each code as often as its item was asked.
        """
        counts = blank_counts((len(query.items), labels), query.counts)
        counts[np.arange(len(query.items)), codes] = query.counts
        return cls(items=query.items, counts=counts)

    @classmethod
    def graded(cls, query: Query, rows: Sequence[Sequence[int]], outputs: int) -> Answers:
        """Answers to `query` with `rows` of what each output of an item loses; an item has so many `outputs` at most."""
        losses = np.zeros((len(rows), outputs), dtype=np.int64)
        for place, row in enumerate(rows):
            losses[place, : len(row)] = row
        return cls(items=query.items, counts=query.counts[:, None], losses=losses)

    @classmethod
    def of(cls, query: Query, said: Sequence[Any], C: HypothesisClass, items: Items) -> Answers:
        """Answers to `query` from what was `said` of its items, by the class `C` and the `items` of the pool.

        Raises
        ------
        BadLabel
            If an output that needs a score has none.
        """
        loss = loss_of(C)
        if loss is None:
            return cls.unanimous(query, np.array(said, dtype=np.uint16), len(C.labels))
        outputs = cast(Any, items).outputs
        for item, answer, wanted in zip(query.items.tolist(), said, query.outputs, strict=False):
            if missing := [outputs[item][code] for code in wanted if outputs[item][code] not in answer]:
                raise BadLabel(f"the output {missing[0]!r:.60} of the item {item} has no score")
        rows = [loss.row(answer, outputs[item]) for item, answer in zip(query.items.tolist(), said, strict=True)]
        return cls.graded(query, rows, len(C.labels))

    def check(self, query: Query, labels: int, unit: int | None = None) -> Answers:
        """Refuse answers that do not belong to `query`, with so many `labels` in the label set; these, if they do.

        Where outputs are compared, so many are possible, and losses are whole parts of 1/`unit`.

        Raises
        ------
        BadLabel
            If the items are others, one is not answered as often as it was asked, or a loss is none.
        """
        same = self.items is query.items or np.array_equal(self.items, query.items)
        if (unit is None) != (self.losses is None):
            raise BadLabel("the answers are labels where losses are wanted, or the other way round")
        if unit is not None and self.losses is not None:
            fits = self.losses.shape == (len(query.items), labels)
            if not fits or self.losses.min(initial=0) < 0 or self.losses.max(initial=0) > unit:
                raise BadLabel(f"a loss is a whole number from 0 to {unit}, one for each output of an item")
            labels = 1
        if self.counts.shape != (len(query.items), labels) or not same:
            raise BadLabel(f"the answers do not match the {len(query.items)} items asked for")
        if (self.counts.sum(axis=1) != query.counts).any() or self.counts.min(initial=0) < 0:
            raise BadLabel("every item must be answered exactly as often as it was asked")
        return self

    def single(self) -> Iterator[tuple[int, int, int]]:
        """One label at a time: its item, its code, and how many copies of the item have it."""
        for row, label in np.argwhere(self.counts != 0).tolist():
            yield int(self.items[row]), label, int(self.counts[row, label])

    def parts(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Counts as int64 summands with their scales, so that integers of any size can be added up exactly."""
        if self.counts.dtype != object:
            yield 1, self.counts.astype(np.int64, copy=False)
            return
        rest = self.counts.copy()
        shift = 0
        while rest.any():
            yield 2**shift, (rest % 2**_LIMB).astype(np.int64)
            rest = rest // 2**_LIMB
            shift += _LIMB


def blank_counts(shape: tuple[int, ...], like: Counts) -> Counts:
    """Zeros of this `shape` that can hold integers as large as `like` does."""
    return np.zeros(shape, dtype=object) if like.dtype == object else np.zeros(shape, dtype=np.int64)


def total(counts: Counts) -> int:
    """Sum of `counts` as a Python integer."""
    return int(counts.sum()) if counts.size else 0


# One binomial draw. NumPy's sampler is visibly wrong from 2**60 on (measured: variance 8% too large at 2**62, clean up
# to 2**59), so larger numbers are drawn in parts and added.
_LARGEST = 2**56
_MOST_PARTS = 4096  # beyond 2**68 draws a single round would take minutes
_SUMS_FIT = 2**62  # fewer labels than this can be added up in 63 bits


def binomial(generator: np.random.Generator, counts: Counts, p: NDArray[np.float64]) -> Counts:
    """One binomial number for each of `counts` with its probability.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> binomial(generator, np.array([0, 10, 10]), np.array([0.5, 0.0, 1.0])).tolist()
    [0, 0, 10]
    """
    if total(counts) >= _MOST_PARTS * _LARGEST:
        raise ValueOutOfRange(
            f"one round of {Decimal(total(counts)):.3g} labels cannot be simulated: ask for fewer than 2**68, e.g. by a "
            "larger rho or sizes of your own"
        )
    drawn, rest = blank_counts(counts.shape, counts), counts
    while rest.any():
        part = np.minimum(rest, _LARGEST).astype(np.int64)
        drawn = drawn + generator.binomial(part, p)
        rest = rest - part
    return drawn


def multinomial(generator: np.random.Generator, k: int, weights: NDArray[np.int64]) -> Counts:
    """Spread `k` draws over cells with integer weights.

    The draws are split down a binary tree over the cells: each split divides two integer sums, so that rounding does
    not add up from cell to cell as it would along a row.

    Examples
    --------
    >>> int(multinomial(np.random.default_rng(0), 10**17, np.array([1, 2, 3])).sum()) == 10**17
    True
    """
    height = max(0, (len(weights) - 1).bit_length())
    level = np.zeros(2**height, dtype=np.int64)
    level[: len(weights)] = weights
    sums = [level]
    while len(sums[-1]) > 1:
        sums.append(sums[-1][::2] + sums[-1][1::2])
    counts: Counts = np.array([k], dtype=object)
    for below, here in zip(sums[-2::-1], sums[:0:-1], strict=True):
        left = binomial(generator, counts, below[::2] / np.maximum(here, 1))
        split = blank_counts((2 * len(counts),), counts)
        split[::2], split[1::2] = left, counts - left
        counts = split if split.max() > _LARGEST else split.astype(np.int64)
    # Sums over 2**62 labels need Python integers again.
    return counts[: len(weights)].astype(object if k >= _SUMS_FIT else np.int64)


class Labels(Protocol):
    """Whoever answers a learner's queries."""

    def answer(self, query: Query) -> Answers:
        """Label every item of `query` as often as it is asked; what came back is counted in `Answers`."""
        ...


class KnownGold:
    """A column of gold answers, or of scores for all outputs, one an item of a pool.

    Parameters
    ----------
    pool
        A pool of an `OutputTable`.
    column
        The answers, in the order of its items.

    Raises
    ------
    BadLabel
        If an answer is none, or there is not one for each item.

    Examples
    --------
    >>> from replical import Gold, OutputTable, Pool, PrivateRandomness
    >>> C = OutputTable(["a", "b"], loss=Gold.of("absolute", clip=10))
    >>> pool = Pool(C, [[1, 3], [5, 5]], PrivateRandomness.simulated("doctest"))
    >>> query = Query(items=np.array([0]), counts=np.array([1]), scanned=1, disagreement=(1, 2), survivors=2)
    >>> KnownGold(pool, [2.5, 5]).answer(query).losses.tolist()
    [[150, 50]]
    """

    def __init__(self, pool: Any, column: Sequence[Any]) -> None:
        loss = loss_of(pool.C)
        if loss is None:
            raise BadLabel("gold answers are for a class of outputs, OutputTable: take KnownLabels for labels")
        self._C, self._items = pool.C, pool.items
        answers = column.tolist() if isinstance(column, np.ndarray) else list(column)
        if len(answers) != len(pool.items):
            raise BadLabel(f"{len(answers)} answers were given for {len(pool.items)} items: one an item is needed")
        self._answers = [loss.read(each, f"the answer of item {place}") for place, each in enumerate(answers)]

    def answer(self, query: Query) -> Answers:
        """What every output of the items of `query` loses."""
        return Answers.of(query, [self._answers[item] for item in query.items.tolist()], self._C, self._items)


class KnownLabels:
    """A column of label values, one an item of the pool, in the order of its items.

    Parameters
    ----------
    C
        The class, which has the label set.
    column
        The label values.

    Raises
    ------
    BadLabel
        If a value is no label, or `column` is not one value an item.
    BadTable
        If a value is missing.

    Examples
    --------
    >>> from replical import Pool, PrivateRandomness, Thresholds
    >>> C = Thresholds(4)
    >>> labels, pool = KnownLabels(C, [0, 1, 1]), Pool(C, [0, 1, 2], PrivateRandomness.simulated("doctest"))
    >>> query = pool.scan().anywhere(pool.version_space(), 1)
    >>> query.items.tolist(), labels.answer(query).counts.tolist()
    ([1], [[0, 1]])
    """

    def __init__(self, C: HypothesisClass, column: ArrayLike) -> None:
        self._codes = encode(column, C.labels)
        if self._codes.ndim != 1:
            raise BadLabel(f"labels are one value an item, got an array of shape {self._codes.shape}")
        self._labels = len(C.labels)

    def __len__(self) -> int:
        return len(self._codes)

    def answer(self, query: Query) -> Answers:
        """The labels `query` asks for; every copy of an item has the item's label."""
        return Answers.unanimous(query, self._codes[query.items], self._labels)

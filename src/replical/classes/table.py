"""Prediction tables: any candidates at all, known by what they say about each item.

`PackedRows` hold label codes, one row an item, one column a candidate: a bit where an array of codes needs sixteen. Tables
are read in blocks, of rows or of columns, and each block is packed before the next is read: nothing the size of the table
exists but its bits. Packed rows index like the array of codes.

Models that give probabilities are, with public cuts, as many candidates as there are cuts. The candidate ``name@cut`` says
the second label where the model's probability of it is at least the cut. Where candidates may abstain a cut may be a band:
``name@low-high`` abstains from low on and says the second label from high on.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import Codes, Indices, Items, Label, Listed, class_size, encode, label_set, two_labels
from replical.classes.recipe import Recipe, Section, stack_features
from replical.core import bits, memory
from replical.core.bits import blocks
from replical.core.canonical import fingerprint
from replical.core.text import is_seen
from replical.errors import BadProtocol, BadTable

Cuts = tuple[tuple[float, float], ...]  # where a band begins and ends; of a plain cut both are the same

_BLOCK = 2**20  # codes unpacked at a time: they stay in the cache
_FEW = 8  # one column in so many is picked from its words, more are unpacked with all the others
_WORDS = 8  # words of all rows moved at a time when rows change places: a line of the cache


# ---- tables ----


class PredictionTable(Listed):
    """Candidates by name; an item *is* the row of their predictions.

    The candidates and their order are public. Two candidates may predict alike everywhere: they stay two
    hypotheses, because dropping one on private data would make the class depend on the data.

    Parameters
    ----------
    candidates
        Distinct names, in the public order.
    labels
        The label set: two or more texts or integers, in their public order.

    Raises
    ------
    BadTable
        If names are no texts, come twice, or come without an order.
    ValueOutOfRange
        If there is no candidate.
    BadLabel
        If there are fewer than two labels, or one comes twice.

    Examples
    --------
    >>> C = PredictionTable(["a", "b"], labels=("no", "yes"))
    >>> C.predict([["no", "yes"], ["yes", "yes"]]).tolist()
    [['no', 'yes'], ['yes', 'yes']]
    >>> len(C), C.describe(1)
    (2, 'b')
    """

    def __init__(self, candidates: Sequence[str], *, labels: Sequence[Label] = (0, 1)) -> None:
        if isinstance(candidates, set | frozenset):
            raise BadTable("a set has no order, and the order of the candidates is public: give a list")
        self.candidates = tuple(candidates)
        class_size("the number of candidates", len(self.candidates))
        if any(not isinstance(name, str) for name in self.candidates):
            raise BadTable("candidate names must be texts")
        if hidden := [name for name in self.candidates if not is_seen(name)]:
            raise BadTable(
                f"a candidate's name is one line of letters that are seen, got {hidden[0]!r:.80}: give it another"
            )
        if len(set(self.candidates)) < len(self.candidates):
            twice = Counter(self.candidates).most_common(1)[0][0]
            raise BadTable(f"the candidate {twice!r} is named twice; every candidate needs its own name")
        self.labels = label_set(labels)

    def __len__(self) -> int:
        return len(self.candidates)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that defines the class."""
        return fingerprint({"kind": "table", "candidates": list(self.candidates), "labels": list(self.labels)})

    def describe(self, h: int) -> str:
        """The name of candidate `h`."""
        return self.candidates[h]

    def items(self, X: ArrayLike | Mapping[str, ArrayLike]) -> Items:
        """Check a table of label values.

        Parameters
        ----------
        X
            Rows of predictions, one column a candidate, or a mapping from each candidate to its column.

        Returns
        -------
        items
            Label codes, one row an item, one column a candidate, packed: they take a bit for every binary digit of a
            code and index like an array (``np.asarray`` makes one). Blocks of `X` are packed one after the other, so
            that beside `X` itself there are never more than the bits and some 50 MB.

        Raises
        ------
        BadTable
            If a prediction or a column is missing, or lengths are unequal.
        BadLabel
            If a prediction is no label.
        """
        table = self._rows_of(X) if isinstance(X, Mapping) else _row_source(X)
        length = self._check_shape(table.shape)
        rows = PackedRows.blank(length, len(self), labels=len(self.labels))
        for at in blocks(length, len(self), _BLOCK):
            codes = encode(table.block(at), self.labels, before=at.start)
            self._check_shape(codes.shape)
            rows.write(at, codes)
        return cast(Items, rows)

    def _check_shape(self, shape: tuple[int, ...]) -> int:
        if len(shape) != 2 or shape[1] != len(self):
            raise BadTable(f"a prediction table needs {len(self)} predictions an item, got shape {shape}")
        return shape[0]

    def _rows_of(self, columns: Mapping[str, ArrayLike]) -> _RowSource:
        """Columns side by side."""
        missing = [name for name in self.candidates if name not in columns]
        if missing:
            raise BadTable(f"the table has no column for the candidate {missing[0]!r}")
        chosen = [_row_source(columns[name], column=True) for name in self.candidates]
        for name, column in zip(self.candidates, chosen, strict=True):
            if column.shape != chosen[0].shape:
                first = self.candidates[0]
                raise BadTable(
                    f"columns have unequal lengths: {chosen[0].shape[0]} in {first!r}, {column.shape[0]} in {name!r}"
                )

        def block(at: slice) -> ArrayLike:
            return np.stack([np.asarray(column.block(at), dtype=object) for column in chosen], axis=1)

        return _RowSource(shape=(*chosen[0].shape, len(chosen)), block=block)

    def codes(self, items: Items, hypotheses: Indices) -> Codes:
        """Label codes of `hypotheses` (rows) on checked `items` (columns)."""
        return np.ascontiguousarray(items[:, hypotheses].T)


class _RowSource(NamedTuple):
    """A table of which some rows can be had."""

    shape: tuple[int, ...]
    block: Callable[[slice], ArrayLike]


def _row_source(X: Any, *, column: bool = False) -> _RowSource:
    """Arrays, frames and lists are cut as they are, so that no array of the whole is made; anything else is made one."""
    if isinstance(X, list | tuple):
        shapes = set() if column else {np.shape(row) for row in X}
        if len(shapes) > 1:
            raise BadTable(f"the rows of a prediction table have unequal lengths: {sorted(shapes)}")
        return _RowSource(shape=(len(X), *(shapes.pop() if shapes else ())), block=lambda at: X[at])
    table = X if hasattr(X, "shape") and hasattr(X, "__getitem__") else np.asarray(X)
    rows = getattr(table, "iloc", table)  # by place, whatever a frame calls its rows
    return _RowSource(shape=tuple(table.shape), block=lambda at: np.asarray(rows[at]))


def recipe(section: Section) -> Recipe:
    """From a protocol: one column a candidate."""
    candidates = tuple(candidate["name"] for candidate in section.content["candidates"])
    C = PredictionTable(candidates, labels=section.labels)
    return Recipe(C=C, columns=candidates, to_items=lambda columns: np.stack(columns, axis=1), predicts=True)


# ---- packed rows ----


class PackedRows:
    """Label codes, one row an item, one column a candidate, held as ``planes[digit, row, word]``.

    Column ``j`` is bit ``j % 64`` of word ``j // 64``, pad bits are 0. Some rows (``rows[10:20]``, ``rows[numbers]``) are
    packed rows again; one row, columns (``rows[:, 3]``) and cells (``rows[numbers, 3]``) are arrays of codes, and
    ``np.asarray(rows)`` is the whole array.

    >>> rows = PackedRows.blank(2, 3, labels=4)
    >>> rows.write(slice(0, 2), np.array([[0, 1, 2], [3, 2, 1]]))
    >>> rows[1].tolist(), rows[:, 2].tolist(), rows[np.array([1, 1])].tolist()
    ([3, 2, 1], [2, 1], [[3, 2, 1], [3, 2, 1]])
    """

    ndim = 2
    dtype = np.dtype(np.uint16)

    def __init__(self, planes: NDArray[np.uint64], columns: int) -> None:
        self.planes, self._columns = planes, columns

    @classmethod
    def blank(cls, rows: int, columns: int, *, labels: int) -> PackedRows:
        """Code 0 in every one of so many `rows` and `columns`, with room for so many `labels`; refused if too many."""
        check_room(rows, columns, labels)
        return cls(np.zeros((bits.planes_for(labels), rows, bits.words_for(columns)), dtype=np.uint64), columns)

    @classmethod
    def stack(cls, parts: list[PackedRows]) -> PackedRows:
        """One below the other; `parts` is emptied on the way, so that nothing is held twice for long."""
        planes, columns = parts[0].planes, parts[0]._columns
        whole = np.empty((len(planes), sum(map(len, parts)), planes.shape[2]), dtype=np.uint64)
        end = len(whole[0])
        while parts:
            part = parts.pop()
            whole[:, end - len(part) : end] = part.planes
            end -= len(part)
        return cls(whole, columns)

    def write(self, at: slice, codes: NDArray[Any]) -> None:
        """Set the rows `at` to `codes`."""
        for digit, plane in enumerate(self.planes):
            plane[at] = bits.pack((codes >> digit) & 1 == 1)

    def write_columns(self, at: slice, first: int, columns: Sequence[NDArray[Any]]) -> None:
        """Set the columns from `first` on, which were blank, of the rows `at`; eight columns make a byte."""
        rows = self.planes[0, at].shape[0]
        octets = np.empty((rows, 8), dtype=np.uint8)
        for word in range(first // 64, bits.words_for(first + len(columns))):
            inside = range(max(first, 64 * word), min(first + len(columns), 64 * word + 64))
            for digit, plane in enumerate(self.planes):
                octets[:] = 0
                for octet in range(8):
                    eight = [each for each in inside if each % 64 // 8 == octet]
                    if eight:
                        octets[:, octet] = _byte([(each % 8, columns[each - first]) for each in eight], digit)
                plane[at, word] |= octets.view("<u8")[:, 0]

    def put_in_order(self, order: Indices) -> None:
        """Row ``order[i]`` becomes row i; a few words of all rows are moved at a time."""
        if (order[1:] > order[:-1]).all():
            return
        for plane in self.planes:
            for start in range(0, plane.shape[1], _WORDS):
                some = slice(start, start + _WORDS)
                plane[:, some] = plane[order, some]

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns."""
        return len(self), self._columns

    def __len__(self) -> int:
        return int(self.planes.shape[1])

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            planes = self.planes[:, key]
            return self._codes(planes) if planes.ndim == 2 else PackedRows(planes, self._columns)
        rows, columns = key
        if isinstance(columns, slice):
            return np.asarray(self[rows])[..., columns]
        if not isinstance(rows, slice) or np.size(columns) * _FEW < self._columns:
            return self._cells(rows, np.arange(self._columns)[columns])
        some = self[rows]
        picked = np.empty((len(some), np.size(columns)), dtype=self.dtype)
        for at, block in some.blocks():
            picked[at] = block[:, columns].reshape(len(block), -1)
        return picked if np.ndim(columns) else picked[:, 0]

    def _cells(self, rows: Any, columns: Any) -> Codes:
        """Codes from single bits; one row and one column number a cell."""
        return _codes_of_digits(self.planes[:, rows, columns >> 6] >> np.uint64(columns & 63) & np.uint64(1))

    def _codes(self, planes: NDArray[np.uint64]) -> Codes:
        return _codes_of_digits([bits.unpack(plane, self._columns) for plane in planes])

    def blocks(self, codes: int = _BLOCK) -> Iterator[tuple[slice, Codes]]:
        """All codes, so many `codes` at a time, as whole rows, with where they stand."""
        for at in blocks(len(self), self._columns, codes):
            yield at, self._codes(self.planes[:, at])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The array of codes."""
        whole = np.empty(self.shape, dtype=self.dtype if dtype is None else dtype)
        for at, block in self.blocks():
            whole[at] = block
        return whole

    def __eq__(self, other: object) -> Any:
        """Which codes are equal, cell by cell."""
        return np.asarray(self) == np.asarray(other)

    def __ne__(self, other: object) -> Any:
        """Which codes differ, cell by cell."""
        return np.asarray(self) != np.asarray(other)

    __hash__ = None  # type: ignore[assignment]  # as of an array

    @property
    def T(self) -> Codes:
        """The array of codes with one row a candidate."""
        return np.asarray(self).T

    def tolist(self) -> list[list[int]]:
        """The codes as lists, one a row."""
        codes: list[list[int]] = np.asarray(self).tolist()
        return codes


def _byte(columns: list[tuple[int, NDArray[Any]]], digit: int) -> NDArray[np.uint8]:
    """One binary digit of up to eight columns of codes, each at its bit."""
    byte = np.zeros(len(columns[0][1]), dtype=np.uint8)
    for bit, codes in columns:
        byte |= (((codes >> digit) & 1) << bit).astype(np.uint8, copy=False)
    return byte


def _codes_of_digits(digits: Any) -> Codes:
    """Codes from their binary digits."""
    codes: Codes = digits[0].astype(np.uint16)
    for digit, values in enumerate(digits[1:], start=1):
        codes |= values.astype(np.uint16) << np.uint16(digit)
    return codes


def check_room(items: int, hypotheses: int, labels: int) -> None:
    """Refuse packed predictions that would not fit into memory, saying what would; before anything is read or made."""
    digits = bits.planes_for(labels)
    row = digits * bits.words_for(hypotheses) * 8

    def remedy(most: int) -> str:
        fewer = 64 * (most // (8 * digits * items))
        would = [f"{most // row:,} of the items"] * (most >= row) + [f"{fewer:,} of the hypotheses"] * (fewer > 0)
        return "use a smaller class or pool" + (f" ({' or '.join(would)} would fit)" if would else "")

    memory.check(items * row, f"the packed predictions of {hypotheses:,} hypotheses on {items:,} items", remedy)


def digest(items: Items | PackedRows, *, after: bytes = b"", progress: Callable[[int], None] | None = None) -> str:
    """SHA-256, in hexadecimal, of items as little-endian bytes in the order of rows, `after` other bytes.

    Packed rows count as the 16-bit codes they stand for; `progress` is told how many rows are done.

    >>> codes = np.array([[0, 1], [1, 1]], dtype=np.uint16)
    >>> rows = PackedRows.blank(2, 2, labels=2)
    >>> rows.write(slice(0, 2), codes)
    >>> digest(rows) == digest(codes)
    True
    """
    state = hashlib.sha256(after)
    for at, block in items.blocks() if isinstance(items, PackedRows) else [(slice(0, len(items)), items)]:
        plain = np.ascontiguousarray(block)
        state.update(plain.astype(plain.dtype.newbyteorder("<"), copy=False).data)
        if progress is not None:
            progress(at.stop)
    return state.hexdigest()


# ---- probabilities ----


@dataclass(frozen=True, eq=False)
class CutScores:
    """Predictions of every model at every cut, made when rows are looked at: they are far larger than the scores.

    >>> rows = CutScores(np.array([[0.2, 0.5], [0.9, 0.4]]), ((0.3, 0.3), (0.4, 0.6)), ("no", "yes", "unsure"))
    >>> rows.shape, rows[:].tolist()
    ((2, 4), [['no', 'no', 'yes', 'unsure'], ['yes', 'yes', 'yes', 'unsure']])
    """

    scores: NDArray[np.float64]
    cuts: Cuts
    labels: tuple[Label, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Items and candidates."""
        return len(self.scores), self.scores.shape[1] * len(self.cuts)

    def __getitem__(self, at: slice) -> NDArray[Any]:
        scores = self.scores[at][:, :, None]
        low, high = np.array(self.cuts).T
        codes = np.where(scores >= high, 1, np.where(scores >= low, 2, 0)).reshape(len(scores), -1)
        return np.array(self.labels, dtype=object)[codes]


def score_recipe(section: Section) -> Recipe:
    """From a protocol: one column a model, with the probability of the second label."""
    listed = section.content["candidates"]
    models, cuts = tuple(candidate["name"] for candidate in listed), _cuts(section.content["cuts"], section.abstains)
    two_labels(section.labels[:-1] if section.abstains else section.labels)
    C = PredictionTable([f"{model}@{_cut_name(cut)}" for model in models for cut in cuts], labels=section.labels)
    return Recipe(
        C=C,
        columns=models,
        to_items=lambda columns: CutScores(stack_features(columns), cuts, section.labels),
        in_words=C.describe,
        scores=True,
    )


def _cut_name(cut: tuple[float, float]) -> str:
    low, high = cut
    return f"{low}" if low == high else f"{low}-{high}"


def _cuts(value: Any, abstains: bool) -> Cuts:
    bands = [each if isinstance(each, list) else [each, each] for each in value] if isinstance(value, list) else []
    numbers = [end for band in bands for end in band]
    if not bands or any(isinstance(end, bool) or not isinstance(end, int | float) for end in numbers):
        raise BadProtocol(f"cuts of a table are a list of numbers for scores, e.g. [0.3, 0.5], got {value!r:.60}")
    for end in numbers:
        if not 0 < end <= 1:
            raise BadProtocol(f"a cut for scores must lie above 0 and at most at 1, got {end}")
    for each, band in zip(value, bands, strict=True):
        if isinstance(each, list) and not abstains:
            raise BadProtocol(
                f"the band {each!r:.40} is for candidates that abstain: give abstain and price, or one number"
            )
        if isinstance(each, list) and (len(band) != 2 or not band[0] < band[1]):
            raise BadProtocol(f"a band of scores is written [low, high] with low < high, got {each!r:.40}")
    cuts = tuple((float(low), float(high)) for low, high in bands)
    if len(set(cuts)) < len(cuts):
        raise BadProtocol(f"cuts for scores are listed each once, got {value!r:.60}")
    return cuts

"""Label codes of many candidates on many items, packed as they come: a bit where an array of codes needs sixteen.

Tables are read in blocks, of rows or of columns, and each block is packed before the next is read: nothing the size of
the table exists but its bits. What is left indexes like the array of codes, one row an item, one column a candidate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, Indices, Items
from replical.core import bits, memory
from replical.core.blocks import blocks

_BLOCK = 2**20  # codes unpacked at a time: they stay in the cache
_FEW = 8  # one column in so many is picked from its words, more are unpacked with all the others
_WORDS = 8  # words of all rows moved at a time when rows change places: a line of the cache


@runtime_checkable
class InBlocks(Protocol):
    """Rows of codes that come in blocks, with where these stand."""

    def blocks(self, codes: int = ...) -> Iterator[tuple[slice, Codes]]:
        """All codes, so many at a time."""
        ...


class PackedRows:
    """Label codes, one row an item, one column a candidate, held as ``planes[digit, row, word]``.

    Some rows (``rows[10:20]``, ``rows[numbers]``) are packed rows again; one row, columns (``rows[:, 3]``) and cells
    (``rows[numbers, 3]``) are arrays of codes, and ``np.asarray(rows)`` is the whole array.

    Parameters
    ----------
    planes
        One plane a binary digit of the codes; column ``j`` is bit ``j % 64`` of word ``j // 64``, pad bits are 0.
    columns
        How many columns there are.

    Examples
    --------
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
        """Code 0 in every one of so many `rows` and `columns`, with room for so many `labels`.

        Raises
        ------
        ValueOutOfRange
            If they would not fit into memory.
        """
        fits(rows, columns, labels)
        return cls(np.zeros((bits.planes_for(labels), rows, bits.words_for(columns)), dtype=np.uint64), columns)

    @classmethod
    def stacked(cls, parts: list[PackedRows]) -> PackedRows:
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
        return _spelled(self.planes[:, rows, columns >> 6] >> np.uint64(columns & 63) & np.uint64(1))

    def _codes(self, planes: NDArray[np.uint64]) -> Codes:
        return _spelled([bits.unpack(plane, self._columns) for plane in planes])

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


def _spelled(digits: Any) -> Codes:
    """Codes from their binary digits."""
    codes: Codes = digits[0].astype(np.uint16)
    for digit, values in enumerate(digits[1:], start=1):
        codes |= values.astype(np.uint16) << np.uint16(digit)
    return codes


def fits(items: int, hypotheses: int, labels: int) -> None:
    """Refuse packed predictions that would not fit into memory, saying what would; before anything is read or made.

    Raises
    ------
    ValueOutOfRange
        If the predictions of so many `hypotheses` with so many `labels` on so many `items` do not.
    """
    digits = bits.planes_for(labels)
    row = digits * bits.words_for(hypotheses) * 8

    def remedy(most: int) -> str:
        fewer = 64 * (most // (8 * digits * items))
        would = [f"{most // row:,} of the items"] * (most >= row) + [f"{fewer:,} of the hypotheses"] * (fewer > 0)
        return "use a smaller class or pool" + (f" ({' or '.join(would)} would fit)" if would else "")

    memory.check(items * row, f"the packed predictions of {hypotheses:,} hypotheses on {items:,} items", remedy)


def digest(items: Items | InBlocks, *, after: bytes = b"", progress: Callable[[int], None] | None = None) -> str:
    """SHA-256, in hexadecimal, of items as little-endian bytes in the order of rows, `after` other bytes.

    Packed rows count as the 16-bit codes they stand for; `progress` is told how many rows are done.

    Examples
    --------
    >>> codes = np.array([[0, 1], [1, 1]], dtype=np.uint16)
    >>> rows = PackedRows.blank(2, 2, labels=2)
    >>> rows.write(slice(0, 2), codes)
    >>> digest(rows) == digest(codes)
    True
    """
    state = hashlib.sha256(after)
    for at, block in items.blocks() if isinstance(items, InBlocks) else [(slice(0, len(items)), items)]:
        plain = np.ascontiguousarray(block)
        state.update(plain.astype(plain.dtype.newbyteorder("<"), copy=False).data)
        if progress is not None:
            progress(at.stop)
    return state.hexdigest()

"""How far packed rows are from each other: the weight of the positions at which they differ, for many pairs at once.

A row is one or more bit planes, ``planes[digit, row, word]``; two rows differ at a position where some digit does.
Weighted positions are split by the binary digits of the weight: a distance is the sum over digits b of 2**b times the
number of positions that differ and whose weight has that digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.core import bits, memory
from replical.core.bits import Packed
from replical.core.kernels import choice, threads
from replical.core.kernels.moves import together

Rows = NDArray[np.int64]
Distances = NDArray[np.integer[Any]]  # of the fewest bits that hold the weight of all positions

_LINE = 8  # words in 64 bytes: a line of the cache, the widest register
_BLOCK = 64  # rows whose distances from everyone are found together
_HELD = 2**29  # bytes of distances kept, so that each pair is looked at once
_CHUNK = 2**18  # words that NumPy passes over at a time
_SHARE = 2**22  # words worth a thread


def blank(digits: int, rows: int, length: int) -> Packed:
    """Planes of zeros for rows of `length` bits, padded to whole cache lines and starting on one.

    Examples
    --------
    >>> blank(1, 2, 100).shape
    (1, 2, 8)
    """
    words = -(-bits.words_for(length) // _LINE) * _LINE
    room = np.zeros(digits * rows * words + _LINE, dtype=np.uint64)
    first = -room.ctypes.data % (8 * _LINE) // 8
    return room[first : first + digits * rows * words].reshape(digits, rows, words)


def aligned(planes: Packed) -> Packed:
    """The same planes as `blank` lays them out; no copy is made of planes that are."""
    digits, rows, words = planes.shape
    if words % _LINE == 0 and planes.ctypes.data % (8 * _LINE) == 0 and planes.flags.c_contiguous:
        return planes
    lines = blank(digits, rows, 64 * words)
    lines[..., :words] = planes
    return lines


class Pairs:
    """Distances between packed rows.

    Parameters
    ----------
    planes
        The rows, ``planes[digit, row, word]``; pad bits are zero.
    weights
        A whole number for each position, 1 or more; 1 each if left out. Their sum is below 2**63.

    Examples
    --------
    >>> planes = bits.pack(np.array([[[0, 0, 0], [0, 1, 1], [1, 1, 1]]]) == 1)
    >>> Pairs(planes).among().tolist()
    [[0, 2, 3], [2, 0, 1], [3, 1, 0]]
    >>> Pairs(planes, np.array([5, 1, 1])).between(np.array([0])).tolist()
    [[0, 2, 7]]
    """

    def __init__(self, planes: Packed, weights: NDArray[np.int64] | None = None) -> None:
        self._size = int(planes.shape[1])
        most = 64 * planes.shape[2] if weights is None else int(weights.sum())
        self._dtype = np.dtype(np.uint16 if most < 2**16 else np.int32 if most < 2**31 else np.int64)
        self._parts = [(0, aligned(planes))] if weights is None else list(_by_digit(planes, weights))

    def between(self, rows: Rows, first: int = 0) -> Distances:
        """Distances of `rows` (first axis) from everyone, or from those from `first` on."""
        if choice.on_device(self._work(len(rows), first)):
            from replical.core.kernels import torch_pairs

            distances: Distances = torch_pairs.between(self._parts, rows, first, self._dtype)
            return distances
        found: Distances = np.zeros((len(rows), self._size - first), dtype=self._dtype)
        self._measure(rows, first, found)
        return found

    def blocks(self, rows: Rows) -> Iterator[tuple[Rows, Distances]]:
        """`rows`, some at a time, and their distances from everyone.

        Where all pairs can be kept, and `rows` is everyone in order, a pair's distance is computed once.
        """
        step, free = _BLOCK, memory.free()
        most = _HELD if free is None else min(_HELD, free // 2)
        if choice.on_device(self._work(len(rows))):
            from replical.core.kernels import torch_pairs

            step = torch_pairs.together(self._size)
        elif len(rows) == self._size and self._size**2 * self._dtype.itemsize <= most:
            matrix = self._blank()
            yield from ((rows[block], matrix[block]) for block in self._filled(matrix))
            return
        for start in range(0, len(rows), step):
            yield rows[start : start + step], self.between(rows[start : start + step])

    def among(self) -> Distances:
        """All distances, as a matrix."""
        if choice.on_device(self._work(self._size)):
            return np.concatenate([far for _, far in self.blocks(np.arange(self._size))])
        matrix = self._blank()
        for _ in self._filled(matrix):
            pass
        return matrix

    def _work(self, rows: int, first: int = 0) -> int:
        """Words that NumPy passes over to find the distances of so many rows."""
        each = sum(len(planes) * int(planes.shape[2]) for _, planes in self._parts)
        return 3 * rows * (self._size - first) * each

    def _blank(self) -> Distances:
        return np.zeros((self._size, self._size), dtype=self._dtype)

    def _filled(self, matrix: Distances) -> Iterator[slice]:
        """Rows of a blank matrix from the diagonal on, and the same numbers as columns: a block yielded is complete."""
        for top in range(0, self._size, _BLOCK):
            block = slice(top, min(top + _BLOCK, self._size))

            def mirror(start: int, stop: int, block: slice = block) -> None:
                others = slice(
                    max(block.start + start, block.stop), block.start + stop
                )  # the block itself is symmetric
                matrix[others, block] = matrix[block, others].T

            self._measure(np.arange(top, block.stop), top, matrix[block, top:], mirror)
            yield block

    def _measure(
        self, rows: Rows, first: int, far: Distances, then: Callable[[int, int], None] = lambda start, stop: None
    ) -> None:
        """Write how far `rows` are from all from `first` on into `far`, which is zero; call `then` for each stretch."""
        parts = [(power, aligned(planes[:, rows]), planes[:, first:]) for power, planes in self._parts]
        each = sum(some.size for _, some, _ in parts)  # words to look at for one other row
        count = _count
        if choice.compiles(3 * each * (self._size - first)):
            from replical.core.kernels import compiled_pairs

            count = compiled_pairs.count

        def stretch(start: int, stop: int) -> None:
            here = far[:, start:stop]
            for power, some, others in parts:
                counts = np.zeros_like(here) if power else here
                count(some, others[:, start:stop], counts)
                if power:
                    here += counts << power
            then(start, stop)

        threads.share(stretch, self._size - first, _SHARE // each + 1)


def _by_digit(planes: Packed, weights: NDArray[np.int64]) -> Iterator[tuple[int, Packed]]:
    """The positions whose weight has a binary digit, for each digit that one has."""
    for power in range(int(weights.max(initial=0)).bit_length()):
        positions = np.flatnonzero((weights >> power) & 1)
        if len(positions):
            yield power, aligned(together(planes, np.arange(planes.shape[1]), positions))


def _count(some: Packed, others: Packed, counts: Distances) -> None:
    """Add to `counts`, on NumPy alone."""
    digits, rows, words = others.shape
    step = max(1, _CHUNK // words)
    room, more = (
        np.empty((min(step, rows), words), dtype=np.uint64),
        np.empty((min(step, rows), words), dtype=np.uint64),
    )
    set_bits = np.empty(room.shape, dtype=np.uint8)
    for start in range(0, rows, step):
        chunk = slice(start, min(start + step, rows))
        here = chunk.stop - start
        for i in range(some.shape[1]):
            np.bitwise_xor(others[0, chunk], some[0, i], out=room[:here])
            for digit in range(1, digits):
                np.bitwise_xor(others[digit, chunk], some[digit, i], out=more[:here])
                np.bitwise_or(room[:here], more[:here], out=room[:here])
            np.bitwise_count(room[:here], out=set_bits[:here])
            counts[i, chunk] += set_bits[:here].sum(axis=1, dtype=counts.dtype)

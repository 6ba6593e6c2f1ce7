"""How far packed rows are from each other: the weight of the positions at which they differ, for many pairs at once.

A row is one or more bit planes, ``planes[digit, row, word]``; two rows differ at a position where some digit does.
Weighted positions are split by the binary digits of the weight: a distance is the sum over digits b of 2**b times the
number of positions that differ and whose weight has that digit.

What growing balls of packed rows dispute: rows sorted by their distance from a centre, and OR-ed where they differ.

`sweep` has every ball around one centre. `tops` has, for many centres, only the ball of the largest ratio
disputed/radius; it leaves out balls that cannot come up to the best ratio so far, because no ball disputes more than
all rows do. Ratios are compared as correctly rounded quotients of whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.core import bits, memory
from replical.core.bits import Packed
from replical.core.kernels import backend as choice
from replical.core.kernels import backend as threads
from replical.core.kernels.matrices import together

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
            from replical.core.kernels import torch_kernels as torch_pairs

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
            from replical.core.kernels import torch_kernels as torch_pairs

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
            from replical.core.kernels import numba_pairs as compiled_pairs

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


Whole = NDArray[np.int64]
Swept = tuple[Whole, Whole, Whole]  # attained radii from 0 on, weight disputed in each closed ball, its members

_STEP = 256  # rows added to a ball at a time
_SHARE_balls = 2**20  # words worth a thread


@dataclass(frozen=True, kw_only=True)
class Tops:
    """The highest ball of each of some centres.

    Attributes
    ----------
    inside
        Weight disputed by those within the radius up to which nothing was compared.
    disputed, radius
        Of the smallest ball beyond it that has the largest ratio; 0 and 0 where a better one is known elsewhere.
    """

    inside: Whole
    disputed: Whole
    radius: Whole

    @classmethod
    def of(cls, sweep: Callable[[int, float], Swept], count: int, inner: int, best: float) -> Tops:
        """From ``sweep(i, best)``, the balls around the i-th centre that may come up to the best ratio so far."""
        inside, disputed, radius = (np.zeros(count, dtype=np.int64) for _ in range(3))
        for i in range(count):
            radii, weight, _ = sweep(i, best)
            beyond = int(np.searchsorted(radii, inner, side="right"))
            inside[i] = weight[beyond - 1]
            if beyond < len(radii):
                ratios = weight[beyond:] / radii[beyond:]
                top = int(np.argmax(ratios))
                if ratios[top] >= best:
                    best, disputed[i], radius[i] = float(ratios[top]), weight[beyond + top], radii[beyond + top]
        return cls(inside=inside, disputed=disputed, radius=radius)

    @property
    def ratios(self) -> NDArray[np.float64]:
        """disputed/radius, 0 where there is no ball."""
        return self.disputed / np.maximum(self.radius, 1)


class Balls:
    """Packed rows, ``planes[digit, row, word]``, that balls are made of.

    Parameters
    ----------
    planes
        The rows; pad bits are zero.
    weights
        The weight of each position; 1 each if left out.
    whole
        The weight of the positions at which not all rows are equal.

    Examples
    --------
    >>> planes = bits.pack(np.array([[[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]]) == 1)
    >>> balls, far = Balls(planes, None, whole=3), np.array([0, 1, 1, 3])
    >>> balls.sweep(0, far, most=3)
    (array([0, 1, 3]), array([0, 2, 3]), array([1, 3, 4]))
    >>> found = balls.tops(np.array([0]), far[None], inner=0, best=0.0)
    >>> found.disputed, found.radius
    (array([2]), array([1]))
    """

    def __init__(self, planes: Packed, weights: NDArray[np.int64] | None, *, whole: int) -> None:
        self._planes, self._weights, self._whole = planes, weights, whole
        self._heavy = np.zeros(0, dtype=np.int64) if weights is None else weights  # as compiled code takes it

    def sweep(self, centre: int, far: Distances, most: int) -> Swept:
        """All balls around row `centre` up to radius `most`; `far` has everyone's distance from it."""
        digits, rows, words = self._planes.shape
        if not choice.compiles(3 * digits * rows * words):
            return self._sweep(centre, far, most)
        from replical.core.kernels import numba_pairs as compiled_balls

        radii, disputed, members = (np.zeros(rows, dtype=np.int64) for _ in range(3))
        count = compiled_balls.sweep(
            self._planes, self._heavy, self._whole, centre, far, most, radii, disputed, members
        )
        return radii[:count], disputed[:count], members[:count]

    def tops(self, centres: Whole, far: Distances, *, inner: int, best: float) -> Tops:
        """The highest balls around `centres` among radii beyond `inner`; ``far[i]`` is how far everyone is from the i-th.

        Balls whose ratio is below `best`, or below that of another of these centres, may be left out.
        """
        digits, rows, words = self._planes.shape
        if choice.on_device(3 * digits * rows * words * len(centres)):
            from replical.core.kernels import torch_kernels as torch_balls

            inside, disputed, radius = torch_balls.tops(
                self._planes, self._heavy, self._whole, centres, far, inner, best
            )
            return Tops(inside=inside, disputed=disputed, radius=radius)
        if not choice.compiles(3 * digits * rows * words * len(centres)):

            def sweep(i: int, best: float) -> Swept:
                most = self._whole if best <= 0 else max(inner, math.floor(self._whole / best) + 1)
                return self._sweep(int(centres[i]), far[i], most)

            return Tops.of(sweep, len(centres), inner, best)
        from replical.core.kernels import numba_pairs as compiled_balls

        inside, disputed, radius = (np.zeros(len(centres), dtype=np.int64) for _ in range(3))

        def work(start: int, stop: int) -> None:
            some = slice(start, stop)
            compiled_balls.tops(self._planes, self._heavy, self._whole, centres[some], far[some], inner, best,
                                inside[some], disputed[some], radius[some])  # fmt: skip

        threads.share(work, len(centres), _SHARE_balls // (digits * rows * words) + 1)
        return Tops(inside=inside, disputed=disputed, radius=radius)

    def _sweep(self, centre: int, far: Distances, most: int) -> Swept:
        order = np.flatnonzero(far <= max(0, most))
        order = order[np.argsort(far[order], kind="stable")]
        radii, disputed = far[order].astype(np.int64), np.full(len(order), self._whole)  # what the last balls dispute
        ball = np.zeros(self._planes.shape[2], dtype=np.uint64)
        for start in range(0, len(order), _STEP):
            some = order[start : start + _STEP]
            differs = self._planes[0, some] ^ self._planes[0, centre]
            for plane in self._planes[1:]:
                differs |= plane[some] ^ plane[centre]
            differs[0] |= ball
            balls = np.bitwise_or.accumulate(differs, axis=0)
            ball = balls[-1]
            disputed[start : start + _STEP] = self._weight_of(balls)
            if disputed[start + len(some) - 1] == self._whole:
                break
        last = np.flatnonzero(np.diff(radii, append=-1))  # the ball of a radius holds everyone at that radius
        return radii[last], disputed[last], last + 1

    def _weight_of(self, rows: Packed) -> Whole:
        """Weight of the positions marked in each row; whole numbers, because weights stay below 2**53."""
        if self._weights is None:
            count: Whole = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
            return count
        marked = bits.unpack(rows, len(self._weights))
        return np.rint(marked @ self._weights.astype(np.float64)).astype(np.int64)

"""How far packed rows are from each other, and what balls of them dispute as they grow.

A row is one or more bit planes, ``planes[digit, row, word]``; two rows differ at a position where some digit does. Their
distance is the weight of these positions. Weighted positions are split by the binary digits of the weight: a distance is
the sum over digits b of 2**b times the number of positions that differ and whose weight has that digit.

Balls hold rows sorted by their distance from a centre, OR-ed where they differ. `sweep` has every ball around one centre.
`tops` has, for many centres, only the ball of the largest ratio disputed/radius; it leaves out balls that cannot come up to
the best ratio so far, because no ball disputes more than all rows do. Ratios are compared as correctly rounded quotients of
whole numbers.
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
from replical.core.kernels.backend import on_device, register, share
from replical.core.kernels.matrices import gather

Whole = NDArray[np.int64]
Distances = NDArray[np.integer[Any]]  # of the fewest bits that hold the weight of all positions
Parts = list[tuple[int, Packed, Packed]]  # of distances: a power of two, some rows, all others
Swept = tuple[Whole, Whole, Whole]  # attained radii from 0 on, weight disputed in each closed ball, its members

_LINE = 8  # words in 64 bytes: a line of the cache, the widest register
_BLOCK = 64  # rows whose distances from everyone are found together
_HELD = 2**29  # bytes of distances kept, so that each pair is looked at once
_CHUNK = 2**18  # words that NumPy passes over at a time
_SHARE = 2**22  # words worth a thread
_STEP = 256  # rows added to a ball at a time


# ---- distances ----


def blank(digits: int, rows: int, length: int) -> Packed:
    """Planes of zeros for rows of `length` bits, padded to whole cache lines and starting on one.

    >>> blank(1, 2, 100).shape
    (1, 2, 8)
    """
    words = -(-bits.words_for(length) // _LINE) * _LINE
    room = np.zeros(digits * rows * words + _LINE, dtype=np.uint64)
    first = -room.ctypes.data % (8 * _LINE) // 8
    return room[first : first + digits * rows * words].reshape(digits, rows, words)


def align(planes: Packed) -> Packed:
    """The same planes as `blank` lays them out; no copy is made of planes that are."""
    digits, rows, words = planes.shape
    if words % _LINE == 0 and planes.ctypes.data % (8 * _LINE) == 0 and planes.flags.c_contiguous:
        return planes
    lines = blank(digits, rows, 64 * words)
    lines[..., :words] = planes
    return lines


class Pairs:
    """Distances between packed rows, whose pad bits are zero.

    `weights` are whole numbers, one a position, 1 or more; 1 each if left out. Their sum is below 2**63.

    >>> planes = bits.pack(np.array([[[0, 0, 0], [0, 1, 1], [1, 1, 1]]]) == 1)
    >>> Pairs(planes).matrix().tolist()
    [[0, 2, 3], [2, 0, 1], [3, 1, 0]]
    >>> Pairs(planes, np.array([5, 1, 1])).distances(np.array([0])).tolist()
    [[0, 2, 7]]
    """

    def __init__(self, planes: Packed, weights: Whole | None = None) -> None:
        self._size = int(planes.shape[1])
        most = 64 * planes.shape[2] if weights is None else int(weights.sum())
        self.dtype = np.dtype(np.uint16 if most < 2**16 else np.int32 if most < 2**31 else np.int64)
        self.parts = [(0, align(planes))] if weights is None else list(_by_digit(planes, weights))

    def work(self, rows: Whole, first: int = 0) -> int:
        """Words that NumPy passes over to find the distances of so many rows."""
        each = sum(len(planes) * int(planes.shape[2]) for _, planes in self.parts)
        return 3 * len(rows) * (self._size - first) * each

    @register(work, torch=True)
    def distances(self, rows: Whole, first: int = 0) -> Distances:
        """Distances of `rows` (first axis) from everyone, or from those from `first` on."""
        found: Distances = np.zeros((len(rows), self._size - first), dtype=self.dtype)
        self._measure(rows, first, found)
        return found

    def blocks(self, rows: Whole) -> Iterator[tuple[Whole, Distances]]:
        """`rows`, some at a time, and their distances from everyone.

        Where all pairs can be kept, and `rows` is everyone in order, a pair's distance is computed once.
        """
        step, free = self._rows_at_a_time(rows), memory.free()
        most = _HELD if free is None else min(_HELD, free // 2)
        everyone = len(rows) == self._size and self._size**2 * self.dtype.itemsize <= most
        if everyone and not on_device(self.work(rows)):
            matrix = self._blank()
            yield from ((rows[block], matrix[block]) for block in self._fill(matrix))
            return
        for start in range(0, len(rows), step):
            yield rows[start : start + step], self.distances(rows[start : start + step])

    def matrix(self) -> Distances:
        """All distances."""
        everyone = np.arange(self._size)
        if on_device(self.work(everyone)):
            return np.concatenate([distances for _, distances in self.blocks(everyone)])
        matrix = self._blank()
        for _ in self._fill(matrix):
            pass
        return matrix

    @register(work, torch=True)
    def _rows_at_a_time(self, rows: Whole) -> int:
        return _BLOCK

    def _blank(self) -> Distances:
        return np.zeros((self._size, self._size), dtype=self.dtype)

    def _fill(self, matrix: Distances) -> Iterator[slice]:
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
        self, rows: Whole, first: int, far: Distances, then: Callable[[int, int], None] = lambda start, stop: None
    ) -> None:
        """Write how far `rows` are from all from `first` on into `far`, which is zero; call `then` for each stretch."""
        measure([(power, align(planes[:, rows]), planes[:, first:]) for power, planes in self.parts], far, then)


def _by_digit(planes: Packed, weights: Whole) -> Iterator[tuple[int, Packed]]:
    """The positions whose weight has a binary digit, for each digit that one has."""
    for power in range(int(weights.max(initial=0)).bit_length()):
        positions = np.flatnonzero((weights >> power) & 1)
        if len(positions):
            yield power, align(gather(planes, np.arange(planes.shape[1]), positions))


@register(lambda parts, far, then: 3 * _words(parts) * far.shape[1], numba="numba_pairs")
def measure(parts: Parts, far: Distances, then: Callable[[int, int], None]) -> None:
    """Add the distances of `parts` to `far`, some columns at a time; `then` is called for each stretch of them."""
    share_columns(_count, parts, far, then)


def share_columns(
    count: Callable[[Packed, Packed, Distances], None], parts: Parts, far: Distances, then: Callable[[int, int], None]
) -> None:
    """`measure` where `count` adds to distances how many positions differ."""

    def stretch(start: int, stop: int) -> None:
        here = far[:, start:stop]
        for power, some, others in parts:
            counts = np.zeros_like(here) if power else here
            count(some, others[:, start:stop], counts)
            if power:
                here += counts << power
        then(start, stop)

    share(stretch, far.shape[1], _SHARE // _words(parts) + 1)


def _words(parts: Parts) -> int:
    """To look at for one of the others."""
    return sum(some.size for _, some, _ in parts)


def _count(some: Packed, others: Packed, counts: Distances) -> None:
    """Add to `counts`, on NumPy alone."""
    digits, rows, words = others.shape
    step = max(1, _CHUNK // words)
    room, more = (np.empty((min(step, rows), words), dtype=np.uint64) for _ in range(2))
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


# ---- balls ----


@dataclass(frozen=True, kw_only=True)
class Tops:
    """The highest ball of each of some centres.

    `inside` is the weight disputed by those within the radius up to which nothing was compared; `disputed` and `radius` are
    of the smallest ball beyond it that has the largest ratio, 0 and 0 where a better one is known elsewhere.
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


class GrowingBalls:
    """Packed rows that balls are made of; `whole` is the weight of the positions at which not all rows are equal.

    >>> planes = bits.pack(np.array([[[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]]]) == 1)
    >>> balls, far = GrowingBalls(planes, None, whole=3), np.array([0, 1, 1, 3])
    >>> balls.sweep(0, far, most=3)
    (array([0, 1, 3]), array([0, 2, 3]), array([1, 3, 4]))
    >>> found = balls.tops(np.array([0]), far[None], inner=0, best=0.0)
    >>> found.disputed, found.radius
    (array([2]), array([1]))
    """

    def __init__(self, planes: Packed, weights: Whole | None, *, whole: int) -> None:
        self.planes, self._weights, self.whole = planes, weights, whole
        self.heavy = np.zeros(0, dtype=np.int64) if weights is None else weights  # as compiled code takes it

    @register(lambda balls, *_, **most: 3 * balls.planes.size, numba="numba_pairs")
    def sweep(self, centre: int, far: Distances, most: int) -> Swept:
        """All balls around row `centre` up to radius `most`; `far` has everyone's distance from it."""
        return self._sweep(centre, far, most)

    @register(lambda balls, centres, *_, **__: 3 * balls.planes.size * len(centres), numba="numba_pairs", torch=True)
    def tops(self, centres: Whole, far: Distances, *, inner: int, best: float) -> Tops:
        """The highest balls around `centres` among radii beyond `inner`; ``far[i]`` is how far everyone is from the i-th.

        Balls whose ratio is below `best`, or below that of another of these centres, may be left out.
        """

        def sweep(i: int, best: float) -> Swept:
            most = self.whole if best <= 0 else max(inner, math.floor(self.whole / best) + 1)
            return self._sweep(int(centres[i]), far[i], most)

        return Tops.of(sweep, len(centres), inner, best)

    def _sweep(self, centre: int, far: Distances, most: int) -> Swept:
        order = np.flatnonzero(far <= max(0, most))
        order = order[np.argsort(far[order], kind="stable")]
        radii, disputed = far[order].astype(np.int64), np.full(len(order), self.whole)  # what the last balls dispute
        ball = np.zeros(self.planes.shape[2], dtype=np.uint64)
        for start in range(0, len(order), _STEP):
            some = order[start : start + _STEP]
            differs = self.planes[0, some] ^ self.planes[0, centre]
            for plane in self.planes[1:]:
                differs |= plane[some] ^ plane[centre]
            differs[0] |= ball
            balls = np.bitwise_or.accumulate(differs, axis=0)
            ball = balls[-1]
            disputed[start : start + _STEP] = self._weight_of(balls)
            if disputed[start + len(some) - 1] == self.whole:
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

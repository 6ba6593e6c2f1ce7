"""What growing balls of packed rows dispute: rows sorted by their distance from a centre, and OR-ed where they differ.

`sweep` has every ball around one centre. `tops` has, for many centres, only the ball of the largest ratio
disputed/radius; it leaves out balls that cannot come up to the best ratio so far, because no ball disputes more than
all rows do. Ratios are compared as correctly rounded quotients of whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replical.core import bits
from replical.core.bits import Packed
from replical.core.kernels import choice, threads
from replical.core.kernels.pairs import Distances

Whole = NDArray[np.int64]
Swept = tuple[Whole, Whole, Whole]  # attained radii from 0 on, weight disputed in each closed ball, its members

_STEP = 256  # rows added to a ball at a time
_SHARE = 2**20  # words worth a thread


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
        from replical.core.kernels import compiled_balls

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
            from replical.core.kernels import torch_balls

            inside, disputed, radius = torch_balls.tops(
                self._planes, self._heavy, self._whole, centres, far, inner, best
            )
            return Tops(inside=inside, disputed=disputed, radius=radius)
        if not choice.compiles(3 * digits * rows * words * len(centres)):

            def sweep(i: int, best: float) -> Swept:
                most = self._whole if best <= 0 else max(inner, math.floor(self._whole / best) + 1)
                return self._sweep(int(centres[i]), far[i], most)

            return Tops.of(sweep, len(centres), inner, best)
        from replical.core.kernels import compiled_balls

        inside, disputed, radius = (np.zeros(len(centres), dtype=np.int64) for _ in range(3))

        def work(start: int, stop: int) -> None:
            some = slice(start, stop)
            compiled_balls.tops(self._planes, self._heavy, self._whole, centres[some], far[some], inner, best,
                                inside[some], disputed[some], radius[some])  # fmt: skip

        threads.share(work, len(centres), _SHARE // (digits * rows * words) + 1)
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

"""On which side of many planes many points lie, packed as it is found out: no array of all of it is ever made.

The height of a point over a plane is a sum in a fixed order, start first, then one rounded product after the other. It
is no matrix product, which may add in another order, or round less often, on another machine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from replical.core import bits
from replical.core.bits import Packed
from replical.core.kernels.backend import register, share

Floats = NDArray[np.float64]

_CHUNK = 2**16  # heights that NumPy finds at a time; a whole number of words
_SHARE = 2**20  # heights worth a thread


@register(lambda points, factors, *_: 2 * len(points) * factors.size, numba="numba_pairs", torch=True)
def signs(points: Floats, factors: Floats, starts: Floats, out: Packed) -> None:
    """Set bit j of row i of `out` where ``starts[j] + factors[j] . points[i] >= 0``, for one factor at least.

    `points`, `factors` and `out` have one row a point, a plane and a point; pad bits of `out` are set to zero.

    >>> out = np.zeros((2, 1), dtype=np.uint64)
    >>> signs(np.array([[1.0], [-1.0]]), np.array([[2.0], [3.0], [-4.0]]), np.full(3, -2.5), out)
    >>> out.tolist()
    [[2], [4]]
    """
    share_points(_signs, points, factors, starts, out)


def share_points(
    version: Callable[[Floats, Floats, Floats, Packed], None],
    points: Floats,
    factors: Floats,
    starts: Floats,
    out: Packed,
) -> None:
    """`signs` by a `version` for one stretch of points, which takes one row a factor."""
    across = np.ascontiguousarray(factors.T)
    share(
        lambda start, stop: version(points[start:stop], across, starts, out[start:stop]),
        len(points),
        _SHARE // len(factors) + 1,
    )


def _signs(points: Floats, across: Floats, starts: Floats, out: Packed) -> None:
    """`signs` of one stretch of points, on NumPy alone; `across` has one row a factor."""
    dimensions, count = across.shape
    width = min(count, _CHUNK)
    height = max(1, _CHUNK // width)
    heights, products = np.empty((height, width)), np.empty((height, width))
    for left in range(0, count, width):
        right = min(left + width, count)
        for top in range(0, len(points), height):
            some = points[top : top + height]
            sums, terms = heights[: len(some), : right - left], products[: len(some), : right - left]
            sums[:] = starts[left:right]
            for d in range(dimensions):
                np.multiply(some[:, d, None], across[d, left:right], out=terms)
                np.add(sums, terms, out=sums)
            out[top : top + height, left // 64 : bits.words_for(right)] = bits.pack(sums >= 0)

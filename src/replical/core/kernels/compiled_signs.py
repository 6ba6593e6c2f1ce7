"""`signs`, compiled: a stretch of columns at a time, so that heights stay in the nearest cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from replical.core.kernels.jit import kernel

_STRETCH = 512  # columns


@intrinsic
def _at_least_zero(typing_context: Any, numbers: Any, first: Any) -> Any:
    """Which of the 64 numbers from `first` on are at least 0, a bit each: one comparison of vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        vector = ir.VectorType(ir.DoubleType(), 64)
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), vector.as_pointer())
        zeros = ir.Constant(vector, [ir.Constant(ir.DoubleType(), 0.0)] * 64)
        return builder.bitcast(builder.fcmp_ordered(">=", builder.load(place, align=8), zeros), ir.IntType(64))

    return types.uint64(numbers, types.intp), generate


_not_negative: Any = _at_least_zero


@kernel
def signs(points: Any, across: Any, starts: Any, out: Any) -> None:
    """Set bit j of row i of `out` where ``starts[j] + points[i] . across[:, j] >= 0``, the sum made in this order."""
    dimensions, count = across.shape
    heights = np.zeros(_STRETCH)
    for left in range(0, count, _STRETCH):
        right = min(left + _STRETCH, count)
        sums, begin, first = heights[: right - left], starts[left:right], across[0, left:right]
        heights[right - left :] = -1.0  # pad bits are zero
        for i in range(len(points)):
            x = points[i, 0]
            for j in range(right - left):
                sums[j] = begin[j] + x * first[j]
            for d in range(1, dimensions):
                y, factors = points[i, d], across[d, left:right]
                for j in range(right - left):
                    sums[j] += y * factors[j]
            for word in range((right - left + 63) // 64):
                out[i, left // 64 + word] = _not_negative(heights, 64 * word)

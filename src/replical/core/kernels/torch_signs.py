"""`signs` on a PyTorch device: a matrix product says most of them, sums in the fixed order the rest.

On a card where Triton works, which comes with PyTorch there and needs a C compiler, one fused kernel does it faster
(`triton_signs`). What follows is for all other devices.

A matrix product may add in any order and round less often, so it is off by rounding. For a sum of d products and a start
whose sizes add up to T, any order of rounded or fused operations is within (d + 2) T 2**-53 of the true sum, to first
order, and so is the sum in the fixed order. Where the product is further than `_SAFE` times that from zero, both have the
same sign. The few others, zeros above all, are added up in the fixed order, one rounded product after the other: PyTorch
runs a multiplication and an addition as two operations, and rounds after each.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from replical.core import bits
from replical.core.bits import Packed
from replical.core.kernels import device
from replical.core.kernels.device import Tensor

_SAFE = 8  # times what two sums can differ by
_TINY = 1e-290  # what products too small for a double may lose
_EACH = 20  # bytes a height takes with its products, comparisons and bits
_MANY = 64  # one in so many left open: then all are added up in order


def signs(points: NDArray[np.float64], factors: NDArray[np.float64], starts: NDArray[np.float64], out: Packed) -> None:
    """Set bit j of row i of `out` where ``starts[j] + factors[j] . points[i] >= 0``; the device keeps a copy of `out`."""
    with device.short_of_memory():
        words = packed_signs(device.sent(points), device.sent(factors), device.sent(starts))
        device.pytorch().from_numpy(out.view(np.int64)).copy_(words)
    device.keep(out, words)


def packed_signs(points: Tensor, factors: Tensor, starts: Tensor) -> Tensor:
    """The same on the device: packed rows, one a point."""
    if points.is_cuda and _fuses(str(points.device)):
        from replical.core.kernels import triton_signs

        return triton_signs.packed_signs(points, factors, starts)
    torch = device.pytorch()
    count, length = len(factors), bits.words_for(len(factors))
    words = torch.empty((len(points), length), dtype=torch.int64, device=points.device)
    sizes = starts.abs().max() + points.abs() @ factors.abs().amax(dim=0)  # at least T, but for rounding
    doubt = (_SAFE * (points.shape[1] + 2) * 2.0**-52 * sizes + _TINY)[:, None]
    across = factors.T.contiguous()
    left, right = torch.nn.functional.pad(points, (0, 1), value=1.0), torch.cat((across, starts[None]))
    for block in device.blocks(len(points), _EACH * 64 * length):
        some, open_below = points[block], doubt[block]
        heights = left[block] @ right
        values = torch.zeros((len(some), 64 * length), dtype=torch.bool, device=points.device)
        sure = values[:, :count]
        torch.gt(heights, open_below, out=sure)
        undecided = ~sure & ~(heights < -open_below)  # also where a number is too large for a double
        row, column = undecided.nonzero(as_tuple=True)
        if len(row) * _MANY <= len(some) * count:
            sure[row, column] = _in_order(some[row].T, across[:, column], starts[column]) >= 0
        else:
            torch.ge(_in_order(some.T[..., None], across, starts), 0, out=sure)
        words[block] = device.packed(values)
    return words


@cache
def _fuses(here: str) -> bool:
    """Does Triton work on this card?"""
    try:
        from replical.core.kernels import triton_signs

        return triton_signs.works(here)
    except Exception:  # of many kinds: no Triton, no C compiler, a card it does not know
        return False


def _in_order(points: Tensor, factors: Tensor, starts: Tensor) -> Tensor:
    """Heights of pairs of points and planes, added up in the fixed order."""
    heights = starts
    for x, w in zip(points, factors, strict=True):
        heights = heights + x * w
    return heights

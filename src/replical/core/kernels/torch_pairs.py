"""`pairs` on a PyTorch device: products of rows of 1 and -1, whole numbers however they are added.

Two rows agree at a position in all of D digits or not. Written as signs s_d and t_d, the product of the (1 + s_d t_d)/2
says which, and multiplied out it is the sum, over all sets S of digits, of the product of the s_d in S times that of the
t_d in S, divided by 2**D. The sign of a product is the exclusive or of bits. So, summed over K positions,

    distance = (K (2**D - 1) - sum over S, not empty, of <s_S, t_S>) / 2**D

and pad bits, which are equal, count as positions that agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, reduce
from operator import xor
from typing import Any

import numpy as np

from replical.core.bits import Packed
from replical.core.blocks import blocks
from replical.core.kernels import device
from replical.core.kernels.device import Tensor

_SIDE = 20_000  # rows of a product on a card; larger ones are no faster
_CENTRES = 2_048  # rows whose distances from everyone are given out together
_UNIT = 32  # rows and columns of a product of bytes are whole multiples of this
_SPREAD = 4  # bytes a bit takes while it is spread to a sign, on both sides
_EXACT = 2**24  # sums of fewer signs are exact in single precision


def between(parts: list[tuple[int, Packed]], rows: Any, first: int, dtype: Any) -> Any:
    """Distances of `rows` from all from `first` on, as `Pairs.between` has them; the device keeps a copy."""
    torch = device.pytorch()
    held = [(power, device.held(planes)) for power, planes in parts]
    count = parts[0][1].shape[1] - first
    wide = torch.int64 if dtype == np.int64 else torch.int32
    with device.short_of_memory():
        far = torch.zeros((len(rows), count), dtype=wide, device=held[0][1].device)
        chosen = device.sent(np.asarray(rows))
        for left in blocks(count, 1, _SIDE):
            for power, planes in held:
                some, others = planes[:, chosen], planes[:, first + left.start : first + left.stop]
                far[:, left] += distances(some, others).to(wide) << power
        narrow = far.to(torch.int16) if dtype == np.uint16 else far
        found = narrow.cpu().numpy().view(dtype)
    device.keep(found, far)
    return found


def together(rows: int) -> int:
    """How many rows' distances from all `rows` are found at a time: as many as leave room for them to be sorted."""
    return max(1, min(_CENTRES, device.room() // (24 * rows)))


def distances(some: Tensor, others: Tensor) -> Tensor:
    """Positions at which rows of `some`, (digits, rows, words), differ from rows of `others`, as whole numbers."""
    digits, _, words = some.shape
    strip = max(1, min(_EXACT // 64, device.room() // (64 * _SPREAD * max(1, some.shape[1], others.shape[1]))))
    wide = device.pytorch().int32 if 64 * words * 2**digits < 2**31 else device.pytorch().int64
    total: Tensor = None
    for start in range(0, words, strip):
        a, b = some[..., start : start + strip], others[..., start : start + strip]
        for chosen in range(1, 2**digits):
            signs = (
                device.unpacked(
                    reduce(xor, (planes[digit] for digit in range(digits) if chosen >> digit & 1)), signs=True
                )
                for planes in (a, b)
            )
            product = _product(*signs).to(wide)
            total = product if total is None else total.add_(product)
    return (64 * words * (2**digits - 1) - total) >> digits


def all_pairs(planes: Tensor) -> Iterator[tuple[slice, slice, Tensor]]:
    """All distances between rows on the device, in blocks on and above the diagonal; whoever asks keeps what is needed."""
    count = planes.shape[1]
    for top in blocks(count, 1, _SIDE):
        for left in blocks(count, 1, _SIDE):
            if left.start >= top.start:
                yield top, left, distances(planes[:, top], planes[:, left])


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Scalar products of rows of signs."""
    torch = device.pytorch()
    if a.is_cuda and _bytes_multiply(str(a.device)):
        rows, columns = len(a), len(b)
        return torch._int_mm(_padded(a), _padded(b).T)[:rows, :columns]
    return (a.to(torch.float32) @ b.to(torch.float32).T).to(torch.int32)


def _padded(a: Tensor) -> Tensor:
    missing = -len(a) % _UNIT
    return device.pytorch().nn.functional.pad(a, (0, 0, 0, missing)) if missing else a


@cache
def _bytes_multiply(here: str) -> bool:
    """Are there products of bytes on this card? They are older than none that is sold, but not in every build."""
    torch = device.pytorch()
    try:
        ones = torch.ones((_UNIT, 2 * _UNIT), dtype=torch.int8, device=here)
        return bool((torch._int_mm(ones, ones.T) == 2 * _UNIT).all())
    except (AttributeError, RuntimeError):
        return False

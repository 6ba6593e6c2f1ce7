"""`signs` on a card, fused by Triton, which comes with PyTorch there: heights never leave the registers.

The sum is made in the fixed order, and multiplication and addition stay two operations, each rounded, because the
kernel is compiled without fused ones.
"""

from __future__ import annotations

import triton
import triton.language as tl

from replical.core import bits
from replical.gpu import device
from replical.gpu.device import Tensor

_ROWS, _WORDS = 16, 4  # of a tile: 32 heights a thread


@triton.jit  # type: ignore[untyped-decorator]
def _tile(points, across, starts, words, m, n, length, dimensions, rows: tl.constexpr, width: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
    j = tl.program_id(1).to(tl.int64) * width * 64 + tl.arange(0, width * 64)
    heights = tl.zeros((rows, width * 64), tl.float64) + tl.load(starts + j, mask=j < n, other=0.0)[None, :]
    points, across = points + i * dimensions, across + j
    for _ in range(dimensions):
        x, w = tl.load(points, mask=i < m, other=0.0), tl.load(across, mask=j < n, other=0.0)
        heights = heights + x[:, None] * w[None, :]
        points, across = points + 1, across + n
    ones = ((heights >= 0) & (j < n)[None, :]).to(tl.int64)
    placed = tl.reshape(ones, (rows, width, 64)) << tl.arange(0, 64).to(tl.int64)[None, None, :]
    word = tl.program_id(1) * width + tl.arange(0, width)
    tl.store(words + i[:, None] * length + word[None, :], tl.sum(placed, axis=2), (i < m)[:, None] & (word < length))


def works(here: str) -> bool:
    """Can kernels be compiled here, and do they round every product? Fused, this sum would be below zero."""
    torch = device.pytorch()
    x, w = (torch.tensor([[number]], dtype=torch.float64, device=here) for number in (0.1, 3.0))
    return int(packed_signs(x, w, -(x * w)[0])[0, 0]) == 1


def packed_signs(points: Tensor, factors: Tensor, starts: Tensor) -> Tensor:
    """Packed rows, one a point: bit j of row i is set where ``starts[j] + factors[j] . points[i] >= 0``."""
    torch = device.pytorch()
    (m, dimensions), n = points.shape, len(factors)
    length = bits.words_for(n)
    words = torch.empty((m, length), dtype=torch.int64, device=points.device)
    grid = (triton.cdiv(m, _ROWS), triton.cdiv(length, _WORDS))
    across = factors.T.contiguous()
    _tile[grid](points.contiguous(), across, starts, words, m, n, length, dimensions,
                rows=_ROWS, width=_WORDS, enable_fp_fusion=False)  # fmt: skip
    return words

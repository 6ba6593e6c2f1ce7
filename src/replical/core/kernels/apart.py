"""In how many columns every row differs from one of them: distances from one hypothesis, if rows are hypotheses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.core.bits import Packed
from replical.core.kernels import choice, threads

_THREAD = 2**19  # words worth a thread
_PASSES = 4  # that NumPy makes


def apart(planes: Packed, row: int) -> NDArray[np.int64]:
    """For every row: in how many columns it spells another number than row `row` does.

    Examples
    --------
    >>> apart(np.array([[[5], [6], [5]]], dtype=np.uint64), 0).tolist()
    [0, 2, 0]
    """
    if choice.on_device(_PASSES * planes.size):
        from replical.core.kernels import torch_rows

        return torch_rows.apart(planes, row)
    if choice.compiles(_PASSES * planes.size):
        from replical.core.kernels import compiled

        counts = np.zeros(planes.shape[1], dtype=np.int64)
        least = max(1, _THREAD // max(1, planes.shape[2]))
        threads.share(lambda start, stop: compiled.apart(planes, row, counts, start, stop), len(counts), least)
        return counts
    differs = planes[0] ^ planes[0, row]
    for plane in planes[1:]:
        differs |= plane ^ plane[row]
    distances: NDArray[np.int64] = np.bitwise_count(differs).sum(axis=1, dtype=np.int64)
    return distances

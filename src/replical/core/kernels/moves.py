"""Packed matrices made smaller or turned: chosen rows and columns moved together, rows become columns."""

from __future__ import annotations

import numpy as np

from replical.core import bits
from replical.core.bits import Packed
from replical.core.blocks import blocks
from replical.core.kernels import choice, threads
from replical.core.kernels.columns import Indices
from replical.core.kernels.rows import chosen_rows

_BLOCK = 2**20  # bits held unpacked at a time
_THREAD = 2**19  # bits worth a thread
_PASSES = 4  # that NumPy makes over the unpacked bits, eight to a word


def together(planes: Packed, rows: Indices, columns: Indices) -> Packed:
    """The chosen `rows` and `columns` of a packed matrix as one of their own, in the order given.

    Examples
    --------
    >>> planes = np.array([[[5], [6]]], dtype=np.uint64)
    >>> together(planes, np.array([1, 0]), np.array([0, 2])).tolist()
    [[[2], [3]]]
    """
    moved = np.zeros((len(planes), len(rows), bits.words_for(len(columns))), dtype=np.uint64)
    if choice.compiles(_PASSES * moved.size * 8):
        from replical.core.kernels import compiled

        threads.share(
            lambda start, stop: compiled.together(planes, rows, columns, moved, start, stop),
            len(rows),
            max(1, _THREAD // max(1, len(columns))),
        )
        return moved
    octet, bit = columns >> 3, (columns & 7).astype(np.uint8)
    for block in blocks(len(rows), len(columns), _BLOCK):
        for digit, plane in enumerate(planes):
            octets = np.ascontiguousarray(chosen_rows(plane, rows[block])).astype("<u8", copy=False).view(np.uint8)
            values = np.take(octets, octet, axis=1)
            np.right_shift(values, bit, out=values)
            np.bitwise_and(values, np.uint8(1), out=values)
            moved[digit, block] = bits.pack(values.view(np.bool_))
    return moved


def turned(planes: Packed, rows: Indices, length: int) -> Packed:
    """The chosen `rows`, `length` bits long, as columns.

    Examples
    --------
    >>> turned(np.array([[[5], [6]]], dtype=np.uint64), np.array([0, 1]), 3).tolist()
    [[[1], [2], [3]]]
    """
    result = np.zeros((len(planes), length, bits.words_for(len(rows))), dtype=np.uint64)
    step = 64 * max(1, _BLOCK // max(64, 64 * len(rows)))
    if len(rows) and choice.on_device(_PASSES * len(planes) * len(rows) * length // 8):
        from replical.core.kernels import torch_rows

        torch_rows.turned(planes, rows, result)
        return result
    if choice.compiles(_PASSES * len(planes) * len(rows) * length // 8):
        from replical.core.kernels import compiled

        threads.share(lambda start, stop: compiled.turned(planes, rows, result, start, stop), planes.shape[2], 64)
        return result
    for digit, plane in enumerate(planes):
        for start in range(0, length, step):
            stop = min(start + step, length)
            part = plane[rows, start // 64 : bits.words_for(stop)]
            result[digit, start:stop] = bits.pack(bits.unpack(part, stop - start).T)
    return result

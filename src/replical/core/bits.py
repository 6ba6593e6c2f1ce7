"""Packed bits: rows of 0/1 values, 64 to a word, pad bits zero; what is computed with them is in `kernels`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Packed = NDArray[np.uint64]
Bits = NDArray[np.bool_]


def words_for(length: int) -> int:
    """How many 64-bit words hold `length` bits.

    Examples
    --------
    >>> words_for(64), words_for(65)
    (1, 2)
    """
    return -(-length // 64)


def pack(bits: Bits) -> Packed:
    """Pack the last axis, bit i of a row into bit ``i % 64`` of word ``i // 64``.

    Examples
    --------
    >>> pack(np.array([[True, False, True]])).tolist()
    [[5]]
    """
    *rows, length = bits.shape
    packed = np.zeros((*rows, words_for(length) * 8), dtype=np.uint8)
    octets = np.packbits(bits, axis=-1, bitorder="little")
    packed[..., : octets.shape[-1]] = octets
    return packed.view("<u8").astype(np.uint64, copy=False)


def unpack(packed: Packed, length: int) -> Bits:
    """Undo `pack` for rows of `length` bits.

    Examples
    --------
    >>> unpack(np.array([[5]], dtype=np.uint64), 3).tolist()
    [[True, False, True]]
    """
    octets = np.ascontiguousarray(packed).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=length, bitorder="little").view(np.bool_)


def planes_for(labels: int) -> int:
    """How many bit planes spell `labels` different codes.

    Examples
    --------
    >>> planes_for(2), planes_for(3), planes_for(10)
    (1, 2, 4)
    """
    return max(1, (labels - 1).bit_length())

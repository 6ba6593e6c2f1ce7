"""Packed bits: rows of 0/1 values, 64 to a word, pad bits zero.

Plain NumPy. Faster twins may come later behind the same functions.
"""

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


def mixed(rows: Packed, among: Packed) -> Bits:
    """Which rows hold both a 0 and a 1 at the positions set in `among`.

    Examples
    --------
    >>> mixed(np.array([[5], [7]], dtype=np.uint64), np.array([7], dtype=np.uint64)).tolist()
    [True, False]
    """
    ones = rows & among
    some = np.bitwise_or.reduce(ones, axis=-1) != 0
    not_all = np.bitwise_or.reduce(np.bitwise_xor(ones, among, out=ones), axis=-1) != 0
    both: Bits = some & not_all
    return both


def column_sums(rows: Packed, length: int) -> NDArray[np.int64]:
    """How many rows have a 1 at each of `length` positions.

    Carry-save adders turn three rows of one weight into a sum of that weight and a carry of twice the weight, all
    positions at once; at most two rows of each weight are ever unpacked.

    Examples
    --------
    >>> column_sums(np.array([[5], [4], [6]], dtype=np.uint64), 3).tolist()
    [1, 1, 3]
    """
    sums, weight = np.zeros(length, dtype=np.int64), 1
    while len(rows):
        carries = []
        while len(rows) >= 3:
            third = len(rows) // 3
            a, b, c = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]
            either = a ^ b
            carries.append((a & b) | (either & c))
            rows = np.concatenate((either ^ c, rows[3 * third :]))
        for row in rows:
            sums += weight * unpack(row, length)
        rows = np.concatenate(carries) if carries else rows[:0]
        weight *= 2
    return sums


def planes_for(labels: int) -> int:
    """How many bit planes spell `labels` different codes.

    Examples
    --------
    >>> planes_for(2), planes_for(3), planes_for(10)
    (1, 2, 4)
    """
    return max(1, (labels - 1).bit_length())

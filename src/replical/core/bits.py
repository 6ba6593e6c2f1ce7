"""Packed bits, rows of 0/1 values, 64 to a word, pad bits zero; long work in blocks; whole numbers added up exactly.

What is computed with packed bits is in `kernels`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Packed = NDArray[np.uint64]
Bits = NDArray[np.bool_]
Amounts = NDArray[np.int64] | NDArray[np.float64]

_EXACT = 2.0**53  # whole numbers below this are exact in doubles, which are added ten times as fast as integers


def words_for(length: int) -> int:
    """How many 64-bit words hold `length` bits.

    >>> words_for(64), words_for(65)
    (1, 2)
    """
    return -(-length // 64)


def pack(bits: Bits) -> Packed:
    """Pack the last axis, bit i of a row into bit ``i % 64`` of word ``i // 64``.

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

    >>> unpack(np.array([[5]], dtype=np.uint64), 3).tolist()
    [[True, False, True]]
    """
    octets = np.ascontiguousarray(packed).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=length, bitorder="little").view(np.bool_)


def planes_for(labels: int) -> int:
    """How many bit planes spell `labels` different codes.

    >>> planes_for(2), planes_for(3), planes_for(10)
    (1, 2, 4)
    """
    return max(1, (labels - 1).bit_length())


def blocks(count: int, width: int, most: int) -> Iterator[slice]:
    """Stretches of ``range(count)``, one row at least, so short that rows of `width` values hold no more than `most`.

    >>> [(block.start, block.stop) for block in blocks(5, 3, 8)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(1, most // max(1, width))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def numbers_in(ranges: Sequence[tuple[int, int]], most: int) -> Iterator[NDArray[np.int64]]:
    """The whole numbers of `ranges`, both ends included, in arrays of at most so many.

    >>> [block.tolist() for block in numbers_in([(1, 1), (3, 7), (9, 9)], 3)]
    [[1, 3, 4], [5, 6, 7], [9]]
    """
    held: list[NDArray[np.int64]] = []
    room = most
    for low, high in ranges:
        start = low
        while start <= high:
            taken = min(room, high - start + 1)
            held.append(np.arange(start, start + taken, dtype=np.int64))
            start, room = start + taken, room - taken
            if room == 0:
                yield np.concatenate(held)
                held, room = [], most
    if held:
        yield np.concatenate(held)


def summable(amounts: NDArray[np.int64]) -> Amounts:
    """The same `amounts` in the fastest form in which no sum of them is rounded: doubles, or as they are."""
    doubles = amounts.astype(np.float64)
    return doubles if np.abs(doubles).sum() < _EXACT else amounts


def bincount(places: NDArray[np.integer], amounts: Amounts, size: int) -> NDArray[np.int64]:
    """The sum of the `amounts`, made `summable`, at each of `size` places.

    >>> bincount(np.array([2, 0, 2]), summable(np.array([5, 1, -2])), 4).tolist()
    [1, 0, 3, 0]
    """
    if amounts.dtype == np.float64:
        return np.bincount(places, weights=amounts, minlength=size).astype(np.int64)
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, places, amounts)
    return sums

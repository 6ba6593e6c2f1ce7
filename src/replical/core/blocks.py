"""Long work cut into blocks, so that what is held at a time stays small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def blocks(count: int, width: int, most: int) -> Iterator[slice]:
    """Stretches of ``range(count)``, one row at least, so short that rows of `width` values hold no more than `most`.

    Examples
    --------
    >>> [(block.start, block.stop) for block in blocks(5, 3, 8)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(1, most // max(1, width))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def numbers_in(ranges: Sequence[tuple[int, int]], most: int) -> Iterator[NDArray[np.int64]]:
    """The whole numbers of `ranges`, both ends included, in arrays of at most so many.

    Examples
    --------
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

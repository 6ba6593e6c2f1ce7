"""Rows of a packed matrix, a block at a time, without a copy where that is possible."""

from __future__ import annotations

from collections.abc import Iterator

from replical.core.bits import Packed
from replical.core.kernels.columns import Indices

_BLOCK = 2**19  # words looked at a time: they stay in the cache while several passes are made over them


def blocks(count: int, width: int) -> Iterator[slice]:
    """Stretches of ``range(count)``, so short that rows of `width` words stay in the cache.

    Examples
    --------
    >>> [(block.start, block.stop) for block in blocks(5, 2**18)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(1, _BLOCK // max(1, width))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def chosen_rows(plane: Packed, rows: Indices, words: Indices | None = None) -> Packed:
    """These `rows` of a plane, or these `words` of them: a view where rows follow each other and words are all."""
    if words is not None and len(words) == plane.shape[1]:
        words = None
    if words is not None and 4 * len(words) <= plane.shape[1]:
        return plane[rows[:, None], words]
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (rows[1:] > rows[:-1]).all():
        found = plane[rows[0] : rows[-1] + 1]
    else:
        found = plane[rows]
    return found if words is None else found[:, words]

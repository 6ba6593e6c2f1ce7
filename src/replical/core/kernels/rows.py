"""Some rows of a packed matrix, without a copy where that is possible; how many words of them to look at at a time."""

from __future__ import annotations

from replical.core.bits import Packed
from replical.core.kernels.columns import Indices

BLOCK = 2**19  # words looked at at a time: they stay in the cache while several passes are made over them


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

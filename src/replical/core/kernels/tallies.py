"""How many columns spell each code in a row: votes, if rows are items and columns hypotheses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.core.bits import Packed
from replical.core.blocks import blocks
from replical.core.kernels import choice, threads
from replical.core.kernels.columns import Columns, Indices
from replical.core.kernels.rows import BLOCK, chosen_rows

_THREAD = 2**19  # words worth a thread


def tallies(planes: Packed, rows: Indices, columns: Columns, codes: int) -> NDArray[np.int64]:
    """For each of `rows` (rows): how many of the columns spell each of the numbers below `codes` (columns).

    Examples
    --------
    >>> planes = np.array([[[5], [7]]], dtype=np.uint64)
    >>> tallies(planes, np.array([0, 1]), Columns(np.arange(3), 3), 2).tolist()
    [[1, 2], [0, 3]]
    """
    counts = np.zeros((len(rows), codes), dtype=np.int64)
    work = len(rows) * len(columns.words) * codes * (len(planes) + 1)
    if choice.on_device(work):
        from replical.core.kernels import torch_rows

        return torch_rows.tallies(planes, rows, columns, codes)
    if choice.compiles(work):
        from replical.core.kernels import compiled

        words, mask = columns.words, columns.mask
        threads.share(
            lambda start, stop: compiled.tallies(planes, rows, words, mask, counts, start, stop),
            len(rows),
            max(1, _THREAD // max(1, len(words) * codes)),
        )
        return counts
    for block in blocks(len(rows), len(columns.words), BLOCK):
        parts = [chosen_rows(plane, rows[block], columns.words) for plane in planes]
        for code in range(1, codes):
            spelled = np.broadcast_to(columns.mask, parts[0].shape)
            for digit, part in enumerate(parts):
                spelled = spelled & (part if (code >> digit) & 1 else ~part)
            counts[block, code] = np.bitwise_count(spelled).sum(axis=1, dtype=np.int64)
    counts[:, 0] = len(columns.chosen) - counts.sum(axis=1)  # whoever spells no other code
    return counts

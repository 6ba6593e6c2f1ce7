"""Accounts of three whole numbers, many of them changed at a time: what is heard is added, and equal ones are found.

Accounts that saw the same items differ in few ways, so each way is a cell of a small table, and whatever follows from an
account is computed once a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replical.core.kernels.matrices import Indices

Counts = NDArray[np.int64]

_SPARSE = 4  # cells of a table for each account, at most


def add(counts: Counts, places: Indices, more: Sequence[Counts] | Counts) -> Counts:
    """Add to the columns of `counts` at `places`, each of which comes once; these columns, as they are then.

    >>> one = np.ones(2, dtype=np.int64)
    >>> add(np.zeros((3, 4), dtype=np.int64), np.array([3, 1]), (5 * one, one, 0 * one)).tolist()
    [[5, 5], [1, 1], [0, 0]]
    """
    for row, new in zip(counts, more, strict=True):
        row[places] += new
    return counts.take(places, axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Kinds:
    """Which accounts are equal: each kind is a cell of a table of `size` cells.

    `distinct` are the accounts of which no two are equal, as columns (a single one comes twice), `cells` the cell of each of
    them, and `places` the cell of every account.
    """

    distinct: Counts
    cells: Indices
    size: int
    places: Indices

    @classmethod
    def of(cls, counts: Counts) -> Kinds | None:
        """Those of the columns of `counts`; None where the table would be large.

        >>> kinds = Kinds.of(np.array([[7, 7, 8, 7], [1, 1, 0, 1], [0, 0, 0, 0]]))
        >>> kinds.distinct.tolist(), kinds.cells.tolist(), kinds.places.tolist()
        ([[8, 7], [0, 1], [0, 0]], [0, 1], [1, 1, 0, 1])
        """
        low, high = _ranges(counts)
        spans = [top - bottom + 1 for bottom, top in zip(low, high, strict=True)]
        size = spans[0] * spans[1] * spans[2]
        if size > _SPARSE * counts.shape[1]:
            return None
        held = np.zeros(size, dtype=np.bool_)
        places = _cells(counts, low, spans, held)
        cells = np.flatnonzero(held)
        if len(cells) == 1:
            cells = np.repeat(cells, 2)
        rest, minus = np.divmod(cells, spans[2])
        total, plus = np.divmod(rest, spans[1])
        plus, minus = plus + low[1], minus + low[2]
        return cls(
            distinct=np.stack([total + low[0] - plus - minus, plus, minus]), cells=cells, size=size, places=places
        )


def _ranges(counts: Counts) -> tuple[list[int], list[int]]:
    """The least and the largest sum of a column, and entry of the second and third row."""
    rows = (counts.sum(axis=0), counts[1], counts[2])
    return [int(row.min()) for row in rows], [int(row.max()) for row in rows]


def _cells(counts: Counts, low: list[int], spans: list[int], held: NDArray[np.bool_]) -> Indices:
    """The cell of every column, by its sum and its second and third row; marked in `held`."""
    places: Indices = counts.sum(axis=0) - low[0]
    for row in (1, 2):
        places *= spans[row]
        places += counts[row]
        places -= low[row]
    held[places] = True
    return places

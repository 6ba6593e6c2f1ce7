"""Carry-save adders: three rows of one weight become a sum of that weight and a carry of twice the weight."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

Rows = TypeVar("Rows", bound=Any)  # arrays of NumPy or of PyTorch


def levels(rows: Rows, join: Callable[[Sequence[Rows]], Rows]) -> Iterator[tuple[int, Rows]]:
    """At most two rows of each weight 1, 2, 4, .. that add up to all `rows`; `join` stacks rows.

    Examples
    --------
    >>> import numpy as np
    >>> [(weight, left.tolist()) for weight, left in levels(np.array([[5], [4], [6]]), np.concatenate)]
    [(1, [[7]]), (2, [[4]])]
    """
    weight = 1
    while len(rows):
        carries = []
        while len(rows) >= 3:
            third = len(rows) // 3
            a, b, c = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]
            either = a ^ b
            carries.append((a & b) | (either & c))
            rows = join((either ^ c, rows[3 * third :]))
        yield weight, rows
        rows = join(carries) if carries else rows[:0]
        weight *= 2

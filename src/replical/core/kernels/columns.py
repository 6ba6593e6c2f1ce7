"""Some columns or rows of a packed matrix, without a copy where that is possible, and adders of packed rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from replical.core import bits
from replical.core.bits import Packed

Indices = NDArray[np.int64]
Rows = TypeVar("Rows", bound=Any)  # arrays of NumPy or of PyTorch

BLOCK = 2**19  # words looked at at a time: they stay in the cache while several passes are made over them


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns `chosen` (ascending) of rows that are `length` bits long.

    >>> some = Columns(np.array([1, 2, 130]), 200)
    >>> some.words.tolist(), some.mask.tolist(), some.places.tolist()
    ([0, 2], [6, 4], [1, 2, 66])
    """

    chosen: Indices
    length: int

    @property
    def everything(self) -> bool:
        """Are these all columns?"""
        return len(self.chosen) == self.length

    @property
    def scattered(self) -> bool:
        """Are most words without any of them, so that it pays to visit single words?"""
        return 4 * len(self.words) <= bits.words_for(self.length)

    @cached_property
    def words(self) -> Indices:
        """The words that hold them."""
        if self.everything:
            return np.arange(bits.words_for(self.length), dtype=np.int64)
        return np.flatnonzero(self.full_mask)

    @cached_property
    def places(self) -> Indices:
        """Where each of them is when all other words are dropped."""
        if len(self.words) == bits.words_for(self.length):
            return self.chosen
        new = np.zeros(bits.words_for(self.length), dtype=np.int64)
        new[self.words] = np.arange(len(self.words))
        places: Indices = (new[self.chosen >> 6] << 6) + (self.chosen & 63)
        return places

    @cached_property
    def full_mask(self) -> Packed:
        """Which bits they are, in all words of a row."""
        chosen = np.zeros(self.length, dtype=np.bool_)
        chosen[self.chosen] = True
        return bits.pack(chosen)

    @cached_property
    def mask(self) -> Packed:
        """Which bits they are, in `words`."""
        return self.full_mask[self.words]


def choose_rows(plane: Packed, rows: Indices, words: Indices | None = None) -> Packed:
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


def levels(rows: Rows, join: Callable[[Sequence[Rows]], Rows]) -> Iterator[tuple[int, Rows]]:
    """At most two rows of each weight 1, 2, 4, .. that add up to all `rows`; `join` stacks rows.

    Carry-save adders: three rows of one weight become a sum of that weight and a carry of twice the weight.

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

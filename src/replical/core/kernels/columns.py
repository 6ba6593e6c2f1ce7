"""Some columns of packed rows: the words that hold them, and which bits of those words they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replical.core import bits
from replical.core.bits import Packed

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns `chosen` (ascending) of rows that are `length` bits long.

    Examples
    --------
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

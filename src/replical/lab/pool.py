"""A lab's pool: its items in the order of their ids, and the fingerprint of both.

A pool may grow. It consists of parts then: the rows that its table had at first, those that were added later, and so on. A
part is scanned to its end before the next, in an order of its own, so a run on a longer pool goes on where that on the
shorter one had ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Indices, Items, is_listed
from replical.classes.outputs import OutputRows
from replical.classes.predictions.base import Predictions, predictions_of
from replical.classes.recipe import Recipe
from replical.classes.table import digest
from replical.core.canonical import canonical
from replical.core.randomness import PrivateRandomness
from replical.errors import BadTable
from replical.pools.pool import Pool

Progress = Callable[[int, int], None]  # how much is done, and how much there is


class Part(NamedTuple):
    """So many items that came together, and the fingerprint of a pool of them alone."""

    items: int
    fingerprint: str


@dataclass(frozen=True, kw_only=True, eq=False)
class LabPool:
    """A lab's items in the order of their ids.

    Attributes
    ----------
    recipe
        The class and the columns it needs.
    ids
        The lab's own names of the items, as texts.
    items
        What the class sees of them.
    fingerprint
        A hash of ids and items, whatever the file's format or order of rows.
    rows
        In which row of its table each item stands.
    parts
        What it consists of, in the order of rows; empty while it has never grown.
    """

    recipe: Recipe
    ids: tuple[str, ...]
    items: Items
    fingerprint: str
    rows: Indices
    parts: tuple[Part, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def _predictions(self) -> Predictions | None:
        """What every hypothesis says about every item; None where the class is no list."""
        return predictions_of(self.recipe.C, self.items) if is_listed(self.recipe.C) else None

    def divide(self, known: Sequence[Part]) -> LabPool:
        """The same pool in the parts that are `known` and, where it has more rows than they have, one more.

        Raises
        ------
        BadTable
            If items of a known part are lost, changed or in other rows.
        """
        if len(known) == 1 and known[0] == (len(self), self.fingerprint):
            return self
        ends = list(accumulate(part.items for part in known))
        if ends[-1] > len(self):
            raise BadTable(f"it had {ends[-1]:,} items and now has {len(self):,}: bring back the rows that are missing")
        numbers, parts = np.searchsorted(ends, self.rows, side="right"), list(known)
        for number, part in enumerate(known):
            now, rows = self._part(numbers == number), f"{ends[number] - part.items + 1:,} to {ends[number]:,}"
            if now != part:
                raise BadTable(
                    f"the fingerprint of rows {rows} was {part.fingerprint[:23]} and is {now.fingerprint[:23]}: keep old "
                    "rows as they were, and add new ones at the end"
                )
        if ends[-1] < len(self):
            parts.append(self._part(numbers == len(known)))
        return replace(self, parts=tuple(parts))

    def _part(self, mask: NDArray[np.bool_]) -> Part:
        """Those marked, as a pool of their own."""
        places = np.flatnonzero(mask)
        ids = [self.ids[place] for place in places.tolist()]
        return Part(len(ids), pool_fingerprint(ids, self.items[places], lambda done: None))

    @property
    def first(self) -> str:
        """The fingerprint of what the run began with."""
        return self.parts[0].fingerprint if self.parts else self.fingerprint

    @property
    def _ends(self) -> list[int]:
        """Where parts end that others follow."""
        return list(accumulate(part.items for part in self.parts))[:-1]

    def order(self, private: PrivateRandomness) -> Indices:
        """The items in this lab's order, which is `private`: part by part."""
        if not self._ends:
            return private.permutation(len(self))
        parts = np.split(np.argsort(self.rows, kind="stable"), self._ends)
        order = [
            np.sort(part)[private.permutation(len(part), after=after)]
            for part, after in zip(parts, (0, *self._ends), strict=True)
        ]
        return np.concatenate(order)

    def pool(self, private: PrivateRandomness) -> Pool:
        """The pool in this lab's order, which is `private`."""
        everything, order = np.arange(len(self), dtype=np.int64), self.order(private)
        return Pool.in_order(self.recipe.C, self.items, everything, order, self._predictions, self._ends)


def pool_fingerprint(ids: Sequence[str], items: Items, progress: Callable[[int], None]) -> str:
    """Ids, then items as little-endian bytes; `progress` is told how many items are done."""
    about: dict[str, Any] = {"ids": tuple(ids), "shape": list(items.shape), "type": items.dtype.kind}
    if isinstance(items, OutputRows):  # codes number the outputs of an item, and these are what was said
        about["outputs"] = items.outputs
    return f"sha256:{digest(items, after=canonical(about).encode(), progress=progress)}"

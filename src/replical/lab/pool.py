"""A lab's pool: its items in the order of their ids, and the fingerprint of both.

A pool may grow. It consists of parts then: the rows that its table had at first, those that were added later, and so on. A
part is scanned to its end before the next, in an order of its own, so a run on a longer pool goes on where that on the
shorter one had ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from replical.pools.groups import group_codes, group_order
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
    groups
        Which items belong together: the group of each; empty where each is a draw of its own.
    """

    recipe: Recipe
    ids: tuple[str, ...]
    items: Items
    fingerprint: str
    rows: Indices
    parts: tuple[Part, ...] = ()
    groups: tuple[str, ...] = ()

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
        if self.groups:
            self._check_new_groups(numbers)
        return replace(self, parts=tuple(parts))

    def _part(self, mask: NDArray[np.bool_]) -> Part:
        """Those marked, as a pool of their own."""
        places = np.flatnonzero(mask)
        ids = [self.ids[place] for place in places.tolist()]
        groups = [self.groups[place] for place in places.tolist()] if self.groups else []
        return Part(len(ids), pool_fingerprint(ids, self.items[places], lambda done: None, groups))

    def _check_new_groups(self, numbers: Indices) -> None:
        """Refuse groups with items in several parts: a group is scanned once, as a whole."""
        seen: dict[str, int] = {}
        for group, number in zip(self.groups, numbers.tolist(), strict=True):
            if seen.setdefault(group, number) != number:
                raise BadTable(
                    f"the group {group!r:.60} has rows among those that were added and among those before: a group is "
                    "scanned whole, so add new groups alone"
                )

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
        if not self._ends and not self.groups:
            return private.permutation(len(self))
        parts = np.split(np.argsort(self.rows, kind="stable"), self._ends)
        if self.groups:
            return np.concatenate(list(self._group_orders(parts, private)))
        order = [
            np.sort(part)[private.permutation(len(part), after=after)]
            for part, after in zip(parts, (0, *self._ends), strict=True)
        ]
        return np.concatenate(order)

    def _group_orders(self, parts: Sequence[Indices], private: PrivateRandomness) -> Iterator[Indices]:
        """The order of each part, group by group."""
        after = 0
        for part in map(np.sort, parts):
            codes = np.unique([self.groups[place] for place in part.tolist()], return_inverse=True)[1].astype(np.int64)
            groups = int(codes.max()) + 1
            yield part[group_order(codes, private.permutation(groups, after=after))]
            after += groups

    def pool(self, private: PrivateRandomness) -> Pool:
        """The pool in this lab's order, which is `private`."""
        everything, order = np.arange(len(self), dtype=np.int64), self.order(private)
        groups = group_codes(self.groups, len(self)) if self.groups else None
        return Pool.in_order(self.recipe.C, self.items, everything, order, self._predictions, self._ends, groups)


def pool_fingerprint(
    ids: Sequence[str], items: Items, progress: Callable[[int], None], groups: Sequence[str] = ()
) -> str:
    """Ids and groups, then items as little-endian bytes; `progress` is told how many items are done."""
    about: dict[str, Any] = {"ids": tuple(ids), "shape": list(items.shape), "type": items.dtype.kind}
    if groups:
        about["groups"] = tuple(groups)
    if isinstance(items, OutputRows):  # codes number the outputs of an item, and these are what was said
        about["outputs"] = items.outputs
    return f"sha256:{digest(items, after=canonical(about).encode(), progress=progress)}"

"""A lab's pool: its items in the order of their ids, and the fingerprint of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replical.classes.base import Items, is_listed
from replical.classes.predictions.base import Predictions, predictions_of
from replical.classes.predictions.sharded import ShardedRows
from replical.classes.recipe import Recipe
from replical.classes.table import digest
from replical.core.canonical import canonical
from replical.core.randomness import PrivateRandomness
from replical.pools.pool import Pool

if TYPE_CHECKING:
    from replical.core.parallel import Workers

Progress = Callable[[int, int], None]  # how much is done, and how much there is


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
    """

    recipe: Recipe
    ids: tuple[str, ...]
    items: Items
    fingerprint: str

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def _predictions(self) -> Predictions | None:
        """What every hypothesis says about every item; None where the class is no list."""
        return predictions_of(self.recipe.C, self.items) if is_listed(self.recipe.C) else None

    @property
    def sharded(self) -> bool:
        """Are the predictions in shards on a disk?"""
        return isinstance(self.items, ShardedRows)

    def on(self, workers: Workers | None) -> LabPool:
        """The same pool, where `workers` compute on its shards."""
        if workers is None or not isinstance(self.items, ShardedRows):
            return self
        return replace(self, items=self.items.with_workers(workers))

    def recompute_fingerprint(self, progress: Progress | None = None) -> LabPool:
        """The same pool with its fingerprint made from ids and items, whatever a table of contents says.

        `progress` is told how many items are done, and how many there are.
        """
        tell = progress or (lambda done, total: None)
        found = pool_fingerprint(self.ids, self.items, lambda done: tell(done, len(self)))
        return replace(self, fingerprint=found)

    def pool(self, private: PrivateRandomness) -> Pool:
        """The pool in this lab's order, which is `private`."""
        everything, order = np.arange(len(self), dtype=np.int64), private.permutation(len(self))
        return Pool.in_order(self.recipe.C, self.items, everything, order, self._predictions)


def pool_fingerprint(ids: Sequence[str], items: Items, progress: Callable[[int], None]) -> str:
    """Ids, then items as little-endian bytes; `progress` is told how many items are done."""
    about = {"ids": tuple(ids), "shape": list(items.shape), "type": items.dtype.kind}
    return f"sha256:{digest(items, after=canonical(about).encode(), progress=progress)}"


def is_sharded(source: Any) -> bool:
    """Is this a folder, which can only be one of shards?"""
    return isinstance(source, str | Path) and Path(source).is_dir()

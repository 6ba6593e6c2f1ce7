"""The rows of a table in shards: they index like `PackedRows`, and what is asked for is read when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes
from replical.classes.predictions.sharded import ShardedPredictions, ShardedTable
from replical.core.blocks import blocks

if TYPE_CHECKING:
    from replical.core.workers import Workers

_READ = 2**26  # codes read at a time, packed
_BLOCK = 2**20  # codes unpacked at a time: they stay in the cache


class ShardedRows:
    """Label codes, one row an item, one column a candidate, in the shards of a `table`.

    Attributes
    ----------
    predictions
        The same as predictions: what a run needs of them.
    """

    ndim = 2
    dtype = np.dtype(np.uint16)

    def __init__(self, table: ShardedTable) -> None:
        self._table, self.predictions = table, ShardedPredictions(table)

    def on(self, workers: Workers) -> ShardedRows:
        """The same rows, where `workers` compute."""
        return ShardedRows(replace(self._table, workers=workers))

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns."""
        return self.predictions.shape[1], self.predictions.size

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, None)
        everyone = np.arange(len(self), dtype=np.int64)
        chosen = everyone if isinstance(rows, slice) and rows == slice(None) else np.atleast_1d(everyone[rows])
        if columns is None:
            found: Any = self.predictions.rows(chosen)
            return found if np.ndim(everyone[rows]) else found[0]
        which = np.arange(self.shape[1], dtype=np.int64)[columns]
        if np.ndim(rows) and np.ndim(columns):  # cell by cell, as of an array
            return np.asarray(self.predictions.rows(chosen)[np.arange(len(chosen)), which])
        codes: Any = self.predictions.columns(chosen, np.atleast_1d(which))
        codes = codes if np.ndim(which) else codes[:, 0]
        return codes if isinstance(rows, slice) or np.ndim(rows) else codes[0]

    def blocks(self, codes: int = _BLOCK) -> Iterator[tuple[slice, Codes]]:
        """All codes, so many `codes` at a time, as whole rows, with where they stand."""
        for at in blocks(*self.shape, max(codes, _READ)):
            for part, block in self[at].blocks(codes):
                yield slice(at.start + part.start, at.start + part.stop), block

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The array of codes."""
        return np.asarray(self[:], dtype=self.dtype if dtype is None else dtype)

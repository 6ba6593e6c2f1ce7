"""Prediction tables become shards: rows are read a few at a time, packed, and written to their place in a shard.

The order of a pool is that of its ids, so ids are read first. Nothing the size of the table is ever held: of each band of
rows (a row group of Parquet, a piece of CSV) at most `_BAND` bytes of bits. What goes wrong, a
full disk included, leaves no shard behind.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np

from replical.classes.base import Indices, Items
from replical.classes.predictions.sharded import SIZE, Shard, ShardedRows, ShardedTable, Writing
from replical.classes.recipe import Recipe
from replical.classes.table import PackedRows
from replical.core import bits
from replical.core.bits import blocks
from replical.core.files import amount
from replical.errors import BadTable, BadUsage, ReplicalError
from replical.lab.columns import Table, name_of, opened
from replical.lab.shards import write_contents
from replical.lab.tables import LabPool, Progress, Seen, codes_of, ids_of, pool_fingerprint, twice

_BAND = 2**28  # bytes of packed predictions that are held at a time


def write_shards(
    sources: Sequence[Path],
    recipe: Recipe,
    folder: Path,
    *,
    id_column: str = "id",
    size: int = SIZE,
    progress: Progress | None = None,
) -> LabPool:
    r"""Write the prediction tables `sources`, one below the other, as a folder of shards.

    Parameters
    ----------
    sources
        Parquet or CSV files with the same candidates and different items.
    recipe
        The class of a protocol: which columns are predictions, and of which labels.
    folder
        Where the shards go: a new folder, or an empty one.
    id_column
        The column with the lab's own names of the items.
    size
        Bytes of a shard, about.
    progress
        Is told, now and then, how much is done and how much there is.

    Returns
    -------
    pool
        The pool in shards, as `read_pool` reads it from the folder.

    Raises
    ------
    BadTable, BadLabel
        As for `read_pool`.
    BadUsage
        If the class has no prediction table, the folder is in use, or the disk is full; nothing is left behind then.

    Examples
    --------
    >>> import tempfile
    >>> from replical.classes.catalogue import recipe
    >>> models = recipe({"kind": "table", "candidates": [{"name": "a"}, {"name": "b"}]}, ("no", "yes"), "seed")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder, "pool.csv")
    ...     _ = table.write_text("id,a,b\n7,no,yes\n3,yes,yes\n")
    ...     pool = write_shards([table], models, Path(folder, "shards"))
    ...     pool.ids, np.asarray(pool.items).tolist()
    (('3', '7'), [[1, 1], [0, 1]])
    """
    if not recipe.predicts:
        raise BadUsage(
            "shards hold predictions of candidates, and this protocol's class looks at features: run on the table"
        )
    with _fresh(folder):
        sharding = _Sharding(sources, recipe, folder, id_column, progress or (lambda done, total: None))
        shards = sharding.shards(size)
        table = ShardedTable(shards=shards, size=len(recipe.C), labels=len(recipe.C.labels), folder=folder.absolute())
        pool = sharding.pool(cast(Items, ShardedRows(table)))
        write_contents(folder, recipe, pool.ids, shards, pool.fingerprint)
    return pool


@contextmanager
def _fresh(folder: Path) -> Iterator[None]:
    """A folder of our own, emptied again if anything goes wrong."""
    made = not folder.exists()
    try:
        if not made and any(folder.iterdir()):
            raise BadUsage(f"{folder} is not empty: give --out a new folder, or remove this one first")
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise BadUsage(f"cannot make the folder {folder}: {error.strerror or error}") from error
    try:
        yield
    except BaseException as error:
        for file in folder.iterdir():
            file.unlink()
        if made:
            folder.rmdir()
        if isinstance(error, OSError):
            raise _full(folder, error) from error
        raise


def _full(folder: Path, error: OSError) -> ReplicalError:
    return BadUsage(f"cannot write the shards in {folder}: {error.strerror or error}; nothing of them is left there")


class _Sharding:
    """Tables on their way into shards."""

    def __init__(
        self, sources: Sequence[Path], recipe: Recipe, folder: Path, id_column: str, progress: Progress
    ) -> None:
        self._sources, self._recipe, self._folder, self._id = sources, recipe, folder, id_column
        self._progress = progress
        self._ids: list[list[str]] = []  # of each source
        self._order: Indices

    def shards(self, size: int) -> list[Shard]:
        """Read the ids, then everything, and write it."""
        for source in self._sources:
            self._ids.append(self._read_ids(source))
        self._order = self._in_order()
        places = np.empty(len(self._order), dtype=np.int64)
        places[self._order] = np.arange(len(self._order))
        C = self._recipe.C
        writing = Writing(
            self._folder,
            rows=len(places),
            planes=bits.planes_for(len(C.labels)),
            words=bits.words_for(len(C)),
            size=size,
        )
        self._check_room(writing)
        starts = np.cumsum([0, *map(len, self._ids)])
        for number, (low, high) in enumerate(pairwise(starts.tolist())):
            self._read(number, places[low:high], writing, low)
        with self._disk():
            return writing.sealed()

    def pool(self, items: Items) -> LabPool:
        """The pool, with the fingerprint that its table has."""
        every = [each for ids in self._ids for each in ids]
        ids = tuple(map(every.__getitem__, self._order.tolist()))
        rows = len(ids)
        found = pool_fingerprint(ids, items, lambda done: self._progress(rows + done, 2 * rows))
        return LabPool(recipe=self._recipe, ids=ids, items=items, fingerprint=found)

    @contextmanager
    def _opened(self, source: Path) -> Iterator[Table]:
        columns = self._recipe.columns
        with opened(source, (self._id, *columns), texts=(self._id,), categories=columns) as table:
            yield table

    def _read_ids(self, source: Path) -> list[str]:
        ids: list[str] = []
        with self._opened(source) as table:
            for block in table.blocks([self._id]):
                ids += ids_of(block.columns[self._id], self._id, name_of(source), block.start)
        if not ids:
            raise BadTable(f"{source} holds no items: write one row an item")
        return ids

    def _in_order(self) -> Indices:
        """The order of all ids."""
        every = [each for ids in self._ids for each in ids]
        order = sorted(range(len(every)), key=every.__getitem__)
        for one, two in pairwise(order):
            if every[one] == every[two]:
                raise self._twice(one, two)
        return np.array(order, dtype=np.int64)

    def _twice(self, one: int, two: int) -> BadTable:
        starts = np.cumsum([0, *map(len, self._ids)])
        first, second = (int(np.searchsorted(starts, row, side="right")) - 1 for row in (one, two))
        each, name = self._ids[first][one - int(starts[first])], str(self._sources[first])
        if first == second:
            return twice(name, each, one - int(starts[first]), two - int(starts[first]))
        return BadTable(f"{name} and {self._sources[second]} both have the item {each!r}: every item is in one table")

    def _check_room(self, writing: Writing) -> None:
        """Before the time is spent that the predictions take."""
        needed = 8 * writing.rows * writing.planes * writing.words
        free = shutil.disk_usage(self._folder).free
        if needed > free:
            raise BadUsage(
                f"the shards need {amount(needed)} and {self._folder} has room for {amount(free)}: give --out a folder on "
                "another disk"
            )

    def _read(self, number: int, places: Indices, writing: Writing, before: int) -> None:
        """One table: band after band, of each as many columns at a time as may be held."""
        source, ids = self._sources[number], self._ids[number]
        start = 0
        with self._opened(source) as table:
            for band in table.bands():
                found = [
                    each
                    for block in band.blocks([self._id])
                    for each in ids_of(block.columns[self._id], self._id, name_of(source), start + block.start)
                ]
                if found != ids[start : start + len(found)]:
                    raise BadTable(f"{source} was changed while it was read: run again when nobody writes to it")
                if found:
                    self._band(band, found, places[start : start + len(found)], writing, name_of(source))
                start += len(found)
                self._progress(before + start, 2 * writing.rows)
        if start != len(ids):
            raise BadTable(f"{source} was changed while it was read: run again when nobody writes to it")

    def _band(self, band: Table, ids: list[str], places: Indices, writing: Writing, name: str) -> None:
        columns, labels = self._recipe.columns, self._recipe.C.labels
        order = np.argsort(places)
        for words in blocks(writing.words, 8 * writing.planes * len(ids), _BAND):
            stripe = columns[64 * words.start : 64 * words.stop]
            numbers = {column: place for place, column in enumerate(stripe)}
            rows, cells = PackedRows.blank(len(ids), len(stripe), labels=len(labels)), 0
            for block in band.blocks(stripe):
                at, seen = slice(block.start, block.start + block.rows), Seen(ids, block.start, name)
                if at.stop > len(ids):
                    break
                codes = [codes_of(column, each, labels, seen) for each, column in block.columns.items()]
                rows.write_columns(at, numbers[next(iter(block.columns))], codes)
                cells += block.rows * len(block.columns)
            if cells != len(ids) * len(stripe):
                raise BadTable(f"{name} has columns of unequal lengths: write it again, every column with all rows")
            with self._disk():
                writing.write(places[order], words.start, rows.planes[:, order])

    @contextmanager
    def _disk(self) -> Iterator[None]:
        """What the disk refuses is not the table's fault."""
        try:
            yield
        except OSError as error:
            raise _full(self._folder, error) from error

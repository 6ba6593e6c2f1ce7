"""A folder of shards: a lab's prediction table on the disk, ready for runs that do not fit into memory.

The folder holds shards of packed predictions, the ids, and a table of contents with the checksum of each of them. The
table of contents is written last and appears whole: without it nothing in the folder counts.

Tables become shards a few rows at a time. The order of a pool is that of its ids, so ids are read first. Nothing the size
of the table is ever held: of each band of rows (a row group of Parquet, a piece of CSV) at most `_BAND` bytes of bits.
What goes wrong, a full disk included, leaves no shard behind.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, pairwise
from operator import lt
from pathlib import Path
from typing import Any, cast

import numpy as np

from replical.classes.base import Indices, Items
from replical.classes.predictions.sharded import SIZE, Shard, ShardedRows, ShardedTable, ShardWriter
from replical.classes.recipe import Recipe
from replical.classes.table import PackedRows
from replical.core import bits
from replical.core.bits import blocks
from replical.core.canonical import Json, digest_of, fingerprint, is_digest
from replical.core.files import amount, decode, read_bytes, write_whole
from replical.errors import BadTable, BadUsage, ReplicalError
from replical.lab.columns import BlockIds, Table, codes_of, duplicate_id, ids_of, name_of, open_table
from replical.lab.pool import LabPool, Progress, pool_fingerprint

SCHEMA = "replical.shards/1"
CONTENTS, IDS = "contents.json", "ids.json"
_AGAIN = "make the shards again with replical data shard"
_BAND = 2**28  # bytes of packed predictions that are held at a time


def read_shards(folder: Path, recipe: Recipe) -> LabPool:
    """A pool in shards, of which nothing is read yet but its table of contents and its ids."""
    body = _contents(folder)
    if body["class"] != recipe.C.fingerprint:
        raise BadTable(
            f"the shards in {folder} were made for other candidates or labels than the protocol has: make them with "
            "replical data shard and this protocol"
        )
    shards = _shards(folder, body, recipe)
    for shard in shards:
        _check_size(shard)
    items = _items(folder, recipe, shards)
    return LabPool(recipe=recipe, ids=_ids(folder, body), items=items, fingerprint=body["fingerprint"])


def _contents(folder: Path) -> dict[str, Any]:
    path = folder / CONTENTS
    if not path.exists():
        some = next((name for name in sorted(os.listdir(folder)) if name.endswith(".bits") or name == IDS), None)
        if some is None:
            raise BadTable(
                f"{folder} is a folder without shards: a pool is a table, or a folder made by replical data shard"
            )
        raise BadTable(f"the shards in {folder} are unfinished, there is no {CONTENTS}: remove the folder and {_AGAIN}")
    text = decode(read_bytes(path, what="the table of contents", refuse=BadTable), path, what="it", refuse=BadTable)
    try:
        content = json.loads(text)
        schema, body, digest = content["schema"], content["body"], content["digest"]
        sealed = digest == fingerprint(body)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadTable(f"{path} is no table of contents of shards: {_AGAIN}") from error
    if schema != SCHEMA:
        raise BadTable(f"{path} has the schema {schema!r:.80}, this version reads {SCHEMA}: {_AGAIN}")
    if not sealed:
        raise BadTable(f"{path} is damaged or was changed: its own checksum does not fit, so {_AGAIN}")
    if not isinstance(body, dict) or not _is_body(body):
        raise BadTable(f"{path} says something else than a table of contents of shards: {_AGAIN}")
    return body


def _is_body(body: dict[str, Any]) -> bool:
    """Has it the parts that are looked at, of the right kinds?"""
    match body:
        case {"class": str(), "fingerprint": str(), "items": int(), "ids": {"digest": str()}, "shards": [*shards]}:
            return all(isinstance(each, dict) and {"file", "items", "digest"} <= set(each) for each in shards)
    return False


def _shards(folder: Path, body: Mapping[str, Any], recipe: Recipe) -> list[Shard]:
    planes, words, start = bits.planes_for(len(recipe.C.labels)), bits.words_for(len(recipe.C)), 0
    shards = []
    for entry in body["shards"]:
        name, rows, digest = entry["file"], entry["items"], entry["digest"]
        named = isinstance(name, str) and name.isprintable() and Path(name).name == name
        if not named or isinstance(rows, bool) or not isinstance(rows, int) or rows < 1 or not is_digest(digest):
            raise BadTable(f"{folder / CONTENTS} names no shard with {entry!r:.100}: {_AGAIN}")
        shards.append(Shard(str(folder.absolute() / name), start, rows, planes, words, digest))
        start += rows
    if start != body["items"] or not shards:
        raise BadTable(f"{folder / CONTENTS} has shards of {start:,} items where there are {body['items']!r}: {_AGAIN}")
    return shards


def _check_size(shard: Shard) -> None:
    try:
        size = os.stat(shard.path).st_size
    except OSError as error:
        raise BadTable(f"the shard {shard.path} cannot be read ({error.strerror}): {_AGAIN}") from error
    if size != shard.bytes:
        raise BadTable(f"the shard {shard.path} has {size:,} bytes where {shard.bytes:,} were written: {_AGAIN}")


def _ids(folder: Path, body: Mapping[str, Any]) -> tuple[str, ...]:
    path = folder / IDS
    content = read_bytes(path, what="the ids", refuse=BadTable)
    if digest_of(content) != body["ids"]["digest"]:
        raise BadTable(f"the ids {path} are damaged or were changed: {_AGAIN}")
    try:
        ids = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadTable(f"{path} is no list of ids: {_AGAIN}") from error
    if not isinstance(ids, list) or not all(type(each) is str for each in ids):
        raise BadTable(f"{path} is no list of ids: {_AGAIN}")
    if len(ids) != body["items"]:
        raise BadTable(f"{path} has {len(ids):,} ids for {body['items']:,} items: {_AGAIN}")
    if not all(map(lt, ids, islice(ids, 1, None))):
        raise BadTable(f"{path} has ids that are not in their order, each once: {_AGAIN}")
    return tuple(ids)


def _items(folder: Path, recipe: Recipe, shards: Sequence[Shard]) -> Items:
    table = ShardedTable(shards=shards, size=len(recipe.C), labels=len(recipe.C.labels), folder=folder.absolute())
    return cast(Items, ShardedRows(table))


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
    with _new_folder(folder):
        writer = _ShardWriter(sources, recipe, folder, id_column, progress or (lambda done, total: None))
        shards = writer.shards(size)
        pool = writer.pool(_items(folder, recipe, shards))
        _write_contents(folder, recipe, pool.ids, shards, pool.fingerprint)
    return pool


@contextmanager
def _new_folder(folder: Path) -> Iterator[None]:
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
            raise _write_error(folder, error) from error
        raise


def _write_error(folder: Path, error: OSError) -> ReplicalError:
    return BadUsage(f"cannot write the shards in {folder}: {error.strerror or error}; nothing of them is left there")


class _ShardWriter:
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
        self._order = self._sort()
        places = np.empty(len(self._order), dtype=np.int64)
        places[self._order] = np.arange(len(self._order))
        C = self._recipe.C
        writing = ShardWriter(
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
            return writing.seal()

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
        with open_table(source, (self._id, *columns), texts=(self._id,), categories=columns) as table:
            yield table

    def _read_ids(self, source: Path) -> list[str]:
        ids: list[str] = []
        with self._opened(source) as table:
            for block in table.blocks([self._id]):
                ids += ids_of(block.columns[self._id], self._id, name_of(source), block.start)
        if not ids:
            raise BadTable(f"{source} holds no items: write one row an item")
        return ids

    def _sort(self) -> Indices:
        """The order of all ids."""
        every = [each for ids in self._ids for each in ids]
        order = sorted(range(len(every)), key=every.__getitem__)
        for one, two in pairwise(order):
            if every[one] == every[two]:
                raise self._duplicate(one, two)
        return np.array(order, dtype=np.int64)

    def _duplicate(self, one: int, two: int) -> BadTable:
        starts = np.cumsum([0, *map(len, self._ids)])
        first, second = (int(np.searchsorted(starts, row, side="right")) - 1 for row in (one, two))
        each, name = self._ids[first][one - int(starts[first])], str(self._sources[first])
        if first == second:
            return duplicate_id(name, each, one - int(starts[first]), two - int(starts[first]))
        return BadTable(f"{name} and {self._sources[second]} both have the item {each!r}: every item is in one table")

    def _check_room(self, writing: ShardWriter) -> None:
        """Before the time is spent that the predictions take."""
        needed = 8 * writing.rows * writing.planes * writing.words
        free = shutil.disk_usage(self._folder).free
        if needed > free:
            raise BadUsage(
                f"the shards need {amount(needed)} and {self._folder} has room for {amount(free)}: give --out a folder on "
                "another disk"
            )

    def _read(self, number: int, places: Indices, writing: ShardWriter, before: int) -> None:
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

    def _band(self, band: Table, ids: list[str], places: Indices, writing: ShardWriter, name: str) -> None:
        columns, labels = self._recipe.columns, self._recipe.C.labels
        order = np.argsort(places)
        for words in blocks(writing.words, 8 * writing.planes * len(ids), _BAND):
            stripe = columns[64 * words.start : 64 * words.stop]
            numbers = {column: place for place, column in enumerate(stripe)}
            rows, cells = PackedRows.blank(len(ids), len(stripe), labels=len(labels)), 0
            for block in band.blocks(stripe):
                at, seen = slice(block.start, block.start + block.rows), BlockIds(ids, block.start, name)
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
            raise _write_error(self._folder, error) from error


def _write_contents(folder: Path, recipe: Recipe, ids: Sequence[str], shards: Sequence[Shard], pool: str) -> None:
    """Write the ids and then, at last, the table of contents: from now on the folder counts."""
    listed = json.dumps(list(ids), ensure_ascii=False, separators=(",", ":"))
    write_whole(folder / IDS, listed, what="the ids", refuse=BadUsage)
    body: Json = {
        "class": recipe.C.fingerprint,
        "candidates": len(recipe.C),
        "labels": len(recipe.C.labels),
        "items": len(ids),
        "ids": {"file": IDS, "digest": digest_of(listed.encode())},
        "fingerprint": pool,
        "shards": [{"file": Path(shard.path).name, "items": shard.rows, "digest": shard.digest} for shard in shards],
    }
    content = {"schema": SCHEMA, "body": body, "digest": fingerprint(body)}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    write_whole(folder / CONTENTS, text, what="the table of contents", refuse=BadUsage)

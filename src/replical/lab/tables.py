"""What stands in the columns of a lab's table: ids, labels, predictions and features, each looked at as it is read.

What is wrong is named precisely: the column, the row by its id, the value.

A lab's own tables: pools with ids, and labels, from Parquet or CSV files, data frames or arrays.

Predictions are packed as they are read. What is wrong is named precisely: the column, the row by its id, the value.
Rows are put into the order of their ids, so that the same items in another order are the same pool.
Needs pyarrow: ``pip install 'replical[lab]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Indices, Items, Label, listed
from replical.classes.predictions import Predictions, predictions_of
from replical.classes.predictions.sharded import ShardedRows
from replical.classes.recipe import Recipe
from replical.classes.table import PackedRows, digest, fits
from replical.core.canonical import canonical
from replical.core.files import trusted, trusting_sizes
from replical.core.randomness import PrivateRandomness
from replical.errors import BadLabel, BadTable, ValueOutOfRange
from replical.lab.columns import Block, Table, name_of, opened
from replical.lab.shards import is_sharded, read_shards
from replical.pools.pool import Pool

if TYPE_CHECKING:
    from replical.core.parallel import Workers

Column = NDArray[Any]


class Seen(NamedTuple):
    """Which items the rows of a block are, for those who have to name one."""

    ids: list[str]
    start: int
    table: str

    def of(self, row: int) -> str:
        """The id of a row of the block."""
        return self.ids[self.start + row]


def ids_of(column: Any, id_column: str, name: str, before: int) -> list[str]:
    """Ids as texts."""
    values = values_of(column, id_column, name)
    for row, value in enumerate(values):
        if type(value) is str and value:
            continue
        if value is None or value == "":
            raise BadTable(f"{name}, row {before + row + 1}: the id in the column {id_column!r} is missing")
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise BadTable(f"{name}: ids are texts or whole numbers, got {value!r:.80} in row {before + row + 1}")
    return [str(value) for value in values]


def twice(name: str, each: str, one: int, two: int) -> BadTable:
    """What to raise where the id `each` stands in two rows."""
    return BadTable(
        f"{name} has the id {each!r:.80} twice, in rows {one + 1} and {two + 1}: every item has an id of its own"
    )


def label_code(value: Any, labels: tuple[Label, ...], what: str) -> int:
    """The code of a label value; its type must be that of the label set, but files of texts may spell numbers.

    Examples
    --------
    >>> label_code("yes", ("no", "yes"), "it"), label_code("1", (0, 1), "it"), label_code("1", (0, 1, "unsure"), "it")
    (1, 1, 1)
    """
    if not isinstance(value, bool | float) and value in labels:
        return labels.index(value)
    if isinstance(value, str):
        spelled = {str(label): code for code, label in enumerate(labels) if isinstance(label, int)}
        if value.strip() in spelled:
            return spelled[value.strip()]
    hint = ""
    if isinstance(value, bool | float):
        hint = f": it is a {type(value).__name__}, write the label itself"
    elif isinstance(value, int) and str(value) in labels:
        hint = ": it is a number, and the labels are texts"
    raise BadLabel(f"{what} is {value!r:.80}, which is none of {list(labels)!r}{hint}")


def labels_of(
    column: Any, label_column: str, labels: tuple[Label, ...], ids: list[str], name: str
) -> Iterator[tuple[str, int]]:
    """The items of a column that have a label, with its code."""
    known: dict[tuple[type, Any], int] = {}
    for each, value in zip(ids, values_of(column, label_column, name), strict=True):
        if value is None or value == "":
            continue
        key = type(value), value
        try:
            code = known.get(key)
        except TypeError:  # a list, say
            code = None
        if code is None:
            code = known[key] = label_code(value, labels, f"the label of the item {each!r} in {name}")
        yield each, code


def values_of(column: Any, column_name: str, table: str) -> list[Any]:
    """Python values; texts that stand in a dictionary are made once, however many rows have them."""
    try:
        if not hasattr(column, "dictionary"):
            plain: list[Any] = column.to_pylist()
            return plain
        values = column.dictionary.to_pylist()
        places = column.indices.to_pylist() if column.null_count else _numbers(column.indices).tolist()
        return [None if place is None else values[place] for place in places]
    except (ValueError, ArithmeticError, SystemError) as error:  # a date of the year 292278, say
        raise BadTable(
            f"{table}: the column {column_name!r} holds a {column.type} that cannot be shown: write it as text"
        ) from error


def codes_of(column: Any, name: str, labels: tuple[Label, ...], items: Seen) -> Column:
    """A column of predictions as codes: every different value is looked up once, not every cell."""
    from pyarrow import types

    if types.is_floating(column.type):
        raise BadLabel(
            f"{items.table}: the column {name!r} holds scores ({column.type}) where labels {list(labels)!r} are expected: "
            "decide on a label for every item first, or publish cuts for scores (replical protocol new --cuts)"
        )
    if types.is_nested(column.type):
        raise BadLabel(
            f"{items.table}: the column {name!r} holds {column.type} where labels {list(labels)!r} are expected"
        )
    if column.null_count:
        raise BadTable(
            f"{items.table}: the prediction of {name!r} is missing for the item {items.of(_missing(column))!r}"
        )
    if types.is_integer(column.type) and (codes := _counted(column, labels)) is not None:
        return codes
    encoded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    values, places = encoded.dictionary.to_pylist(), _numbers(encoded.indices)
    meanings = np.zeros(len(values), dtype=_codes_type(labels))
    for place, value in enumerate(values):
        try:
            meanings[place] = label_code(value, labels, f"a prediction of {name!r}")
        except BadLabel as error:
            said = places == place
            if said.any():  # a category may be there without any item
                raise BadLabel(f"{items.table}, item {items.of(int(np.argmax(said)))!r}: {error}") from error
    return _looked_up(meanings, places)


def _counted(column: Any, labels: tuple[Label, ...]) -> Column | None:
    """Codes of whole numbers that lie close together; None where one of them may be no label."""
    values = _numbers(column)
    if any(isinstance(label, str) for label in labels) or len(values) == 0:
        return None
    low, high = int(min(labels)), int(max(labels))
    if high - low >= 2 * len(labels) + 256 or not (low <= values.min() and values.max() <= high):
        return None
    meanings = np.full(high - low + 1, len(labels), dtype=np.uint32)
    meanings[np.array(labels, dtype=np.int64) - low] = np.arange(len(labels))
    codes = _looked_up(meanings, values if low == 0 else values.astype(np.int64) - low)
    return None if high - low + 1 > len(labels) and codes.max() == len(labels) else codes.astype(_codes_type(labels))


def _looked_up(meanings: Column, places: Column) -> Column:
    if (meanings == np.arange(len(meanings))).all():
        return places.astype(meanings.dtype)
    return np.take(meanings, places)


def _codes_type(labels: tuple[Label, ...]) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if len(labels) <= 2**8 else np.uint16


def feature_of(column: Any, name: str, items: Seen) -> Column:
    """A feature as numbers."""
    from pyarrow import types

    kind = column.type
    if not (types.is_integer(kind) or types.is_floating(kind)):
        raise BadTable(f"{items.table}: the feature {name!r} must hold numbers, it holds {kind}")
    if column.null_count:
        raise BadTable(f"{items.table}: the feature {name!r} is missing for the item {items.of(_missing(column))!r}")
    values = _numbers(column)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise BadTable(f"{items.table}: the feature {name!r} is missing or infinite for the item {items.of(row)!r}")
    return values


def score_of(column: Any, name: str, items: Seen) -> Column:
    """Probabilities that a candidate gives to the second label."""
    from pyarrow import types

    if not (types.is_integer(column.type) or types.is_floating(column.type)):
        raise BadTable(
            f"{items.table}: the scores of {name!r} must be numbers, because the protocol has cuts for them; they are "
            f"{column.type}"
        )
    values = feature_of(column, name, items)
    out = (values < 0) | (values > 1)
    if out.any():
        row = int(np.argmax(out))
        raise BadTable(
            f"{items.table}: the score of {name!r} is {values[row]} for the item {items.of(row)!r}, and scores are "
            "probabilities from 0 to 1"
        )
    return values


def plain(column: Column) -> Column:
    """Whole numbers are whole numbers, whether a file writes 1 or 1.0."""
    whole = column.dtype.kind == "f" and bool((np.abs(column) < 2**53).all() and (column == np.floor(column)).all())
    return column.astype(np.int64) if whole else column


def _missing(column: Any) -> int:
    row: int = column.is_null().to_pylist().index(True)
    return row


def _numbers(column: Any) -> Column:
    """Numbers without a gap, not copied; ``to_numpy`` would import pandas."""
    return np.from_dlpack(column) if len(column) else np.zeros(0, dtype=np.int64)


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
        return predictions_of(self.recipe.C, self.items) if listed(self.recipe.C) else None

    @property
    def sharded(self) -> bool:
        """Are the predictions in shards on a disk?"""
        return isinstance(self.items, ShardedRows)

    def on(self, workers: Workers | None) -> LabPool:
        """The same pool, where `workers` compute on its shards."""
        if workers is None or not isinstance(self.items, ShardedRows):
            return self
        return replace(self, items=self.items.on(workers))

    def recomputed(self, progress: Progress | None = None) -> LabPool:
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


def read_pool(source: Any, recipe: Recipe, *, id_column: str = "id", progress: Progress | None = None) -> LabPool:
    """A lab's pool.

    Parameters
    ----------
    source
        A path, a data frame, a mapping of names to arrays, or anything that speaks Arrow; or a folder of shards, of which
        little is read before it is needed.
    recipe
        The class and the columns it needs, from a protocol.
    id_column
        The column with the lab's own names of the items.
    progress
        Is told, now and then, how much has been read and how much there is, where that is known beforehand.

    Returns
    -------
    pool
        The items in the order of their ids.

    Raises
    ------
    BadTable
        If the table cannot be read, holds no items, repeats an id, lacks a column or a value, or changes meanwhile.
    BadLabel
        If a candidate predicts what is no label.
    ValueOutOfRange
        If the predictions would not fit into 16 GiB of bits.

    Notes
    -----
    Predictions are packed block by block. Beside the bits (n items, k candidates and K labels need n·k·⌈log₂ K⌉ / 8 bytes)
    and the ids a reading holds about 0.4 GB at a time, whatever the size of the table.

    Examples
    --------
    >>> from replical.classes.catalogue import recipe
    >>> doses = recipe({"kind": "thresholds", "features": ["dose"], "cuts": [[1.0, 2.0]]}, ("no", "yes"), "seed")
    >>> pool = read_pool({"id": ["b", "a"], "dose": [0.5, 1.5]}, doses)
    >>> pool.ids, pool.items.tolist()
    (('a', 'b'), [1.5, 0.5])
    """
    if is_sharded(source):
        found = read_shards(Path(source), recipe)
        return LabPool(recipe=recipe, ids=found.ids, items=found.items, fingerprint=found.fingerprint)
    predictions, numbers = (recipe.columns, ()) if recipe.predicts else ((), recipe.columns)
    wanted = (id_column, *recipe.columns)
    with opened(source, wanted, texts=(id_column,), categories=predictions, numbers=numbers) as table:
        reading = _Reading(table, recipe, id_column, name_of(source), progress or (lambda done, total: None))
        items = reading.predictions() if recipe.predicts else reading.features()
    return LabPool(recipe=recipe, ids=reading.ids, items=items, fingerprint=reading.fingerprint(items))


class _Reading:
    """One pool while it is read: rows as they come, then in the order of their ids."""

    def __init__(self, table: Table, recipe: Recipe, id_column: str, name: str, progress: Progress) -> None:
        self._table, self._recipe, self._id, self._name, self._progress = table, recipe, id_column, name, progress
        self.ids: tuple[str, ...] = ()

    def predictions(self) -> Items:
        """What the candidates say, packed."""
        if self._table.rows is None:
            rows, order = self._by_rows()
        else:
            self._check_fits(self._table.rows)
            ids: list[str] = []
            for block in self._table.blocks([self._id]):
                ids += ids_of(block.columns[self._id], self._id, self._name, block.start)
            order = self._in_order(ids)  # before the time is spent that the predictions take
            rows = self._by_columns(ids)
        rows.put_in_order(order)
        return cast(Items, rows)

    def _by_columns(self, ids: list[str]) -> PackedRows:
        """All rows of some candidates, then of others."""
        columns, cells = self._recipe.columns, 0
        places = {name: place for place, name in enumerate(columns)}
        rows = PackedRows.blank(len(ids), len(columns), labels=len(self._recipe.C.labels))
        for block in self._table.blocks(columns):
            at = slice(block.start, block.start + block.rows)
            if at.stop > len(ids):
                break
            rows.write_columns(at, places[next(iter(block.columns))], self._codes(block, ids))
            cells += block.rows * len(block.columns)
            self._progress(cells, 2 * len(ids) * len(columns))
        if cells != len(ids) * len(columns):
            raise BadTable(f"{self._name} has columns of unequal lengths: write it again, every column with all rows")
        return rows

    def _by_rows(self) -> tuple[PackedRows, Indices]:
        """All candidates on some items, then on others."""
        columns, labels = self._recipe.columns, self._recipe.C.labels
        ids: list[str] = []
        parts: list[PackedRows] = []
        for number, block in enumerate(self._table.blocks([self._id, *columns]), start=1):
            ids += ids_of(block.columns.pop(self._id), self._id, self._name, block.start)
            self._check_fits(len(ids))
            part = PackedRows.blank(block.rows, len(columns), labels=len(labels))
            part.write_columns(slice(0, block.rows), 0, self._codes(block, ids))
            parts.append(part)
            self._progress(min(number, self._table.pieces), 2 * self._table.pieces)
        order = self._in_order(ids)
        return PackedRows.stacked(parts), order

    def _check_fits(self, rows: int) -> None:
        try:
            fits(rows, len(self._recipe.columns), len(self._recipe.C.labels))
        except ValueOutOfRange as error:
            raise ValueOutOfRange(f"{error}, or write the table as shards with replical shard") from error

    def _codes(self, block: Block, ids: list[str]) -> list[Column]:
        labels, seen = self._recipe.C.labels, Seen(ids, block.start, self._name)
        return [codes_of(column, name, labels, seen) for name, column in block.columns.items()]

    def features(self) -> Items:
        """What the class looks at, as numbers."""
        ids: list[str] = []
        parts: list[list[Column]] = []
        for block in self._table.blocks([self._id, *self._recipe.columns], together=True):
            ids += ids_of(block.columns.pop(self._id), self._id, self._name, block.start)
            seen = Seen(ids, block.start, self._name)
            read = score_of if self._recipe.scores else feature_of
            parts.append([read(column, name, seen) for name, column in block.columns.items()])
            if self._table.rows:
                self._progress(len(ids), 2 * self._table.rows)
        order = self._in_order(ids)
        whole = {
            name: plain(np.concatenate([part[number] for part in parts])[order])
            for number, name in enumerate(self._recipe.columns)
        }
        return self._recipe.C.items(self._recipe.items(whole))

    def _in_order(self, ids: list[str]) -> Indices:
        """The order of the ids, which become those of the pool."""
        if not ids:
            raise BadTable(f"{self._name} holds no items: write one row an item")
        order = sorted(range(len(ids)), key=ids.__getitem__)
        self.ids = tuple(map(ids.__getitem__, order))
        for place, (one, two) in enumerate(pairwise(self.ids)):
            if one == two:
                raise twice(self._name, one, order[place], order[place + 1])
        return np.array(order, dtype=np.int64)

    def fingerprint(self, items: Items) -> str:
        """What both have in common with every other form of the same pool."""
        rows = len(self.ids)
        return pool_fingerprint(self.ids, items, lambda done: self._progress(rows + done, 2 * rows))


def pool_fingerprint(ids: Sequence[str], items: Items, progress: Callable[[int], None]) -> str:
    """Ids, then items as little-endian bytes; `progress` is told how many items are done."""
    about = {"ids": tuple(ids), "shape": list(items.shape), "type": items.dtype.kind}
    return f"sha256:{digest(items, after=canonical(about).encode(), progress=progress)}"


def read_labels(source: Any, column: str, labels: tuple[Label, ...], *, id_column: str = "id") -> dict[str, int]:
    """Label codes by id, from a column of label values; rows without a label are left out."""
    name = name_of(source)
    codes: dict[str, int] = {}
    with opened(source, (id_column, column), texts=(id_column,), categories=(column,)) as table:
        for block in table.blocks([id_column, column], together=True):
            ids = ids_of(block.columns[id_column], id_column, name, block.start)
            fresh = labels_of(block.columns[column], column, labels, ids, name)
            for each, code in fresh:
                if each in codes:
                    raise BadTable(f"{name} has two labels for the item {each!r}")
                codes[each] = code
    return codes


def read_features(
    source: Any, features: Sequence[str], *, id_column: str = "id"
) -> tuple[list[str], NDArray[np.float64]]:
    """Ids and features of a table, one row an item.

    Raises
    ------
    BadTable
        If a column is missing, an id stands in two rows, or a value is no finite number.
    """
    name, ids, parts = name_of(source), list[str](), list[NDArray[np.float64]]()
    with opened(source, (id_column, *features), texts=(id_column,), numbers=features) as table:
        for block in table.blocks([id_column, *features], together=True):
            ids += ids_of(block.columns.pop(id_column), id_column, name, block.start)
            seen = Seen(ids, block.start, name)
            columns = [feature_of(column, each, seen) for each, column in block.columns.items()]
            parts.append(np.column_stack(columns).astype(np.float64))
    if not ids:
        raise BadTable(f"{name} holds no items: write one row an item")
    if len(rows := {each: row for row, each in enumerate(ids)}) < len(ids):
        again = next(row for row, each in enumerate(ids) if rows[each] != row)
        raise twice(name, ids[again], again, rows[ids[again]])
    return ids, np.concatenate(parts)


class ItemColumns:
    """What a person is shown of an item: some columns as texts. Read once, when first asked for.

    Examples
    --------
    >>> columns = ItemColumns({"id": ["a", "b"], "text": ["one", None]}, ["text"])
    >>> columns(["b", "a"])
    {'b': {'text': ''}, 'a': {'text': 'one'}}
    """

    def __init__(self, source: Any, columns: Sequence[str], *, id_column: str = "id") -> None:
        self._source, self._columns, self._id = source, list(columns), id_column
        self._trusts = trusted()  # read later, perhaps by another thread

    def __call__(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """The columns of some items, by id; nothing where no column is shown."""
        if not self._columns:
            return {}
        rows, texts = self._rows
        return {each: {column: texts[column][rows[each]] for column in self._columns} for each in ids if each in rows}

    @cached_property
    def _rows(self) -> tuple[dict[str, int], dict[str, list[str]]]:
        rows: dict[str, int] = {}
        texts: dict[str, list[str]] = {column: [] for column in self._columns}
        name = name_of(self._source)
        wanted = list(dict.fromkeys((self._id, *self._columns)))
        with trusting_sizes(self._trusts), opened(self._source, wanted, texts=wanted) as table:
            for block in table.blocks(wanted, together=True):
                for each in ids_of(block.columns[self._id], self._id, name, block.start):
                    if each in rows:
                        raise twice(name, each, rows[each], len(rows))
                    rows[each] = len(rows)
                for column in self._columns:
                    values = values_of(block.columns[column], column, name)
                    texts[column] += ["" if value is None else str(value) for value in values]
        return rows, texts

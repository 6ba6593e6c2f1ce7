"""Tables of a lab: pools with ids, labels and what people are shown, from Parquet or CSV files, data frames or arrays.

Predictions are packed as they are read. What is wrong is named precisely: the column, the row by its id, the value.
Rows are put into the order of their ids, so that the same items in another order are the same pool.
All but CSV files need pyarrow: ``pip install 'replical[lab]'``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from math import isnan
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Indices, Items
from replical.classes.grading import Answering, Said
from replical.classes.outputs import OutputTable
from replical.classes.recipe import Recipe
from replical.classes.table import PackedRows, check_room
from replical.core.files import trusting_sizes, trusts_sizes
from replical.errors import BadTable
from replical.lab import columns as arrow
from replical.lab.pool import LabPool, Progress, pool_fingerprint


def read_pool(source: Any, recipe: Recipe, *, id_column: str = "id", progress: Progress | None = None) -> LabPool:
    """Read the pool of a lab from a table.

    Parameters
    ----------
    source
        A path, a data frame, a mapping of names to arrays, or anything that speaks Arrow.
    recipe
        The class and the columns it needs, from a protocol.
    id_column
        The column with the ids of the items.
    progress
        Called now and then with (read, in all), where the size is known beforehand.

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
    predictions, numbers = (recipe.columns, ()) if recipe.predicts else ((), recipe.columns)
    wanted = (id_column, *recipe.columns)
    with arrow.open_table(source, wanted, texts=(id_column,), categories=predictions, numbers=numbers) as table:
        reader = _PoolReader(table, recipe, id_column, arrow.name_of(source), progress or (lambda done, total: None))
        items = reader.items()
    groups_by_id = {} if recipe.group is None else read_groups(source, recipe.group, id_column=id_column)
    groups = tuple(groups_by_id[each] for each in reader.ids) if groups_by_id else ()
    found = reader.fingerprint(items, groups)
    return LabPool(recipe=recipe, ids=reader.ids, items=items, fingerprint=found, rows=reader.rows, groups=groups)


class _PoolReader:
    """One pool while it is read: rows as they come, then in the order of their ids."""

    def __init__(self, table: arrow.Table, recipe: Recipe, id_column: str, name: str, progress: Progress) -> None:
        self._table, self._recipe, self._id, self._name, self._progress = table, recipe, id_column, name, progress
        self.ids: tuple[str, ...] = ()
        self.rows: Indices  # in which row each of them stands

    def items(self) -> Items:
        """What the class sees of the rows, in the order of their ids."""
        if isinstance(self._recipe.C, OutputTable):
            return self._outputs(self._recipe.C)
        return self._predictions() if self._recipe.predicts else self._features()

    def _outputs(self, C: OutputTable) -> Items:
        """What the candidates say, numbered item by item."""
        ids: list[str] = []

        def rows() -> Iterator[tuple[int, tuple[Any, ...]]]:
            for block in self._table.blocks([self._id, *self._recipe.columns], together=True):
                ids.extend(arrow.ids_of(block.columns.pop(self._id), self._id, self._name, block.start))
                check_room(len(ids), len(C), len(C.labels))
                columns = [arrow.values_of(column, name, self._name) for name, column in block.columns.items()]
                yield from enumerate(zip(*columns, strict=True), block.start)
                if self._table.rows:
                    self._progress(len(ids), 2 * self._table.rows)

        numbered = C.number(rows(), lambda row, name: f"{self._name}: the output of {name!r} for the item {ids[row]!r}")
        numbered.put_in_order(self._sort(ids))
        return cast(Items, numbered)

    def _predictions(self) -> Items:
        """What the candidates say, packed."""
        if self._table.rows is None:
            rows, order = self._read_by_rows()
        else:
            check_room(self._table.rows, len(self._recipe.columns), len(self._recipe.C.labels))
            ids: list[str] = []
            for block in self._table.blocks([self._id]):
                ids += arrow.ids_of(block.columns[self._id], self._id, self._name, block.start)
            order = self._sort(ids)  # before the time is spent that the predictions take
            rows = self._read_by_columns(ids)
        rows.put_in_order(order)
        return cast(Items, rows)

    def _read_by_columns(self, ids: list[str]) -> PackedRows:
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

    def _read_by_rows(self) -> tuple[PackedRows, Indices]:
        """All candidates on some items, then on others."""
        columns, labels = self._recipe.columns, self._recipe.C.labels
        ids: list[str] = []
        parts: list[PackedRows] = []
        for number, block in enumerate(self._table.blocks([self._id, *columns]), start=1):
            ids += arrow.ids_of(block.columns.pop(self._id), self._id, self._name, block.start)
            check_room(len(ids), len(columns), len(labels))
            part = PackedRows.blank(block.rows, len(columns), labels=len(labels))
            part.write_columns(slice(0, block.rows), 0, self._codes(block, ids))
            parts.append(part)
            self._progress(min(number, self._table.pieces), 2 * self._table.pieces)
        order = self._sort(ids)
        return PackedRows.stack(parts), order

    def _codes(self, block: arrow.ColumnBlock, ids: list[str]) -> list[arrow.Column]:
        labels, seen = self._recipe.C.labels, arrow.BlockIds(ids, block.start, self._name)
        return [arrow.codes_of(column, name, labels, seen) for name, column in block.columns.items()]

    def _features(self) -> Items:
        """What the class looks at, as numbers."""
        ids: list[str] = []
        parts: list[list[arrow.Column]] = []
        for block in self._table.blocks([self._id, *self._recipe.columns], together=True):
            ids += arrow.ids_of(block.columns.pop(self._id), self._id, self._name, block.start)
            seen = arrow.BlockIds(ids, block.start, self._name)
            read = arrow.score_of if self._recipe.scores else arrow.feature_of
            parts.append([read(column, name, seen) for name, column in block.columns.items()])
            if self._table.rows:
                self._progress(len(ids), 2 * self._table.rows)
        order = self._sort(ids)
        whole = {
            name: arrow.as_integers(np.concatenate([part[number] for part in parts])[order])
            for number, name in enumerate(self._recipe.columns)
        }
        return self._recipe.C.items(self._recipe.items(whole))

    def _sort(self, ids: list[str]) -> Indices:
        """The order of the ids, which become those of the pool."""
        if not ids:
            raise BadTable(f"{self._name} holds no items: write one row an item")
        order = sorted(range(len(ids)), key=ids.__getitem__)
        self.ids = tuple(map(ids.__getitem__, order))
        for place, (one, two) in enumerate(pairwise(self.ids)):
            if one == two:
                raise arrow.duplicate_id(self._name, one, order[place], order[place + 1])
        self.rows = np.array(order, dtype=np.int64)
        return self.rows

    def fingerprint(self, items: Items, groups: Sequence[str]) -> str:
        """What both have in common with every other form of the same pool."""
        rows = len(self.ids)
        return pool_fingerprint(self.ids, items, lambda done: self._progress(rows + done, 2 * rows), groups)


def read_labels(source: Any, column: str, labels: Answering, *, id_column: str = "id") -> dict[str, Said]:
    """Label codes by id, from a column of label values, or gold answers; rows without one are left out."""
    name = arrow.name_of(source)
    codes: dict[str, Said] = {}
    with arrow.open_table(source, (id_column, column), texts=(id_column,), categories=(column,)) as table:
        for block in table.blocks([id_column, column], together=True):
            ids = arrow.ids_of(block.columns[id_column], id_column, name, block.start)
            fresh = arrow.labels_of(block.columns[column], column, labels, ids, name)
            for each, code in fresh:
                if each in codes:
                    raise BadTable(f"{name} has two labels for the item {each!r}")
                codes[each] = code
    return codes


def read_groups(source: Any, column: str, *, id_column: str = "id") -> dict[str, str]:
    """The group of every item by its id, from a column of texts or whole numbers.

    Examples
    --------
    >>> read_groups({"id": ["a", "b", "c"], "patient": [7, 8, 7]}, "patient")
    {'a': '7', 'b': '8', 'c': '7'}
    """
    name, groups = arrow.name_of(source), dict[str, str]()
    with arrow.open_table(source, (id_column, column), texts=(id_column, column)) as table:
        for block in table.blocks([id_column, column], together=True):
            ids = arrow.ids_of(block.columns[id_column], id_column, name, block.start)
            for each, value in zip(ids, arrow.values_of(block.columns[column], column, name), strict=True):
                if value is None or value == "" or (isinstance(value, float) and isnan(value)):
                    raise BadTable(
                        f"{name}: the group of the item {each!r} is missing in the column {column!r}: every item is in a "
                        "group, if need be one of its own"
                    )
                if isinstance(value, bool) or not isinstance(value, str | int):
                    raise BadTable(
                        f"{name}: groups are texts or whole numbers, got {value!r:.80} for the item {each!r}"
                    )
                groups[each] = str(value)
    return groups


# What is called so often comes with several items each.
_TOGETHER = re.compile(
    "(animal|article|author|case|cluster|conversation|doc|document|donor|family|group|household|page|participant|passage"
    "|patient|person|rater|recording|scene|session|slide|speaker|subject|thread|user|video|visit|writer)s?(_?id)?"
)


def grouped_columns(source: Any, apart: Collection[str]) -> list[str]:
    """Columns that look as if they said which items belong together: by name, and because values come again.

    Examples
    --------
    >>> grouped_columns({"id": [1, 2, 3], "patient_id": [7, 8, 7], "user": [1, 2, 3]}, apart=["id"])
    ['patient_id']
    """
    named = [each for each in arrow.names_of(source) if each not in apart and _TOGETHER.fullmatch(each.lower())]
    return [each for each in named if _repeats(source, each)]


def _repeats(source: Any, column: str) -> bool:
    with arrow.open_table(source, (column,), texts=(column,)) as table:
        values = [
            each for block in table.blocks([column]) for each in arrow.values_of(block.columns[column], column, "")
        ]
    texts = [str(each) for each in values if each is not None and each != ""]
    return 1 < len(set(texts)) < len(texts)


def read_features(
    source: Any, features: Sequence[str], *, id_column: str = "id"
) -> tuple[list[str], NDArray[np.float64]]:
    """Ids and features of a table, one row an item."""
    name, ids, parts = arrow.name_of(source), list[str](), list[NDArray[np.float64]]()
    with arrow.open_table(source, (id_column, *features), texts=(id_column,), numbers=features) as table:
        for block in table.blocks([id_column, *features], together=True):
            ids += arrow.ids_of(block.columns.pop(id_column), id_column, name, block.start)
            seen = arrow.BlockIds(ids, block.start, name)
            columns = [arrow.feature_of(column, each, seen) for each, column in block.columns.items()]
            parts.append(np.column_stack(columns).astype(np.float64))
    if not ids:
        raise BadTable(f"{name} holds no items: write one row an item")
    if len(rows := {each: row for row, each in enumerate(ids)}) < len(ids):
        again = next(row for row, each in enumerate(ids) if rows[each] != row)
        raise arrow.duplicate_id(name, ids[again], again, rows[ids[again]])
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
        self._trusts = trusts_sizes()  # read later, perhaps by another thread

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
        name = arrow.name_of(self._source)
        wanted = list(dict.fromkeys((self._id, *self._columns)))
        with trusting_sizes(self._trusts), arrow.open_table(self._source, wanted, texts=wanted) as table:
            for block in table.blocks(wanted, together=True):
                for each in arrow.ids_of(block.columns[self._id], self._id, name, block.start):
                    if each in rows:
                        raise arrow.duplicate_id(name, each, rows[each], len(rows))
                    rows[each] = len(rows)
                for column in self._columns:
                    values = arrow.values_of(block.columns[column], column, name)
                    texts[column] += ["" if value is None else str(value) for value in values]
        return rows, texts

"""A lab's own tables: pools with ids, and labels, from Parquet, CSV or Arrow files, data frames or arrays.

Files are read in batches and encoded as they come. What is wrong is named precisely: the column, the row by its id, the
value. Rows are put into the order of their ids, so that the same items in another order are the same pool.
Needs pyarrow: ``pip install 'replical[lab]'``.
"""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Items, Label
from replical.classes.predictions import predictions_of
from replical.classes.recipe import Recipe
from replical.core.canonical import canonical
from replical.core.randomness import PrivateRandomness
from replical.errors import BadLabel, BadTable, MissingExtra
from replical.pools.pool import Pool

Column = NDArray[Any]
_BATCH = 65_536  # rows read at a time
_SUFFIXES = (".parquet", ".csv", ".arrow", ".feather")
_RESAVE = "save it as UTF-8 (a spreadsheet calls that CSV UTF-8)"


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

    def pool(self, private: PrivateRandomness) -> Pool:
        """The pool in this lab's order, which is `private`."""
        everything = np.arange(len(self), dtype=np.int64)
        C = self.recipe.C
        return Pool.in_order(C, self.items, everything, private.permutation(len(self)), predictions_of(C, self.items))


def read_pool(source: Any, recipe: Recipe, *, id_column: str = "id") -> LabPool:
    """A lab's pool.

    Parameters
    ----------
    source
        A path, a data frame, a mapping of names to arrays, or anything that speaks Arrow.
    recipe
        The class and the columns it needs, from a protocol.
    id_column
        The column with the lab's own names of the items.

    Returns
    -------
    pool
        The items in the order of their ids.

    Raises
    ------
    BadTable
        If the table cannot be read, holds no items, repeats an id, or lacks a column or a value.
    BadLabel
        If a candidate predicts what is no label.

    Examples
    --------
    >>> from replical.classes.catalogue import recipe
    >>> doses = recipe({"kind": "thresholds", "features": ["dose"], "cuts": [[1.0, 2.0]]}, ("no", "yes"), "seed")
    >>> pool = read_pool({"id": ["b", "a"], "dose": [0.5, 1.5]}, doses)
    >>> pool.ids, pool.items.tolist()
    (('a', 'b'), [1.5, 0.5])
    """
    name = name_of(source)
    ids: list[str] = []
    parts: list[list[Column]] = []
    texts, numbers = (recipe.columns, ()) if recipe.predicts else ((), recipe.columns)
    for batch in _batches(source, [id_column, *recipe.columns], name, texts=(id_column, *texts), numbers=numbers):
        fresh = _ids(batch[id_column], id_column, name, len(ids))
        columns = [_column(batch[each], each, recipe, fresh, name) for each in recipe.columns]
        ids += fresh
        parts.append(columns)
    if not ids:
        raise BadTable(f"{name} holds no items: write one row an item")
    order = _in_order(ids, name)
    whole = {
        each: _plain(np.concatenate([part[number] for part in parts])[order])
        for number, each in enumerate(recipe.columns)
    }
    items = recipe.items(whole) if recipe.predicts else recipe.C.items(recipe.items(whole))
    sorted_ids = tuple(ids[place] for place in order)
    return LabPool(recipe=recipe, ids=sorted_ids, items=items, fingerprint=_fingerprint(sorted_ids, items))


def read_labels(source: Any, column: str, labels: tuple[Label, ...], *, id_column: str = "id") -> dict[str, int]:
    """Label codes by id, from a column of label values; rows without a label are left out."""
    name, rows = name_of(source), 0
    codes: dict[str, int] = {}
    for batch in _batches(source, [id_column, column], name, texts=(id_column, column)):
        ids = _ids(batch[id_column], id_column, name, rows)
        rows += len(ids)
        for each, value in zip(ids, batch[column].to_pylist(), strict=True):
            if value is None or value == "":
                continue
            if each in codes:
                raise BadTable(f"{name} has two labels for the item {each!r}")
            codes[each] = label_code(value, labels, f"the label of the item {each!r} in {name}")
    return codes


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
        wanted = [self._id, *self._columns]
        for batch in _batches(self._source, wanted, name, texts=wanted):
            for each in _ids(batch[self._id], self._id, name, len(rows)):
                if each in rows:
                    raise _twice(name, each, rows[each], len(rows))
                rows[each] = len(rows)
            for column in self._columns:
                texts[column] += ["" if value is None else str(value) for value in batch[column].to_pylist()]
        return rows, texts


def label_code(value: Any, labels: tuple[Label, ...], what: str) -> int:
    """The code of a label value; its type must be that of the label set, but files of texts may spell numbers.

    Examples
    --------
    >>> label_code("yes", ("no", "yes"), "it"), label_code("1", (0, 1), "it")
    (1, 1)
    """
    if isinstance(value, str) and all(isinstance(label, int) for label in labels):
        spelled = {str(label): code for code, label in enumerate(labels)}
        if value.strip() in spelled:
            return spelled[value.strip()]
    elif not isinstance(value, bool | float) and value in labels:
        return labels.index(value)
    hint = ""
    if isinstance(value, bool | float):
        hint = f": it is a {type(value).__name__}, write the label itself"
    elif isinstance(value, int) and str(value) in labels:
        hint = ": it is a number, and the labels are texts"
    raise BadLabel(f"{what} is {value!r:.80}, which is none of {list(labels)!r}{hint}")


def name_of(source: Any) -> str:
    """What messages call a table."""
    return str(source) if isinstance(source, str | Path) else f"the {type(source).__name__}"


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtra("tables are read with pyarrow: install it with pip install 'replical[lab]'") from error
    return pyarrow


def _names(reader: Any, name: str) -> list[str]:
    try:
        return list(reader.schema.names)
    except UnicodeDecodeError as error:
        raise BadTable(f"{name} is not UTF-8 text: the name of a column cannot be read; {_RESAVE}") from error


def _open(source: Any, name: str, texts: Sequence[str] = (), numbers: Sequence[str] = ()) -> Any:
    """A reader of record batches."""
    pa = _arrow()
    if isinstance(source, str | Path):
        return _open_file(pa, Path(source), texts, numbers)
    try:
        table = pa.table(dict(source) if isinstance(source, Mapping) else source)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError) as error:
        raise BadTable(f"{name} is no table: {error}") from error
    return table.to_reader(max_chunksize=_BATCH)


def _open_file(pa: Any, path: Path, texts: Sequence[str], numbers: Sequence[str]) -> Any:
    if path.suffix not in _SUFFIXES:
        raise BadTable(f"a table is a file that ends in {', '.join(_SUFFIXES)}, got {path}")
    try:
        if path.suffix == ".csv":
            from pyarrow import csv

            # Labels and ids are read as they are written: inference would turn "007" into 7 and "true" into a truth value,
            # and it looks at the first rows only.
            types = {each: pa.string() for each in texts} | {each: pa.float64() for each in numbers}
            convert = csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""])
            return csv.open_csv(path, convert_options=convert)
        if path.suffix == ".parquet":
            from pyarrow import parquet

            file = parquet.ParquetFile(path)
            return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(batch_size=_BATCH))
        from pyarrow import ipc

        return ipc.open_file(path).read_all().to_reader(max_chunksize=_BATCH)
    except FileNotFoundError as error:
        raise BadTable(f"there is no file {path}") from error
    except (OSError, pa.ArrowException) as error:
        raise BadTable(_why(path, error)) from error


def _why(source: Any, error: Exception) -> str:
    """Why a table cannot be read; a CSV file in another encoding is what a spreadsheet writes most easily."""
    what, first = f"cannot read the table {source}", str(error).splitlines()[0]
    if isinstance(source, str | Path) and Path(source).suffix == ".csv":
        with suppress(OSError), open(source, "rb") as file:
            if file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE):
                return f"{what}: it is UTF-16 text; {_RESAVE}"
        if "UTF8" in first:
            return f"{what}: it is not UTF-8 text; {_RESAVE}"
    return f"{what}: {first}"


def _batches(
    source: Any, columns: Sequence[str], name: str, texts: Sequence[str] = (), numbers: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Record batches as mappings of the columns that are needed."""
    reader = _open(source, name, texts, numbers)
    names = _names(reader, name)
    for column in columns:
        if column not in names:
            if len(names) == 1 and (mark := next((each for each in ";\t|" if each in names[0]), None)):
                raise BadTable(f"{name} has one column only, {names[0]!r}: save it with commas instead of {mark!r}")
            near = f"; it has {', '.join(names[:8])}{' and more' if len(names) > 8 else ''}"
            raise BadTable(f"{name} has no column {column!r}{near}")
        if names.count(column) > 1:
            raise BadTable(f"{name} has {names.count(column)} columns named {column!r}")
    pa = _arrow()
    try:
        for batch in reader:
            yield {column: batch.column(names.index(column)) for column in columns}
    except (OSError, pa.ArrowException) as error:
        raise BadTable(_why(source if isinstance(source, str | Path) else name, error)) from error


def _ids(column: Any, id_column: str, name: str, before: int) -> list[str]:
    values = column.to_pylist()
    for row, value in enumerate(values):
        if value is None or value == "":
            raise BadTable(f"{name}, row {before + row + 1}: the id in the column {id_column!r} is missing")
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise BadTable(f"{name}: ids are texts or whole numbers, got {value!r} in row {before + row + 1}")
    return [str(value) for value in values]


def _twice(name: str, each: str, one: int, two: int) -> BadTable:
    return BadTable(
        f"{name} has the id {each!r} twice, in rows {one + 1} and {two + 1}: every item has an id of its own"
    )


def _in_order(ids: list[str], name: str) -> NDArray[np.int64]:
    order = sorted(range(len(ids)), key=ids.__getitem__)
    for one, two in pairwise(order):
        if ids[one] == ids[two]:
            raise _twice(name, ids[one], one, two)
    return np.array(order, dtype=np.int64)


def _column(column: Any, name: str, recipe: Recipe, ids: list[str], table: str) -> Column:
    """A column of predictions as codes, or a feature as numbers."""
    pa = _arrow()
    if not recipe.predicts:
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise BadTable(f"{table}: the feature {name!r} must hold numbers, it holds {kind}")
        if column.null_count:
            row = column.is_null().to_pylist().index(True)
            raise BadTable(f"{table}: the feature {name!r} is missing for the item {ids[row]!r}")
        values = np.from_dlpack(column)  # to_numpy would import pandas
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise BadTable(f"{table}: the feature {name!r} is missing or infinite for the item {ids[row]!r}")
        return values
    labels = recipe.C.labels
    if pa.types.is_floating(column.type):
        raise BadLabel(
            f"{table}: the column {name!r} holds scores ({column.type}) where labels {list(labels)!r} are expected: "
            "decide on a label for every item first"
        )
    if pa.types.is_nested(column.type):
        raise BadLabel(f"{table}: the column {name!r} holds {column.type} where labels {list(labels)!r} are expected")
    encoded = column.dictionary_encode() if not pa.types.is_dictionary(column.type) else column
    if encoded.null_count:
        row = encoded.is_null().to_pylist().index(True)
        raise BadTable(f"{table}: the prediction of {name!r} is missing for the item {ids[row]!r}")
    values, places = encoded.dictionary.to_pylist(), np.from_dlpack(encoded.indices)
    meanings = np.zeros(len(values), dtype=np.uint16)
    for used in np.unique(places).tolist():  # a category may be there without any item
        try:
            meanings[used] = label_code(values[used], labels, f"a prediction of {name!r}")
        except BadLabel as error:
            row = int(np.argmax(places == used))
            raise BadLabel(f"{table}, item {ids[row]!r}: {error}") from error
    codes: Column = meanings[places]
    return codes


def _plain(column: Column) -> Column:
    """Whole numbers are whole numbers, whether a file writes 1 or 1.0."""
    whole = column.dtype.kind == "f" and bool((np.abs(column) < 2**53).all() and (column == np.floor(column)).all())
    return column.astype(np.int64) if whole else column


def _fingerprint(ids: tuple[str, ...], items: Items) -> str:
    """Ids, then items as little-endian bytes."""
    plain = np.ascontiguousarray(items)
    digest = hashlib.sha256()
    digest.update(canonical({"ids": list(ids), "shape": list(plain.shape), "type": plain.dtype.kind}).encode())
    digest.update(plain.astype(plain.dtype.newbyteorder("<"), copy=False).tobytes())
    return f"sha256:{digest.hexdigest()}"

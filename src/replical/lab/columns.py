"""Tables as blocks of Arrow columns, from Parquet or CSV files, data frames or arrays, and what stands in the columns.

A table is looked at before it is read, and read in blocks: some columns of some rows, a few million cells, never the
whole. What a file says of its own size is compared with how large it is before memory is taken, and every block is
validated before anybody touches it. A file that changes meanwhile is refused. Of ids, labels, predictions and features,
what is wrong is named precisely: the column, the row by its id, the value.
All but CSV files need pyarrow: ``pip install 'replical[lab]'``.
"""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Label
from replical.classes.grading import Answering, Gold, Said
from replical.core.files import check_claims, check_regular
from replical.errors import BadLabel, BadTable, ReplicalError, need, remedy
from replical.lab.plain_csv import PlainColumn, read_blocks, read_names

Column = NDArray[Any]

_CELLS = 2**24  # cells read at a time
_ROWS = 2**17  # rows read at a time, at most
_BYTES = 2**20, 2**23  # of a CSV file read at a time, at least and at most
_SUFFIXES = (".parquet", ".csv")
_WHY = "all tables but CSV files are read with pyarrow"
_RESAVE = "save it as UTF-8 (a spreadsheet calls that CSV UTF-8)"


class ColumnBlock(NamedTuple):
    """Some columns of the rows from `start` on, as Arrow arrays by name."""

    start: int
    columns: dict[str, Any]

    @property
    def rows(self) -> int:
        """How many rows."""
        return len(next(iter(self.columns.values())))


class Table(ABC):
    """A table that has been opened: the names of its columns, and its length where that is known.

    A CSV file tells how many `rows` it has when it has been read.
    """

    names: list[str]
    rows: int | None = None
    pieces = 1  # blocks that a CSV file will come in, about

    @abstractmethod
    def blocks(self, columns: Sequence[str], *, together: bool = False) -> Iterator[ColumnBlock]:
        """Some rows of some columns, then the next rows; at the end the next columns, unless all come `together`.

        The columns of a CSV file always do.
        """


@contextmanager
def open_table(
    source: Any,
    columns: Sequence[str],
    *,
    texts: Sequence[str] = (),
    categories: Sequence[str] = (),
    numbers: Sequence[str] = (),
) -> Iterator[Table]:
    """A table with these `columns`; in a CSV file some are `texts`, few different ones (`categories`) or `numbers`."""
    name, before = name_of(source), _stamp(source)
    try:
        table = _table(source, name, texts, categories, numbers)
        _check_names(table.names, columns, name)
        yield table
    except _reading_errors() as error:
        if before is not None and _stamp(source) != before:
            raise _changed_error(name) from error
        if isinstance(error, ReplicalError):
            raise
        raise BadTable(_reason(source if isinstance(source, str | Path) else name, error)) from error
    if _stamp(source) != before:
        raise _changed_error(name)


def name_of(source: Any) -> str:
    """What messages call a table."""
    return str(source) if isinstance(source, str | Path) else f"the {type(source).__name__}"


def names_of(source: Any) -> list[str]:
    """The columns of a table."""
    with open_table(source, ()) as table:
        return list(table.names)


def _reading_errors() -> tuple[type[Exception], ...]:
    arrow = sys.modules.get("pyarrow")  # imported if it had to be
    return OSError, UnicodeDecodeError, ReplicalError, *([arrow.ArrowException] if arrow else [])


def _stamp(source: Any) -> tuple[int, int] | None:
    """What changes when somebody writes to a file."""
    if isinstance(source, str | Path):
        with suppress(OSError):
            stat = Path(source).stat()
            return stat.st_size, stat.st_mtime_ns
    return None


def _changed_error(name: str) -> BadTable:
    return BadTable(f"{name} was changed while it was read: run again when nobody writes to it")


def _check_names(names: Sequence[str], wanted: Sequence[str], name: str) -> None:
    known = set(names)
    for column in wanted:
        if column not in known:
            if len(names) == 1 and (mark := next((each for each in ";\t|" if each in names[0]), None)):
                raise BadTable(f"{name} has one column only, {names[0]!r}: save it with commas instead of {mark!r}")
            near = f"; it has {', '.join(map(_quote, names[:8]))}{' and more' if len(names) > 8 else ''}"
            raise BadTable(f"{name} has no column {column!r}{near}")
    if len(known) < len(names):
        for column in wanted:
            if names.count(column) > 1:
                raise BadTable(f"{name} has {names.count(column)} columns named {column!r}")


def _quote(name: str) -> str:
    """A name as a sentence may have it."""
    return name if name.isprintable() and len(name) <= 40 else f"{name[:40]!r}"


def _table(source: Any, name: str, texts: Sequence[str], categories: Sequence[str], numbers: Sequence[str]) -> Table:
    if not isinstance(source, str | Path):
        return _Memory(need("pyarrow", _WHY, ", or save the table as CSV"), source, name)
    path = Path(source)
    if path.is_dir():
        raise BadTable(f"{path} is a folder, and a table is a file that ends in {', '.join(_SUFFIXES)}")
    if path.suffix not in _SUFFIXES:
        raise BadTable(f"a table is a file that ends in {', '.join(_SUFFIXES)}, got {path}{remedy(path.suffix)}")
    try:
        check_regular(path)
        if path.suffix == ".csv" and find_spec("pyarrow") is None:
            return _PlainCsv(path, numbers)
        pa = need("pyarrow", _WHY, ", or save the table as CSV")
        if path.suffix == ".csv":
            types = (pa.string(), texts), (pa.dictionary(pa.int32(), pa.string()), categories), (pa.float64(), numbers)
            return _Csv(path, {name: kind for kind, names in types for name in names})
        return _Parquet(path, [*texts, *categories])
    except FileNotFoundError as error:
        raise BadTable(f"there is no file {path}") from error


def _reason(source: Any, error: Exception) -> str:
    """Why a table cannot be read; a CSV file in another encoding is what a spreadsheet writes most easily."""
    what, first = f"cannot read the table {source}", next(iter(str(error).splitlines()), type(error).__name__)
    if isinstance(source, str | Path) and Path(source).suffix == ".csv" and Path(source).is_file():
        with suppress(OSError), open(source, "rb") as file:
            if file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE):
                return f"{what}: it is UTF-16 text; {_RESAVE}"
        if "UTF8" in first or isinstance(error, UnicodeDecodeError):
            return f"{what}: it is not UTF-8 text; {_RESAVE}"
    plain = "".join(each if each.isprintable() else " " for each in first)  # it may quote what the file holds
    return f"{what}: {plain:.200}"  # a row of a thousand values is no sentence


def _names(schema: Any, name: Any) -> list[str]:
    try:
        return list(schema.names)
    except UnicodeDecodeError as error:
        raise BadTable(f"{name} is not UTF-8 text: the name of a column cannot be read; {_RESAVE}") from error


def _column_groups(columns: Sequence[str], rows: int, *, together: bool) -> Iterator[list[str]]:
    """As many columns at a time as make a block of so many rows; eight fill a byte."""
    step = max(1, len(columns)) if together else max(8, _CELLS // max(1, rows) // 8 * 8)
    return (list(columns[first : first + step]) for first in range(0, len(columns), step))


class _Parquet(Table):
    """Texts are read as places in a dictionary, which is how such a file mostly stores them.

    They stay there: a text of a megabyte that a thousand rows share is one megabyte.
    """

    def __init__(self, path: Path, texts: Sequence[str]) -> None:
        from pyarrow import parquet

        self._file = parquet.ParquetFile(path)
        self.names = _names(self._file.schema_arrow, path)
        self._check(path)
        columns = map(self._file.schema.column, range(len(self._file.schema)))
        known = {column.path for column in columns if column.physical_type == "BYTE_ARRAY"}
        coded = [name for name in texts if name in known]
        self._file = parquet.ParquetFile(path, metadata=self._file.metadata, read_dictionary=coded)
        self.rows = int(self._file.metadata.num_rows)
        self._name = str(path)

    def _check(self, path: Path) -> None:
        """Rows, values inside of lists, and bytes before they were compressed."""
        about, schema = self._file.metadata, self._file.schema
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        nested = [place for place in range(len(schema)) if schema.column(place).max_repetition_level]
        inside = [sum(group.column(place).num_values for group in groups) for place in nested]
        rows = max(about.num_rows, sum(group.num_rows for group in groups), *inside, 0)
        unpacked = sum(max(0, group.total_byte_size) for group in groups)
        if min(about.num_rows, *(group.num_rows for group in groups), *inside, 0) < 0:
            raise BadTable(f"cannot read the table {path}: it says it has fewer than no rows, so write it again")
        check_claims(str(path), path.stat().st_size, rows=rows, unpacked=unpacked, refuse=BadTable)

    def blocks(self, columns: Sequence[str], *, together: bool = False) -> Iterator[ColumnBlock]:
        for some in _column_groups(columns, min(self.rows or 0, _ROWS), together=together):
            start = 0
            for batch in self._file.iter_batches(min(_ROWS, max(1, _CELLS // len(some))), columns=some):
                yield _block(start, batch, some, self._name)
                start += batch.num_rows


class _Csv(Table):
    """Labels and ids are read as they are written: "007" is not 7, "true" is a text, whatever the first rows look like."""

    def __init__(self, path: Path, types: Mapping[str, Any]) -> None:
        from pyarrow import csv

        least, most = _BYTES
        self._csv, self._path, self._types = csv, path, types
        self._reading = csv.ReadOptions(block_size=min(most, max(least, 2**15 * len(types))))
        self.names = _names(self._reader().schema, path)
        self.pieces = 1 + path.stat().st_size // self._reading.block_size

    def _reader(self, columns: Sequence[str] | None = None) -> Any:
        convert = self._csv.ConvertOptions(
            column_types=self._types, strings_can_be_null=True, null_values=[""], include_columns=columns
        )
        return self._csv.open_csv(self._path, read_options=self._reading, convert_options=convert)

    def blocks(self, columns: Sequence[str], *, together: bool = True) -> Iterator[ColumnBlock]:
        start = 0
        for batch in self._reader(list(columns)):
            yield _block(start, batch, columns, str(self._path))
            start += batch.num_rows


class _PlainCsv(Table):
    """A CSV file where pyarrow is not installed."""

    def __init__(self, path: Path, numbers: Sequence[str]) -> None:
        self._path, self._numbers, self.names = path, numbers, read_names(path)

    def blocks(self, columns: Sequence[str], *, together: bool = True) -> Iterator[ColumnBlock]:
        start = 0
        for block in read_blocks(self._path, columns, self._numbers):
            yield (rows := ColumnBlock(start, {**block}))
            start += rows.rows


class _Memory(Table):
    """Frames and arrays: those that are no Arrow become Arrow some columns at a time."""

    def __init__(self, pa: Any, source: Any, name: str) -> None:
        self._pa, self._source, self._name = pa, source, name
        self._made: Any = None
        if isinstance(source, Mapping):
            self.names, self.rows = list(source), self._lengths(source)
        elif hasattr(source, "iloc") and all(isinstance(each, str) for each in source.columns):  # pandas
            self.names, self.rows = list(self._table(source.iloc[:0]).schema.names), len(source)
        else:
            self._made = self._table(source)
            self.names, self.rows = list(self._made.schema.names), self._made.num_rows

    def _lengths(self, columns: Mapping[str, Any]) -> int:
        lengths = []
        for place, (name, column) in enumerate(columns.items()):
            if not hasattr(column, "__len__") or isinstance(column, str) or getattr(column, "ndim", 1) != 1:
                raise BadTable(f"{self._name} is no table: the column {name!r} is no list of values")
            lengths.append(len(column))
            if lengths[-1] != lengths[0]:
                raise BadTable(
                    f"{self._name} is no table: Column {place} named {name} expected length {lengths[0]} but got length "
                    f"{lengths[-1]}"
                )
        return lengths[0] if lengths else 0

    def _table(self, source: Any) -> Any:
        try:
            return self._pa.table(source)
        except (self._pa.ArrowException, TypeError, ValueError) as error:
            raise BadTable(f"{self._name} is no table: {str(error).splitlines()[0]:.200}") from error

    def _part(self, columns: list[str]) -> Any:
        if self._made is not None:
            return self._made.select(columns)
        if isinstance(self._source, Mapping):
            return self._table({name: self._column(name) for name in columns})
        return self._table(self._source[[name for name in columns if name in self._source.columns]])

    def _column(self, name: str) -> Any:
        try:
            return self._pa.array(self._source[name])
        except (self._pa.ArrowException, TypeError, ValueError) as error:
            why = str(error).splitlines()[0]
            raise BadTable(f"{self._name}: the column {name!r} holds values of different types: {why:.200}") from error

    def blocks(self, columns: Sequence[str], *, together: bool = False) -> Iterator[ColumnBlock]:
        for some in _column_groups(columns, self.rows or 0, together=together):
            start = 0
            for batch in self._part(some).to_batches(max_chunksize=_ROWS):
                yield _block(start, batch, some, self._name)
                start += batch.num_rows


def _block(start: int, batch: Any, columns: Sequence[str], name: str) -> ColumnBlock:
    """Some columns, validated: lengths, offsets, places in dictionaries and texts are what Arrow takes them for."""
    places = {name: place for place, name in enumerate(batch.schema.names)}
    block = ColumnBlock(start, {name: batch.column(places[name]) for name in columns})
    for column, values in block.columns.items():
        try:
            values.validate(full=True)
        except (ValueError, UnicodeDecodeError) as error:  # ArrowInvalid is a ValueError
            raise BadTable(f"{name}: the column {_quote(column)} is damaged, so write the file again") from error
    return block


class BlockIds(NamedTuple):
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


def duplicate_id(name: str, each: str, one: int, two: int) -> BadTable:
    """What to raise where the id `each` stands in two rows."""
    return BadTable(
        f"{name} has the id {each!r:.80} twice, in rows {one + 1} and {two + 1}: every item has an id of its own"
    )


def said_code(value: Any, answers: Answering, what: str) -> Said:
    """What a journal keeps of a value: the code of a label, or a gold answer in its normal form."""
    return answers.read(value, what) if isinstance(answers, Gold) else label_code(value, answers, what)


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
    column: Any, label_column: str, labels: Answering, ids: list[str], name: str
) -> Iterator[tuple[str, Said]]:
    """The items of a column that have a label, with its code, or their gold answers."""
    known: dict[tuple[type, Any], Said] = {}
    for each, value in zip(ids, values_of(column, label_column, name), strict=True):
        if value is None or value == "":
            continue
        key = type(value), value
        try:
            code = known.get(key)
        except TypeError:  # a list, say
            code = None
        if code is None:
            code = said_code(value, labels, f"the label of the item {each!r} in {name}")
            with suppress(TypeError):
                known[key] = code
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


def codes_of(column: Any, name: str, labels: tuple[Label, ...], items: BlockIds) -> Column:
    """A column of predictions as codes: every different value is looked up once, not every cell."""
    if is_floating(column.type):
        raise BadLabel(
            f"{items.table}: the column {name!r} holds scores ({column.type}) where labels {list(labels)!r} are expected: "
            "decide on a label for every item first, or publish cuts for scores (replical init --cuts)"
        )
    if _NESTED.match(str(column.type)):
        raise BadLabel(
            f"{items.table}: the column {name!r} holds {column.type} where labels {list(labels)!r} are expected"
        )
    if column.null_count:
        raise BadTable(
            f"{items.table}: the prediction of {name!r} is missing for the item {items.of(_missing_row(column))!r}"
        )
    if is_integer(column.type) and (codes := _integer_codes(column, labels)) is not None:
        return codes
    encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    values, places = encoded.dictionary.to_pylist(), _numbers(encoded.indices)
    meanings = np.zeros(len(values), dtype=_codes_type(labels))
    for place, value in enumerate(values):
        try:
            meanings[place] = label_code(value, labels, f"a prediction of {name!r}")
        except BadLabel as error:
            said = places == place
            if said.any():  # a category may be there without any item
                raise BadLabel(f"{items.table}, item {items.of(int(np.argmax(said)))!r}: {error}") from error
    return _look_up(meanings, places)


def _integer_codes(column: Any, labels: tuple[Label, ...]) -> Column | None:
    """Codes of whole numbers that lie close together; None where one of them may be no label."""
    values = _numbers(column)
    if any(isinstance(label, str) for label in labels) or len(values) == 0:
        return None
    low, high = int(min(labels)), int(max(labels))
    if high - low >= 2 * len(labels) + 256 or not (low <= values.min() and values.max() <= high):
        return None
    meanings = np.full(high - low + 1, len(labels), dtype=np.uint32)
    meanings[np.array(labels, dtype=np.int64) - low] = np.arange(len(labels))
    codes = _look_up(meanings, values if low == 0 else values.astype(np.int64) - low)
    return None if high - low + 1 > len(labels) and codes.max() == len(labels) else codes.astype(_codes_type(labels))


def _look_up(meanings: Column, places: Column) -> Column:
    if (meanings == np.arange(len(meanings))).all():
        return places.astype(meanings.dtype)
    return np.take(meanings, places)


def _codes_type(labels: tuple[Label, ...]) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if len(labels) <= 2**8 else np.uint16


def feature_of(column: Any, name: str, items: BlockIds) -> Column:
    """A feature as numbers."""
    if not (is_integer(column.type) or is_floating(column.type)):
        raise BadTable(f"{items.table}: the feature {name!r} must hold numbers, it holds {column.type}")
    if column.null_count:
        raise BadTable(
            f"{items.table}: the feature {name!r} is missing for the item {items.of(_missing_row(column))!r}"
        )
    values = _numbers(column)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise BadTable(f"{items.table}: the feature {name!r} is missing or infinite for the item {items.of(row)!r}")
    return values


def score_of(column: Any, name: str, items: BlockIds) -> Column:
    """Probabilities that a candidate gives to the second label."""
    if not (is_integer(column.type) or is_floating(column.type)):
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


def as_integers(column: Column) -> Column:
    """Whole numbers are whole numbers, whether a file writes 1 or 1.0."""
    whole = column.dtype.kind == "f" and bool((np.abs(column) < 2**53).all() and (column == np.floor(column)).all())
    return column.astype(np.int64) if whole else column


_NESTED = re.compile("(large_|fixed_size_)?list|struct<|map<|(dense|sparse)_union<")


def is_integer(kind: Any) -> bool:
    """Is this type of a column one of whole numbers?"""
    return re.fullmatch("u?int[0-9]+", str(kind)) is not None


def is_floating(kind: Any) -> bool:
    """Is this type of a column one of numbers with a decimal point?"""
    return str(kind) in ("halffloat", "float", "double")


def _missing_row(column: Any) -> int:
    row: int = column.to_pylist().index(None)
    return row


def _numbers(column: Any) -> Column:
    """Numbers without a gap, not copied; ``to_numpy`` would import pandas."""
    if isinstance(column, PlainColumn):
        column = column.numbers()
    return np.from_dlpack(column) if len(column) else np.zeros(0, dtype=np.int64)

"""What an Arrow file says of itself, looked up before anything in it is believed.

Arrow takes memory for what a file claims, and follows its offsets. Here the footer and the heads of all batches are read
first, as the format describes them (flatbuffers: arrow.apache.org/docs/format/Columnar.html): how many rows and values,
which bytes of the file, and how large compressed parts become. Every offset is compared with the size of the file.

Tables as blocks of Arrow columns, from Parquet, CSV or Arrow files, data frames or arrays.

A table is looked at before it is read, and read in blocks: some columns of some rows, a few million cells, never the
whole. What a file says of its own size is compared with how large it is before memory is taken, and every block is
validated before anybody touches it. A file that changes meanwhile is refused.
Needs pyarrow: ``pip install 'replical[lab]'``.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from replical.core.files import REMEDY, check_claims, most_bytes, trusted
from replical.core.retired import remedy
from replical.errors import BadTable, MissingExtra, ReplicalError

_MAGIC = b"ARROW1"
_CONTINUED = 0xFFFFFFFF  # before the length of a message, since version 0.15
_DICTIONARY, _BATCH = 2, 3  # kinds of messages
# Fields of the format's tables, by their number.
_DICTIONARIES, _BATCHES = 2, 3
_KIND, _HEADER = 1, 2
_DATA = 1
_LENGTH, _NODES, _BUFFERS, _COMPRESSION = 0, 1, 2, 3
_BLOCK, _PAIR = 24, 16  # bytes of a block (offset, length of its head, length of its body), and of a node or buffer


@dataclass(frozen=True, kw_only=True)
class Claims:
    """What the file says.

    Attributes
    ----------
    rows
        Of each record batch.
    values
        Of the longest column, counting what lies inside of lists, in all batches or dictionaries together.
    unpacked
        Bytes of all its buffers, decompressed.
    """

    rows: list[int]
    values: int
    unpacked: int


def claims_of(path: Path) -> Claims:
    """Read footer and heads of the Arrow file at `path`.

    Raises
    ------
    BadTable
        If something lies outside of the file, or is written as no Arrow file is.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        try:
            return _claims(file, size)
        except (struct.error, _Outside) as error:
            raise BadTable(f"cannot read the table {path}: it is no whole Arrow file, so write it again") from error


class _Outside(Exception):
    """Something lies where the file is not."""


def _claims(file: BinaryIO, size: int) -> Claims:
    end = _bytes(file, size, size - 10, 10)
    (length,) = struct.unpack("<i", end[:4])
    if end[4:] != _MAGIC or _bytes(file, size, 0, 6) != _MAGIC:
        raise _Outside
    footer = _Table.root(_bytes(file, size, size - 10 - length, length))
    rows: list[int] = []
    values, unpacked = 0, 0
    for field, kind in ((_DICTIONARIES, _DICTIONARY), (_BATCHES, _BATCH)):
        longest = 0
        for block in footer.structs(field, _BLOCK):
            offset, head, body = struct.unpack("<qi4xq", block)
            batch = _batch(_bytes(file, size, offset, head), kind)
            _within(size, offset + head, body)
            length = batch.number(_LENGTH)
            lengths = [length, *(each for each, _ in batch.pairs(_NODES))]
            if min(lengths) < 0:
                raise _Outside
            longest += max(lengths)
            unpacked += sum(_sizes(file, batch, offset + head, body))
            if kind == _BATCH:
                rows.append(length)
        values = max(values, longest)
    return Claims(rows=rows, values=values, unpacked=unpacked)


def _batch(head: bytes, kind: int) -> _Table:
    """The record batch that a message holds, or that the dictionary in it is written as."""
    (first,) = struct.unpack_from("<I", head)
    message = _Table.root(head[8:] if first == _CONTINUED else head[4:])
    if message.small(_KIND) != kind:
        raise _Outside
    batch = message.table(_HEADER)
    return batch.table(_DATA) if kind == _DICTIONARY else batch


def _sizes(file: BinaryIO, batch: _Table, start: int, body: int) -> Iterator[int]:
    """Bytes of each buffer, decompressed: a compressed one begins with that number, or with -1 where it is as it was."""
    compressed = batch.has(_COMPRESSION)
    for offset, length in batch.pairs(_BUFFERS):
        _within(body, offset, length)
        told = length
        if compressed and length:
            (told,) = struct.unpack("<q", _bytes(file, start + body, start + offset, 8))
            told = length - 8 if told == -1 else told
            if told < 0:
                raise _Outside
        yield told


def _bytes(file: BinaryIO, size: int, offset: int, length: int) -> bytes:
    _within(size, offset, length)
    file.seek(offset)
    return file.read(length)


def _within(size: int, offset: int, length: int) -> None:
    if offset < 0 or length < 0 or offset + length > size:
        raise _Outside


@dataclass(frozen=True)
class _Table:
    """A table of a flatbuffer: fields by number, each found through a list of offsets; what is missing is 0 or empty."""

    content: bytes
    place: int

    @classmethod
    def root(cls, content: bytes) -> _Table:
        (place,) = struct.unpack_from("<I", content)
        return cls(content, place)

    def _field(self, number: int) -> int | None:
        (back,) = self._at("<i", self.place)
        (width,) = self._at("<H", self.place - back)
        entry = 4 + 2 * number
        if entry + 2 > width:
            return None
        (offset,) = self._at("<H", self.place - back + entry)
        return self.place + offset if offset else None

    def _at(self, layout: str, place: int) -> tuple[int, ...]:
        _within(len(self.content), place, struct.calcsize(layout))
        return struct.unpack_from(layout, self.content, place)

    def has(self, number: int) -> bool:
        return self._field(number) is not None

    def small(self, number: int) -> int:
        place = self._field(number)
        return 0 if place is None else self._at("<B", place)[0]

    def number(self, number: int) -> int:
        place = self._field(number)
        return 0 if place is None else self._at("<q", place)[0]

    def table(self, number: int) -> _Table:
        place = self._field(number)
        if place is None:
            raise _Outside
        return _Table(self.content, place + self._at("<I", place)[0])

    def structs(self, number: int, width: int) -> list[bytes]:
        place = self._field(number)
        if place is None:
            return []
        start = place + self._at("<I", place)[0]
        (count,) = self._at("<I", start)
        _within(len(self.content), start + 4, count * width)
        return [self.content[start + 4 + width * each : start + 4 + width * (each + 1)] for each in range(count)]

    def pairs(self, number: int) -> list[tuple[int, int]]:
        return [struct.unpack("<qq", each) for each in self.structs(number, _PAIR)]


_CELLS = 2**24  # cells read at a time
_ROWS = 2**17  # rows read at a time, at most
_BYTES = 2**20, 2**23  # of a CSV file read at a time, at least and at most
_SUFFIXES = (".parquet", ".csv", ".arrow", ".feather")
_RESAVE = "save it as UTF-8 (a spreadsheet calls that CSV UTF-8)"


class Block(NamedTuple):
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
    def blocks(self, columns: Sequence[str], *, together: bool = False) -> Iterator[Block]:
        """Some rows of some columns, then the next rows; at the end the next columns, unless all come `together`.

        The columns of a CSV file always do.
        """

    def bands(self) -> Iterator[Table]:
        """The same rows as tables of their own, one after the other: as few at a time as the file lets one read."""
        yield self


@contextmanager
def opened(
    source: Any,
    columns: Sequence[str],
    *,
    texts: Sequence[str] = (),
    categories: Sequence[str] = (),
    numbers: Sequence[str] = (),
) -> Iterator[Table]:
    """A table with these `columns`; in a CSV file some of them are `texts`, few different ones (`categories`) or `numbers`.

    Raises
    ------
    BadTable
        If it cannot be read, lacks a column or has one twice, or is a file that changes while it is read.
    """
    pa, name, before = _arrow(), name_of(source), _stamp(source)
    try:
        table = _open(pa, source, name, texts, categories, numbers)
        _check_names(table.names, columns, name)
        yield table
    except (OSError, pa.ArrowException, UnicodeDecodeError, ReplicalError) as error:
        if before is not None and _stamp(source) != before:
            raise _changed(name) from error
        if isinstance(error, ReplicalError):
            raise
        raise BadTable(_why(source if isinstance(source, str | Path) else name, error)) from error
    if _stamp(source) != before:
        raise _changed(name)


def name_of(source: Any) -> str:
    """What messages call a table."""
    return str(source) if isinstance(source, str | Path) else f"the {type(source).__name__}"


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtra("tables are read with pyarrow: install it with pip install 'replical[lab]'") from error
    return pyarrow


def _stamp(source: Any) -> tuple[int, int] | None:
    """What changes when somebody writes to a file."""
    if isinstance(source, str | Path):
        with suppress(OSError):
            stat = Path(source).stat()
            return stat.st_size, stat.st_mtime_ns
    return None


def _changed(name: str) -> BadTable:
    return BadTable(f"{name} was changed while it was read: run again when nobody writes to it")


def _check_names(names: Sequence[str], wanted: Sequence[str], name: str) -> None:
    known = set(names)
    for column in wanted:
        if column not in known:
            if len(names) == 1 and (mark := next((each for each in ";\t|" if each in names[0]), None)):
                raise BadTable(f"{name} has one column only, {names[0]!r}: save it with commas instead of {mark!r}")
            near = f"; it has {', '.join(map(_shown, names[:8]))}{' and more' if len(names) > 8 else ''}"
            raise BadTable(f"{name} has no column {column!r}{near}")
    if len(known) < len(names):
        for column in wanted:
            if names.count(column) > 1:
                raise BadTable(f"{name} has {names.count(column)} columns named {column!r}")


def _shown(name: str) -> str:
    """A name as a sentence may have it."""
    return name if name.isprintable() and len(name) <= 40 else f"{name[:40]!r}"


def _open(
    pa: Any, source: Any, name: str, texts: Sequence[str], categories: Sequence[str], numbers: Sequence[str]
) -> Table:
    if not isinstance(source, str | Path):
        return _Memory(pa, source, name)
    path = Path(source)
    if path.suffix not in _SUFFIXES:
        raise BadTable(f"a table is a file that ends in {', '.join(_SUFFIXES)}, got {path}{remedy(path.suffix)}")
    try:
        if path.suffix == ".csv":
            types = (pa.string(), texts), (pa.dictionary(pa.int32(), pa.string()), categories), (pa.float64(), numbers)
            return _Csv(path, {name: kind for kind, names in types for name in names})
        return _Parquet(path, [*texts, *categories]) if path.suffix == ".parquet" else _Ipc(pa, path)
    except FileNotFoundError as error:
        raise BadTable(f"there is no file {path}") from error


def _why(source: Any, error: Exception) -> str:
    """Why a table cannot be read; a CSV file in another encoding is what a spreadsheet writes most easily."""
    what, first = f"cannot read the table {source}", next(iter(str(error).splitlines()), type(error).__name__)
    if isinstance(source, str | Path) and Path(source).suffix == ".csv":
        with suppress(OSError), open(source, "rb") as file:
            if file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE):
                return f"{what}: it is UTF-16 text; {_RESAVE}"
        if "UTF8" in first:
            return f"{what}: it is not UTF-8 text; {_RESAVE}"
    plain = "".join(each if each.isprintable() else " " for each in first)  # it may quote what the file holds
    return f"{what}: {plain:.200}"  # a row of a thousand values is no sentence


def _names(schema: Any, name: Any) -> list[str]:
    try:
        return list(schema.names)
    except UnicodeDecodeError as error:
        raise BadTable(f"{name} is not UTF-8 text: the name of a column cannot be read; {_RESAVE}") from error


def _some(columns: Sequence[str], rows: int, *, together: bool) -> Iterator[list[str]]:
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
        self._groups = list(range(self._file.num_row_groups))
        self.rows = int(self._file.metadata.num_rows)
        self._name, self._most = str(path), most_bytes(path.stat().st_size)

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

    def blocks(self, columns: Sequence[str], *, together: bool = False) -> Iterator[Block]:
        for some in _some(columns, min(self.rows or 0, _ROWS), together=together):
            start = 0
            for batch in self._file.iter_batches(_ROWS, row_groups=self._groups, columns=some):
                yield _block(start, batch, some, self._name, self._most)
                start += batch.num_rows

    def bands(self) -> Iterator[Table]:
        for group in self._groups:
            band = copy(self)
            band._groups, band.rows = [group], int(self._file.metadata.row_group(group).num_rows)
            yield band


class _Ipc(Table):
    """Of a record batch, which is read whole, only the columns of a block are decompressed.

    The file is not mapped into memory, since it may shrink meanwhile.
    """

    def __init__(self, pa: Any, path: Path) -> None:
        from pyarrow import ipc

        claims, size = claims_of(path), path.stat().st_size
        check_claims(
            str(path), size, rows=max(claims.values, sum(claims.rows)), unpacked=claims.unpacked, refuse=BadTable
        )
        self._ipc, self._file = ipc, pa.OSFile(str(path))
        self.names = _names(ipc.open_file(self._file).schema, path)
        self._sizes = dict(enumerate(claims.rows)) if self.names else {}
        self.rows, self._largest = sum(self._sizes.values()), max(self._sizes.values(), default=0)
        self._name, self._most = str(path), most_bytes(size)

    def _reader(self, fields: list[int]) -> Any:
        return self._ipc.open_file(self._file, options=self._ipc.IpcReadOptions(included_fields=fields))

    def blocks(self, columns: Sequence[str], *, together: bool = False) -> Iterator[Block]:
        places = {name: place for place, name in enumerate(self.names)}
        for some in _some(columns, self._largest, together=together):
            reader, start = self._reader(sorted(places[name] for name in some)), 0
            for number in self._sizes:
                batch = reader.get_batch(number)
                yield _block(start, batch, some, self._name, self._most)
                start += batch.num_rows

    def bands(self) -> Iterator[Table]:
        for number, rows in self._sizes.items():
            band = copy(self)
            band._sizes, band.rows, band._largest = {number: rows}, rows, rows
            yield band


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

    def blocks(self, columns: Sequence[str], *, together: bool = True) -> Iterator[Block]:
        start = 0
        for batch in self._reader(list(columns)):
            yield _block(start, batch, columns, str(self._path))
            start += batch.num_rows

    def bands(self) -> Iterator[Table]:
        for batch in self._reader():
            yield _Batch(batch, str(self._path))


class _Batch(Table):
    """A few rows in memory."""

    def __init__(self, batch: Any, name: str) -> None:
        self._batch, self.names, self.rows = batch, list(batch.schema.names), batch.num_rows
        self._name = name

    def blocks(self, columns: Sequence[str], *, together: bool = True) -> Iterator[Block]:
        yield _block(0, self._batch, columns, self._name)


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

    def blocks(self, columns: Sequence[str], *, together: bool = False) -> Iterator[Block]:
        for some in _some(columns, self.rows or 0, together=together):
            start = 0
            for batch in self._part(some).to_batches(max_chunksize=_ROWS):
                yield _block(start, batch, some, self._name)
                start += batch.num_rows


def _block(start: int, batch: Any, columns: Sequence[str], name: str, most: int | None = None) -> Block:
    """Some columns, validated: lengths, offsets, places in dictionaries and texts are what Arrow takes them for.

    Views of texts may show the same bytes many times: they are at most `most` bytes, where a file is not trusted.
    """
    places = {name: place for place, name in enumerate(batch.schema.names)}
    block = Block(start, {name: batch.column(places[name]) for name in columns})
    for column, values in block.columns.items():
        try:
            values.validate(full=True)
        except (ValueError, UnicodeDecodeError) as error:  # ArrowInvalid is a ValueError
            raise BadTable(f"{name}: the column {_shown(column)} is damaged, so write the file again") from error
        if most is not None and not trusted() and _shown_bytes(values) > most:
            raise BadTable(
                f"{name}: the texts of the column {_shown(column)} show the same bytes again and again, {most:,} bytes and "
                f"more in all: {REMEDY}"
            )
    return block


def _shown_bytes(values: Any) -> int:
    """How long the texts of a column of views are together; 0 for any other column. A view begins with its length."""
    if str(values.type) not in ("string_view", "binary_view"):
        return 0
    views = np.frombuffer(values.buffers()[1], dtype=np.int32)[::4]
    return int(views[values.offset : values.offset + len(values)].sum(dtype=np.int64))

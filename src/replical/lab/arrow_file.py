"""What an Arrow file says of itself, looked up before anything in it is believed.

Arrow takes memory for what a file claims, and follows its offsets. Here the footer and the heads of all batches are read
first, as the format describes them (flatbuffers: arrow.apache.org/docs/format/Columnar.html): how many rows and values,
which bytes of the file, and how large compressed parts become. Every offset is compared with the size of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from replical.errors import BadTable

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

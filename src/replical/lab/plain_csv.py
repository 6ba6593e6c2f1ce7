"""CSV files read with Python alone, where pyarrow is not installed: slower, and with the same cells.

A column is a `PlainColumn`, which answers what is asked here of a column of Arrow.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replical.errors import BadTable

_ROWS = 2**14  # read at a time


class PlainColumn:
    """Texts, None where a cell is empty, or numbers, NaN where one is.

    Examples
    --------
    >>> column = PlainColumn(["a", None, "a"])
    >>> column.type, column.null_count, column.unique().to_pylist(), column.dictionary_encode().indices.tolist()
    ('string', 1, ['a', None], [0, 1, 0])
    """

    def __init__(self, cells: list[str | None] | NDArray[np.float64]) -> None:
        self._cells = cells
        self.type = "double" if isinstance(cells, np.ndarray) else "string"
        self.null_count = cells.count(None) if isinstance(cells, list) else 0

    def __len__(self) -> int:
        return len(self._cells)

    def to_pylist(self) -> list[Any]:
        """The cells as Python values."""
        return list(self._cells)

    def slice(self, start: int, length: int) -> PlainColumn:
        """Some of its rows."""
        return PlainColumn(self._cells[start : start + length])

    def unique(self) -> PlainColumn:
        """Every value once, in the order in which they come."""
        return PlainColumn(list(dict.fromkeys(self._cells)))

    def dictionary_encode(self) -> Codes:
        """Every value once, and for each row its place among them."""
        places = {value: place for place, value in enumerate(dict.fromkeys(self._cells))}
        return Codes(PlainColumn(list(places)), np.array([places[cell] for cell in self._cells], dtype=np.int32))

    def numbers(self) -> NDArray[np.float64] | None:
        """What its cells spell, NaN where one is empty; None where one spells no number."""
        if isinstance(self._cells, np.ndarray):
            return self._cells
        texts = "".join(filter(None, self._cells))
        if not texts.isascii() or "_" in texts:  # Python would take them
            return None
        try:
            return np.array([float(cell) if cell else np.nan for cell in self._cells], dtype=np.float64)
        except ValueError:
            return None


class Codes(NamedTuple):
    """A column as places in a list of its values."""

    dictionary: PlainColumn
    indices: NDArray[np.int32]


def read_names(path: Path) -> list[str]:
    """The names in the first line."""
    with _rows(path) as rows:
        if (names := next(rows, None)) is None:
            raise BadTable(f"cannot read the table {path}: it is empty")
        return names


def read_blocks(path: Path, columns: Sequence[str], numbers: Sequence[str]) -> Iterator[dict[str, PlainColumn]]:
    """Some `columns` of some rows, then of the next; those among `numbers` as such, all others as texts."""
    with _rows(path) as rows:
        names, start = next(rows), 0
        places = [(name, names.index(name)) for name in columns]
        while some := list(islice(rows, _ROWS)):
            if (odd := next((at for at, row in enumerate(some) if len(row) != len(names)), None)) is not None:
                raise BadTable(
                    f"cannot read the table {path}: row {start + odd + 1} has {len(some[odd])} values, and its first line "
                    f"{len(names)}"
                )
            block = {name: PlainColumn([row[place] or None for row in some]) for name, place in places}
            for name in block.keys() & set(numbers):
                if (found := block[name].numbers()) is None:
                    raise BadTable(f"cannot read the table {path}: the column {name!r:.60} holds what is no number")
                block[name] = PlainColumn(found)
            yield block
            start += len(some)


@contextmanager
def _rows(path: Path) -> Iterator[Iterator[list[str]]]:
    """All lines that are not empty, as cells."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        try:
            yield filter(None, rows)
        except csv.Error as error:
            raise BadTable(f"cannot read the table {path}, line {rows.line_num}: {error}") from error

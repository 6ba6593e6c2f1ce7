"""Items of one table that are in another too, by what stands in their columns, whatever they are called there.

Only columns that tell items apart can show it: where rows are alike by chance, nothing is said. Rows are hashed, a few
columns of a block at a time, so that a million of them take seconds and a few megabytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replical.lab.columns import ids_of, name_of, names_of, open_table, values_of

Hashes = NDArray[np.uint64]

_COLUMNS = 4  # that are compared: those of most values
_READ = 256  # columns that are looked at
_OWN = 0.99  # of the rows of a pool are different where columns tell items apart
_ODD = np.uint64(0x9E3779B97F4A7C15)  # spreads bits
_NONE = np.uint64(1)  # an empty cell
_NUMBER = "0123456789+-. "  # how a number may begin


class SameItems(NamedTuple):
    """Rows of a pool that are in a public table too: how many, by which columns, and the ids of one of them in both."""

    rows: int
    columns: list[str]
    pool_id: str
    public_id: str


def same_items(
    public: Any, pool: Any, *, ids: tuple[str, str], without: Collection[str] = (), exactly: bool = False
) -> SameItems | None:
    """The rows of a `pool` that are also in a `public` table; None where there are none, or columns cannot tell.

    Parameters
    ----------
    public, pool
        Two tables.
    ids
        The columns of ids in each.
    without
        Columns that say nothing of what an item is: labels, what models predict.
    exactly
        Must all rows of the pool differ in the columns that are compared? Otherwise a few may be alike.

    Examples
    --------
    >>> public = {"id": ["p1", "p2"], "age": [40, 71], "text": ["one", "two"]}
    >>> same_items(public, {"id": [1, 2, 3], "age": [40, 71, 71], "text": ["a", "two", "b"]}, ids=("id", "id"))
    SameItems(rows=1, columns=['age', 'text'], pool_id='2', public_id='p2')
    """
    columns = _columns(public, {*ids, *without}, _shared(public, pool))
    if not columns:
        return None
    ours, theirs = _hashes(public, columns), _hashes(pool, columns)
    different = len(np.unique(theirs))
    if len(np.unique(ours)) < len(ours) or different < (1.0 if exactly else _OWN) * len(theirs):
        return None
    both = np.flatnonzero(np.isin(theirs, ours))
    if not len(both):
        return None
    row = int(both[0])
    place = int(np.flatnonzero(ours == theirs[row])[0])
    return SameItems(len(both), columns, _id(pool, ids[1], row), _id(public, ids[0], place))


def _shared(public: Any, pool: Any) -> list[str]:
    """Columns that both have, once each."""
    names = []
    for source in (public, pool):
        names.append([name for name, times in Counter(names_of(source)).items() if times == 1])
    known = set(names[1])
    return [name for name in names[0] if name in known]


def _columns(public: Any, without: Collection[str], shared: Sequence[str]) -> list[str]:
    """Those of the most values in the public table, in its order; a number that only counts rows is none of them."""
    wanted = [name for name in shared if name not in without][:_READ]
    if not wanted:
        return []
    found: dict[str, list[Hashes]] = {name: [] for name in wanted}
    counts = {name: [np.zeros(0)] for name in wanted}
    with open_table(public, wanted, texts=_texts(public, wanted)) as table:
        for block in table.blocks(wanted):
            for name, column in block.columns.items():
                found[name].append(_cells(column, name, public))
                numbers = _numbers(column)
                counts[name].append(np.full(len(column), np.nan) if numbers is None else numbers)
    values = {name: len(np.unique(np.concatenate(hashes))) for name, hashes in found.items() if hashes}
    telling = [name for name in values if values[name] > 1 and not _counts_rows(np.concatenate(counts[name]))]
    most = sorted(telling, key=lambda name: -values[name])[:_COLUMNS]
    return [name for name in telling if name in most]


def _counts_rows(numbers: NDArray[np.float64]) -> bool:
    return bool((np.diff(numbers) == 1).all() and (numbers == np.floor(numbers)).all())


def _hashes(source: Any, columns: Sequence[str]) -> Hashes:
    """One number a row, alike where all columns are."""
    parts = []
    with open_table(source, columns, texts=_texts(source, columns)) as table:
        for block in table.blocks(columns, together=True):
            rows = np.zeros(block.rows, dtype=np.uint64)
            for name in columns:
                rows *= _ODD
                rows ^= _cells(block.columns[name], name, source)
            parts.append(rows)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)


def _texts(source: Any, columns: Sequence[str]) -> Sequence[str]:
    """Read as texts: all of a CSV file, whose types would be guessed from its first rows."""
    return columns if name_of(source).endswith(".csv") else ()


def _cells(column: Any, name: str, source: Any) -> Hashes:
    """One number a cell: numbers are alike however they are written, all else as it is written."""
    numbers = _numbers(column)
    if numbers is not None:
        return _of_numbers(numbers)
    if hasattr(column, "dictionary") and not column.null_count and len(column.dictionary) <= len(column):
        places: Hashes = _cells(column.dictionary, name, source)[np.asarray(column.indices)]
        return places
    hashes = map(_hash, values_of(column, name, name_of(source)))
    return np.fromiter(hashes, dtype=np.int64, count=len(column)).view(np.uint64)


def _of_numbers(numbers: NDArray[np.float64]) -> Hashes:
    cells = (numbers + 0.0).view(np.uint64)  # -0 is 0
    cells[np.isnan(numbers)] = _NONE
    cells *= _ODD
    cells ^= cells >> np.uint64(32)  # the last bits of a number are often 0, and the first alike
    cells *= _ODD
    return cells


def _may_be_number(value: Any) -> bool:
    return not isinstance(value, str) or value[:1] in _NUMBER


def _hash(value: Any) -> int:
    """Of a text, which may spell a number."""
    text = value if type(value) is str else "" if value is None else str(value)
    if text[:1] not in _NUMBER:
        return hash(text)
    try:
        return int(_of_numbers(np.array([float(text) if text else np.nan])).view(np.int64)[0])
    except ValueError:
        return hash(text)


def _numbers(column: Any) -> NDArray[np.float64] | None:
    """The numbers of a column, NaN where a cell is empty; None where some cell holds no number."""
    from pyarrow import ArrowException, compute, float64, types

    if types.is_boolean(column.type) or types.is_temporal(column.type):
        return None
    if types.is_dictionary(column.type) or (len(column) and not _may_be_number(column[0].as_py())):
        return None
    try:
        filled = compute.fill_null(compute.cast(column, float64(), safe=False), float("nan"))
    except (ArrowException, ValueError):
        return None
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.float64)


def _id(source: Any, id_column: str, row: int) -> str:
    """The id in a row of a table."""
    with open_table(source, [id_column], texts=[id_column]) as table:
        for block in table.blocks([id_column]):
            if row < block.start + block.rows:
                column = block.columns[id_column].slice(row - block.start, 1)
                return ids_of(column, id_column, name_of(source), row)[0]
    raise AssertionError("the row was there a moment ago")

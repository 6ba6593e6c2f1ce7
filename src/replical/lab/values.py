"""What stands in the columns of a lab's table: ids, labels, predictions and features, each looked at as it is read.

What is wrong is named precisely: the column, the row by its id, the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Label
from replical.errors import BadLabel, BadTable

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

"""What was seen of a table's column: its values, or why they cannot be the labels that a model gives."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from replical.classes.base import Label

# What are no labels.
SCORES, TRUTHS, DECIMALS, NUMBERS = "scores", "true and false", "numbers with a decimal point", "numbers of all sizes"
WRITE = {  # what to write instead
    SCORES: "write one column per model, with the label it gives to every item",
    TRUTHS: "write 0 and 1 instead, or words",
    NUMBERS: "write one column per model, with the label it gives to every item",
    DECIMALS: "write whole numbers instead, 1 and not 1.0",
}
_SOME = 10_000  # rows that show what numbers a column holds
_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?")


@dataclass
class Seen:
    """What was seen of a column; `values` is None where they cannot be labels, and `why` says why not."""

    values: set[Label] | None = field(default_factory=set)
    empty: int = 0
    why: str = ""

    def add(self, column: Any, most: int) -> None:
        """Look at more rows of it, in which there may be so many different labels."""
        if self.values is None:
            return
        if why := _no_labels(column.type) or _floats(column):
            self.values, self.why = None, why
            return
        self.empty += column.null_count
        different = column.unique().to_pylist()
        if "" in different:
            self.empty += sum(value == "" for value in column.to_pylist())
        self.values |= {value for value in different if value is not None and value != ""}
        if len(self.values) > most:
            self.why = _numbers(self.values) or f"more than {most} different values"
            self.values = None

    def look_again(self) -> None:
        """A CSV file spells numbers: those that are not whole are scores."""
        if why := _numbers(self.values or ()):
            self.values, self.why = None, why


def _numbers(values: Any) -> str:
    """What numbers these texts spell that are no labels; nothing where they spell something else."""
    words = [value for value in values if isinstance(value, str)]
    if not all(map(_NUMBER.fullmatch, words)) or not any(set(word) & set(".eE") for word in words):
        return ""
    return _kind(list(map(float, words)))


def _kind(numbers: list[float]) -> str:
    if numbers and all(number.is_integer() for number in numbers):
        return DECIMALS
    return SCORES if all(0 <= number <= 1 for number in numbers) else NUMBERS


def _no_labels(kind: Any) -> str:
    from pyarrow import types

    inner = kind.value_type if types.is_dictionary(kind) else kind
    texts = types.is_string(inner) or types.is_large_string(inner) or str(inner) == "string_view"
    if texts or types.is_integer(inner) or types.is_floating(inner):
        return ""
    return TRUTHS if types.is_boolean(inner) else f"values of type {inner}"


def _floats(column: Any) -> str:
    from pyarrow import types

    if not types.is_floating(column.type):
        return ""
    some = column.slice(0, _SOME).unique().to_pylist()
    return _kind([float(value) for value in some if value is not None and not isnan(value)])

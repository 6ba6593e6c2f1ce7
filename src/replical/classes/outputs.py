"""Tables of outputs: candidates that say anything, numbers, texts or JSON, and a public loss in place of a list of labels.

Within an item outputs are numbered, in the order of the first candidate that has each, and that number is the code of every
candidate with this output. So candidates "say the same" if their outputs have one normal form, and all that works on codes
works on them. What the numbers stand for is kept beside them, item by item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import Indices, Items
from replical.classes.comparisons import native
from replical.classes.grading import Gold
from replical.classes.recipe import Recipe
from replical.classes.table import PackedRows, PredictionTable
from replical.core.canonical import fingerprint
from replical.errors import BadProtocol, BadTable

Outputs = tuple[str, ...]


class OutputRows(PackedRows):
    """Codes, packed, and for each row the outputs they stand for."""

    def __init__(self, planes: NDArray[np.uint64], columns: int, outputs: Sequence[Outputs]) -> None:
        super().__init__(planes, columns)
        self.outputs = list(outputs)

    def put_in_order(self, order: Indices) -> None:
        """Row ``order[i]`` becomes row i."""
        super().put_in_order(order)
        self.outputs = [self.outputs[row] for row in order.tolist()]

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if not isinstance(found, PackedRows):
            return found
        rows = np.arange(len(self))[key].tolist()
        return OutputRows(found.planes, self._columns, [self.outputs[row] for row in rows])


class OutputTable(PredictionTable):
    """Candidates by name, whose outputs are compared with a gold answer by a public loss.

    Parameters
    ----------
    candidates
        Distinct names, in the public order.
    loss
        How an output is compared with the gold answer.

    Raises
    ------
    BadProtocol
        If more or fewer than two duel.

    Examples
    --------
    >>> C = OutputTable(["a", "b", "c"], loss=Gold.of("absolute", clip=2))
    >>> rows = C.items([[1, 1.0, 3], ["2", "2.5", "2.50"]])
    >>> rows.tolist(), rows.outputs, C.describe(2)
    ([[0, 0, 1], [0, 1, 1]], [('1', '3'), ('2', '2.5')], 'c')
    """

    def __init__(self, candidates: Sequence[str], *, loss: Gold) -> None:
        if loss.name == "duel" and len(candidates) != 2:
            raise BadProtocol(
                "a duel is between two candidates, since preferences among more may go in a circle: score outputs, e.g. "
                'scores = "win-tie-loss" against a public reference'
            )
        super().__init__(candidates, labels=range(max(2, len(candidates))))
        self.loss = loss

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that defines the class; not of what anybody's candidates say."""
        return fingerprint({"kind": "outputs", "candidates": list(self.candidates), **self.loss.section})

    def items(self, X: ArrayLike | Mapping[str, ArrayLike]) -> Items:
        """Check a table `X` of outputs: rows, one column a candidate, or a mapping from each candidate to its column.

        Raises
        ------
        BadTable
            If an output or a column is missing, lengths are unequal, or an output is not what the loss compares.
        """
        if isinstance(X, Mapping):
            columns = [_as_list(self._column(X, name)) for name in self.candidates]
            if len(lengths := {len(column) for column in columns}) > 1:
                raise BadTable(f"columns have unequal lengths: {sorted(lengths)}")
            rows: Any = zip(*columns, strict=True)
        else:
            rows = _as_list(X)
        return cast(Items, self.number(enumerate(rows), lambda row, name: f"the output of {name!r} in row {row}"))

    def _column(self, X: Mapping[str, ArrayLike], name: str) -> ArrayLike:
        if name not in X:
            raise BadTable(f"the table has no column for the candidate {name!r}")
        return X[name]

    def number(self, rows: Any, what: Any) -> OutputRows:
        """Outputs in `rows`, each with its place, numbered item by item; `what` says in words which one is meant.

        Raises
        ------
        BadTable
            If one is missing, or not what the loss compares.
        """
        known: dict[Any, str] = {}
        codes, outputs = list[list[int]](), list[Outputs]()
        for row, said in rows:
            listed = list(said) if isinstance(said, list | tuple | np.ndarray) else None
            if listed is None or len(listed) != len(self):
                raise BadTable(f"a table of outputs needs {len(self)} outputs an item, got {said!r:.60} in row {row}")
            numbers: dict[str, int] = {}
            codes.append(
                [
                    numbers.setdefault(self._normal(value, known, row, name, what), len(numbers))
                    for name, value in zip(self.candidates, listed, strict=True)
                ]
            )
            outputs.append(tuple(numbers))
        packed = PackedRows.blank(len(codes), len(self), labels=len(self.labels))
        packed.write(slice(0, len(codes)), np.array(codes, dtype=np.uint16).reshape(-1, len(self)))
        return OutputRows(packed.planes, len(self), outputs)

    def _normal(self, value: Any, known: dict[Any, str], row: Any, name: str, what: Any) -> str:
        """The normal form of an output; each is made once."""
        value = native(value)
        key = (type(value), value) if isinstance(value, str | int | float) else None
        if key is None or key not in known:
            if value is None or value == "":
                raise BadTable(f"{what(row, name)} is missing")
            found = self.loss.normal(value, what(row, name))
            if key is None:
                return found
            known[key] = found
        return known[key]

    def predict(self, X: ArrayLike | Mapping[str, ArrayLike]) -> NDArray[Any]:
        """The normal outputs of every candidate (rows) on every item of `X` (columns)."""
        rows = cast(OutputRows, self.items(X))
        said = [[outputs[code] for code in codes] for codes, outputs in zip(rows.tolist(), rows.outputs, strict=True)]
        return np.array(said, dtype=object).reshape(-1, len(self)).T


def _as_list(values: Any) -> list[Any]:
    rows = getattr(values, "values", values)  # of a frame or a series
    return list(rows() if callable(rows) else rows)


def recipe(candidates: tuple[str, ...], loss: Gold) -> Recipe:
    """The class of these candidates, one column each, and its loss."""
    C = OutputTable(candidates, loss=loss)
    return Recipe(
        C=C, columns=candidates, to_items=lambda columns: list(zip(*columns, strict=True)), predicts=True, losses=loss
    )

"""Prediction tables: any candidates at all, known by what they say about each item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import Codes, Indices, Items, Label, class_size, encode, label_set, predict
from replical.classes.recipe import Recipe, Section
from replical.classes.rows import PackedRows
from replical.core.blocks import blocks
from replical.core.canonical import fingerprint
from replical.errors import BadTable

_BLOCK = 2**20  # predictions looked at at a time: as Python objects they take up to 50 MB


class PredictionTable:
    """Candidates by name; an item *is* the row of their predictions.

    The candidates and their order are public. Two candidates may predict alike everywhere: they stay two
    hypotheses, because dropping one on private data would make the class depend on the data.

    Parameters
    ----------
    candidates
        Distinct names, in the public order.
    labels
        The label set: two or more texts or integers, in their public order.

    Raises
    ------
    BadTable
        If names are no texts, come twice, or come without an order.
    ValueOutOfRange
        If there is no candidate.
    BadLabel
        If there are fewer than two labels, or one comes twice.

    Examples
    --------
    >>> C = PredictionTable(["a", "b"], labels=("no", "yes"))
    >>> C.predict([["no", "yes"], ["yes", "yes"]]).tolist()
    [['no', 'yes'], ['yes', 'yes']]
    >>> len(C), C.describe(1)
    (2, 'b')
    """

    def __init__(self, candidates: Sequence[str], *, labels: Sequence[Label] = (0, 1)) -> None:
        if isinstance(candidates, set | frozenset):
            raise BadTable("a set has no order, and the order of the candidates is public: give a list")
        self.candidates = tuple(candidates)
        class_size("the number of candidates", len(self.candidates))
        if any(not isinstance(name, str) for name in self.candidates):
            raise BadTable("candidate names must be texts")
        if len(set(self.candidates)) < len(self.candidates):
            twice = Counter(self.candidates).most_common(1)[0][0]
            raise BadTable(f"the candidate {twice!r} is named twice; every candidate needs its own name")
        self.labels = label_set(labels)

    def __len__(self) -> int:
        return len(self.candidates)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that defines the class."""
        return fingerprint({"kind": "table", "candidates": list(self.candidates), "labels": list(self.labels)})

    def describe(self, h: int) -> str:
        """The name of candidate `h`."""
        return self.candidates[h]

    def items(self, X: ArrayLike | Mapping[str, ArrayLike]) -> Items:
        """Check a table of label values.

        Parameters
        ----------
        X
            Rows of predictions, one column a candidate, or a mapping from each candidate to its column.

        Returns
        -------
        items
            Label codes, one row an item, one column a candidate, packed: they take a bit for every binary digit of a
            code and index like an array (``np.asarray`` makes one). Blocks of `X` are packed one after the other, so
            that beside `X` itself there are never more than the bits and some 50 MB.

        Raises
        ------
        BadTable
            If a prediction or a column is missing, or lengths are unequal.
        BadLabel
            If a prediction is no label.
        """
        table = self._rows_of(X) if isinstance(X, Mapping) else _sliced(X)
        length = self._checked(table.shape)
        rows = PackedRows.blank(length, len(self), labels=len(self.labels))
        for at in blocks(length, len(self), _BLOCK):
            codes = encode(table.block(at), self.labels, before=at.start)
            self._checked(codes.shape)
            rows.write(at, codes)
        return cast(Items, rows)

    def _checked(self, shape: tuple[int, ...]) -> int:
        if len(shape) != 2 or shape[1] != len(self):
            raise BadTable(f"a prediction table needs {len(self)} predictions an item, got shape {shape}")
        return shape[0]

    def rows(self, X: ArrayLike | Mapping[str, ArrayLike]) -> ArrayLike:
        """Rows of predictions, from rows `X` or from a mapping `X` of candidates to columns.

        Raises
        ------
        BadTable
            If a candidate has no column, or columns have unequal lengths.
        """
        return self._rows_of(X).block(slice(None)) if isinstance(X, Mapping) else X

    def _rows_of(self, columns: Mapping[str, ArrayLike]) -> _Sliced:
        """Columns side by side."""
        missing = [name for name in self.candidates if name not in columns]
        if missing:
            raise BadTable(f"the table has no column for the candidate {missing[0]!r}")
        chosen = [_sliced(columns[name], column=True) for name in self.candidates]
        for name, column in zip(self.candidates, chosen, strict=True):
            if column.shape != chosen[0].shape:
                first = self.candidates[0]
                raise BadTable(
                    f"columns have unequal lengths: {chosen[0].shape[0]} in {first!r}, {column.shape[0]} in {name!r}"
                )

        def block(at: slice) -> ArrayLike:
            return np.stack([np.asarray(column.block(at), dtype=object) for column in chosen], axis=1)

        return _Sliced(shape=(*chosen[0].shape, len(chosen)), block=block)

    def codes(self, items: Items, hypotheses: Indices) -> Codes:
        """Label codes of `hypotheses` (rows) on checked `items` (columns)."""
        return np.ascontiguousarray(items[:, hypotheses].T)

    def predict(self, X: ArrayLike | Mapping[str, ArrayLike]) -> NDArray[Any]:
        """Label values of every hypothesis (rows) on every item of `X` (columns)."""
        return predict(self, self.rows(X))

    def cells(self) -> None:
        """Unknown: which rows occur is what a pool tells."""
        return


class _Sliced(NamedTuple):
    """A table of which some rows can be had."""

    shape: tuple[int, ...]
    block: Callable[[slice], ArrayLike]


def _sliced(X: Any, *, column: bool = False) -> _Sliced:
    """Arrays, frames and lists are cut as they are, so that no array of the whole is made; anything else is made one."""
    if isinstance(X, list | tuple):
        shapes = set() if column else {np.shape(row) for row in X}
        if len(shapes) > 1:
            raise BadTable(f"the rows of a prediction table have unequal lengths: {sorted(shapes)}")
        return _Sliced(shape=(len(X), *(shapes.pop() if shapes else ())), block=lambda at: X[at])
    table = X if hasattr(X, "shape") and hasattr(X, "__getitem__") else np.asarray(X)
    rows = getattr(table, "iloc", table)  # by place, whatever a frame calls its rows
    return _Sliced(shape=tuple(table.shape), block=lambda at: np.asarray(rows[at]))


def recipe(section: Section) -> Recipe:
    """From a protocol: one column a candidate."""
    candidates = tuple(candidate["name"] for candidate in section.content["candidates"])
    C = PredictionTable(candidates, labels=section.labels)
    return Recipe(C=C, columns=candidates, to_items=lambda columns: np.stack(columns, axis=1), predicts=True)

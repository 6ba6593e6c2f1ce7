"""Public labelled rows that put candidates in a shared order: what is wrong with them is said, and what looks wrong."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from replical.sklearn.base import codes_of

_SOME = 10_000  # rows that show whether features tell items apart
_OWN = 0.99  # of the rows are different where features tell items apart


def public_rows(public: Any, X: Any, classes: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """The pair of rows and labels, if it is one; rows that are among those of `X` are warned about.

    Raises
    ------
    ValueError
        If it is no pair of as many labels as rows, or a label is none of the `classes`.
    """
    if not isinstance(public, tuple | list) or len(public) != 2:
        raise ValueError(f"public is a pair of rows and their labels, public=(X_public, y_public), got {_kind(public)}")
    rows, labels = public[0], column_or_1d(public[1])
    check_consistent_length(rows, labels)
    try:
        codes_of(labels, classes)
    except ValueError as error:
        raise ValueError(f"public: {error}") from error
    if among := shared(rows, X):
        warnings.warn(
            f"{among} of {len(labels)} public rows are among the rows to choose on: if these are the same items, the order "
            "depends on what this lab looks at and nothing is proven. Take them out of one of the two.",
            UserWarning,
            stacklevel=4,
        )
    return rows, labels


def shared(rows: ArrayLike, X: ArrayLike) -> int:
    """How many rows are also rows of `X`; 0 where features are too few or too coarse to tell items apart.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> shared(X[:7], X), shared(X[:7] + 1, X), shared(np.ones((5, 2)), np.ones((100, 2)))
    (7, 0, 0)
    """
    try:
        ours, theirs = (np.ascontiguousarray(np.asarray(each, dtype=np.float64)) for each in (rows, X))
    except (TypeError, ValueError):  # texts, say
        return 0
    if ours.ndim != 2 or theirs.ndim != 2 or ours.shape[1] != theirs.shape[1] or not theirs.shape[1]:
        return 0
    some = theirs[:_SOME]
    if len({row.tobytes() for row in some}) < _OWN * len(some):
        return 0
    public = [row.tobytes() for row in ours]
    known = set(public)
    found = {row for row in map(bytes, theirs) if row in known}
    return sum(row in found for row in public)


def _kind(value: Any) -> str:
    return f"a {type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else f"a {type(value).__name__}"

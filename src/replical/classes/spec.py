"""Class specs, the short names of the command line: ``thresholds:1000``, ``intervals:40``, ``star:32``, ``table:FILE``."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from replical.classes.base import HypothesisClass, Items
from replical.classes.intervals import Intervals
from replical.classes.star import Star
from replical.classes.table import PredictionTable
from replical.classes.thresholds import Thresholds
from replical.errors import BadSpec, BadTable

_KINDS: dict[str, Callable[[int], HypothesisClass]] = {"thresholds": Thresholds, "intervals": Intervals, "star": Star}


def parse(spec: str) -> tuple[HypothesisClass, Items]:
    """Read a spec: the class, and the cells of its standard population.

    Examples
    --------
    >>> C, cells = parse("thresholds:1000")
    >>> len(C), len(cells)
    (1000, 999)
    """
    kind, _, size = spec.partition(":")
    if kind == "table" and size:
        return read_table(Path(size))
    if kind not in _KINDS:
        known = ", ".join(f"{name}:N" for name in _KINDS)
        raise BadSpec(f"unknown class {spec!r}; the classes are {known} and table:FILE.csv")
    if not (size.isascii() and size.isdigit()):
        raise BadSpec(f"malformed class {spec!r}; write {kind}:N with a whole number N, e.g. {kind}:100")
    C = _KINDS[kind](int(size))
    cells = C.cells()
    assert cells is not None, "every class named in _KINDS lists its cells"
    return C, cells


def read_table(path: Path) -> tuple[PredictionTable, Items]:
    """Read a CSV file with one column a candidate and one row an item; the label set is what occurs, sorted."""
    names, rows = read_csv(path)
    for number, row in enumerate(rows, start=2):
        if "" in row:
            raise BadTable(f"{path}, line {number}: the prediction of {names[row.index('')]!r} is missing")
    labels = sorted({value for row in rows for value in row})
    if len(labels) < 2:
        raise BadTable(f"{path} holds a single label {labels!r}; candidates that never differ leave nothing to learn")
    C = PredictionTable(names, labels=labels)
    return C, C.items(rows)


def read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a CSV file, every row as long as the header."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file, strict=True) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadTable(f"cannot read the table {path}: {reason}") from error
    if len(lines) < 2:
        raise BadTable(f"{path} needs a header and at least one row")
    header, *rows = lines
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise BadTable(f"{path}, line {number}: {len(row)} values where the header names {len(header)}")
    return header, rows

"""The results of a study: one row a cell, from its pairs; no times in it, so that it is the same wherever it ran."""

from __future__ import annotations

from dataclasses import asdict
from math import fsum, sqrt
from pathlib import Path
from typing import Any

from replical.plans.catalogue import find
from replical.study.parameters import PARAMETERS, is_text
from replical.study.spec import Cell
from replical.study.store import Entry
from replical.worlds.experiment import OPTIONS
from replical.worlds.figures import COUNTED, Audit, Columns, figures
from replical.worlds.figures import mean as mean_of

_FIGURES = tuple(Audit.__dataclass_fields__)
_COUNTS = ("pairs", "agreements", "excess_over_epsilon", "cap_reached")


def _kind(name: str) -> str:
    return "string" if is_text(name) or name in ("noise", "pool_size") else "double"


# Names and kinds of the columns, in order.
SCHEMA: tuple[tuple[str, str], ...] = (
    ("cell", "string"),
    ("grids", "strings"),
    *((name, _kind(name)) for name in PARAMETERS if name not in OPTIONS),
    *((name, _kind(name)) for name in OPTIONS),
    ("hypotheses", "double"),
    ("labels_most", "double"),
    ("status", "string"),
    ("reason", "string"),
    ("replicable", "bool"),
    ("vacuous", "bool"),
    *((name, "int64" if name in _COUNTS else "double") for name in _FIGURES),
    ("disagreement", "double"),
    ("disagreement_low", "double"),
    ("disagreement_high", "double"),
    ("labels_error", "double"),
    ("jaccard_error", "double"),
)

Row = dict[str, Any]


def row(cell: Cell, entry: Entry) -> Row:
    """The results of a cell: what it tried, what it found, and whether that means anything.

    `theta` and `nu` are those its plan was made with. `status` is ``done`` or ``refused``. `vacuous` marks replicable
    learners in worlds where fewer than a fifth of the pairs differ before rounding. `labels_error` and `jaccard_error`
    are standard errors of the means, over pairs.
    """
    columns: Row = {name: None for name, _ in SCHEMA}
    parameters = dict(cell.parameters)
    columns |= {"cell": cell.id, "grids": list(cell.grids)} | parameters
    columns |= {"noise": str(parameters["noise"]), "pool_size": str(parameters["pool_size"])}
    columns |= {name: entry.facts.get(name) for name in ("hypotheses", "labels_most")}
    columns |= {name: entry.facts[name] for name in ("theta", "nu") if entry.facts.get(name) is not None}
    columns |= {"replicable": find(parameters["learner"]).replicable, "status": "done"}
    if entry.refused is not None:
        return columns | {"status": "refused", "reason": entry.refused, "pairs": 0}
    audit = summary(entry.rows)
    low, high = audit["agreement_low"], audit["agreement_high"]
    columns |= audit | {
        "disagreement": 1 - audit["agreement"],
        "disagreement_low": 1 - high,
        "disagreement_high": 1 - low,
    }
    if columns["replicable"]:
        columns["vacuous"] = audit["base_agreement"] > 1 - COUNTED
    return columns


def whole(rows: list[Row]) -> list[Row]:
    """Rows with every column there is now: those of an older study have nothing in the newer ones."""
    return [dict.fromkeys(name for name, _ in SCHEMA) | row for row in rows]


def summary(rows: Columns) -> Row:
    """The figures of an audit, from the rows of its pairs, with the standard errors of two means."""
    labels = [(one + two) / 2 for one, two in zip(rows["labels_a"], rows["labels_b"], strict=True)]
    errors = {"labels_error": _error(labels), "jaccard_error": _error(rows["jaccard"])}
    return asdict(figures(rows)) | errors


def _error(values: list[float]) -> float | None:
    """Standard error of the mean."""
    mean, count = mean_of(values), len(values)
    if mean is None or count < 2:
        return None
    return sqrt(fsum((value - mean) ** 2 for value in values) / (count - 1) / count)


def table(rows: list[Row], arrow: Any) -> Any:
    """All rows as a table, sorted by cell."""
    kinds = {"string": arrow.string(), "double": arrow.float64(), "int64": arrow.int64(), "bool": arrow.bool_()}
    kinds["strings"] = arrow.list_(arrow.string())
    schema = arrow.schema([(name, kinds[kind]) for name, kind in SCHEMA])
    doubles = [name for name, kind in SCHEMA if kind == "double"]
    rows = [each | {name: float(each[name]) for name in doubles if each[name] is not None} for each in rows]
    return arrow.Table.from_pylist(sorted(rows, key=lambda each: str(each["cell"])), schema=schema)


def write_csv(rows: Any, path: Path | str) -> None:
    """A table for people without Parquet: columns that say something, lists joined."""
    import pyarrow as pa
    from pyarrow import csv

    for place, field in enumerate(rows.schema):
        if pa.types.is_list(field.type):
            joined = ["; ".join(each or []) for each in rows[field.name].to_pylist()]
            rows = rows.set_column(place, field.name, pa.array(joined))
    names = [name for name in rows.column_names if rows[name].null_count < rows.num_rows]
    csv.write_csv(rows.select(names), path)

"""The results of a study: one row a cell, from its pairs; no times in it, so that it is the same wherever it ran."""

from __future__ import annotations

from math import fsum, sqrt
from pathlib import Path
from typing import Any

from replical.core.binomial import clopper_pearson
from replical.plans.catalogue import find
from replical.study.parameters import PARAMETERS, is_text
from replical.study.spec import Cell
from replical.study.store import Kept
from replical.study.work import Rows
from replical.worlds.audit import Audit
from replical.worlds.experiment import OPTIONS

COUNTED = (
    0.2  # share of pairs that must differ before rounding: otherwise the world shows nothing (theory, "vacuous worlds")
)
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


def row(cell: Cell, kept: Kept) -> Row:
    """The results of a cell: what it tried, what it found, and whether that means anything.

    `theta` and `nu` are those its plan was made with. `status` is ``done`` or ``refused``. `vacuous` marks replicable
    learners in worlds where fewer than a fifth of the pairs differ before rounding. `labels_error` and `jaccard_error`
    are standard errors of the means, over pairs.
    """
    told: Row = {name: None for name, _ in SCHEMA}
    given = dict(cell.parameters)
    told |= {"cell": cell.id, "grids": list(cell.grids)} | given
    told |= {"noise": str(given["noise"]), "pool_size": str(given["pool_size"])}
    told |= {name: kept.facts.get(name) for name in ("hypotheses", "labels_most")}
    told |= {name: kept.facts[name] for name in ("theta", "nu") if kept.facts.get(name) is not None}
    told |= {"replicable": find(given["learner"]).replicable, "status": "done"}
    if kept.refused is not None:
        return told | {"status": "refused", "reason": kept.refused, "pairs": 0}
    figures = summary(kept.rows)
    low, high = figures["agreement_low"], figures["agreement_high"]
    told |= figures | {
        "disagreement": 1 - figures["agreement"],
        "disagreement_low": 1 - high,
        "disagreement_high": 1 - low,
    }
    if told["replicable"]:
        told["vacuous"] = figures["base_agreement"] > 1 - COUNTED
    return told


def summary(rows: Rows) -> Row:
    """The figures of an audit, from the rows of its pairs; sums are exact, so that their order does not matter."""
    pairs, agreements = len(rows["pair"]), sum(rows["agree"])
    low, high = clopper_pearson(agreements, pairs)
    labs = {name[:-2]: rows[name] + rows[f"{name[:-2]}_b"] for name in rows if name.endswith("_a")}
    unrounded = zip(rows["unrounded_a"], rows["unrounded_b"], strict=True)
    labels = [(one + two) / 2 for one, two in zip(rows["labels_a"], rows["labels_b"], strict=True)]
    return {
        "pairs": pairs,
        "agreements": agreements,
        "agreement": agreements / pairs,
        "agreement_low": low,
        "agreement_high": high,
        "function_agreement": _mean(rows["same_function"]),
        "expected_jaccard": _mean(rows["jaccard"]),
        "survivors_mean": _mean(labs["survivors"]),
        "base_agreement": _mean([one == two for one, two in unrounded]),
        "labels_mean": _mean(labs["labels"]),
        "labels_max": max(labs["labels"]),
        "excess_error_mean": _mean(labs["excess_error"]),
        "excess_error_max": max(labs["excess_error"]),
        "excess_over_epsilon": sum(labs["over_epsilon"]),
        "labels_sufficient_fraction": _mean(labs["labels_sufficient"]),
        "certified_fraction": _mean(labs["certified"]),
        "rho_proven": _mean(labs["rho_proven"]),
        "rho_predicted": _mean(labs["rho_predicted"]),
        "cap_reached": sum(labs["stopped_short"]),
        "labels_error": _error(labels),
        "jaccard_error": _error(rows["jaccard"]),
    }


def _mean(values: list[Any]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None


def _error(values: list[float]) -> float | None:
    """Standard error of the mean."""
    mean, count = _mean(values), len(values)
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
    said = [name for name in rows.column_names if rows[name].null_count < rows.num_rows]
    csv.write_csv(rows.select(said), path)

"""The results of a study: one row a cell, and how labels grow with ε, ρ, |C|, Θ and ν, beside the bounds.

A row has no times in it, so that it is the same wherever it ran.

A bound is a shape without a constant, so exponents are all that can be compared. Where a bound is a sum or holds
logarithms, it has no single exponent: what stands beside a fit is the slope of the bound at the very same points, by the
same fit. No bound has a power of |C|, all have powers of ln|C|, so that is the scale for |C|. For ε there are two: powers
of 1/ε, which passive learners have, and powers of ln(1/ε), which active ones have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum, inf, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from replical.bounds.complexity import BOUNDS, needs
from replical.classes.catalogue import known_theta
from replical.errors import ValueOutOfRange
from replical.learners.catalogue import find
from replical.learners.parameters import OPTIONS
from replical.study.spec import PARAMETERS, Cell, is_text
from replical.study.store import Entry
from replical.worlds.audit import Audit, Columns, figures, is_vacuous
from replical.worlds.audit import mean as mean_of

_FIGURES = tuple(Audit.__dataclass_fields__)
_COUNTS = ("pairs", "agreements", "controls", "excess_over_epsilon", "cap_reached")


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
    learners in worlds where more than four fifths of the pairs agree with strings of their own, and if they return what errs
    least on as many labels. `labels_error` and `jaccard_error` are standard errors of the means, over pairs.
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
        columns["vacuous"] = is_vacuous(audit["own_string"], audit["fewest_errors"])
    return columns


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


def class_thetas(rows: Iterable[Row]) -> dict[str, float]:
    """Θ of each class on its own population, where it is known: by theory, or because all plans were made with it."""
    thetas: dict[str, set[float]] = defaultdict(set)
    for row in rows:
        if (known := known_theta(row["class"])) is not None:
            thetas[row["class"]] = {known}
        elif row["theta"] is not None:
            thetas[row["class"]].add(row["theta"])
    return {spec: values.pop() for spec, values in thetas.items() if len(values) == 1}


def place(row: Row, axis: str, thetas: Mapping[str, float]) -> float | None:
    """Where a row lies on an axis."""
    if axis == "theta" and row["theta"] is None:
        return thetas.get(row["class"])
    if axis == "nu" and row["nu"] is None:
        return float(row["noise"])
    value: float | None = row[axis]
    return value


def paper_bound(row: Row, axis: str, thetas: Mapping[str, float]) -> float | None:
    """The paper's bound at a row, without its constant; None where there is none."""
    return _bound(find(row["learner"]).bounds.paper, row, axis, thetas)


def our_bound(row: Row, axis: str, thetas: Mapping[str, float]) -> float | None:
    """The bound of the plan "tight" at a row."""
    return _bound(find(row["learner"]).bounds.ours, row, axis, thetas) if row["plan"] == "tight" else None


def _bound(names: tuple[str | None, str | None], row: Row, axis: str, thetas: Mapping[str, float]) -> float | None:
    """A bound at a row; None where there is none, or Θ is not known and does not cancel."""
    nu = place(row, "nu", thetas) or 0.0
    name = names[nu > 0]
    if name is None:
        return None
    wanted, theta = needs(name), place(row, "theta", thetas)
    if theta is None and "nu" not in wanted and axis not in ("hypotheses", "theta"):
        theta = 1.0  # a factor of every realizable bound: slopes do not see it
    at = {**row, "n": int(row["hypotheses"]), "theta": theta, "nu": nu}
    arguments = {need: at[need] for need in wanted}
    if None in arguments.values():
        return None
    try:
        return BOUNDS[name](**arguments)
    except ValueOutOfRange:
        return None


AXES = ("epsilon", "rho", "hypotheses", "theta", "nu")
SCALES = {"epsilon": "1/ε", "rho": "1/ρ", "hypotheses": "ln|C|", "theta": "Θ", "nu": "ν"}
FEWEST = 3  # values of a parameter that a slope and its error need
_SHARE = 0.5  # of the growth of ln|C|: where ln Θ grows by more, a family of classes is drawn against Θ


@dataclass(frozen=True, kw_only=True)
class Point:
    """One cell: where it lies, its mean labels and their standard error (0 where unknown)."""

    x: float
    labels: float
    error: float
    row: Row


@dataclass(frozen=True, kw_only=True)
class Slopes:
    """An exponent: fitted with its standard error, of the paper's bound, of ours; None where there is no bound."""

    fitted: float
    error: float
    paper: float | None
    ours: float | None


@dataclass(frozen=True, kw_only=True)
class Growth:
    """One learner along one parameter, all others fixed: exponents of `SCALES[axis]` and, along ε, of ln(1/ε).

    `settings` are what all points have in common. Along |C|, and along Θ where it comes from the class, `class` is a family.
    """

    learner: str
    plan: str
    axis: str
    settings: Mapping[str, Any]
    points: tuple[Point, ...]
    power: Slopes
    logged: Slopes | None


def growths(rows: Iterable[Row]) -> list[Growth]:
    """Every learner along every parameter of which the rows hold at least three values, all else equal."""
    ran = [row for row in rows if row["status"] == "done" and row["labels_mean"] and row["hypotheses"]]
    thetas = class_thetas(ran)
    curves = []
    for axis in AXES:
        for group in _groups(ran, axis, thetas):
            settings, points = group
            scales = ("1/ε", "ln(1/ε)") if axis == "epsilon" else (SCALES[axis],)
            slopes = {scale: _slopes(points, axis, scale, thetas) for scale in scales}
            curves.append(
                Growth(
                    learner=points[0].row["learner"],
                    plan=points[0].row["plan"],
                    axis=axis,
                    settings=settings,
                    points=tuple(points),
                    power=slopes[SCALES[axis]],
                    logged=slopes.get("ln(1/ε)"),
                )
            )
    return sorted(curves, key=lambda each: (AXES.index(each.axis), each.learner, each.plan, str(each.settings)))


def argument(scale: str, x: float) -> float:
    """What the exponent is one of, at a value of the parameter.

    Examples
    --------
    >>> argument("1/ρ", 0.25), round(argument("ln(1/ε)", 0.01), 1)
    (4.0, 4.6)
    """
    return {"1/ε": 1 / x, "ln(1/ε)": -log(x), "1/ρ": 1 / x, "ln|C|": log(x), "Θ": x, "ν": x}[scale]


def _groups(rows: list[Row], axis: str, thetas: Mapping[str, float]) -> list[tuple[dict[str, Any], list[Point]]]:
    """Points that differ in one parameter only."""
    series: list[tuple[dict[str, Any], list[Point]]] = []
    rest = rows
    for by_family in {"hypotheses": (True,), "theta": (False, True)}.get(axis, (False,)):
        groups: dict[str, tuple[dict[str, Any], list[Point]]] = {}
        for row in rest:
            x = place(row, axis, thetas)
            if x is not None and 0 < x < inf and (axis != "hypotheses" or x > 1):
                settings = _settings(row, axis, thetas, by_family=by_family)
                point = Point(x=x, labels=row["labels_mean"], error=row["labels_error"] or 0.0, row=row)
                groups.setdefault(repr(settings), (settings, []))[1].append(point)
        complete = [group for group in groups.values() if len({point.x for point in group[1]}) >= FEWEST]
        series += [(settings, sorted(points, key=lambda point: point.x)) for settings, points in complete]
        used = {point.row["cell"] for _, points in complete for point in points}
        rest = [row for row in rest if row["cell"] not in used]
    return [group for group in series if _belongs(group[1], axis, thetas)]


def _belongs(points: Sequence[Point], axis: str, thetas: Mapping[str, float]) -> bool:
    """A family of classes is drawn against |C| or against Θ, whichever is behind its growth."""
    if axis not in ("hypotheses", "theta") or len({point.row["class"] for point in points}) == 1:
        return True
    values = [place(point.row, "theta", thetas) for point in points]
    sizes = [log(point.row["hypotheses"]) for point in points]
    known = [log(value) for value in values if value is not None]
    by_theta = len(known) == len(values) and max(known) - min(known) > _SHARE * (max(sizes) - min(sizes))
    return by_theta == (axis == "theta")


def _settings(row: Row, axis: str, thetas: Mapping[str, float], *, by_family: bool) -> dict[str, Any]:
    """All a row was tried with, but for the axis and what comes with it."""
    settings = {name: row[name] for name in PARAMETERS if name != axis and row[name] is not None}
    if by_family:
        kind, _, rest = row["class"].partition(":")
        settings["class"] = row["class"] if kind == "table" else ":".join([kind, *rest.split(",")[:-1]])
        if settings.get("theta") == thetas.get(row["class"]):
            settings.pop("theta", None)
    if axis == "nu" and row["nu"] in (None, float(row["noise"])):
        settings["noise"] = "varied"
    return settings


def _slopes(points: Sequence[Point], axis: str, scale: str, thetas: Mapping[str, float]) -> Slopes:
    x = [log(argument(scale, point.x)) for point in points]
    fitted, error = fit(x, [log(point.labels) for point in points], [point.error / point.labels for point in points])
    slopes = []
    for bound in (paper_bound, our_bound):
        heights = [bound(point.row, axis, thetas) for point in points]
        known = [log(height) for height in heights if height is not None]
        slopes.append(fit(x, known)[0] if len(known) == len(points) else None)
    return Slopes(fitted=fitted, error=error, paper=slopes[0], ours=slopes[1])


def fit(x: Sequence[float], y: Sequence[float], errors: Sequence[float] | None = None) -> tuple[float, float]:
    """Slope of the least-squares line and its standard error.

    The error is the larger of two: from the scatter around the line, which is there even where every label count is
    exact but the line is the wrong shape, and from the errors of the points.

    Examples
    --------
    >>> slope, error = fit([0., 1., 2.], [1., 3., 5.])
    >>> round(slope, 9), round(error, 9)
    (2.0, 0.0)
    """
    centred = np.asarray(x) - np.mean(x)
    spread = float(centred @ centred)
    slope = float(centred @ np.asarray(y)) / spread
    rest = np.asarray(y) - np.mean(y) - slope * centred
    scatter = sqrt(float(rest @ rest) / (len(x) - 2) / spread)
    point_errors = np.zeros(len(x)) if errors is None else np.asarray(errors)
    return slope, max(scatter, sqrt(float(centred**2 @ point_errors**2)) / spread)

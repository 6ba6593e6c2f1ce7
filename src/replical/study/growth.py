"""How labels grow with ε, ρ, |C|, Θ and ν: exponents fitted to a study's rows, beside those of the bounds.

A bound is a shape without a constant, so exponents are all that can be compared. Where a bound is a sum or holds
logarithms, it has no single exponent: what stands beside a fit is the slope of the bound at the very same points, by the
same fit. No bound has a power of |C|, all have powers of ln|C|, so that is the scale for |C|. For ε there are two: powers
of 1/ε, which passive learners have, and powers of ln(1/ε), which active ones have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Any

import numpy as np

from replical.study.parameters import PARAMETERS
from replical.study.results import Row
from replical.study.row_bounds import our_bound, own_thetas, paper_bound, place, rate

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
    """One learner along one parameter, all others fixed.

    Attributes
    ----------
    settings
        What all points have in common. Along |C|, and along Θ where it comes from the class, `class` is a family.
    power
        Exponent of `SCALES[axis]`.
    logged
        Along ε, the exponent of ln(1/ε).
    """

    learner: str
    plan: str
    axis: str
    settings: Mapping[str, Any]
    points: tuple[Point, ...]
    power: Slopes
    logged: Slopes | None

    @property
    def fitted(self) -> float:
        """The fitted exponent of `SCALES[axis]`."""
        return self.power.fitted

    @property
    def error(self) -> float:
        """Its standard error."""
        return self.power.error

    @property
    def paper(self) -> float | None:
        """The exponent of the paper's bound at the same points."""
        return self.power.paper


def growths(rows: Iterable[Row]) -> list[Growth]:
    """Every learner along every parameter of which the rows hold at least three values, all else equal."""
    ran = [row for row in rows if row["status"] == "done" and row["labels_mean"] and row["hypotheses"]]
    thetas = own_thetas(ran)
    curves = []
    for axis in AXES:
        for group in _groups(ran, axis, thetas):
            settings, points = group
            slopes = {scale: _slopes(points, axis, scale, thetas) for scale in _scales(axis)}
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


def _scales(axis: str) -> tuple[str, ...]:
    return ("1/ε", "ln(1/ε)") if axis == "epsilon" else (SCALES[axis],)


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
        whole = [group for group in groups.values() if len({point.x for point in group[1]}) >= FEWEST]
        series += [(settings, sorted(points, key=lambda point: point.x)) for settings, points in whole]
        used = {point.row["cell"] for _, points in whole for point in points}
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
    if axis == "nu" and row["nu"] in (None, rate(row["noise"])):
        _, _, radius = row["noise"].partition(",")
        settings["noise"] = f"boundary, radius {radius}" if radius else "varied"
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

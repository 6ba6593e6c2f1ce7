"""Bounds at the rows of a study: what they need to know of a row, and which bound is whose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from replical.bounds.complexity import BOUNDS
from replical.bounds.scanning import scanning
from replical.classes.spec import known_theta
from replical.errors import ValueOutOfRange
from replical.plans.catalogue import find
from replical.study.results import Row
from replical.worlds.noise import BoundaryNoise, parse_noise


def own_thetas(rows: Iterable[Row]) -> dict[str, float]:
    """Θ of each class on its own population, where it is known: by theory, or because all plans were made with it."""
    thetas: dict[str, set[float]] = defaultdict(set)
    for row in rows:
        if (known := known_theta(row["class"])) is not None:
            thetas[row["class"]] = {known}
        elif row["theta"] is not None:
            thetas[row["class"]].add(row["theta"])
    return {spec: values.pop() for spec, values in thetas.items() if len(values) == 1}


def rate(noise: str) -> float:
    """How often labels are flipped, where they are."""
    read = parse_noise(noise)
    return read.rate if isinstance(read, BoundaryNoise) else read


def place(row: Row, axis: str, thetas: Mapping[str, float]) -> float | None:
    """Where a row lies on an axis."""
    if axis == "theta" and row["theta"] is None:
        return thetas.get(row["class"])
    if axis == "nu" and row["nu"] is None:
        return rate(row["noise"])
    value: float | None = row[axis]
    return value


def paper_bound(row: Row, axis: str, thetas: Mapping[str, float]) -> float | None:
    """The paper's bound at a row, without its constant; None where there is none."""
    return _bound(find(row["learner"]).bounds.paper, row, axis, thetas)


def our_bound(row: Row, axis: str, thetas: Mapping[str, float]) -> float | None:
    """The bound of the plan "tight" at a row; where it is Theorem R1, the size of the pool is the study's."""
    bounds, theta = find(row["learner"]).bounds, place(row, "theta", thetas)
    if bounds.scanning and theta is not None and row["pool_size"] != "exact":
        return scanning(int(row["hypotheses"]), theta, int(row["pool_size"]))
    return _bound(bounds.ours, row, axis, thetas) if row["plan"] == "tight" else None


def _bound(names: tuple[str | None, str | None], row: Row, axis: str, thetas: Mapping[str, float]) -> float | None:
    """A bound at a row; None where there is none, or Θ is not known and does not cancel."""
    nu = place(row, "nu", thetas) or 0.0
    name = names[nu > 0]
    if name is None:
        return None
    bound, theta = BOUNDS[name], place(row, "theta", thetas)
    if theta is None and bound.setting == "realizable" and axis not in ("hypotheses", "theta"):
        theta = 1.0  # a factor of every realizable bound: slopes do not see it
    arguments = {**row, "n": int(row["hypotheses"]), "theta": theta, "nu": nu}
    if any(arguments[need] is None for need in bound.needs):
        return None
    labels: Callable[..., float] = bound.labels
    try:
        return labels(**{need: arguments[need] for need in bound.needs})
    except ValueOutOfRange:
        return None

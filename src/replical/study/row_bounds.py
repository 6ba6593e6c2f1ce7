"""Bounds at the rows of a study: what they need to know of a row, and which bound is whose."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from math import log

from replical.bounds.complexity import BOUNDS
from replical.errors import ValueOutOfRange
from replical.study.results import Row
from replical.worlds.noise import BoundaryNoise, parse_noise

# The paper's bound for each learner, realizable and agnostic. It has none for rounding, whose task is that of its own
# replicable learners.
_Names = tuple[str | None, str | None]
_PAPER: dict[str, _Names] = {
    "erm": ("passive", "passive_agnostic"),
    "cal": ("cal", None),
    "cal-rounds": ("cal", None),
    "a2": ("a2", "a2"),
    "a2-paired": ("a2", "a2"),
    "a2-rounds": ("a2", "a2"),
    "replicable-erm": ("replicable_passive", "replicable_passive_agnostic"),
    "replical": ("replical", None),
    "replica2": ("replica2", "replica2"),
    "rounded-cal": ("replical", None),
    "rounded-a2": ("replica2", "replica2"),
    "boosted-replicable-erm": ("replicable_passive_boosted", None),
    "boosted-replical": ("replical_boosted", None),
    "boosted-replica2": ("replica2_boosted", "replica2_boosted"),
}
_OURS: dict[str, _Names] = {
    "replicable-erm": ("replicable_passive_tight", "replicable_passive_agnostic_tight"),
    "replical": ("replical_tight", None),
    "replica2": ("replica2_tight", "replica2_tight"),
}


def own_thetas(rows: Iterable[Row]) -> dict[str, float]:
    """Θ of each class on its own population, where it is known: by theory, or because all plans were made with it."""
    seen: dict[str, set[float]] = defaultdict(set)
    for row in rows:
        kind, _, size = row["class"].partition(":")
        if kind in ("thresholds", "star") and size.isdigit():
            seen[row["class"]] = {2.0 if kind == "thresholds" else float(size)}
        elif row["theta"] is not None:
            seen[row["class"]].add(row["theta"])
    return {spec: values.pop() for spec, values in seen.items() if len(values) == 1}


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
    return _bound(_PAPER.get(row["learner"], (None, None)), row, axis, thetas)


def our_bound(row: Row, axis: str, thetas: Mapping[str, float]) -> float | None:
    """The bound of the plan "tight" at a row; for rounding over CAL Theorem R1, whose size of the pool is the study's."""
    theta = place(row, "theta", thetas)
    if row["learner"] == "rounded-cal" and theta is not None and row["pool_size"] != "exact":
        items = float(row["pool_size"])
        A = min(theta * (1 + log(row["hypotheses"])), items)
        return 2 + A * (1 + log(items / A))
    return _bound(_OURS.get(row["learner"], (None, None)), row, axis, thetas) if row["plan"] == "tight" else None


def _bound(names: _Names, row: Row, axis: str, thetas: Mapping[str, float]) -> float | None:
    """A bound at a row; None where there is none, or Θ is not known and does not cancel."""
    nu = place(row, "nu", thetas) or 0.0
    name = names[nu > 0]
    if name is None:
        return None
    bound, theta = BOUNDS[name], place(row, "theta", thetas)
    if theta is None and bound.setting == "realizable" and axis not in ("hypotheses", "theta"):
        theta = 1.0  # a factor of every realizable bound: slopes do not see it
    given = {**row, "n": int(row["hypotheses"]), "theta": theta, "nu": nu}
    if any(given[need] is None for need in bound.needs):
        return None
    labels: Callable[..., float] = bound.labels
    try:
        return labels(**{need: given[need] for need in bound.needs})
    except ValueOutOfRange:
        return None

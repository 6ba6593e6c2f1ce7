"""A result for people in a notebook: a small table, and how it got there."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from replical.errors import MissingExtra

if TYPE_CHECKING:
    from replical.learners.base import Result


def html_of(result: Result) -> str:
    """The answer, what it cost, what was proven, and conditions that did not hold."""
    rounding = result.rounding
    rows: dict[str, Any] = {
        "hypothesis": "none: no heavy hitter" if result.hypothesis is None else result.hypothesis,
        "labels": result.labels,
        "survivors": result.V.size,
        "rounds": len(result.rounds),
    }
    if rounding is not None and rounding.rho_proven is not None:
        rows["certified"] = "yes" if rounding.certified else "no"
        rows["rho proven"] = f"{rounding.rho_proven:.4f}"
    for condition in result.conditions:
        if not condition.held:
            rows[f"not held: {condition.name}"] = f"{condition.value:g} (bound {condition.bound:g})"
    cells = "".join(
        f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in rows.items()
    )
    return f"<table>{cells}</table>"


def steps(result: Result) -> tuple[list[int], list[float], list[int]]:
    """Labels asked so far, Δ(V) and |V|, from the first label to the end."""
    asked, labels, masses, sizes = 0, [], [], []
    for each in result.rounds:
        labels.append(asked)
        masses.append(each.disagreement[0] / each.disagreement[1])
        sizes.append(each.survivors)
        asked += each.drawn
    return [*labels, asked], [*masses, float(result.V.mass)], [*sizes, result.V.size]


def figure_of(result: Result) -> Any:
    """Disagreement and survivors against labels asked."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("figures need matplotlib: install it with pip install 'replical[plot]'") from error
    labels, masses, sizes = steps(result)
    figure = Figure(figsize=(6, 3.2), layout="constrained")
    left = figure.add_subplot()
    left.plot(labels, masses, color="#009E73", label="disagreement Δ(V)")
    left.set(xlabel="labels asked", ylabel="disagreement Δ(V)", ylim=(0, None))
    right = left.twinx()
    right.semilogy(labels, sizes, color="#D55E00", linestyle="--", label="survivors")
    right.set_ylabel("survivors")
    figure.legend(loc="upper right", bbox_to_anchor=(0.85, 0.95), frameon=False, fontsize=8)
    return figure

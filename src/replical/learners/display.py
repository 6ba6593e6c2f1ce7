"""A result for people in a notebook: a small table, and how it got there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from replical.errors import MissingExtra


@dataclass(frozen=True, kw_only=True)
class Trace:
    """How a run went, before each exchange and at the end.

    Attributes
    ----------
    labels
        Labels asked so far.
    masses
        Δ(V), the mass of DIS(V).
    survivors
        Hypotheses in V.
    """

    labels: list[int]
    masses: list[float]
    survivors: list[int]


def html_table(rows: Mapping[str, object]) -> str:
    """Names and values as a table.

    Examples
    --------
    >>> html_table({"labels": 7})
    '<table><tr><th>labels</th><td>7</td></tr></table>'
    """
    cells = "".join(
        f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in rows.items()
    )
    return f"<table>{cells}</table>"


def picture_of(trace: Trace) -> Any:
    """Disagreement and survivors against labels asked."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("figures need matplotlib: install it with pip install 'replical[plot]'") from error
    figure = Figure(figsize=(6, 3.2), layout="constrained")
    left = figure.add_subplot()
    left.plot(trace.labels, trace.masses, color="#009E73", label="disagreement Δ(V)")
    left.set(xlabel="labels asked", ylabel="disagreement Δ(V)", ylim=(0, None))
    right = left.twinx()
    right.semilogy(trace.labels, trace.survivors, color="#D55E00", linestyle="--", label="survivors")
    right.set_ylabel("survivors")
    figure.legend(loc="upper right", bbox_to_anchor=(0.85, 0.95), frameon=False, fontsize=8)
    return figure

"""Curves of a study: labels against ε, ρ, |C|, Θ and ν."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from math import exp, fsum, log
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replical.study.judging import list_few
from replical.study.pictures import style
from replical.study.results import AXES, SCALES, Growth, Row, argument, growths
from replical.study.spec import PARAMETERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAMES = {
    "epsilon": "target error ε",
    "rho": "how often two labs may differ, ρ",
    "hypotheses": "hypotheses in the class, |C|",
    "theta": "disagreement coefficient Θ",
    "nu": "error of the best hypothesis, ν",
}
_PANEL = ("class", "noise", "epsilon", "delta")  # curves that share these share a panel
_MOST_PANELS = 4  # of one picture: more do not fit on a page
_PANEL_HEIGHT, _LINE, _WIDTH = 2.6, 0.19, 9.5  # inches: a panel at least, a line of its legend, the figure


def curves(rows: Sequence[Row], folder: Path) -> list[style.Picture]:
    """One picture for each parameter that was varied, several where there are many panels."""
    series = growths(rows)
    pictures = []
    for axis in AXES:
        panels = _panels([each for each in series if each.axis == axis])
        parts = [panels[start : start + _MOST_PANELS] for start in range(0, len(panels), _MOST_PANELS)]
        for number, part in enumerate(parts, 1):
            name = f"labels-{axis}" + (f"-{number}" if number > 1 else "")
            title = f"Labels against {_NAMES[axis]}" + (f" ({number} of {len(parts)})" if len(parts) > 1 else "")
            drawn = [growth for panel in part for growth in panel]
            pictures.append(style.write_picture(_figure(part, axis), folder, name, title, _caption(drawn, axis)))
    return pictures


def _panels(series: list[Growth]) -> list[list[Growth]]:
    """Curves by world; in each the highest first, as they will be seen."""
    panels: dict[str, list[Growth]] = defaultdict(list)
    for growth in series:
        panels[repr([growth.settings.get(name) for name in _PANEL])].append(growth)
    return [sorted(panel, key=lambda each: -max(point.labels for point in each.points)) for panel in panels.values()]


def _figure(panels: list[list[Growth]], axis: str) -> Figure:
    """Panels below each other, each with its legend beside it."""
    heights = [max(_PANEL_HEIGHT, _LINE * (len(panel) + 2)) for panel in panels]
    figure = style.new_figure(_WIDTH, sum(heights))
    grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        _draw_panel(axes, panel, axis)
    return figure


def _draw_panel(axes: Axes, panel: list[Growth], axis: str) -> None:
    from matplotlib.lines import Line2D

    entries = []
    for growth in panel:
        x, y = [point.x for point in growth.points], [point.labels for point in growth.points]
        shade, line = style.colour(growth.learner), style.dashes(growth.learner, growth.plan)
        axes.errorbar(
            x, y, yerr=_error_bars(growth), linewidth=1, elinewidth=1.2, capsize=2.5, color=shade, linestyle=line
        )
        style.draw_markers(axes, [point.row for point in growth.points], zip(x, y, strict=True))
        if growth.power.paper is not None:
            axes.plot(x, _bound_line(growth, growth.power.paper), color=shade, linestyle=":", linewidth=1.2)
        look: dict[str, Any] = {
            "color": shade,
            "linestyle": line,
            "linewidth": 1.2,
            "marker": style.marker(growth.learner),
        }
        entries.append(Line2D([], [], markersize=style.marker_size(growth.learner), label=_name(growth, panel), **look))
    labels = [point.labels for growth in panel for point in growth.points]
    axes.set(xscale="log", yscale="log", xlabel=_NAMES[axis], ylabel="labels per lab")
    axes.set_title(_shared_settings(panel), loc="left")
    room = max(2.0, (max(labels) / min(labels)) ** 0.06)  # for whole markers, however many powers of ten there are
    axes.set_ylim(min(labels) / room, max(labels) * room)
    axes.legend(handles=entries, loc="upper left", bbox_to_anchor=(1.02, 1), fontsize=7.5)
    _set_ticks(axes, sorted({point.x for growth in panel for point in growth.points}))
    if axis in ("epsilon", "rho"):
        axes.invert_xaxis()


def _error_bars(growth: Growth) -> list[list[float]]:
    """Standard errors; on an axis of logarithms they end above 0."""
    return [[min(point.error, 0.9 * point.labels) for point in growth.points], [point.error for point in growth.points]]


def _bound_line(growth: Growth, slope: float) -> list[float]:
    """A line of this slope through the middle of the points: bounds have no constant."""
    at = [log(argument(SCALES[growth.axis], point.x)) for point in growth.points]
    middle = fsum(at) / len(at)
    height = fsum(log(point.labels) for point in growth.points) / len(at)
    return [exp(min(height + slope * (each - middle), 700)) for each in at]  # beyond 700 a double is infinite


def _set_ticks(axes: Axes, values: list[float]) -> None:
    """Ticks at the values tried, if they are few and apart; otherwise those of the axis."""
    style.log_ticks(axes.yaxis)
    style.log_ticks(axes.xaxis)
    apart = (values[-1] / values[0]) ** (1 / 12)  # a twelfth of the axis: room for a number
    if all(after / before > apart for before, after in pairwise(values)):
        axes.set_xticks(values, [style.tick_text(value) for value in values])


def _differences(panel: list[Growth]) -> list[str]:
    """Parameters in which the curves of a panel differ, beside the learner and its plan."""
    names = [name for name in PARAMETERS if name not in ("learner", "plan", "theta", "nu")]
    values = {name: {repr(g.settings[name]) for g in panel if g.settings.get(name) is not None} for name in names}
    return [name for name in names if len(values[name]) > 1]


def _name(growth: Growth, panel: list[Growth]) -> str:
    parts = (growth.learner, style.describe(growth.settings, ["plan", *_differences(panel)]))
    return ", ".join(part for part in parts if part)


def _shared_settings(panel: list[Growth]) -> str:
    """What all curves of a panel share."""
    shared: dict[str, Any] = {}
    for growth in panel:
        shared |= {name: value for name, value in growth.settings.items() if name not in _differences(panel)}
    points = [point for growth in panel for point in growth.points]
    if len({point.row["class"] for point in points}) > 1:
        shared["class"] += ",N" if ":" in shared["class"] else ":N"
    return style.describe(shared, ("class", "noise", "epsilon", "rho", "pool_size"))


def _caption(drawn: list[Growth], axis: str) -> str:
    """The exponents of each learner, in words."""
    by_learner: dict[str, list[Growth]] = defaultdict(list)
    for growth in drawn:
        by_learner[f"{growth.learner} ({growth.plan})"].append(growth)
    parts = []
    for name, mine in by_learner.items():
        paper = [growth.power.paper for growth in mine if growth.power.paper is not None]
        parts.append(
            f"{name} {_span([growth.power.fitted for growth in mine])}" + (f" [{_span(paper)}]" if paper else "")
        )
    return (
        f"Fitted exponents of {SCALES[axis]}, in brackets those of the paper's bound (dotted): {list_few(parts, 7)}. "
        "Points are means with standard errors, half filled where nothing is proven; vacuous cells are among them."
    )


def _span(values: list[float]) -> str:
    low, high = (f"{round(value, 2) + 0.0:.2f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"

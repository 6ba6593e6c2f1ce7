"""Labels against ε, ρ, |C|, Θ and ν, with fitted exponents beside those of the bounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from math import exp, fsum, log
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from replical.study.growth import AXES, SCALES, Growth, Slopes, argument, growths
from replical.study.parameters import PARAMETERS
from replical.study.phrases import listed
from replical.study.pictures.base import GREY, Picture, by_tens, dots, in_words, plainly, write_picture
from replical.study.pictures.style import blank, colour, dashes
from replical.study.results import Row

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
# Inches: a panel and what is left of it, above it and from one to the next; the note below and its letters; the table.
_LEFT, _WIDTH, _LEAST, _HEAD, _BETWEEN, _FOOT, _LETTER = 0.75, 4.9, 2.0, 0.35, 0.85, 0.55, 0.062
_GAP, _GROUP, _LINE = 0.15, 2.05, 0.19
_COLUMNS = (0.95, 1.4, 1.85)  # right ends of fitted, paper, ours
_NOTE = (
    "Points: mean labels per lab, with standard errors; dotted: slope of the paper's bound at the same points. For rounded "
    "learners that is the bound of the paper's own replicable learner; ours is the bound of the plan tight, for "
    "rounded-cal Theorem R1. Half filled: not proven. Vacuous cells are drawn too: this is about labels, not agreement."
)


def curves(rows: Sequence[Row], folder: Path) -> list[Picture]:
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
            pictures.append(write_picture(_figure(part, axis), folder, name, title, _caption(drawn, axis)))
    return pictures


def _panels(series: list[Growth]) -> list[list[Growth]]:
    """Curves by world; in each the highest first, as they will be seen."""
    panels: dict[str, list[Growth]] = defaultdict(list)
    for growth in series:
        panels[repr([growth.settings.get(name) for name in _PANEL])].append(growth)
    return [sorted(panel, key=lambda each: -max(point.labels for point in each.points)) for panel in panels.values()]


def _figure(panels: list[list[Growth]], axis: str) -> Figure:
    """Panels below each other with their tables beside them, all places in inches."""
    heights = [max(_LEAST, _LINE * (len(panel) + 2)) for panel in panels]
    side = max(_named(panel) for panel in panels) + _GROUP * (2 if axis == "epsilon" else 1)
    width, height = _LEFT + _WIDTH + side, sum(heights) + _BETWEEN * len(panels) + _FOOT
    figure = blank(width, height)
    figure.set_layout_engine("none")
    top = height
    for panel, tall in zip(panels, heights, strict=True):
        low = top - _HEAD - tall
        _draw(figure.add_axes((_LEFT / width, low / height, _WIDTH / width, tall / height)), panel, axis)
        left = _LEFT + _WIDTH + _GAP
        place = (left / width, low / height, 1 - left / width, tall / height)
        _table(figure.add_axes(place, xlim=(0, width - left), ylim=(-tall, 0)), panel, axis)
        top -= tall + _BETWEEN
    figure.text(0.1 / width, 0.1 / height, fill(_NOTE, int(width / _LETTER)), fontsize=7.5, color=GREY)
    return figure


def _draw(axes: Axes, panel: list[Growth], axis: str) -> None:
    for growth in panel:
        x, y = [point.x for point in growth.points], [point.labels for point in growth.points]
        look: dict[str, Any] = {"color": colour(growth.learner), "linestyle": _dashes(growth)}
        axes.errorbar(x, y, yerr=_bars(growth), linewidth=1, elinewidth=1.2, capsize=2.5, **look)
        dots(axes, [point.row for point in growth.points], zip(x, y, strict=True))
        if growth.paper is not None:
            axes.plot(x, _through(growth, growth.paper), color=colour(growth.learner), linestyle=":", linewidth=1.2)
    labels = [point.labels for growth in panel for point in growth.points]
    axes.set(xscale="log", yscale="log", xlabel=_NAMES[axis], ylabel="labels per lab")
    axes.set_title(_common(panel), loc="left")
    axes.set_ylim(min(labels) / 2, max(labels) * 2)
    _ticks(axes, sorted({point.x for growth in panel for point in growth.points}))
    if axis in ("epsilon", "rho"):
        axes.invert_xaxis()


def _bars(growth: Growth) -> list[list[float]]:
    """Standard errors; on an axis of logarithms they end above 0."""
    return [
        [min(point.error, 0.9 * point.labels) for point in growth.points],
        [point.error for point in growth.points],
    ]


def _through(growth: Growth, slope: float) -> list[float]:
    """A line of this slope through the middle of the points: bounds have no constant."""
    at = [log(argument(SCALES[growth.axis], point.x)) for point in growth.points]
    middle = fsum(at) / len(at)
    height = fsum(log(point.labels) for point in growth.points) / len(at)
    return [exp(min(height + slope * (each - middle), 700)) for each in at]  # beyond 700 a double is infinite


def _ticks(axes: Axes, values: list[float]) -> None:
    """Ticks at the values tried, if they are few and apart; otherwise those of the axis."""
    by_tens(axes.yaxis)
    by_tens(axes.xaxis)
    apart = (values[-1] / values[0]) ** (1 / 12)  # a twelfth of the axis: room for a number
    if all(after / before > apart for before, after in pairwise(values)):
        axes.set_xticks(values, [plainly(value) for value in values])


def _table(axes: Axes, panel: list[Growth], axis: str) -> None:
    """Exponents beside the panel, one line a curve, all in inches: it is the legend as well."""
    axes.axis("off")
    width = axes.get_xlim()[1]
    groups: list[tuple[str, list[Slopes]]] = [(SCALES[axis], [growth.power for growth in panel])]
    if axis == "epsilon":
        groups.append(("ln(1/ε)", [growth.logged for growth in panel if growth.logged is not None]))
    for number, (scale, slopes) in enumerate(groups):
        left = width - _GROUP * (len(groups) - number) + 0.1
        axes.text(left + _COLUMNS[-1], -0.05, f"exponent of {scale}", ha="right", fontsize=8, weight="bold")
        for line, words in enumerate([("fitted", "paper", "ours"), *map(_columns, slopes)], 1):
            for column, word in zip(_COLUMNS, words, strict=True):
                axes.text(
                    left + column,
                    -line * _LINE - 0.05,
                    word,
                    ha="right",
                    fontsize=7.5,
                    color=GREY if line == 1 else "black",
                )
    for line, growth in enumerate(panel, 2):
        axes.text(0.45, -line * _LINE - 0.05, _name(growth, panel), fontsize=7.5)
        y = -line * _LINE - 0.015  # the middle of small letters
        axes.plot([0.05, 0.37], [y, y], linewidth=1.2, color=colour(growth.learner), linestyle=_dashes(growth))
        dots(axes, [growth.points[0].row | {"replicable": False}], [(0.21, y)])


def _dashes(growth: Growth) -> str:
    return dashes(growth.learner, growth.plan)


def _named(panel: list[Growth]) -> float:
    """Inches the names of a panel need."""
    return _GAP + 0.5 + 0.06 * max(len(_name(growth, panel)) for growth in panel)


def _columns(slopes: Slopes) -> tuple[str, str, str]:
    def text(value: float | None) -> str:
        return "–" if value is None else f"{round(value, 2) + 0.0:.2f}"  # no -0.00

    return f"{text(slopes.fitted)} ± {slopes.error:.2f}", text(slopes.paper), text(slopes.ours)


def _differing(panel: list[Growth]) -> list[str]:
    """Parameters in which the curves of a panel differ, beside the learner and its plan."""
    names = [name for name in PARAMETERS if name not in ("learner", "plan", "theta", "nu")]
    values = {name: {repr(g.settings[name]) for g in panel if g.settings.get(name) is not None} for name in names}
    return [name for name in names if len(values[name]) > 1]


def _name(growth: Growth, panel: list[Growth]) -> str:
    parts = (growth.learner, in_words(growth.settings, ["plan", *_differing(panel)]))
    return ", ".join(part for part in parts if part)


def _common(panel: list[Growth]) -> str:
    """What all curves of a panel share."""
    shared: dict[str, Any] = {}
    for growth in panel:
        shared |= {name: value for name, value in growth.settings.items() if name not in _differing(panel)}
    points = [point for growth in panel for point in growth.points]
    if len({point.row["class"] for point in points}) > 1:
        shared["class"] += ",N" if ":" in shared["class"] else ":N"
    return in_words(shared, ("class", "noise", "epsilon", "rho", "pool_size"))


def _caption(drawn: list[Growth], axis: str) -> str:
    """The exponents of each learner, in words."""
    by_learner: dict[str, list[Growth]] = defaultdict(list)
    for growth in drawn:
        by_learner[f"{growth.learner} ({growth.plan})"].append(growth)
    parts = []
    for name, mine in by_learner.items():
        paper = [growth.paper for growth in mine if growth.paper is not None]
        parts.append(f"{name} {_span([growth.fitted for growth in mine])}" + (f" [{_span(paper)}]" if paper else ""))
    return f"Fitted exponents of {SCALES[axis]}, in brackets those of the paper's bound: {listed(parts, 7)}."


def _span(values: list[float]) -> str:
    low, high = (f"{round(value, 2) + 0.0:.2f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"

"""Figures with one colour a learner everywhere. Needs matplotlib: ``pip install 'replical[plot]'``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from replical.bills import ABSURD, Setting, bills
from replical.errors import BadSpec, MissingExtra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# One colour a learner everywhere: Okabe and Ito's, told apart by everybody, and darker shades of them for noisy labels; a
# boosted learner has the colour of its base and dots.
COLOURS = {
    "erm": "#999999",
    "cal": "#56B4E9",
    "cal-rounds": "#0072B2",
    "a2": "#E69F00",
    "a2-paired": "#B07900",
    "a2-rounds": "#6E4B00",
    "replicable-erm": "#CC79A7",
    "replical": "#D55E00",
    "replica2": "#8C2D04",
    "rounded-cal": "#009E73",
    "rounded-a2": "#00614A",
}
# No two learners have one marker, so that figures can be read without colours too.
MARKERS = {
    "erm": "v",
    "cal": "o",
    "cal-rounds": "p",
    "a2": "s",
    "a2-paired": "d",
    "a2-rounds": "h",
    "replicable-erm": "^",
    "replical": "D",
    "replica2": "X",
    "rounded-cal": "*",
    "rounded-a2": "P",
    "boosted-replicable-erm": "<",
    "boosted-replical": ">",
    "boosted-replica2": "8",
}
AXES = {
    "epsilon": ("target error ε", np.geomspace(0.2, 0.001, 25)),
    "rho": ("how often two labs may differ, ρ", np.geomspace(0.5, 0.001, 25)),
    "class": ("hypotheses in the class, |C|", np.geomspace(10, 1e9, 25)),
    "theta": ("disagreement coefficient Θ", np.geomspace(1, 100, 25)),
}
_FORMATS = (".svg", ".png", ".pdf")
_BOOSTED = "boosted-"
_STYLE = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.markersize": 6,
}


def colour(learner: str) -> str:
    """The colour of a learner; a boosted one has that of its base.

    Examples
    --------
    >>> colour("boosted-replical") == colour("replical")
    True
    """
    return COLOURS[learner.removeprefix(_BOOSTED)]


def dashes(learner: str, plan: str) -> str:
    """The line of a learner: solid, dashed with the paper's sizes, dotted if boosted."""
    return ":" if learner.startswith(_BOOSTED) else "--" if plan == "paper" else "-"


@contextmanager
def style() -> Iterator[None]:
    """Our style, whatever the user has set for other figures."""
    blank()  # says what to install
    import matplotlib.style

    with matplotlib.style.context(["default", _STYLE]):
        yield


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format its name ends in."""
    check_name(path)
    import matplotlib as mpl

    try:
        with mpl.rc_context({"svg.hashsalt": "replical"}):  # the same figure, the same bytes
            figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise BadSpec(f"cannot write the figure {path}: {error.strerror or error}") from error


def check_name(path: Path) -> None:
    """Refuse a name whose format is unknown, before anything is computed."""
    if path.suffix not in _FORMATS:
        raise BadSpec(f"a figure is written as {', '.join(_FORMATS)}, got {path.name!r}")


def blank(width: float = 9, height: float = 5.5) -> Figure:
    """An empty figure in our style."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("figures need matplotlib: install it with pip install 'replical[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def bills_figure(setting: Setting, against: str) -> Figure:
    """Label bills of all learners that apply, as one public number varies: the paper's comparison as a picture."""
    if against not in AXES:
        raise BadSpec(f"bills are drawn against {', '.join(AXES)}, got {against!r}")
    label, values = AXES[against]
    curves: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for x in values.tolist():
        for bill in bills(_varied(setting, against, x)):
            if bill.applies and bill.labels is not None:
                curves.setdefault((bill.learner, bill.plan), []).append((x, float(bill.labels)))
    figure = blank()
    axes = figure.add_subplot()
    for (learner, plan), points in sorted(curves.items(), key=lambda curve: -curve[1][-1][1]):
        boosted = learner.startswith(_BOOSTED)
        axes.loglog(
            *zip(*points, strict=True),
            color=colour(learner),
            linestyle=dashes(learner, plan),
            linewidth=1 if boosted else 2.5 if learner.startswith("rounded") else 1.6,
            alpha=0.6 if boosted and plan == "paper" else 1,
            label=f"{learner} ({plan})",
        )
    axes.axhline(ABSURD, color="black", linewidth=0.6)
    line = ("axes fraction", "data")
    axes.annotate("a million labels", (0.99, ABSURD), xycoords=line, fontsize=8, ha="right", va="bottom")
    if against in ("epsilon", "rho"):
        axes.invert_xaxis()
    axes.set(xlabel=label, ylabel="labels a lab", title=_title(setting, against))
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


def _varied(setting: Setting, against: str, x: float) -> Setting:
    if against == "class":
        return replace(setting, n=round(x))
    if against == "epsilon":
        return replace(setting, epsilon=x)
    return replace(setting, rho=x) if against == "rho" else replace(setting, theta=x)


def _title(setting: Setting, against: str) -> str:
    shown = {"class": f"|C| = {setting.n:,}", "epsilon": f"ε = {setting.epsilon:g}", "rho": f"ρ = {setting.rho:g}"}
    shown |= {"theta": "" if setting.theta is None else f"Θ = {setting.theta:g}"}
    shown |= {"delta": f"δ = {setting.delta:g}", "nu": f"ν = {setting.nu:g}" if setting.nu else "realizable"}
    return ", ".join(text for name, text in shown.items() if name != against and text)

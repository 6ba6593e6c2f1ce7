"""Label bills of all learners as one public number varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from replical.errors import BadSpec
from replical.learners.bills import ABSURD, bills
from replical.learners.catalogue import find
from replical.learners.plan import Setting
from replical.study.pictures.style import colour, dashes, log_ticks, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXES = {
    "epsilon": ("target error ε", np.geomspace(0.2, 0.001, 25)),
    "rho": ("how often two labs may differ, ρ", np.geomspace(0.5, 0.001, 25)),
    "class": ("hypotheses in the class, |C|", np.geomspace(10, 1e9, 25)),
    "theta": ("disagreement coefficient Θ", np.geomspace(1, 100, 25)),
}


def bills_picture(setting: Setting, against: str) -> Figure:
    """Label bills of all learners that apply, as one public number varies: the paper's comparison as a picture."""
    if against not in AXES:
        raise BadSpec(f"bills are drawn against {', '.join(AXES)}, got {against!r}")
    label, values = AXES[against]
    curves: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for x in values.tolist():
        for bill in bills(_varied(setting, against, x)):
            if bill.applies and bill.labels is not None:
                curves.setdefault((bill.learner, bill.plan), []).append((x, float(bill.labels)))
    with style():
        figure = new_figure(9.5, 5.5)
        axes = figure.add_subplot(title=_title(setting, against), xlabel=label, ylabel="labels per lab")
        for (learner, plan), points in sorted(curves.items(), key=lambda curve: -curve[1][-1][1]):
            axes.loglog(
                *zip(*points, strict=True),
                color=colour(learner),
                linestyle=dashes(learner, plan),
                linewidth=_width(learner),
                alpha=0.6 if find(learner).boosts and plan == "paper" else 1,
                label=f"{learner} ({plan})",
            )
        axes.axhline(ABSURD, color="black", linewidth=0.8, label="a million labels")
        log_ticks(axes.xaxis)
        log_ticks(axes.yaxis)
        if against in ("epsilon", "rho"):
            axes.invert_xaxis()
        axes.legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def legend_below(axes: Axes, columns: int = 1, entries: Sequence[Any] | None = None) -> None:
    """The legend of a panel below it, where no curve is; without entries those of its labelled lines."""
    handles = axes.get_legend_handles_labels()[0] if entries is None else entries
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns)


def _width(learner: str) -> float:
    """Those that prove what they promise stand out."""
    record = find(learner)
    return 1 if record.boosts else 2.5 if record.certifies else 1.6


def _varied(setting: Setting, against: str, x: float) -> Setting:
    if against == "class":
        return replace(setting, n=round(x))
    if against == "epsilon":
        return replace(setting, epsilon=x)
    return replace(setting, rho=x) if against == "rho" else replace(setting, theta=x)


def _title(setting: Setting, against: str) -> str:
    parts = {"class": f"|C| = {setting.n:,}", "epsilon": f"ε = {setting.epsilon:g}", "rho": f"ρ = {setting.rho:g}"}
    parts |= {"theta": "" if setting.theta is None else f"Θ = {setting.theta:g}"}
    parts |= {"delta": f"δ = {setting.delta:g}", "nu": f"ν = {setting.nu:g}" if setting.nu else "realizable"}
    return ", ".join(text for name, text in parts.items() if name != against and text)

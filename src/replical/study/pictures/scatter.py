"""All cells at once: what labels buy in agreement, and whether labs foresaw it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from replical.plans.bills import ABSURD
from replical.study.judging import done
from replical.study.phrases import percent, some, span
from replical.study.pictures.base import GREY, Picture, by_tens, dots, keys, vacuous_note, with_zero, write_picture
from replical.study.pictures.style import blank, colour
from replical.study.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_FEW = 6  # values of ρ whose lines have room for their names
_FAR = 1e9  # labels: with more of them, what can be paid for has a panel of its own
_DASHED = (0, (4, 3))
_FORESEEN = ("rho_predicted", "rho_proven", "expected_jaccard")


def difference_scatter(rows: Sequence[Row], folder: Path) -> list[Picture]:
    """How often two labs differ, against what each of them paid."""
    every = [row for row in done(rows) if row["labels_mean"] and row["disagreement"] is not None]
    ran = [row for row in every if not row["vacuous"]]
    if not ran:
        return []
    words = _difference_caption(ran) + vacuous_note(len(every) - len(ran))
    floor = 0.4 / max(row["pairs"] for row in ran)  # below the smallest share that can be counted
    limit = ABSURD if max(row["labels_mean"] for row in ran) > _FAR else inf
    paid = [row for row in ran if row["labels_mean"] <= limit]
    parts = [part for part in (paid, [row for row in ran if row["labels_mean"] > limit]) if part]
    figure = blank(9.5, 5)
    panels = figure.subplots(1, len(parts), sharey=True, squeeze=False, width_ratios=[2, 1][: len(parts)])[0]
    for axes, part in zip(panels, parts, strict=True):
        _shares(axes, part, floor)
        by_tens(axes.xaxis, most=9 if axes is panels[0] else 5)
        _promised(axes, [row["rho"] for row in ran if row["replicable"]], floor, named=axes is panels[-1])
    panels[0].set(ylim=(floor / 1.4, 1.1), ylabel="share of pairs that differ")
    with_zero(panels[0].yaxis, floor)
    if len(parts) == 2:
        panels[0].set_xlabel("labels per lab, up to a million")
        panels[1].set_xlabel("over a million")
    figure.legend(handles=keys(ran), loc="outside right center")
    return [write_picture(figure, folder, "disagreement", "Disagreement against labels", words)]


def _shares(axes: Axes, rows: Sequence[Row], floor: float) -> None:
    """Each cell with its 95% interval."""
    x = [row["labels_mean"] for row in rows]
    bars = ([max(row["disagreement_low"], floor) for row in rows], [row["disagreement_high"] for row in rows])
    axes.set(xscale="log", yscale="log", xlabel="labels per lab", xlim=(min(x) / 1.6, max(x) * 1.6))
    axes.vlines(x, *bars, colors=[colour(row["learner"]) for row in rows], linewidth=0.8, alpha=0.4)
    dots(axes, rows, ((row["labels_mean"], max(row["disagreement"], floor)) for row in rows))
    axes.axhspan(floor / 2, floor * 1.2, color="#eeeeee", zorder=0, linewidth=0)


def _promised(axes: Axes, promised: Iterable[float | None], floor: float, *, named: bool) -> None:
    """What was promised: a line for each ρ that so many pairs can tell from 0."""
    rhos = sorted({rho for rho in promised if rho is not None and rho > floor})
    for rho in rhos:
        axes.axhline(rho, color="black", linewidth=0.8, linestyle=_DASHED, zorder=1)
        if named and len(rhos) <= _FEW:
            at = ("axes fraction", "data")
            axes.annotate(f"ρ = {rho:g}", (1.01, rho), xycoords=at, va="center", fontsize=8, annotation_clip=False)


def _difference_caption(rows: Sequence[Row]) -> str:
    sentences, parts = [], []
    for name, wanted in (("a replicable learner", True), ("a learner that promises nothing", False)):
        mine = [row for row in rows if bool(row["replicable"]) == wanted]
        if mine:
            share = span([row["disagreement"] for row in mine], percent)
            parts.append(f"with {name} {share} of pairs differ for {span([row['labels_mean'] for row in mine])} labels")
    sentences.append("; ".join(parts).capitalize())
    counted = [row for row in rows if row["replicable"] and row["rho"] is not None]
    if counted:
        below = sum(row["disagreement"] <= row["rho"] for row in counted)
        cells = some(len(counted), "replicable cell that counts", "replicable cells that count")
        sentences.append(f"The share is at most ρ in {below} of {cells}")
    floor = ", and no pair differed in cells on the grey floor" if any(row["disagreement"] == 0 for row in rows) else ""
    return ". ".join([*sentences, f"Lines are 95% intervals{floor}."])


def estimate_scatter(rows: Sequence[Row], folder: Path) -> list[Picture]:
    """How often labs differ by their own estimate, and by their proof, against what was measured."""
    every = [row for row in done(rows) if row["rho_predicted"] is not None and row["expected_jaccard"] is not None]
    ran = [row for row in every if not row["vacuous"]]
    if not ran:
        return []
    values = [[row[name] for name in _FORESEEN if row[name] is not None] for row in ran]
    floor = min((value for each in values for value in each if value > 0), default=0.01) / 1.5
    high = max(max(each) for each in values)
    figure = blank(8, 4.6)
    axes = figure.add_subplot(xscale="log", yscale="log")
    for row in ran:
        _foreseen(axes, row, floor)
    dots(axes, ran, (_place(row, floor) for row in ran))
    axes.plot([floor / 2, 1], [floor / 2, 1], color="black", linewidth=0.8, linestyle=_DASHED, zorder=1)
    tallest = max(row["expected_jaccard"] + 2 * (row["jaccard_error"] or 0.0) for row in ran)
    axes.set(xlim=(floor / 1.3, max(high * 1.3, floor * 4)), ylim=(floor / 1.3, max(tallest * 1.3, floor * 4)))
    axes.set(xlabel="foreseen by the labs: predicted and proven", ylabel="measured: E[J] with its 95% interval")
    for axis, name in ((axes.xaxis, "rho_predicted"), (axes.yaxis, "expected_jaccard")):
        if any(row[name] == 0 for row in ran):
            with_zero(axis, floor)
        else:
            by_tens(axis)
    figure.legend(handles=[*keys(ran), *_bar_keys()], loc="outside right center")
    words = _estimate_caption(ran) + vacuous_note(len(every) - len(ran))
    return [write_picture(figure, folder, "predicted", "Predicted against measured disagreement", words)]


def _place(row: Row, floor: float) -> tuple[float, float]:
    return max(row["rho_predicted"], floor), max(row["expected_jaccard"], floor)


def _foreseen(axes: Axes, row: Row, floor: float) -> None:
    """The interval of what was measured, and a line to what was proven."""
    (x, y), shade = _place(row, floor), colour(row["learner"])
    error = 1.96 * (row["jaccard_error"] or 0.0)
    axes.vlines(x, max(y - error, floor), y + error, color=shade, linewidth=0.9, alpha=0.7)
    if row["rho_proven"]:
        axes.plot([x, row["rho_proven"]], [y, y], color=shade, linewidth=0.6, alpha=0.4)
        axes.plot(row["rho_proven"], y, marker="|", markersize=8, color=shade)


def _bar_keys() -> list[Line2D]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], color=GREY, linestyle="none", marker="|", markersize=8, label="proven by the labs"),
        Line2D([], [], color="black", linewidth=0.8, linestyle=_DASHED, label="predicted = measured"),
    ]


def _estimate_caption(rows: Sequence[Row]) -> str:
    ratios = [row["rho_predicted"] / row["expected_jaccard"] for row in rows if row["expected_jaccard"]]
    proven = [row for row in rows if row["rho_proven"] is not None]
    above = sum(row["rho_proven"] >= row["expected_jaccard"] for row in proven)
    sentences = [f"Labs predicted {span(ratios)} times what was measured."] if ratios else []
    if proven:
        sentences.append(f"What they proved is at least what was measured in {above} of {some(len(proven), 'cell')}.")
    return " ".join(sentences) or "Labs predicted that they would not differ, or did not."

"""What replicability costs in each world: a line a cell, from its parent's labels to its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from replical.learners.bills import ABSURD
from replical.learners.catalogue import LEARNERS, find
from replical.study.judging import (
    count,
    finished_rows,
    list_few,
    missing_proof,
    number,
    parents,
    replicable_rows,
    span,
)
from replical.study.pictures.style import (
    GREY,
    Picture,
    colour,
    describe,
    draw_markers,
    legend_entries,
    log_ticks,
    new_figure,
    tick_text,
    write_picture,
)
from replical.study.results import Row
from replical.study.spec import PARAMETERS, Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WORLD = ("class", "noise", "epsilon", "delta", "pool_size")
# What may tell two cells of a world apart; the last two are found for every cell, and told only where nothing else does.
_SETTINGS = tuple(name for name in PARAMETERS if name not in (*_WORLD, "learner", "theta", "nu"))
_GIVEN = "theta_given"  # the study file says which coefficient the plan has; else it was computed
_MOST_LINES = 48  # of one picture: as many as a page holds
# Inches: the panel, a line, the space between worlds, what is above and below, a letter, the least width.
_PANEL, _LINE, _SPACE, _ABOVE, _BELOW, _LETTER, _LEAST = 4.4, 0.2, 0.1, 0.35, 0.5, 0.064, 9.0
_KEYS = 5  # columns of the legend
_COLUMNS = (1.16, 1.34)  # right ends of two columns of numbers, in widths of the panel

Line = tuple[Row, Row | None]


def costs(cells: Sequence[Cell], rows: Sequence[Row], folder: Path) -> list[Picture]:
    """For each world the labels of every replicable learner, beside its parent; vacuous cells are left out."""
    ids = {cell.id for cell in cells if cell.parameters.get("theta") is not None}
    lines = [line for line in _lines([row | {_GIVEN: row["cell"] in ids} for row in rows]) if not line[0]["vacuous"]]
    parts = [lines[start : start + _MOST_LINES] for start in range(0, len(lines), _MOST_LINES)]
    pictures = []
    for each, part in enumerate(parts, 1):
        name = "cost" + (f"-{each}" if each > 1 else "")
        title = "Cost of replicability per world" + (f" ({each} of {len(parts)})" if len(parts) > 1 else "")
        pictures.append(write_picture(_figure(part), folder, name, title, _caption(part)))
    return pictures


def _lines(rows: Sequence[Row]) -> list[Line]:
    """Replicable cells, world by world, each with its parent; where that was not run, with the parent's next of kin."""
    ran = [row for row in finished_rows(rows) if row["labels_mean"]]
    own = parents(ran)
    plain = {(row["learner"], *_world(row)): row for row in ran if not row["replicable"]}
    lines: list[Line] = []
    for row in replicable_rows(ran):
        kin = [plain.get((name, *_world(row))) for name in _kin(row["learner"])]
        lines.append((row, own.get(row["cell"]) or next((each for each in kin if each is not None), None)))
    return sorted(lines, key=lambda line: (*_order(line[0]), line[0]["labels_mean"], str(line[0]["cell"])))


def _kin(learner: str) -> list[str]:
    """Learners of the same setting that promise nothing, those that fit either setting last."""
    plain = [record for record in LEARNERS.values() if not record.replicable]
    settings = dict.fromkeys((find(learner).setting, "either"))
    return [each.id for setting in settings for each in plain if each.setting == setting]


def _world(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _WORLD)


def _order(row: Row) -> tuple[object, ...]:
    """Worlds by kind of class, noise and pool; in each kind small classes and large errors first."""
    kind = row["class"].partition(":")[0]
    return (row["noise"], kind, row["hypotheses"] or 0, row["class"], row["pool_size"], -row["epsilon"], row["delta"])


def _figure(lines: list[Line]) -> Figure:
    worlds: dict[tuple[object, ...], list[Line]] = defaultdict(list)
    for line in lines:
        worlds[_world(line[0])].append(line)
    drawn = [row for line in lines for row in line if row is not None]
    entries = legend_entries(drawn)
    names = 0.2 + _LETTER * max(len(_world_name(cell)) for cell, _ in lines)
    apart = _PANEL * (_COLUMNS[1] - 0.96) + _LETTER * max(len(_distinction(line, lines)) for line in lines)
    tall = len(lines) * _LINE + len(worlds) * _SPACE
    width = max(names + _PANEL + apart, _LEAST)
    height = tall + _ABOVE + _LINE * ceil(len(entries) / _KEYS) + _BELOW
    figure = new_figure(width, height)
    figure.set_layout_engine("none")
    axes = figure.add_axes((names / width, _BELOW / height, _PANEL / width, tall / height), ylim=(-tall, 0))
    axes.set(xscale="log", xlabel="labels per lab")
    _set_reach(axes, [row["labels_mean"] for row in drawn])
    _draw_worlds(axes, list(worlds.values()))
    figure.legend(handles=entries, loc="upper left", bbox_to_anchor=(0, 1), ncols=_KEYS, columnspacing=1.2)
    return figure


def _draw_worlds(axes: Axes, worlds: list[list[Line]]) -> None:
    """World by world from the top, every other one on grey."""
    top = 0.0
    for place, mine in enumerate(worlds):
        under = top - len(mine) * _LINE - _SPACE
        if place % 2:
            axes.axhspan(under, top, color="#f4f4f4", zorder=0, linewidth=0)
        _draw_world(axes, mine, top - _SPACE / 2)
        top = under
    axes.tick_params(left=False, labelleft=False)
    axes.grid(visible=False, axis="y")
    for at, word in zip(_COLUMNS, ("labels", "× parent"), strict=True):
        axes.text(at, 0.06, word, transform=axes.get_yaxis_transform(), ha="right", fontsize=7.5, color=GREY)


def _world_name(cell: Row) -> str:
    return describe(cell, ("class", "noise", "epsilon", "pool_size"))


def _set_reach(axes: Axes, labels: list[float]) -> None:
    """As far as the labels go; shaded where nobody could pay for them."""
    low, high = min(labels) / 1.6, max(labels) * 1.6
    axes.set_xlim(low, high)
    log_ticks(axes.xaxis)
    if max(labels) > ABSURD:
        axes.axvspan(max(low, ABSURD), high, color="#D55E00", alpha=0.08, linewidth=0, zorder=0.5)


def _draw_world(axes: Axes, lines: list[Line], top: float) -> None:
    """The lines of one world, with its name at the left and numbers at the right."""
    side = axes.get_yaxis_transform()
    axes.text(-0.02, top - _LINE / 2, _world_name(lines[0][0]), transform=side, ha="right", va="center", fontsize=8)
    for place, line in enumerate(lines):
        cell, parent = line
        y = top - (place + 0.5) * _LINE
        ends = [each for each in (parent, cell) if each is not None]
        x = [each["labels_mean"] for each in ends]
        broken = "--" if missing_proof(cell) else "-"
        axes.plot(x, [y] * len(x), linewidth=1.3, zorder=2, color=colour(cell["learner"]), linestyle=broken)
        draw_markers(axes, ends, [(each, y) for each in x])
        words = (count(cell["labels_mean"]), "–" if parent is None else number(_ratio(cell, parent)))
        for at, word in zip(_COLUMNS, words, strict=True):
            axes.text(at, y, word, transform=side, ha="right", va="center", fontsize=8)
        axes.text(
            _COLUMNS[1] + 0.04, y, _distinction(line, lines), transform=side, va="center", fontsize=7.5, color=GREY
        )


def _ratio(cell: Row, parent: Row) -> float:
    return float(cell["labels_mean"] / parent["labels_mean"])


def _distinction(line: Line, lines: list[Line]) -> str:
    """What tells a cell from others of its world, and what to beware of."""
    cell = line[0]
    same = ("learner", *_WORLD, *_SETTINGS)
    alike = [other for other, _ in lines if all(other[name] == cell[name] for name in same)]
    mixed = len({other.get(_GIVEN) for other in alike}) > 1
    parts = [describe(cell, _SETTINGS)]
    for name in ("theta", "nu"):
        if len({other[name] for other in alike}) > 1 or (mixed and name == "theta"):
            parts.append(describe(cell, [name]) + (" given" if mixed and name == "theta" and cell[_GIVEN] else ""))
    parts += ["uncertified"] if missing_proof(cell) else []
    return ", ".join(filter(None, parts))


def _caption(lines: list[Line]) -> str:
    ratios: dict[str, list[float]] = defaultdict(list)
    for cell, parent in lines:
        if parent is not None:
            ratios[f"{cell['learner']} ({cell['plan']})"].append(_ratio(cell, parent))
    parts = [f"{name} {_ratio_span(values)}" for name, values in sorted(ratios.items())]
    first = "Labels in multiples of those of the parent, which promises nothing, in the same world: "
    first = f"{first}{list_few(parts, 5)}." if parts else "No world has a learner without a promise to compare with."
    shaded = any(row["labels_mean"] > ABSURD for line in lines for row in line if row is not None)
    return first + (f" Shaded: over {tick_text(ABSURD)} labels, which nobody could pay for." if shaded else "")


def _ratio_span(ratios: list[float]) -> str:
    words = span(ratios)
    return f"{words} (median {number(median(ratios))})" if " to " in words else words

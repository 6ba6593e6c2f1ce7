"""Two labs of one pair, side by side: how their version spaces shrink, label by label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from replical.errors import ReplicalError
from replical.plans.catalogue import LEARNERS
from replical.study.phrases import count, some
from replical.study.pictures.base import Picture, by_tens, in_words, write_picture
from replical.study.pictures.style import blank, colour
from replical.study.results import Row
from replical.study.spec import Cell, Study
from replical.worlds.audit import Lab, run_pair
from replical.worlds.experiment import prepare

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TRIES = 3  # cells that may refuse to run before the picture is given up


def traces(study: Study, cells: Sequence[Cell], rows: Sequence[Row], folder: Path) -> list[Picture]:
    """The first pair of the first suitable cell, run again."""
    for tries, cell in enumerate(_suitable(cells, rows)):
        if tries == _TRIES:
            break
        try:
            ready = prepare(cell.experiment, seed=study.seed)
            _, labs = run_pair(ready.learner, ready.world, cell.seed, 0)
        except ReplicalError:
            continue
        if all(lab.result.rounds for lab in labs):
            words = _caption(cell, labs)
            return [write_picture(_figure(cell, labs), folder, "courses", "Two labs side by side", words)]
    return []


def _suitable(cells: Sequence[Cell], rows: Sequence[Row]) -> Iterator[Cell]:
    """Cells with finite pools that were run: rounding first, and first of all where it shows something."""
    done = {row["cell"]: row for row in rows if row["status"] == "done"}
    certifying = [record for record in LEARNERS.values() if record.rounds]
    for learners in ([record.id for record in certifying], [record.parent for record in certifying]):
        candidates = [cell for cell in cells if cell.id in done and cell.parameters["learner"] in learners]
        finite = [cell for cell in candidates if cell.parameters["pool_size"] != "exact"]
        yield from sorted(finite, key=lambda cell: bool(done[cell.id]["vacuous"]))


def _figure(cell: Cell, labs: Sequence[Lab]) -> Figure:
    figure = blank(9, 4.6)
    panels = figure.subplots(2, 2, sharex=True, sharey="row")
    shade, epsilon = colour(cell.parameters["learner"]), cell.parameters["epsilon"]
    for lab, name, (above, below) in zip(labs, "AB", panels.T, strict=True):
        trace = lab.result.trace()
        labels, masses, sizes = trace.labels, trace.masses, trace.survivors
        _staircase(above, labels, sizes, shade)
        _staircase(below, labels, masses, shade)
        below.axhline(epsilon, color="black", linewidth=0.8, linestyle=(0, (4, 3)))
        below.annotate("ε", (1.01, epsilon), xycoords=("axes fraction", "data"), va="center", annotation_clip=False)
        answer = "no answer" if lab.result.hypothesis is None else f"answer h = {lab.result.hypothesis}"
        above.set_title(f"lab {name}: {some(lab.result.labels, 'label')}, {answer}", loc="left")
        below.set_xlabel("labels asked")
    panels[0, 0].set(ylabel="survivors |V|", xlim=(0, 1.12 * max(lab.result.labels for lab in labs)))
    panels[1, 0].set_ylabel("disagreement Δ(V)")
    for axes in panels[:, 0]:
        by_tens(axes.yaxis)
    return figure


def _staircase(axes: Axes, labels: list[int], heights: Sequence[float], shade: str) -> None:
    """A staircase on an axis of logarithms; where it ends is written beside its last step, 0 too."""
    steps = [max(each, 0.5 * min(positive for positive in heights if positive > 0)) for each in heights]
    axes.step(labels, steps, where="post", color=shade, linewidth=1.6)
    axes.plot(labels[-1], steps[-1], marker="o", color=shade, markersize=5)
    last = f"{heights[-1]:.2g}" if heights[-1] < 1 else count(heights[-1])
    axes.annotate(last, (labels[-1], steps[-1]), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yscale("log")


def _caption(cell: Cell, labs: Sequence[Lab]) -> str:
    one, two = (lab.result for lab in labs)
    same = "the same hypothesis" if one.hypothesis == two.hypothesis is not None else "different hypotheses"
    before = "the same" if one.unrounded == two.unrounded else "different ones"
    rounded = f"; without rounding they would have returned {before}" if one.rounding is not None else ""
    ends = f"{count(one.V.size)} and {count(two.V.size)} survivors after {one.labels} and {two.labels} labels"
    world = in_words(dict(cell.parameters), ("class", "noise", "epsilon", "rho", "pool_size"))
    return f"{cell.parameters['learner']} on {world}, first pair: {ends}. The labs returned {same}{rounded}."

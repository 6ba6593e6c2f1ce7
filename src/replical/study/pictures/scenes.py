"""DIS(V) shrinking in the plane: CAL over a net of half-planes, as a picture and as a short animation.

A scene of its own, made from the study's seed: most worlds of a study cannot be drawn.

The disagreement coefficient as a picture: what a ball disputes, divided by its radius, as the ball grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from replical.classes.catalogue import parse
from replical.classes.halfspaces import HalfSpaces
from replical.core.randomness import PrivateRandomness
from replical.core.text import plural
from replical.errors import BadSpec
from replical.learners.paper.cal import CAL
from replical.learners.planning import learner_for, plan
from replical.pools.labels import Labels
from replical.pools.pool import AnyPool
from replical.pools.version_space import VersionSpace
from replical.study.judging import count, listed, percent, some
from replical.study.pictures.style import Picture, blank, by_tens, save, style, write_picture
from replical.study.spec import Study
from replical.worlds.theta import Curve, DisagreementCoefficient, ThetaBound
from replical.worlds.world import Population

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SPEC = "halfspaces:2,2000"
_ITEMS = 4000  # points in the pool: enough to see a region, few enough to draw
_EPSILON = 0.005
_AFTER = (0, 3, 8)  # labels after which the picture looks, and at the end
_EDGE = 3.0  # standard deviations that are shown
# Seen on white and on a dark ground: points are pixels, and those do not follow the reader's setting.
_SETTLED = ("#8a8f93", "#c98500")  # where survivors agree: label 0, label 1
_DISPUTED = "#2a8fcb"
_FRAMES, _HOLD, _PACE = 40, 4, 3  # most frames, how many of them at the end, frames a second


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A run of CAL.

    Attributes
    ----------
    points
        The pool.
    spaces
        V before each label, and at the end.
    asked
        Which points were asked, in their order, and their labels.
    """

    C: HalfSpaces
    points: NDArray[np.float64]
    target: int
    spaces: tuple[VersionSpace, ...]
    asked: tuple[tuple[int, int], ...]


def scene(seed: str) -> Scene:
    """Run CAL on a pool from the standard population; the same seed, the same scene."""
    C, cells = parse(_SPEC, seed=seed)
    assert isinstance(C, HalfSpaces), "the spec says so"
    target = int(np.argmin(np.abs(C.offsets)))  # the line that passes nearest to the middle
    lab = PrivateRandomness.simulated(seed, "half-planes")
    population = Population(C, target=target, cells=cells)
    pool = population.pool(_ITEMS, lab)
    cal = learner_for(plan("cal", C, epsilon=_EPSILON, delta=0.05, pool="finite"))
    assert isinstance(cal, CAL), "the plan says so"
    spaces, asked = _watched(cal, pool, population.labels(pool, lab))
    return Scene(C=C, points=np.asarray(pool.items), target=target, spaces=spaces, asked=asked)


def _watched(cal: CAL, pool: AnyPool, labels: Labels) -> tuple[tuple[VersionSpace, ...], tuple[tuple[int, int], ...]]:
    """Run CAL to its own stop, and look at V whenever it does."""
    spaces: list[VersionSpace] = []
    asked: list[tuple[int, int]] = []

    def look(V: VersionSpace) -> bool:
        spaces.append(V)
        return V.mass <= cal.plan.stop_mass

    conversation = cal.shrink(pool, look)
    try:
        query = next(conversation)
        while True:
            answers = labels.answer(query)
            asked.append((int(query.items[0]), int(answers.counts[0].argmax())))
            query = conversation.send(answers)
    except StopIteration:
        return tuple(spaces), tuple(asked)


def halfplanes(study: Study, folder: Path) -> list[Picture]:
    """The picture and the animation."""
    run = scene(study.seed)
    last = len(run.asked)
    looks = [*(after for after in _AFTER if after < last), last]
    figure = blank(2.75 * len(looks), 3.5)
    for axes, after in zip(figure.subplots(1, len(looks), squeeze=False)[0], looks, strict=True):
        _draw(axes, run, after)
    figure.legend(handles=_keys(), loc="outside lower center", ncols=6, columnspacing=1.2, handletextpad=0.3)
    masses = [percent(float(run.spaces[after].mass)) for after in looks]
    left = some(run.spaces[-1].size, "is", "are")
    caption = (
        f"CAL asks only where survivors disagree. After {listed([str(after) for after in looks], 9)} labels DIS(V) holds "
        f"{listed(masses, 9)} of the points; of {count(len(run.C))} half-planes {left} left."
    )
    shades = (*_SETTLED, _DISPUTED)
    still = write_picture(figure, folder, "halfplanes", "DIS(V) shrinking for half-planes", caption, pixels=shades)
    return [still, _animated(run, folder)]


def _animated(run: Scene, folder: Path) -> Picture:
    """One frame a label; the last one stays for a while."""
    from matplotlib.animation import PillowWriter

    last = len(run.asked)
    looks = np.unique(np.linspace(0, last, min(last + 1, _FRAMES - _HOLD)).round().astype(int)).tolist()
    files = (folder / "halfplanes-course.gif", folder / "halfplanes-course.png")
    figure = blank(4.6, 5)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.02, 0.11, 0.96, 0.83))
    figure.legend(handles=_keys(), loc="lower center", ncols=3, fontsize=7.5, handletextpad=0.3)
    writer = PillowWriter(fps=_PACE)
    try:
        with writer.saving(figure, files[0], dpi=80):
            for after in [*looks, *[last] * _HOLD]:
                axes.clear()
                _draw(axes, run, after)
                writer.grab_frame()
    except OSError as error:
        raise BadSpec(f"cannot write the figure {files[0]}: {error.strerror or error}") from error
    save(figure, files[1])
    caption = f"The same run of CAL, label by label: {last} labels. Blue points are those on which survivors disagree."
    return Picture("halfplanes-course", "DIS(V) shrinking, label by label", caption, files)


def _draw(axes: Axes, run: Scene, after: int) -> None:
    """Points after so many labels: disputed or settled, those asked, the target's line."""
    V = run.spaces[after]
    disputed = V.disagreement
    says = V.predictions.codes(int(V.indices[0]))
    for code, shade in enumerate(_SETTLED):
        _spread(axes, run.points[~disputed & (says == code)], shade)
    _spread(axes, run.points[disputed], _DISPUTED)
    w, b = run.C.normals[run.target], run.C.offsets[run.target]
    along = np.array([-2 * _EDGE, 2 * _EDGE])
    axes.plot(b * w[0] - along * w[1], b * w[1] + along * w[0], color="black", linewidth=1.2)
    for code, face in enumerate(("white", "black")):
        at = run.points[[item for item, label in run.asked[:after] if label == code]]
        axes.plot(at[:, 0], at[:, 1], "o", markerfacecolor=face, markeredgecolor="black", markersize=5.5)
    title = f"{after} {plural(after, 'label')}: Δ(V) = {percent(float(V.mass))}, |V| = {count(V.size)}"
    axes.set_title(title, fontsize=8.5)
    axes.spines[:].set_visible(False)
    axes.set(xlim=(-_EDGE, _EDGE), ylim=(-_EDGE, _EDGE), xticks=[], yticks=[], aspect="equal")


def _spread(axes: Axes, points: NDArray[np.float64], shade: str) -> None:
    """Thousands of points: as pixels, in a file of lines too."""
    axes.plot(points[:, 0], points[:, 1], ".", color=shade, markersize=2.6, markeredgewidth=0, rasterized=True)


def _keys() -> list[Line2D]:
    from matplotlib.lines import Line2D

    dots = (("disputed, DIS(V)", _DISPUTED), ("settled, label 0", _SETTLED[0]), ("settled, label 1", _SETTLED[1]))
    asked = (("asked, label 0", "white"), ("asked, label 1", "black"))
    entries = [
        Line2D([], [], linestyle="none", marker=".", color=shade, markersize=9, label=name) for name, shade in dots
    ]
    entries += [
        Line2D([], [], linestyle="none", marker="o", color="black", markerfacecolor=face, markersize=5.5, label=name)
        for name, face in asked
    ]
    return [*entries, Line2D([], [], color="black", linewidth=1.2, label="target")]


_LINE, _BOUND = "#1f77b4", "#555555"
_POINTS = 2000  # along the axis, and as many places where the ball grows, if there are more


def theta_picture(
    curve: Curve, peak: DisagreementCoefficient, title: str, *, r0: float = 0.0, bound: ThetaBound | None = None
) -> Figure:
    """The curve r ↦ Δ(B(h, r))/r, its highest point from `r0` on and, over a pool, how high the population's may be."""
    if len(curve.radii) == 1:
        raise BadSpec(f"nothing to draw: nobody differs from hypothesis {curve.centre}")
    radii, disputed = curve.radii[1:] / curve.total, curve.disputed[1:] / curve.total
    grows = radii[:: -(-len(radii) // _POINTS)]
    r = np.sort(np.concatenate((grows, np.nextafter(grows[1:], 0), np.geomspace(radii[0], 1, _POINTS))))
    with style():
        figure = blank(7, 4)
        axes = figure.add_subplot()
    axes.semilogx(r, disputed[np.searchsorted(radii, r, side="right") - 1] / r, color=_LINE, linewidth=1.4)
    (near, of), value = peak.radius, peak.value
    if near:
        axes.plot([near / of], [value], marker="o", color=_LINE)
        axes.annotate(f"Θ = {value:.4g}", (near / of, value), xytext=(6, 4), textcoords="offset points")
    if r0 > 0:
        axes.axvline(r0, color=_BOUND, linestyle=":", linewidth=1)
        axes.annotate("r0", (r0, 0.02), xycoords=("data", "axes fraction"), xytext=(4, 0), textcoords="offset points")
    if bound is not None:
        axes.axhline(bound.value, color=_BOUND, linestyle="--", linewidth=1)
        words = f"Θ of the population is at most {bound.value:.3g} ({bound.confidence:.0%} confidence)"
        axes.annotate(
            words, (0.99, bound.value), xycoords=("axes fraction", "data"), fontsize=8, ha="right", va="bottom"
        )
    top = max(float((disputed / radii).max()), value, 1.0 if bound is None else bound.value)
    axes.set(
        xlabel="radius r of the ball", ylabel="mass it disputes, over r", title=fill(title, 70), ylim=(0, 1.12 * top)
    )
    by_tens(axes.xaxis, most=7)
    return figure

"""What all pictures of a study share: a picture with its words, how points are drawn, how settings are named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replical.plans.catalogue import LEARNERS
from replical.study.judging import unproven
from replical.study.phrases import some
from replical.study.pictures.style import colour, marker, marker_size, save
from replical.study.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

GREY = "#555555"  # notes and keys that belong to no learner
FILLS = {
    "full": "filled: proven, or no promise",
    "left": "half: measured, not proven",
}
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_LONG = 1e4  # from here on a power of ten is easier to read than its zeros
# An axis on which the last is so many times the first: digits its ticks may begin with.
_BETWEEN = ((200, (1.0,)), (6, (1.0, 2.0, 5.0)), (0, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)))


@dataclass(frozen=True)
class Picture:
    """A picture of a study.

    Attributes
    ----------
    name
        Stem of its files.
    caption
        What is seen, in a sentence or two made from the data.
    files
        SVG and PNG, or GIF and PNG.
    aside
        Is it of vacuous cells? Such a picture is not shown beside those that carry the evidence.
    """

    name: str
    title: str
    caption: str
    files: tuple[Path, ...]
    aside: bool = False


def write_picture(
    figure: Figure,
    folder: Path,
    name: str,
    title: str,
    caption: str,
    *,
    aside: bool = False,
    pixels: Collection[str] = (),
) -> Picture:
    """Write a picture as SVG and PNG."""
    files = (folder / f"{name}.svg", folder / f"{name}.png")
    for path in files:
        save(figure, path, pixels)
        figure.set_layout_engine("none")  # it is laid out now: the other file need not do that again
    return Picture(name, title, caption, files, aside)


def below(axes: Axes, columns: int = 1, entries: Sequence[Line2D] | None = None) -> None:
    """The legend of a panel below it, where no curve is; without entries those of its labelled lines."""
    handles = axes.get_legend_handles_labels()[0] if entries is None else entries
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns)


def by_tens(axis: Axis, most: int = 9) -> None:
    """Ticks of an axis of logarithms: powers of ten where there are several of them, numbers between them otherwise."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(
        LogLocator(subs=next(digits for wide, digits in _BETWEEN if high / low >= wide), numticks=most)
    )
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plainly(value)))


def with_zero(axis: Axis, floor: float) -> None:
    """The same, with 0 at the floor: an axis of logarithms has none."""
    by_tens(axis)
    low, high = axis.get_view_interval()
    ticks = [float(tick) for tick in axis.get_majorticklocs() if max(low, 1.5 * floor) <= tick <= high]
    axis.set_ticks([floor, *ticks], labels=["0", *map(plainly, ticks)])


def plainly(value: float) -> str:
    """A tick: as it is written by hand.

    Examples
    --------
    >>> plainly(0.05), plainly(20.0), plainly(5000.0), plainly(1e5), plainly(2e18), plainly(1e-5)
    ('0.05', '20', '5000', '10⁵', '2·10¹⁸', '10⁻⁵')
    """
    if value == 0 or 1e-3 <= value < _LONG:
        return f"{value:g}"
    digits, _, power = f"{value:.1e}".partition("e")
    raised = str(int(power)).translate(_RAISED)
    return f"10{raised}" if digits == "1.0" else f"{digits.removesuffix('.0')}·10{raised}"


def filled(row: Row) -> str:
    """How the marker of a cell is filled: half if its promise is not proven."""
    return "left" if unproven(row) else "full"


def vacuous_note(left_out: int) -> str:
    """How many cells a picture leaves out because they show nothing."""
    if not left_out:
        return ""
    cells = some(left_out, "vacuous cell is", "vacuous cells are")
    return f" {cells} not drawn: labs agree there without the shared last step too."


def dots(axes: Axes, rows: Iterable[Row], places: Iterable[tuple[float, float]]) -> None:
    """One marker a cell, in the colour and shape of its learner."""
    groups: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for row, place in zip(rows, places, strict=True):
        groups[row["learner"], filled(row)].append(place)
    for (learner, fill), at in groups.items():
        axes.plot(*zip(*at, strict=True), linestyle="none", zorder=3, **_looks(learner, fill))


def keys(rows: Sequence[Row]) -> list[Line2D]:
    """Entries of a legend: the learners that occur, and the fills that occur."""
    from matplotlib.lines import Line2D

    learners = sorted({row["learner"] for row in rows}, key=list(LEARNERS).index)
    fills = {filled(row) for row in rows}
    entries = [Line2D([], [], linestyle="none", label=name, **_looks(name, "full")) for name in learners]
    if fills != {"full"}:
        entries += [
            Line2D([], [], linestyle="none", color=GREY, marker="o", label=words, **_fill(fill, GREY))
            for fill, words in FILLS.items()
            if fill in fills
        ]
    return entries


def _looks(learner: str, fill: str) -> dict[str, Any]:
    return _fill(fill, colour(learner)) | {
        "color": colour(learner),
        "marker": marker(learner),
        "markersize": marker_size(learner),
        "markeredgewidth": 1.1,
    }


def _fill(fill: str, face: str) -> dict[str, Any]:
    """The other half is white, so that lines end at the marker."""
    return {"fillstyle": fill, "markerfacecolor": face, "markerfacecoloralt": "white"}


def setting(name: str, value: Any) -> str:
    """One parameter in words.

    Examples
    --------
    >>> setting("epsilon", 0.05), setting("pool_size", "20000"), setting("noise", "0.0"), setting("query", "halving")
    ('ε = 0.05', '20,000 items', '', 'query halving')
    """
    if name == "pool_size":
        return "exact" if value == "exact" else f"{int(value):,} items"
    if name == "noise":
        return "" if value in (0, "0", "0.0", "varied") else f"noise {value}"
    if name == "plan":
        return "" if value == "tight" else f"plan {value}"
    symbol = {"epsilon": "ε", "rho": "ρ", "delta": "δ", "theta": "Θ", "nu": "ν"}.get(name)
    if symbol is not None:
        return f"{symbol} = {value:g}"
    return str(value) if name == "class" else f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"


def in_words(settings: Mapping[str, Any], names: Iterable[str]) -> str:
    """Some parameters in words, those that are there."""
    parts = [setting(name, settings[name]) for name in names if settings.get(name) is not None]
    return ", ".join(part for part in parts if part)

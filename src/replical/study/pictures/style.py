"""How every picture looks: a colour and a marker a learner, ticks, legends, light and dark grounds.

An SVG stays as it was drawn, for a white ground; a style sheet inside it turns it dark on a dark screen. So it works
wherever a browser shows it, also as an image of a page, and programs that know no style sheets see the light figure.
Needs matplotlib: ``pip install 'replical[plot]'``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replical.errors import BadSpec, need
from replical.learners.catalogue import find
from replical.study.judging import missing_proof
from replical.study.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_FORMATS = (".svg", ".png", ".pdf")
_LARGER = {"*": 9.5, ".": 8, "P": 7, "X": 7, "D": 5.5}
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
    return find(learner).colour


def marker(learner: str) -> str:
    """The marker of a learner, its own."""
    return find(learner).marker


def marker_size(learner: str) -> float:
    """Points: markers of one size look as if they had several."""
    return _LARGER.get(marker(learner), 6)


def dashes(learner: str, plan: str) -> str:
    """The line of a learner: solid, dashed with the paper's sizes, dotted if boosted."""
    return ":" if find(learner).boosts else "--" if plan == "paper" else "-"


@contextmanager
def style() -> Iterator[None]:
    """Our style, whatever the user has set for other figures."""
    new_figure()  # says what to install
    import matplotlib.style

    with matplotlib.style.context(["default", _STYLE]):
        yield


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format its name ends in; an SVG follows the reader's light or dark setting."""
    if path.suffix not in _FORMATS:
        raise BadSpec(f"a figure is written as {', '.join(_FORMATS)}, got {path.name!r}")
    import matplotlib as mpl

    kind, content = path.suffix[1:], BytesIO()
    with mpl.rc_context({"svg.hashsalt": "replical"}):  # the same figure, the same bytes
        figure.savefig(content, format=kind, dpi=160, metadata={"Date": None} if kind == "svg" else None)
    drawn = content.getvalue()
    try:
        path.write_bytes(follow_scheme(drawn.decode()).encode() if kind == "svg" else drawn)
    except OSError as error:
        raise BadSpec(f"cannot write the figure {path}: {error.strerror or error}") from error


def new_figure(width: float = 9, height: float = 5.5) -> Figure:
    """An empty figure in our style."""
    made: Figure = need("matplotlib.figure", "figures need matplotlib").Figure(
        figsize=(width, height), layout="constrained"
    )
    return made


GREY = "#555555"  # notes and keys that belong to no learner
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_LONG = 1e4  # from here on a power of ten is easier to read than its zeros
# An axis on which the last is so many times the first: digits its ticks may begin with.
_BETWEEN = ((200, (1.0,)), (6, (1.0, 2.0, 5.0)), (0, (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)))


@dataclass(frozen=True)
class Picture:
    """A picture of a study: stem of its files, title, what is seen in a sentence or two, its SVG and PNG."""

    name: str
    title: str
    caption: str
    files: tuple[Path, ...]


def write_picture(figure: Figure, folder: Path, name: str, title: str, caption: str) -> Picture:
    """Write a picture as SVG and PNG."""
    files = (folder / f"{name}.svg", folder / f"{name}.png")
    for path in files:
        save(figure, path)
        figure.set_layout_engine("none")  # it is laid out now: the other file need not do that again
    return Picture(name, title, caption, files)


def log_ticks(axis: Axis) -> None:
    """Ticks of an axis of logarithms: powers of ten where there are several of them, numbers between them otherwise."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=next(digits for wide, digits in _BETWEEN if high / low >= wide), numticks=9))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))


def tick_text(value: float) -> str:
    """A tick: as it is written by hand.

    Examples
    --------
    >>> tick_text(0.05), tick_text(20.0), tick_text(5000.0), tick_text(1e5), tick_text(2e18), tick_text(1e-5)
    ('0.05', '20', '5000', '10⁵', '2·10¹⁸', '10⁻⁵')
    """
    if value == 0 or 1e-3 <= value < _LONG:
        return f"{value:g}"
    digits, _, power = f"{value:.1e}".partition("e")
    raised = str(int(power)).translate(_RAISED)
    return f"10{raised}" if digits == "1.0" else f"{digits.removesuffix('.0')}·10{raised}"


def fill_style(row: Row) -> str:
    """How the marker of a cell is filled: half if its promise is not proven."""
    return "left" if missing_proof(row) else "full"


def draw_markers(axes: Axes, rows: Iterable[Row], places: Iterable[tuple[float, float]]) -> None:
    """One marker a cell, in the colour and shape of its learner."""
    groups: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for row, place in zip(rows, places, strict=True):
        groups[row["learner"], fill_style(row)].append(place)
    for (learner, fill), at in groups.items():
        shade = colour(learner)
        # The other half is white, so that lines end at the marker.
        axes.plot(
            *zip(*at, strict=True), linestyle="none", zorder=3, color=shade, marker=marker(learner), fillstyle=fill,
            markersize=marker_size(learner), markeredgewidth=1.1, markerfacecolor=shade, markerfacecoloralt="white",
        )  # fmt: skip


def describe_setting(name: str, value: Any) -> str:
    """One parameter in words.

    Examples
    --------
    >>> describe_setting("epsilon", 0.05), describe_setting("pool_size", "20000"), describe_setting("noise", "0.0")
    ('ε = 0.05', '20,000 items', '')
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


def describe(settings: Mapping[str, Any], names: Iterable[str]) -> str:
    """Some parameters in words, those that are there."""
    parts = [describe_setting(name, settings[name]) for name in names if settings.get(name) is not None]
    return ", ".join(part for part in parts if part)


# On a dark screen light and dark change places, and every colour keeps its hue.
_DARK = (
    "<style>@media screen and (prefers-color-scheme: dark) { svg { filter: invert(.89) hue-rotate(180deg) } }</style>"
)


def follow_scheme(svg: str) -> str:
    """The same figure with a style sheet for dark screens; a figure that has one is left as it is.

    Examples
    --------
    >>> follow_scheme('<svg width="9"></svg>').startswith('<svg width="9"><style>')
    True
    """
    return svg if _DARK in svg else re.sub(r"<svg\b[^>]*>", lambda found: found[0] + _DARK, svg, count=1)

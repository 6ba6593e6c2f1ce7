"""How every picture looks: a colour and a marker a learner, ticks, legends, light and dark grounds.

An SVG stays as it was drawn, for a white ground; a style sheet inside it gives every colour another one on a dark screen.
So it works wherever a browser shows it, also as an image of a page, and programs that know no style sheets see the light
figure. Needs matplotlib: ``pip install 'replical[plot]'``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replical.errors import BadSpec, MissingExtra
from replical.learners.catalogue import LEARNERS, find
from replical.study.judging import missing_proof
from replical.study.results import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

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


def width(learner: str) -> float:
    """How wide the line of a learner is: those that prove what they promise stand out."""
    record = find(learner)
    return 1 if record.boosts else 2.5 if record.certifies else 1.6


@contextmanager
def style() -> Iterator[None]:
    """Our style, whatever the user has set for other figures."""
    new_figure()  # says what to install
    import matplotlib.style

    with matplotlib.style.context(["default", _STYLE]):
        yield


def save(figure: Figure, path: Path, pixels: Collection[str] = ()) -> None:
    """Write a figure in the format its name ends in; an SVG follows the reader's light or dark setting.

    `pixels` are colours drawn as pixels, which are the same on any ground.
    """
    check_name(path)
    import matplotlib as mpl

    kind, content = path.suffix[1:], BytesIO()
    with mpl.rc_context({"svg.hashsalt": "replical"}):  # the same figure, the same bytes
        figure.savefig(content, format=kind, dpi=160, metadata={"Date": None} if kind == "svg" else None)
    drawn = content.getvalue()
    try:
        path.write_bytes(follow_scheme(drawn.decode(), pixels).encode() if kind == "svg" else drawn)
    except OSError as error:
        raise BadSpec(f"cannot write the figure {path}: {error.strerror or error}") from error


def check_name(path: Path) -> None:
    """Refuse a name whose format is unknown, before anything is computed."""
    if path.suffix not in _FORMATS:
        raise BadSpec(f"a figure is written as {', '.join(_FORMATS)}, got {path.name!r}")


def new_figure(width: float = 9, height: float = 5.5) -> Figure:
    """An empty figure in our style."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("figures need matplotlib: install it with pip install 'replical[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained")


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


def legend_below(axes: Axes, columns: int = 1, entries: Sequence[Line2D] | None = None) -> None:
    """The legend of a panel below it, where no curve is; without entries those of its labelled lines."""
    handles = axes.get_legend_handles_labels()[0] if entries is None else entries
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns)


def log_ticks(axis: Axis, most: int = 9) -> None:
    """Ticks of an axis of logarithms: powers of ten where there are several of them, numbers between them otherwise."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    axis.set_major_locator(
        LogLocator(subs=next(digits for wide, digits in _BETWEEN if high / low >= wide), numticks=most)
    )
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))


def log_ticks_with_zero(axis: Axis, floor: float) -> None:
    """The same, with 0 at the floor: an axis of logarithms has none."""
    log_ticks(axis)
    low, high = axis.get_view_interval()
    ticks = [float(tick) for tick in axis.get_majorticklocs() if max(low, 1.5 * floor) <= tick <= high]
    axis.set_ticks([floor, *ticks], labels=["0", *map(tick_text, ticks)])


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
        axes.plot(*zip(*at, strict=True), linestyle="none", zorder=3, **_looks(learner, fill))


def legend_entries(rows: Sequence[Row]) -> list[Line2D]:
    """Entries of a legend: the learners that occur, and the fills that occur."""
    from matplotlib.lines import Line2D

    learners = sorted({row["learner"] for row in rows}, key=list(LEARNERS).index)
    fills = {fill_style(row) for row in rows}
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


GROUND, INK = "#1d2425", "#eef2f0"  # of a dark screen, as on the pages of this library
_WHITE = "#ffffff"
_MARK = "prefers-color-scheme: dark"
_MORE = 1.25  # times the contrast: on a dark ground the same ratio looks weaker
_LEAST, _MOST = 4.0, 8.0  # contrast of colours: to be told from the ground, and from each other
_PALE = 1.5  # what has less is a shade behind other things, and stays one
_GREY = 0.02  # chroma below which a colour has no hue

Three = tuple[float, float, float]


def follow_scheme(svg: str, pixels: Collection[str] = ()) -> str:
    """The same figure with a style sheet for dark screens; a figure that has one is left as it is.

    Colours in `pixels` stay: parts of the figure are drawn with them as pixels, which no style sheet reaches.

    Examples
    --------
    >>> print(follow_scheme('<svg width="9"><path style="fill: #ffffff"/></svg>'))
    <svg width="9"><style>@media screen and (prefers-color-scheme: dark) {
    svg { fill: #eef2f0 }
    [style*="fill: #ffffff"] { fill: #1d2425 !important }
    }</style><path style="fill: #ffffff"/></svg>
    """
    if _MARK in svg:
        return svg
    used = sorted(set(re.findall(r"[\" ](fill|stroke): (#[0-9a-f]{6})\b", svg)))
    kept = {shade.lower() for shade in pixels}
    rules = [
        f'[style*="{what}: {shade}"] {{ {what}: {dark_shade(shade)} !important }}'
        for what, shade in used
        if shade not in kept
    ]
    sheet = "\n".join([f"<style>@media screen and ({_MARK}) {{", f"svg {{ fill: {INK} }}", *rules, "}</style>"])
    return re.sub(r"<svg\b[^>]*>", lambda found: found[0] + sheet, svg, count=1)


@cache
def dark_shade(shade: str) -> str:
    """The colour of the same hue that stands out from a dark ground as this one does from white.

    Examples
    --------
    >>> dark_shade("#ffffff"), dark_shade("#000000"), dark_shade("#555555")
    ('#1d2425', '#eef2f0', '#aeb4b2')
    """
    if shade == _WHITE:
        return GROUND
    wanted = contrast(shade, _WHITE)
    _, a, b = _lab(shade)
    first, last = _lab(GROUND), _lab(INK)  # greys lie between them
    if a**2 + b**2 >= _GREY**2:
        first, last = (first[0], a, b), (1.0, a, b)
        wanted = wanted if wanted <= _PALE else min(max(_MORE * wanted, _LEAST), _MOST)
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if contrast(_between(first, last, middle), GROUND) < wanted else (low, middle)
    return _between(first, last, high)


def _between(first: Three, last: Three, share: float) -> str:
    return _hex(*((1 - share) * one + share * two for one, two in zip(first, last, strict=True)))


def contrast(one: str, two: str) -> float:
    """The contrast ratio of two colours, as WCAG computes it.

    Examples
    --------
    >>> contrast("#000000", "#ffffff")
    21.0
    """
    low, high = sorted(_luminance(each) for each in (one, two))
    return (high + 0.05) / (low + 0.05)


def _luminance(shade: str) -> float:
    red, green, blue = _linear(shade)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(shade: str) -> Three:
    """Red, green and blue in proportion to light."""
    parts = (int(shade[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return red, green, blue


def _lab(shade: str) -> Three:
    """Lightness and two coordinates of hue and chroma: OKLab (B. Ottosson, 2020)."""
    red, green, blue = _linear(shade)
    l, m, s = (
        (a * red + b * green + c * blue) ** (1 / 3)
        for a, b, c in (
            (0.4122214708, 0.5363325363, 0.0514459929),
            (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005),
        )
    )
    return (
        0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
        1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
        0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
    )


def _hex(light: float, a: float, b: float) -> str:
    """Back from OKLab; what no screen can show is cut off."""
    l, m, s = (
        (light + x * a + y * b) ** 3
        for x, y in ((0.3963377774, 0.2158037573), (-0.1055613458, -0.0638541728), (-0.0894841775, -1.2914855480))
    )
    parts = (
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    )
    cut = (min(max(each, 0.0), 1.0) for each in parts)
    return "#" + "".join(
        f"{round(255 * (12.92 * each if each <= 0.0031308 else 1.055 * each ** (1 / 2.4) - 0.055)):02x}" for each in cut
    )

"""One style for every picture, a colour and a marker a learner. Needs matplotlib: ``pip install 'replical[plot]'``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from replical.errors import BadSpec, MissingExtra
from replical.plans.catalogue import find
from replical.study.pictures.scheme import follow_scheme

if TYPE_CHECKING:
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


def width(learner: str) -> float:
    """How wide the line of a learner is: those that prove what they promise stand out."""
    record = find(learner)
    return 1 if record.boosts else 2.5 if record.certifies else 1.6


@contextmanager
def style() -> Iterator[None]:
    """Our style, whatever the user has set for other figures."""
    blank()  # says what to install
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


def blank(width: float = 9, height: float = 5.5) -> Figure:
    """An empty figure in our style."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("figures need matplotlib: install it with pip install 'replical[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained")

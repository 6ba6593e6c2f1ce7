"""The figures of a report, as HTML: every picture is inside the page."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replical.study.pictures.draw import Picture

_KINDS = {".svg": "image/svg+xml", ".png": "image/png", ".gif": "image/gif"}
_HALF = 500  # points: the widest figure whose text can be read at half the width of a page of 1100 pixels


def side_by_side(pictures: Sequence[Picture]) -> str:
    """Pictures below and, where they are narrow, beside each other; nothing if there are none."""
    drawn = "".join(map(picture_html, pictures))
    return f'<div class="pictures">{drawn}</div>' if drawn else ""


def picture_html(picture: Picture) -> str:
    """A picture on a card that scrolls where it is too narrow; one that moves can stand still."""
    first, *others = picture.files
    alt = escape(f"{picture.title}. {picture.caption}")
    image, button = f'<img src="{_data(first)}" alt="{alt}">', ""
    if first.suffix == ".gif" and others:
        still = f'<img class="stands" src="{_data(others[0])}" alt="{alt}">'
        image = image.replace("<img", '<img class="moves"', 1) + still
        button = '<button type="button" class="still" hidden>Hold the animation</button>'
    title, caption = escape(picture.title), f"<figcaption>{escape(picture.caption)}</figcaption>"
    card = f'<div class="card" tabindex="0" role="region" aria-label="{title}">{image}</div>'
    look = ' class="wide"' if _wide(first) else ""
    return f'<figure id="figure-{escape(picture.name)}"{look}><h3>{title}</h3>{card}{button}{caption}</figure>'


def _wide(path: Path) -> bool:
    """Is its text too small to read where two figures stand side by side?"""
    width = re.search(rb'<svg[^>]*? width="([0-9.]+)pt"', path.read_bytes()) if path.suffix == ".svg" else None
    return width is not None and float(width[1]) > _HALF


def _data(path: Path) -> str:
    return f"data:{_KINDS[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"

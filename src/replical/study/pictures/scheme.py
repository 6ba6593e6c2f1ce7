"""Figures that follow the reader's light or dark setting.

An SVG stays as it was drawn, for a white ground; a style sheet inside it gives every colour another one on a dark screen.
So it works wherever a browser shows it, also as an image of a page, and programs that know no style sheets see the light
figure. The figure brings its own ground: it can be read on a page whose setting is not the reader's.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

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
        f'[style*="{what}: {shade}"] {{ {what}: {dark(shade)} !important }}'
        for what, shade in used
        if shade not in kept
    ]
    sheet = "\n".join([f"<style>@media screen and ({_MARK}) {{", f"svg {{ fill: {INK} }}", *rules, "}</style>"])
    return re.sub(r"<svg\b[^>]*>", lambda found: found[0] + sheet, svg, count=1)


@cache
def dark(shade: str) -> str:
    """The colour of the same hue that stands out from a dark ground as this one does from white.

    Examples
    --------
    >>> dark("#ffffff"), dark("#000000"), dark("#555555")
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

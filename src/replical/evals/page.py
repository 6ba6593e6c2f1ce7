"""A leaderboard as one page: a picture and a table of how far behind the best everybody is. No outside links."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from replical.core import text
from replical.core.exact import round_down, round_up
from replical.core.text import count, listing
from replical.evals.board import Board, Choice

_DRAWN = 60  # models in the picture
_ROW, _WIDTH, _TOP = 20, 440, 34  # of the picture, in pixels
_NAME, _CHARACTER = 30, 7  # characters of a name beside the picture, and about how wide one is
_AXIS = "behind the best:"


def page(found: Board, chosen: Choice | None, tolerance: float | None, *, title: str) -> str:
    """The page of a board, and of the answer that a published text gives."""
    style = text.stylesheet(text.COMMON, text.READING) + "\n" + _asset("css")
    return Template(_asset("html")).substitute(
        hash=text.policy_hash(style),
        style=style,
        title=escape(title),
        summary="\n".join(f'<p class="summary">{escape(each)}</p>' for each in sentences(found, chosen, tolerance)),
        picture=picture(found),
        drawn=f" The first {_DRAWN} are drawn." if len(found.models) > _DRAWN else "",
        sure=f"{100 * (1 - found.level):g}%",
        rows=_rows(found),
        items=f"{found.items:,}",
    )


def sentences(found: Board, chosen: Choice | None, tolerance: float | None) -> list[str]:
    """What a board says, in words."""
    pairs, several, sure = len(found.models) - 1, len(found.survivors), f"{100 * (1 - found.level):g}%"
    best = found.losses[found.order[0]]
    proven = (
        f"proven to be the best (confidence {sure})"
        if found.proven
        else f"not proven to be the best: {several} of {len(found.models)} models may be (confidence {sure})"
    )
    said = [
        f"First: {found.first}, mean loss {best:.4f} on {count(found.items, 'item')}; {proven}.",
        f"Two draws of half as many items would have the same first in about {100 * found.again:.0f}% of cases (estimate). "
        f"Of {count(pairs, 'pair')} of neighbours {pairs - found.better_than_next.sum():,} cannot be told apart.",
    ]
    if chosen is not None and tolerance is not None:
        how = (
            "proven"
            if chosen.proven
            else f"not proven, it may be {listing(list(chosen.survivors[:3]), len(chosen.survivors))}"
        )
        said.append(
            f"Within {tolerance:g} of the best, by the published text: {chosen.answer} ({how}). Two draws of half as many "
            f"items would give the same answer in about {100 * chosen.again:.0f}% of cases (estimate)."
        )
    return said


def picture(found: Board, *, alone: bool = False) -> str:
    """A bar a model, from the first down: where its distance from the best lies; to be put on a page, or a file `alone`."""
    shown = found.order[:_DRAWN].tolist()
    whole = ["".join(each if each.isprintable() else " " for each in name) for name in found.models]
    names = [name if len(name) <= _NAME else f"{name[:14]}..{name[-14:]}" for name in whole]
    left = 20 + _CHARACTER * max(len(_AXIS), *(len(names[h]) for h in shown))
    widest = max(float(found.high[shown].max()), 1e-6)
    height = _TOP + _ROW * len(shown) + 8

    def x(distance: float) -> str:
        return f"{left + _WIDTH * distance / widest:.1f}"

    parts = [f'<text x="{left - 12}" y="{_TOP - 14}" text-anchor="end">{_AXIS}</text>']
    parts += [
        f'<line class="axis" x1="{x(tick)}" y1="{_TOP - 8}" x2="{x(tick)}" y2="{height - 8}"/>'
        f'<text x="{x(tick)}" y="{_TOP - 14}" text-anchor="middle">{tick:g}</text>'
        for tick in _ticks(widest)
    ]
    best = float(found.losses.min())
    for place, h in enumerate(shown):
        y, kind = _TOP + _ROW * place + 6, ' class="best"' if h in found.survivors else ""
        low, high, here = float(found.low[h]), float(found.high[h]), float(found.losses[h]) - best
        parts.append(
            f"<g{kind}><title>{escape(whole[h])}: {low:.4f} to {high:.4f}</title>"
            f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{escape(names[h])}</text>'
            f'<line class="bar" x1="{x(low)}" y1="{y}" x2="{x(high)}" y2="{y}"/>'
            f'<circle class="dot" cx="{x(min(max(here, low), high))}" cy="{y}" r="4"/></g>'
        )
    about = f"How far behind the best the first {len(shown)} of {len(found.models)} models are"
    box = f'viewBox="0 0 {left + _WIDTH + 30} {height}"'
    if alone:
        box += ' xmlns="http://www.w3.org/2000/svg"'
        parts.insert(0, f"<style>{text.stylesheet(text.COMMON)}\n{_asset('css')}</style>")
    return f'<svg {box} role="img" aria-label="{about}">{"".join(parts)}</svg>'


def _ticks(widest: float) -> list[float]:
    step = next(
        unit * 10.0**power for power in range(-6, 1) for unit in (1, 2, 5) if widest / (unit * 10.0**power) <= 6
    )
    return [round(step * number, 9) for number in range(int(widest / step) + 1)]


def _rows(found: Board) -> str:
    return "".join(
        f"<tr><td class=n>{place}</td><td>{escape(found.models[h])}</td><td class=n>{found.losses[h]:.4f}</td>"
        f"<td class=n>{round_down(float(found.low[h]), 4)}</td><td class=n>{round_up(float(found.high[h]), 4)}</td>"
        f"<td>{'yes' if h in found.survivors else ''}</td></tr>"
        for place, h in enumerate(found.order.tolist(), 1)
    )


def _asset(kind: str) -> str:
    return files("replical.evals").joinpath(f"assets/board.{kind}").read_text(encoding="utf-8")

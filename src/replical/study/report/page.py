"""The figures of a report, as HTML: every picture is inside the page.

A study as the text of a file that can be run again.

The report of a study: one HTML file with all its pictures and tables inside. It asks nothing of any other place.

Made from rows, pictures and facts alone: the same ones give the same bytes.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from replical.core import text as look
from replical.core.files import toml_lines
from replical.study.judging import done, ordered, percent, some, span
from replical.study.report.findings import TERMS, shows, summary_sentence
from replical.study.report.tables import (
    Column,
    cells_table,
    constants,
    does_not_show,
    plain_table,
    refused_table,
    table,
)
from replical.study.results import SCALES, Growth, Row, Slopes, growths, whole
from replical.study.spec import Study
from replical.worlds.audit import COUNTED

if TYPE_CHECKING:
    from replical.study.pictures.draw import Picture
if TYPE_CHECKING:
    from replical.study.pictures.draw import Picture

_HALF = 500  # points: the widest figure whose text can be read at half the width of a page of 1100 pixels


def side_by_side(pictures: Sequence[Picture]) -> str:
    """Pictures below and, where they are narrow, beside each other; nothing if there are none."""
    drawn = "".join(map(picture_html, pictures))
    return f'<div class="pictures">{drawn}</div>' if drawn else ""


def picture_html(picture: Picture) -> str:
    """A picture on a card that scrolls where it is too narrow."""
    first = picture.files[0]
    alt = escape(f"{picture.title}. {picture.caption}")
    image = f'<img src="{_data(first)}" alt="{alt}">'
    title, caption = escape(picture.title), f"<figcaption>{escape(picture.caption)}</figcaption>"
    card = f'<div class="card" tabindex="0" role="region" aria-label="{title}">{image}</div>'
    look = ' class="wide"' if _wide(first) else ""
    return f'<figure id="figure-{escape(picture.name)}"{look}><h3>{title}</h3>{card}{caption}</figure>'


def _wide(path: Path) -> bool:
    """Is its text too small to read where two figures stand side by side?"""
    width = re.search(rb'<svg[^>]*? width="([0-9.]+)pt"', path.read_bytes()) if path.suffix == ".svg" else None
    return width is not None and float(width[1]) > _HALF


def _data(path: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"


def toml(content: Mapping[str, Any]) -> str:
    """A study as a file that can be run again.

    Examples
    --------
    >>> print(toml({"name": "small", "stop": {"pairs": 9}, "grid": [{"rho": [.1, .2]}]}))
    name = "small"
    stop = { pairs = 9 }
    <BLANKLINE>
    [[grid]]
    rho = [0.1, 0.2]
    """
    grids = content.get("grid", [])
    blocks = [toml_lines({key: value for key, value in content.items() if key != "grid"})]
    blocks += [["[[grid]]", *toml_lines(grid)] for grid in grids]
    return "\n\n".join("\n".join(block) for block in blocks)


_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "theta": "Θ", "nu": "ν", "pool_size": "pool"}
_BY_DEFAULT = "Where no plan is named it is tight."
_GROWTH = (
    "Exponents of power laws fitted to the labels, ± standard error, beside the slopes of the bounds at the same points. "
    "A fit says nothing beyond its points."
)
_LEGEND = (
    ("agreement", "share of pairs whose two labs returned the identical hypothesis, with its exact (Clopper-Pearson) 95% "
     "interval; the line goes from 0 to 100%, its tick is the promise 1-ρ"),
    ("✓ within, ○ compatible, ✗ above ρ", "where that interval lies: wholly within the promise, around its border, or "
     "wholly below it, so that labs differ more often than ρ"),
    ("without last step", "agreement of the same labs, on the same labels, without the shared last step"),
    ("E[J]", "expected disagreement of what the shared order chooses from; for rounded learners integrated over the shared "
     "threshold, with far less noise than counting"),
    ("ρ proven", "mean of the bounds labs computed for themselves"),
    ("labels per lab", "mean, ± its standard error over pairs"),
    ("× parent", "labels in those of the ordinary learner it is made from, in the same world"),
    ("excess error", "mean error above that of the best hypothesis, and how many labs ended more than ε above it"),
    ("cell", "below the learner: the name of the cell in results.csv and results.parquet"),
    ("! errors above ε", "more labs than δ allows ended above ε; p is the exact binomial probability of so many, "
     "with labs taken as independent"),
    ("? uncertified", "the promise is not proven for this cell: labs without a certificate, or a plan that proves nothing"),
    ("■ budget reached, cut short", "runs ended at a budget, a cap or the end of the pool, not by their own stop test"),
)  # fmt: skip


def report(study: Study, rows: list[Row], pictures: Sequence[Picture], facts: dict[str, Any]) -> str:
    """The page."""
    rows = ordered(whole(rows))
    quick = bool(facts.get("quick"))
    first = [picture for picture in pictures if picture.name == "headline"]
    others = [picture for picture in pictures if picture not in first and not picture.aside]
    sections = {
        "figures": ("Figures", _figures(others)),
        "cells": ("Cells", _cells(rows)),
        "vacuous": ("Vacuous", _vacuous(rows, pictures)),
        "growth": ("Growth", _growth(rows)),
        "refused": ("Refused", _refused(rows)),
    }
    parts = [
        ("shows", "What this shows and does not show"),
        *((key, name) for key, (name, text) in sections.items() if text),
    ]
    style, script = f"{look.style(look.LOOK, look.READING)}\n{_asset('report.css')}", _asset("report.js")
    return Template(_asset("report.html")).substitute(
        {key: text for key, (_, text) in sections.items()},
        title=escape(study.title),
        name=escape(study.name),
        notes=_notes(study),
        parts="".join(f'<li><a href="#{key}">{name}</a></li>' for key, name in [*parts, ("made", "How it was made")]),
        summary=_prose(summary_sentence(rows)),
        headline="".join(map(picture_html, first)),
        terms=escape(TERMS),
        scope=escape(_scope(rows, quick=quick)),
        shows="".join(f"<h3>{about}</h3>{_items(each)}" for about, each in shows(rows).items()) or "<p>Nothing.</p>",
        does_not_show=_items(does_not_show(rows, study.cells(quick=quick), facts)),
        command=escape(_command(study, facts)),
        versions=_versions(facts),
        listing=escape(toml(study.content)),
        style=style,
        script=script,
        style_hash=look.hash_of(style),
        script_hash=look.hash_of(script),
    )


def _asset(name: str) -> str:
    return files("replical.study.report").joinpath(f"assets/{name}").read_text(encoding="utf-8").strip()


def _notes(study: Study) -> str:
    notes = study.content.get("notes")
    return f'<p class="notes">{escape(str(notes).strip())}</p>' if notes else ""


def _scope(rows: list[Row], *, quick: bool) -> str:
    ran = done(rows)
    pairs = sum(row["pairs"] for row in ran)
    short = "; the short version (--quick)" if quick else ""
    return f"{some(len(ran), 'cell')} run, {some(pairs, 'pair')} of labs, {len(rows) - len(ran)} refused{short}."


def _items(sentences: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{_prose(sentence)}</li>' for sentence in sentences)}</ul>"


def _prose(sentence: str) -> str:
    """A symbol and its number stay on one line, and so does 1-ρ."""
    return re.sub("([εδρΘν]) (?=[0-9])", "\\1&nbsp;", escape(sentence)).replace("1-ρ", "1-&NoBreak;ρ")


def _section(ident: str, name: str, content: str) -> str:
    return f'<section id="{ident}"><h2>{name}</h2>{content}</section>'


def _figures(pictures: Sequence[Picture]) -> str:
    drawn = side_by_side(pictures)
    return _section("figures", "Figures", drawn) if drawn else ""


def _cells(rows: list[Row]) -> str:
    ran = done(rows)
    if not ran:
        return ""
    same = ", ".join(f"{head} {value}" for head, value in constants(ran).items())
    tools = (
        '<div class="tools" hidden><label>Filter <input type="search" placeholder="e.g. rounded noise" autocomplete="off" '
        'spellcheck="false"></label><p role="status"></p></div>'
    )
    legend = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in _LEGEND)
    intro = f"<p>The same in all cells: {escape(same)}. {_BY_DEFAULT}</p>" if same else f"<p>{_BY_DEFAULT}</p>"
    shown = f"{tools}{cells_table(rows)}" if not all(row["vacuous"] for row in ran) else "<p>All are vacuous.</p>"
    return _section("cells", "Cells", f'{intro}{shown}<dl class="legend">{legend}</dl>')


def _vacuous(rows: list[Row], pictures: Sequence[Picture]) -> str:
    """Apart from the evidence, folded: cells that show nothing about replicability, and what labels cost in them."""
    empty = [row for row in done(rows) if row["vacuous"]]
    if not empty:
        return ""
    figures = side_by_side([picture for picture in pictures if picture.aside])
    words = f"{some(len(empty), 'cell')} in which labs agree anyway"
    fold = f"<details><summary>{words}</summary>{cells_table(rows, vacuous=True)}{figures}</details>"
    why = (
        f"Without the shared last step the same labs agree in more than {percent(1 - COUNTED)} of pairs, so that these "
    )
    return _section("vacuous", "Vacuous", f"<p>{why}cells say nothing about replicability.</p>{fold}")


def _growth(rows: list[Row]) -> str:
    lines = [line for growth in growths(rows) for line in _lines(growth)]
    if not lines:
        return ""
    settings = [line.growth.settings for line in lines]
    common = {key for key, value in settings[0].items() if all(each.get(key) == value for each in settings)}
    columns = [
        Column[_Line](head="learner", show=lambda line: escape(line.growth.learner)),
        Column(head="plan", show=lambda line: escape(line.growth.plan)),
        Column(head="all else fixed", show=lambda line: _prose(_fixed(line.growth, common)) or "-", look="wrap"),
        Column(head="labels grow as a power of", show=lambda line: escape(line.scale), look="tight"),
        Column(head="fitted", show=_fitted, value=lambda line: line.slopes.fitted),
        Column(head="paper's bound", show=lambda line: _power(line.slopes.paper), value=lambda line: line.slopes.paper),
        Column(head="our bound", show=lambda line: _power(line.slopes.ours), value=lambda line: line.slopes.ours),
        Column(head="points", show=_points, value=lambda line: len(line.growth.points)),
    ]
    return _section("growth", "Growth", f"<p>{_GROWTH}</p>{table('growth-table', 'Growth of labels', columns, lines)}")


@dataclass(frozen=True)
class _Line:
    """A line of the table of growth."""

    growth: Growth
    scale: str
    slopes: Slopes


def _lines(growth: Growth) -> list[_Line]:
    logged = [_Line(growth, "ln(1/ε)", growth.logged)] if growth.logged else []
    return [_Line(growth, SCALES[growth.axis], growth.power), *logged]


def _fixed(growth: Growth, common: set[str]) -> str:
    """What tells this fit from the others of its learner."""
    left = {key: value for key, value in growth.settings.items() if key not in {*common, "learner", "plan"}}
    words = (
        (_SYMBOLS.get(key, key), f"{value:g}" if isinstance(value, float) else value) for key, value in left.items()
    )
    return ", ".join(f"{key} {value}" for key, value in words)


def _points(line: _Line) -> str:
    x = [point.x for point in line.growth.points]
    return f"{len(x)}, {span(x)}"


def _fitted(line: _Line) -> str:
    return f'{_power(line.slopes.fitted)} <span class="error">± {line.slopes.error:.2f}</span>'


def _power(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 2) + 0:.2f}"


def _refused(rows: list[Row]) -> str:
    left = [row for row in rows if row["status"] == "refused"]
    return _section("refused", "Refused", f"<p>Cells that could not be run.</p>{refused_table(left)}") if left else ""


def _command(study: Study, facts: Mapping[str, Any]) -> str:
    if facts.get("command"):
        return str(facts["command"])
    words = [
        "replical",
        "study",
        f"{study.name}.toml",
        "--out",
        study.name,
        *(["--quick"] if facts.get("quick") else []),
    ]
    return shlex.join(words)


def _versions(facts: Mapping[str, Any]) -> str:
    entries = [(name, version or "not installed") for name, version in (facts.get("versions") or {}).items()]
    entries += [
        (f"cells run by replical {version}", str(cells))
        for version, cells in sorted((facts.get("cells_by_version") or {}).items())
    ]
    entries += [("study fingerprint", facts["fingerprint"])] if "fingerprint" in facts else []
    return plain_table(entries)

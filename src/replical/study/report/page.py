"""The report of a study: one HTML file with all its pictures and tables inside. It asks nothing of any other place.

Made from rows, pictures and facts alone: the same ones give the same bytes.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from replical.core import text
from replical.core.files import toml_lines
from replical.study.judging import amount, finished_rows, sort_rows
from replical.study.report.findings import TERMS, findings, limits, summary_sentence
from replical.study.report.tables import cells_table, constants, growth_table, prose, refused_table
from replical.study.results import Row, growths
from replical.study.spec import Study

if TYPE_CHECKING:
    from replical.study.pictures.style import Picture

_BY_DEFAULT = "Where no plan is named it is tight."
_GROWTH = (
    "Exponents of power laws fitted to the labels, ± standard error, beside the slopes of the bounds at the same points. "
    "For handicap the paper's bound is that of its own replicable learner for noisy labels; ours is that of the plan tight. "
    "A fit says nothing beyond its points."
)
_LEGEND = (
    ("agreement", "share of pairs whose two labs returned the identical hypothesis, with its exact (Clopper-Pearson) 95% "
     "interval; the line goes from 0 to 100%, its tick is the promise 1-ρ"),
    ("✓ within, ○ compatible, ✗ above ρ", "where that interval lies: wholly within the promise, around its border, or "
     "wholly below it, so that labs differ more often than ρ"),
    ("own strings", "agreement of the same labs if each has a string of its own; under it what is left if only the "
     "threshold, or only the order, is its own, and if labs return what errs least on as many labels, without a string"),
    ("E[J]", "expected disagreement of what the shared order chooses from, with less noise than counting"),
    ("ρ proven", "mean of the bounds labs computed for themselves"),
    ("labels per lab", "mean, ± its standard error over pairs"),
    ("× parent", "labels in those of the ordinary learner it is made from, in the same world"),
    ("excess error", "mean error above that of the best hypothesis, and how many labs ended more than ε above it"),
    ("cell", "below the learner: the name of the cell in results.csv and results.parquet"),
    ("! errors above ε", "more labs than δ allows ended above ε; p is the exact binomial probability of so many, "
     "with labs taken as independent"),
    ("∅ vacuous", "labs agree with strings of their own too, and those that take what errs least: the cell says nothing "
     "about replicability"),
    ("? uncertified", "the promise is not proven for this cell: labs without a certificate, or a plan that proves nothing"),
    ("■ budget reached, cut short", "runs ended at a budget, a cap or the end of the pool, not by their own stop test"),
)  # fmt: skip


def report(study: Study, rows: list[Row], pictures: Sequence[Picture], facts: dict[str, Any]) -> str:
    """The page."""
    rows = sort_rows(rows)
    quick = bool(facts.get("quick"))
    sections = {
        "figures": "".join(map(_picture, pictures)),
        "cells": _cells(rows),
        "growth": _growth(rows),
        "refused": _refused_section(rows),
    }
    links = {"shows": "What this shows and does not show"}
    links |= {key: key.capitalize() for key, text in sections.items() if text} | {"made": "How it was made"}
    style, script = f"{text.stylesheet(text.COMMON, text.READING)}\n{_asset('report.css')}", _asset("report.js")
    return Template(_asset("report.html")).substitute(
        {key: _section(key, text) if text else "" for key, text in sections.items()},
        title=escape(study.title),
        name=escape(study.name),
        notes=_notes(study),
        parts="".join(f'<li><a href="#{key}">{name}</a></li>' for key, name in links.items()),
        summary=prose(summary_sentence(rows)),
        terms=escape(TERMS),
        scope=escape(_scope(rows, quick=quick)),
        shows=_items(findings(rows)) if finished_rows(rows) else "<p>Nothing.</p>",
        does_not_show=_items(limits(rows, facts)),
        command=escape(_command(study, facts)),
        versions=escape(_versions(facts)),
        listing=escape(toml(study.content)),
        style=style,
        script=script,
        style_hash=text.policy_hash(style),
        script_hash=text.policy_hash(script),
    )


def _asset(name: str) -> str:
    return files("replical.study.report").joinpath(f"assets/{name}").read_text(encoding="utf-8").strip()


def _notes(study: Study) -> str:
    notes = study.content.get("notes")
    return f'<p class="notes">{escape(str(notes).strip())}</p>' if notes else ""


def _scope(rows: list[Row], *, quick: bool) -> str:
    ran = finished_rows(rows)
    pairs = sum(row["pairs"] for row in ran)
    short = "; the short version (--quick)" if quick else ""
    return f"{amount(len(ran), 'cell')} run, {amount(pairs, 'pair')} of labs, {len(rows) - len(ran)} refused{short}."


def _items(sentences: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{prose(sentence)}</li>' for sentence in sentences)}</ul>"


def _section(ident: str, content: str) -> str:
    return f'<section id="{ident}"><h2>{ident.capitalize()}</h2>{content}</section>'


def _picture(picture: Picture) -> str:
    """A picture on a card that scrolls where it is too narrow."""
    first = picture.files[0]
    alt = escape(f"{picture.title}. {picture.caption}")
    image = f'<img src="{_data(first)}" alt="{alt}">'
    title, caption = escape(picture.title), f"<figcaption>{escape(picture.caption)}</figcaption>"
    card = f'<div class="card" tabindex="0" role="region" aria-label="{title}">{image}</div>'
    return f'<figure id="figure-{escape(picture.name)}"><h3>{title}</h3>{card}{caption}</figure>'


def _data(path: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"


def _cells(rows: list[Row]) -> str:
    ran = finished_rows(rows)
    if not ran:
        return ""
    same = ", ".join(f"{head} {value}" for head, value in constants(ran).items())
    tools = (
        '<div class="tools" hidden><label>Filter <input type="search" placeholder="e.g. handicap noise" autocomplete="off" '
        'spellcheck="false"></label><p role="status"></p></div>'
    )
    legend = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in _LEGEND)
    intro = f"<p>The same in all cells: {escape(same)}. {_BY_DEFAULT}</p>" if same else f"<p>{_BY_DEFAULT}</p>"
    return f'{intro}{tools}{cells_table(rows)}<dl class="legend">{legend}</dl>'


def _growth(rows: list[Row]) -> str:
    curves = growths(rows)
    return f"<p>{_GROWTH}</p>{growth_table(curves)}" if curves else ""


def _refused_section(rows: list[Row]) -> str:
    left = [row for row in rows if row["status"] == "refused"]
    return f"<p>Cells that could not be run.</p>{refused_table(left)}" if left else ""


def _command(study: Study, facts: Mapping[str, Any]) -> str:
    words = [
        "replical",
        "paper",
        "study",
        f"{study.name}.toml",
        "--out",
        study.name,
        *(["--quick"] if facts.get("quick") else []),
    ]
    return str(facts.get("command") or shlex.join(words))


def _versions(facts: Mapping[str, Any]) -> str:
    """With what it was made, in a sentence."""
    versions = [f"{name} {version}" for name, version in (facts.get("versions") or {}).items() if version]
    by = [f"{cells} by replical {version}" for version, cells in sorted((facts.get("cells_by_version") or {}).items())]
    parts = [f"Made with {', '.join(versions)}."] if versions else []
    parts += [f"Cells: {', '.join(by)}."] if by else []
    return " ".join([*parts, f"Study fingerprint: {facts['fingerprint']}." if "fingerprint" in facts else ""]).strip()


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

"""The tables of a report, as HTML: cells, growth of labels, cells that were refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Generic, TypeVar

from replical.core.exact import fraction, round_down, round_up
from replical.core.text import about, at_most
from replical.study import judging
from replical.study.results import SCALES, Growth, Row, Slopes

T = TypeVar("T")
_Line = tuple[Growth, str, Slopes]  # of the table of growth: a fit, what its exponent is of, the exponents

_SIGNS = {
    judging.WITHIN: ("good", "✓", "within"),
    judging.OPEN: ("soft", "○", "compatible"),
    judging.BELOW: ("bad", "✗", "above ρ"),
}
_PARAMETERS = (
    ("class", "class", False), ("noise", "noise", False), ("pool_size", "pool", False), ("epsilon", "ε", True),
    ("delta", "δ", True), ("rho", "ρ", True), ("plan", "plan", False),
)  # fmt: skip
_WORLD = ("class", "noise", "pool_size")  # what a column of its own says in two lines
_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "theta": "Θ", "nu": "ν", "pool_size": "pool"}


def cells_table(rows: Sequence[Row]) -> str:
    """The cells that were run, vacuous ones last: what labels cost, how often labs agree, what is proven."""
    ran = sorted(judging.finished_rows(rows), key=lambda row: bool(row["vacuous"]))
    return table("cells-table", "All cells that were run", [*_parameters(ran), *_measurements(ran)], ran)


def constants(rows: Sequence[Row]) -> dict[str, str]:
    """Parameters that are the same in all cells that were run, by the head they would have."""
    texts = {}
    for name, head, numeric in _PARAMETERS:
        values = {row[name] for row in rows if row[name] is not None}
        if len(values) == 1:
            value = values.pop()
            texts[head] = f"{value:g}" if numeric else str(value).removesuffix(".0")
    return texts


def _parameters(ran: Sequence[Row]) -> list[Column[Row]]:
    """The learner, and what is not the same everywhere."""
    varied = [name for name, _, _ in _PARAMETERS if len({row[name] for row in ran if row[name] is not None}) > 1]
    columns = [Column[Row](head="learner, cell", show=_learner)]
    if world := [name for name in _WORLD if name in varied]:
        columns.append(Column(head="world", show=lambda row: _world(row, world)))
    return columns + [_number(head, name) for name, head, numeric in _PARAMETERS if numeric and name in varied]


def _number(head: str, name: str) -> Column[Row]:
    show = "{:g}".format
    return Column(
        head=head, show=lambda row: "-" if row[name] is None else show(row[name]), value=lambda row: row[name]
    )


def _world(row: Row, names: Sequence[str]) -> str:
    """The class, and under it noise and pool."""
    under = []
    if "noise" in names and (noise := str(row["noise"]).removesuffix(".0")) != "0":
        under.append(f"noise {noise}")
    if "pool_size" in names:
        size = str(row["pool_size"])
        under.append(f"pool {int(size):,}" if size.isdecimal() else size)
    small = f"<small>{escape(', '.join(under))}</small>" if under else ""
    return (escape(row["class"]) if "class" in names else "") + small


def _learner(row: Row) -> str:
    more = [f"plan {row['plan']}"] if row["plan"] != "tight" else []
    words = escape(", ".join([*more, *judging.options(row)]))
    more_words = f"<small>{words}</small>" if words else ""
    return f'{escape(row["learner"])}{more_words}<code class="identity">{escape(row["cell"])}</code>'


def _measurements(ran: Sequence[Row]) -> list[Column[Row]]:
    """Labels, agreement and errors; a column that no row would fill is left out."""
    of = judging.parents(ran)

    def ratio(row: Row) -> float | None:
        parent = of.get(row["cell"])
        return row["labels_mean"] / parent["labels_mean"] if parent and parent["labels_mean"] else None

    def proof(row: Row) -> str:
        return "-" if row["rho_proven"] is None else at_most(row["rho_proven"])  # a mean of bounds: rounded up

    columns = [
        Column[Row](head="labels per lab", show=_labels, value=lambda row: row["labels_mean"]),
        Column(head="× parent", show=lambda row: judging.number(ratio(row)), value=ratio),
        Column(head="agreement, 95%", show=_agreement, value=lambda row: row["agreement"]),
        Column(head="promise, marks", show=_promise),
        Column(head="own strings", show=_own, value=lambda row: row["own_string"]),
        Column(
            head="E[J]",
            show=lambda row: _estimate(row["expected_jaccard"], 3),
            value=lambda row: row["expected_jaccard"],
        ),
        Column(head="ρ proven", show=proof, value=lambda row: row["rho_proven"]),
        Column(head="excess error", show=_excess, value=lambda row: row["excess_error_mean"]),
        Column(head="pairs", show=lambda row: judging.count(row["pairs"]), value=lambda row: row["pairs"]),
    ]
    return [each for each in columns if each.value is None or any(each.value(row) is not None for row in ran)]


def _labels(row: Row) -> str:
    error = row["labels_error"]
    return judging.count(row["labels_mean"]) + (
        f' <span class="error under">± {judging.count(error)}</span>' if error else ""
    )


def _agreement(row: Row) -> str:
    """Agreement and its interval in numbers, and as a line from 0 to 1 with the promise as a tick."""
    low, high = 100 * row["agreement_low"], 100 * row["agreement_high"]
    aim = f'<path class="aim" d="M{100 * (1 - row["rho"]):.1f} 0V10"/>' if judging.verdict(row) else ""
    drawn = f'<path class="all" d="M0 5H100"/>{aim}<path d="M{low:.1f} 5H{high:.1f}"/>'
    ends = (
        f"{round_down(100 * fraction(row['agreement_low']), 1)} to {round_up(100 * fraction(row['agreement_high']), 1)}"
    )
    return (
        f'<svg class="bar" viewBox="0 0 100 10" aria-hidden="true">{drawn}'
        f'<circle cx="{100 * row["agreement"]:.1f}" cy="5" r="3.6"/></svg>'
        f'{_share(row["agreement"])} <span class="error under">{ends}</span>'
    )


def _own(row: Row) -> str:
    """Agreement with strings of their own, with one part of them of their own, and by fewest errors."""
    parts = {"threshold": row["own_threshold"], "order": row["own_order"], "fewest errors": row["fewest_errors"]}
    under = ", ".join(f"{part} {100 * share:.0f}%" for part, share in parts.items() if share is not None)
    return _share(row["own_string"]) + (f"<small>{under}</small>" if under else "")


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def _estimate(value: float | None, digits: int) -> str:
    return "-" if value is None else escape(about(value, digits))  # 0 only if it is 0


def _promise(row: Row) -> str:
    """Where the interval lies, and what to beware of; in a vacuous cell a promise that is kept says nothing."""
    place = judging.verdict(row)
    signs = [("soft", "", "no promise")] if place is None else [_SIGNS[place]]
    if row["vacuous"] and place != judging.BELOW:
        signs = []
    signs += [(mark.kind, mark.symbol, mark.text) for mark in judging.marks(row)]
    each = "".join(
        f'<li class="{kind}"><span class="sign" aria-hidden="true">{sign}</span>{escape(text)}</li>'
        for kind, sign, text in signs
    )
    return f'<ul class="marks">{each}</ul>'


def _excess(row: Row) -> str:
    """The mean, and how many labs ended above ε."""
    over = f"{judging.count(row['excess_over_epsilon'])} of {judging.count(2 * row['pairs'])} &gt; ε"
    return f'{_estimate(row["excess_error_mean"], 4)} <span class="error under">{over}</span>'


def growth_table(curves: Sequence[Growth]) -> str:
    """Exponents fitted to labels, beside those of the bounds; along ε a second line for powers of ln(1/ε)."""
    lines = [(growth, SCALES[growth.axis], growth.power) for growth in curves]
    lines += [(growth, "ln(1/ε)", growth.logged) for growth in curves if growth.logged is not None]
    lines.sort(key=lambda line: curves.index(line[0]))
    settings = [growth.settings for growth in curves]
    common = {key for key, value in settings[0].items() if all(each.get(key) == value for each in settings)}
    columns = [
        Column[_Line](head="learner", show=lambda line: escape(line[0].learner)),
        Column(head="plan", show=lambda line: escape(line[0].plan)),
        Column(head="all else fixed", show=lambda line: prose(_fixed(line[0], common)) or "-", look="wrap"),
        Column(head="labels grow as a power of", show=lambda line: escape(line[1]), look="tight"),
        Column(head="fitted", show=_exponent, value=lambda line: line[2].fitted),
        Column(head="paper's bound", show=lambda line: _power(line[2].paper), value=lambda line: line[2].paper),
        Column(head="our bound", show=lambda line: _power(line[2].ours), value=lambda line: line[2].ours),
        Column(head="points", show=_points, value=lambda line: len(line[0].points)),
    ]
    return table("growth-table", "Growth of labels", columns, lines)


def _fixed(growth: Growth, common: set[str]) -> str:
    """What tells this fit from the others of its learner."""
    left = {key: value for key, value in growth.settings.items() if key not in {*common, "learner", "plan"}}
    return ", ".join(
        f"{_SYMBOLS.get(key, key)} {f'{value:g}' if isinstance(value, float) else value}" for key, value in left.items()
    )


def _points(line: _Line) -> str:
    x = [point.x for point in line[0].points]
    return f"{len(x)}, {judging.span(x)}"


def _exponent(line: _Line) -> str:
    return f'{_power(line[2].fitted)} <span class="error">± {line[2].error:.2f}</span>'


def _power(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 2) + 0:.2f}"


def refused_table(rows: Iterable[Row]) -> str:
    """Cells that were not run, and why."""
    left = judging.sort_rows(rows)
    reason = Column[Row](head="reason", show=lambda row: escape(str(row["reason"])), look="wrap")
    return table("refused-table", "Cells that were refused", [*_parameters(left), reason], left)


@dataclass(frozen=True, kw_only=True)
class Column(Generic[T]):
    """A column: its head, what it shows as HTML, and the number it is sorted by; by its text if there is none.

    `look` is a class of its cells: how it behaves on narrow screens and on paper.
    """

    head: str
    show: Callable[[T], str]
    value: Callable[[T], float | None] | None = None
    look: str = ""


def table(ident: str, label: str, columns: Sequence[Column[T]], rows: Iterable[T]) -> str:
    """A table that can be sorted, in a box of its own that scrolls where it is too wide; first cells are row heads."""
    looks = [" ".join(filter(None, ("n" if each.value else "", each.look))) for each in columns]
    heads = "".join(
        f'<th scope="col"{_class(look)} data-head="{head}"><button type="button">{head}</button></th>'
        for head, look in zip((escape(column.head) for column in columns), looks, strict=True)
    )
    body = "".join(f"<tr>{_cells(columns, looks, row)}</tr>" for row in rows)
    heads = heads.replace(">× ", ">×&nbsp;")  # a sign stays beside its word
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}"><table class="sortable" id="{ident}">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cells(columns: Sequence[Column[T]], looks: list[str], row: T) -> str:
    parts = []
    for place, (column, look) in enumerate(zip(columns, looks, strict=True)):
        value = column.value(row) if column.value else None
        data = f' data-v="{value!r}"' if value is not None else ""
        name, scope = ("td", "") if place else ("th", ' scope="row"')
        parts.append(f"<{name}{scope}{_class(look)}{data}>{column.show(row)}</{name}>")
    return "".join(parts)


def _class(look: str) -> str:
    return f' class="{look}"' if look else ""


def prose(sentence: str) -> str:
    """A symbol and its number stay on one line, and so does 1-ρ."""
    return re.sub("([εδρΘν]) (?=[0-9])", "\\1&nbsp;", escape(sentence)).replace("1-ρ", "1-&NoBreak;ρ")

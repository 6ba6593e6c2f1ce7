"""The tables of a report, as HTML.

What a study does not show, in sentences made from its rows and from how it was run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Generic, TypeVar

from replical.core.exact import down, fraction, up
from replical.core.text import about, at_most
from replical.study.judging import (
    BELOW,
    OPEN,
    WITHIN,
    count,
    done,
    listed,
    marks,
    number,
    options,
    ordered,
    parents,
    percent,
    replicable,
    some,
    span,
    undecided,
    unproven,
    verdict,
    words_of,
)
from replical.study.results import Row
from replical.study.spec import Cell
from replical.worlds.audit import COUNTED

T = TypeVar("T")

_SIGNS = {WITHIN: ("good", "✓", "within"), OPEN: ("soft", "○", "compatible"), BELOW: ("bad", "✗", "above ρ")}
_PARAMETERS = (
    ("class", "class", False), ("noise", "noise", False), ("pool_size", "pool", False), ("epsilon", "ε", True),
    ("delta", "δ", True), ("rho", "ρ", True), ("plan", "plan", False),
)  # fmt: skip
_WORLD = ("class", "noise", "pool_size")  # what a column of its own says in two lines


@dataclass(frozen=True, kw_only=True)
class Column(Generic[T]):
    """A column: its head, what it shows as HTML, and the number it is sorted by; by its text if there is none.

    Attributes
    ----------
    look
        Class of its cells: ``n`` for numbers, else how it behaves on narrow screens and on paper.
    """

    head: str
    show: Callable[[T], str]
    value: Callable[[T], float | None] | None = None
    look: str = ""


def table(ident: str, label: str, columns: Sequence[Column[T]], rows: Iterable[T]) -> str:
    """A table that can be sorted, in a box of its own that scrolls where it is too wide; first cells are row heads."""
    looks = [" ".join(filter(None, ("n" if each.value else "", each.look))) for each in columns]
    heads = "".join(
        f'<th scope="col"{_class(look)} data-head="{head}"><button type="button">{_unbroken(head)}</button></th>'
        for head, look in zip((escape(column.head) for column in columns), looks, strict=True)
    )
    body = "".join(f"<tr>{_cells(columns, looks, row)}</tr>" for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}"><table class="sortable" id="{ident}">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _unbroken(head: str) -> str:
    """A sign stays beside its word."""
    return head.replace("× ", "×&nbsp;")


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


def constants(rows: Sequence[Row]) -> dict[str, str]:
    """Parameters that are the same in all cells that were run, by the head they would have."""
    texts = {}
    for name, head, numeric in _PARAMETERS:
        values = {row[name] for row in rows if row[name] is not None}
        if len(values) == 1:
            value = values.pop()
            texts[head] = f"{value:g}" if numeric else str(value).removesuffix(".0")
    return texts


def cells_table(rows: Sequence[Row], *, vacuous: bool = False) -> str:
    """The cells that were run and say something or, apart from them, the vacuous ones."""
    ran = done(rows)
    shown = [row for row in ran if bool(row["vacuous"]) == vacuous]
    ident, label = ("vacuous-table", "Vacuous cells") if vacuous else ("cells-table", "All cells that are not vacuous")
    return table(ident, label, [*_parameters(ran), *_figures(ran)], shown)


def _parameters(ran: Sequence[Row]) -> list[Column[Row]]:
    """The learner, and what is not the same everywhere."""
    varied = [name for name, _, _ in _PARAMETERS if len({row[name] for row in ran if row[name] is not None}) > 1]
    columns = [Column[Row](head="learner, cell", show=_learner)]
    if world := [name for name in _WORLD if name in varied]:
        columns.append(Column(head="world", show=lambda row: _world(row, world)))
    heads = [(name, head) for name, head, numeric in _PARAMETERS if numeric and name in varied]
    return columns + [_numeric(head, name, "{:g}") for name, head in heads]


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
    words = escape(", ".join([*more, *options(row)]))
    more_words = f"<small>{words}</small>" if words else ""
    return f'{escape(row["learner"])}{more_words}<code class="identity">{escape(row["cell"])}</code>'


def _figures(ran: Sequence[Row]) -> list[Column[Row]]:
    of = parents(ran)

    def ratio(row: Row) -> float | None:
        parent = of.get(row["cell"])
        return row["labels_mean"] / parent["labels_mean"] if parent and parent["labels_mean"] else None

    columns = [
        Column[Row](head="labels per lab", show=_labels, value=lambda row: row["labels_mean"]),
        Column(head="× parent", show=lambda row: number(ratio(row)), value=ratio),
        Column(head="agreement, 95%", show=_agreement, value=lambda row: row["agreement"]),
        Column(head="promise, marks", show=_promise),
        Column(head="without last step", show=lambda row: _share(_base(row)), value=_base),
        Column(head="E[J]", show=_digits("expected_jaccard", 3), value=lambda row: row["expected_jaccard"]),
        Column(head="ρ proven", show=_proven, value=lambda row: row["rho_proven"]),
        Column(head="excess error", show=_excess, value=lambda row: row["excess_error_mean"]),
        Column(head="pairs", show=lambda row: count(row["pairs"]), value=lambda row: row["pairs"]),
    ]
    optional = {"× parent": ratio, "ρ proven": lambda row: row["rho_proven"], "without last step": _base}
    return [each for each in columns if each.head not in optional or any(map(_known(optional[each.head]), ran))]


def _known(value: Callable[[Row], float | None]) -> Callable[[Row], bool]:
    return lambda row: value(row) is not None


def _numeric(head: str, name: str, form: str) -> Column[Row]:
    def show(row: Row) -> str:
        return "-" if row[name] is None else form.format(row[name])

    return Column(head=head, show=show, value=lambda row: row[name])


def _digits(name: str, digits: int) -> Callable[[Row], str]:
    """An estimate, 0 only if it is 0."""
    return lambda row: "-" if row[name] is None else escape(about(row[name], digits))


def _proven(row: Row) -> str:
    """A mean of bounds: rounded up, as they are."""
    return "-" if row["rho_proven"] is None else at_most(row["rho_proven"])


def _base(row: Row) -> float | None:
    share: float | None = row["base_agreement"] if row["replicable"] else None
    return share


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def _agreement(row: Row) -> str:
    """Agreement and its interval in numbers, and as a line from 0 to 1 with the promise as a tick."""
    low, high = 100 * row["agreement_low"], 100 * row["agreement_high"]
    aim = f'<path class="aim" d="M{100 * (1 - row["rho"]):.1f} 0V10"/>' if verdict(row) else ""
    drawn = f'<path class="all" d="M0 5H100"/>{aim}<path d="M{low:.1f} 5H{high:.1f}"/>'
    ends = f"{down(100 * fraction(row['agreement_low']), 1)} to {up(100 * fraction(row['agreement_high']), 1)}"
    return (
        f'<svg class="bar" viewBox="0 0 100 10" aria-hidden="true">{drawn}'
        f'<circle cx="{100 * row["agreement"]:.1f}" cy="5" r="3.6"/></svg>'
        f'{_share(row["agreement"])} <span class="error under">{ends}</span>'
    )


def _promise(row: Row) -> str:
    """Where the interval lies, and what to beware of."""
    place = verdict(row)
    signs = [("soft", "", "no promise")] if place is None else [_SIGNS[place]]
    signs += [(mark.kind, mark.symbol, mark.text) for mark in marks(row)]
    each = "".join(
        f'<li class="{kind}"><span class="sign" aria-hidden="true">{sign}</span>{escape(text)}</li>'
        for kind, sign, text in signs
    )
    return f'<ul class="marks">{each}</ul>'


def _labels(row: Row) -> str:
    error = row["labels_error"]
    words = f' <span class="error under">± {count(error)}</span>' if error else ""
    return count(row["labels_mean"]) + words


def _excess(row: Row) -> str:
    """The mean, and how many labs ended above ε."""
    over = f"{count(row['excess_over_epsilon'])} of {count(2 * row['pairs'])} &gt; ε"
    return f'{_digits("excess_error_mean", 4)(row)} <span class="error under">{over}</span>'


def refused_table(rows: Iterable[Row]) -> str:
    """Cells that were not run, and why."""
    left = ordered(rows)
    reason = Column[Row](head="reason", show=lambda row: escape(str(row["reason"])), look="wrap")
    return table("refused-table", "Cells that were refused", [*_parameters(left), reason], left)


def plain_table(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values."""
    body = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows)
    return f'<div class="scroll plain"><table><tbody>{body}</tbody></table></div>'


SIMULATED = (
    "All worlds are simulated: labels come from a hypothesis of the class with known noise, and both labs draw from one "
    "population. Real experts err in other ways, and real labs have other data."
)


def does_not_show(rows: list[Row], cells: list[Cell], facts: Mapping[str, Any]) -> list[str]:
    """All sentences on what the study does not show."""
    makers = (vacuous, uncertain, uncertified, wide, chance, loose, cut_short, refused)
    sentences = [sentence for make in makers for sentence in make(rows)]
    return [*sentences, *stopping(rows, cells), *versions(facts), *quick(facts), SIMULATED]


def vacuous(rows: list[Row]) -> list[str]:
    """Cells in which labs agree anyway."""
    empty = [row for row in replicable(rows) if row["vacuous"]]
    if not empty:
        return []
    return [
        f"{some(len(empty), 'cell says', 'cells say')} nothing about replicability: without the shared last step labs "
        f"already agree in more than {percent(1 - COUNTED)} of pairs: {listed([words_of(row) for row in empty])}."
    ]


def uncertain(rows: list[Row]) -> list[str]:
    """Cells whose pairs are too few to say whether they count."""
    promised = replicable(rows)
    unclear = [row for row in promised if undecided(row)]
    if not unclear:
        return []
    empty, empty_unclear = (sum(bool(row["vacuous"]) for row in each) for each in (promised, unclear))
    counted, counted_unclear = len(promised) - empty, len(unclear) - empty_unclear
    return [
        f"Of {some(len(promised), 'cell')} with a promise, {some(counted - counted_unclear, 'counts', 'count')} for certain "
        f"and {some(empty - empty_unclear, 'is', 'are')} vacuous for certain. In the other {len(unclear)} the pairs are too "
        f"few to say, because the 95% interval of agreement without the last step contains {percent(1 - COUNTED)}: "
        f"{some(counted_unclear, 'is', 'are')} taken to count, {empty_unclear} as vacuous."
    ]


def uncertified(rows: list[Row]) -> list[str]:
    """Cells whose promise is measured and not proven."""
    unsure = [row for row in replicable(rows) if unproven(row)]
    if not unsure:
        return []
    partly = [row["certified_fraction"] for row in unsure if row["certified_fraction"] is not None]
    labs = f", because {span(partly, percent)} of labs were certified" if partly else ""
    return [
        f"In {some(len(unsure), 'cell')} agreement is measured, not proven{labs}: "
        f"{listed([words_of(row) for row in unsure])}. "
        "The guarantee is about pairs of labs that are both certified."
    ]


def wide(rows: list[Row]) -> list[str]:
    """Cells whose interval cannot tell a kept promise from a broken one."""
    blunt = [row for row in replicable(rows) if (row["agreement_high"] - row["agreement_low"]) / 2 > row["rho"]]
    if not blunt:
        return []
    return [
        f"In {some(len(blunt), 'cell')} the half width of the 95% interval is above ρ: too few pairs to tell a promise that "
        f"is kept from one that is broken (pairs: {span([row['pairs'] for row in blunt])})."
    ]


def chance(rows: list[Row]) -> list[str]:
    """Many intervals, some of them wrong."""
    many = len(replicable(rows))
    if many < 2:
        return []
    return [
        f"Each interval is a 95% interval of its own: of {many} promises that are kept with nothing to spare, "
        f"{number(many / 40)} would look broken by chance."
    ]


def loose(rows: list[Row]) -> list[str]:
    """Bounds on labels that are far from what was asked."""
    bounded = [row for row in done(rows) if row["labels_most"] and row["labels_mean"] and row["max_labels"] is None]
    ratios = [row["labels_most"] / row["labels_mean"] for row in bounded]
    far = sum(ratio > 2 for ratio in ratios)
    if not far:
        return []
    return [
        f"The most labels a plan can ask for are {span(ratios)} times the mean asked, more than twice in {far} of "
        f"{some(len(ratios), 'cell')}: those bounds are no estimates."
    ]


def cut_short(rows: list[Row]) -> list[str]:
    """Cells in which runs did not end by their own stop test."""
    cut = [row for row in done(rows) if row["cap_reached"] and row["certified_fraction"] is None]
    if not cut:
        return []
    return [
        f"In {some(len(cut), 'cell')} some labs ended at a cap, a budget or the end of their pool instead of by their own "
        f"stop test; more labels may have been wanted: {listed([words_of(row) for row in cut])}."
    ]


def refused(rows: list[Row]) -> list[str]:
    """Cells that were not run."""
    why = Counter(row["reason"] for row in rows if row["status"] == "refused")
    if not why:
        return []
    return [f"{some(why.total(), 'cell was', 'cells were')} refused and not run, for {some(len(why), 'reason')}."]


def stopping(rows: list[Row], cells: list[Cell]) -> list[str]:
    """Pairs were added until the interval was narrow."""
    ran = {row["cell"] for row in done(rows)}
    widths = [cell.enough.half_width for cell in cells if cell.enough.half_width is not None and cell.id in ran]
    if not widths:
        return []
    return [
        f"In {some(len(widths), 'cell')} pairs were added until the half width of the interval was {span(widths)} or the "
        "most pairs were reached. Only the width was looked at, after whole batches, but it depends on the data: "
        "there 95% is approximate."
    ]


def versions(facts: Mapping[str, Any]) -> list[str]:
    """Cells that different versions ran."""
    by = facts.get("cells_by_version") or {}
    if len(by) < 2:
        return []
    each = [f"{cells} by {version}" for version, cells in sorted(by.items())]
    return [f"The cells were not all run by one version of replical: {listed(each, 5)}. Run again in an empty folder."]


def quick(facts: Mapping[str, Any]) -> list[str]:
    """Only the short version was run."""
    return (
        ["This is the short version of the study, for a first look: fewer cells or fewer pairs."]
        if facts.get("quick")
        else []
    )

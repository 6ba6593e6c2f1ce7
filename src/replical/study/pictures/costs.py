"""What replicability costs in each world: a line a cell, from its parent's labels to its own.

Label bills as a picture: the paper's comparison, against any public number.

The first picture: labels of the plain learner, of Rounded and of the paper's, for one and the same promise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from replical.learners.bills import ABSURD
from replical.learners.catalogue import LEARNERS, Record, find
from replical.study.judging import (
    at_least,
    at_most,
    by_hand,
    count,
    done,
    listed,
    number,
    parents,
    percent,
    replicable,
    span,
    unproven,
)
from replical.study.pictures.style import (
    GREY,
    Picture,
    blank,
    by_tens,
    colour,
    dots,
    in_words,
    keys,
    plainly,
    write_picture,
)
from replical.study.results import Row
from replical.study.spec import PARAMETERS, Cell
from replical.worlds.audit import COUNTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
if TYPE_CHECKING:
    from matplotlib.figure import Figure
if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WORLD = ("class", "noise", "epsilon", "delta", "pool_size")
# What may tell two cells of a world apart; the last two are found for every cell, and told only where nothing else does.
_SETTINGS = tuple(name for name in PARAMETERS if name not in (*_WORLD, "learner", "theta", "nu"))
_THETA_AND_NU = ("theta", "nu")
_GIVEN = "theta_given"  # the study file says which coefficient the plan has; else it was computed
_MOST_LINES = 48  # of one picture: as many as a page holds
# Inches: the panel, a line, the space between worlds, what is above and below, a letter, the least width.
_PANEL, _LINE, _SPACE, _ABOVE, _BELOW, _LETTER, _LEAST = 4.4, 0.2, 0.1, 0.35, 0.5, 0.064, 9.0
_KEYS = 5  # columns of the legend
_COLUMNS = (1.16, 1.34)  # right ends of two columns of numbers, in widths of the panel

Line = tuple[Row, Row | None]


def costs(cells: Sequence[Cell], rows: Sequence[Row], folder: Path) -> list[Picture]:
    """For each world the labels of every replicable learner, beside its parent; vacuous cells are left out."""
    ids = {cell.id for cell in cells if cell.parameters.get("theta") is not None}
    lines = [line for line in _lines([row | {_GIVEN: row["cell"] in ids} for row in rows]) if not line[0]["vacuous"]]
    parts = [lines[start : start + _MOST_LINES] for start in range(0, len(lines), _MOST_LINES)]
    pictures = []
    for each, part in enumerate(parts, 1):
        name = "cost" + (f"-{each}" if each > 1 else "")
        title = "Cost of replicability per world" + (f" ({each} of {len(parts)})" if len(parts) > 1 else "")
        pictures.append(write_picture(_costs(part), folder, name, title, _costs_caption(part)))
    return pictures


def _lines(rows: Sequence[Row]) -> list[Line]:
    """Replicable cells, world by world, each with its parent; where that was not run, with the parent's next of kin."""
    ran = [row for row in done(rows) if row["labels_mean"]]
    own = parents(ran)
    plain = {(row["learner"], *_world(row)): row for row in ran if not row["replicable"]}
    lines: list[Line] = []
    for row in replicable(ran):
        kin = [plain.get((name, *_world(row))) for name in _kin(row["learner"])]
        lines.append((row, own.get(row["cell"]) or next((each for each in kin if each is not None), None)))
    return sorted(lines, key=lambda line: (*_order(line[0]), line[0]["labels_mean"], str(line[0]["cell"])))


def _kin(learner: str) -> list[str]:
    """Learners of the same setting that promise nothing, those that fit either setting last."""
    setting = find(learner).setting
    return [each.id for near in (setting, "either") for each in LEARNERS.values() if _promises_nothing(each, near)]


def _promises_nothing(record: Record, setting: str) -> bool:
    return not record.replicable and record.setting == setting


def _world(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in _WORLD)


def _order(row: Row) -> tuple[object, ...]:
    """Worlds by kind of class, noise and pool; in each kind small classes and large errors first."""
    kind = row["class"].partition(":")[0]
    return (row["noise"], kind, row["hypotheses"] or 0, row["class"], row["pool_size"], -row["epsilon"], row["delta"])


def _costs(lines: list[Line]) -> Figure:
    worlds: dict[tuple[object, ...], list[Line]] = defaultdict(list)
    for line in lines:
        worlds[_world(line[0])].append(line)
    drawn = [row for line in lines for row in line if row is not None]
    entries = keys(drawn)
    names = 0.2 + _LETTER * max(len(_named(cell)) for cell, _ in lines)
    apart = _PANEL * (_COLUMNS[1] - 0.96) + _LETTER * max(len(_apart(line, lines)) for line in lines)
    tall = len(lines) * _LINE + len(worlds) * _SPACE
    width = max(names + _PANEL + apart, _LEAST)
    height = tall + _ABOVE + _LINE * ceil(len(entries) / _KEYS) + _BELOW
    figure = blank(width, height)
    figure.set_layout_engine("none")
    axes = figure.add_axes((names / width, _BELOW / height, _PANEL / width, tall / height), ylim=(-tall, 0))
    axes.set(xscale="log", xlabel="labels per lab")
    _reach(axes, [row["labels_mean"] for row in drawn])
    _all_lines(axes, list(worlds.values()))
    figure.legend(handles=entries, loc="upper left", bbox_to_anchor=(0, 1), ncols=_KEYS, columnspacing=1.2)
    return figure


def _all_lines(axes: Axes, worlds: list[list[Line]]) -> None:
    """World by world from the top, every other one on grey."""
    top = 0.0
    for place, mine in enumerate(worlds):
        under = top - len(mine) * _LINE - _SPACE
        if place % 2:
            axes.axhspan(under, top, color="#f4f4f4", zorder=0, linewidth=0)
        _world_lines(axes, mine, top - _SPACE / 2)
        top = under
    axes.tick_params(left=False, labelleft=False)
    axes.grid(visible=False, axis="y")
    for at, word in zip(_COLUMNS, ("labels", "× parent"), strict=True):
        axes.text(at, 0.06, word, transform=axes.get_yaxis_transform(), ha="right", fontsize=7.5, color=GREY)


def _named(cell: Row) -> str:
    return in_words(cell, ("class", "noise", "epsilon", "pool_size"))


def _reach(axes: Axes, labels: list[float]) -> None:
    """As far as the labels go; shaded where nobody could pay for them."""
    low, high = min(labels) / 1.6, max(labels) * 1.6
    axes.set_xlim(low, high)
    by_tens(axes.xaxis)
    if max(labels) > ABSURD:
        axes.axvspan(max(low, ABSURD), high, color="#D55E00", alpha=0.08, linewidth=0, zorder=0.5)


def _world_lines(axes: Axes, lines: list[Line], top: float) -> None:
    """The lines of one world, with its name at the left and numbers at the right."""
    side = axes.get_yaxis_transform()
    axes.text(-0.02, top - _LINE / 2, _named(lines[0][0]), transform=side, ha="right", va="center", fontsize=8)
    for place, line in enumerate(lines):
        cell, parent = line
        y = top - (place + 0.5) * _LINE
        ends = [each for each in (parent, cell) if each is not None]
        x = [each["labels_mean"] for each in ends]
        broken = "--" if unproven(cell) else "-"
        axes.plot(x, [y] * len(x), linewidth=1.3, zorder=2, color=colour(cell["learner"]), linestyle=broken)
        dots(axes, ends, [(each, y) for each in x])
        words = (count(cell["labels_mean"]), "–" if parent is None else number(_ratio(cell, parent)))
        for at, word in zip(_COLUMNS, words, strict=True):
            axes.text(at, y, word, transform=side, ha="right", va="center", fontsize=8)
        axes.text(_COLUMNS[1] + 0.04, y, _apart(line, lines), transform=side, va="center", fontsize=7.5, color=GREY)


def _ratio(cell: Row, parent: Row) -> float:
    return float(cell["labels_mean"] / parent["labels_mean"])


def _apart(line: Line, lines: list[Line]) -> str:
    """What tells a cell from others of its world, and what to beware of."""
    cell = line[0]
    same = ("learner", *_WORLD, *_SETTINGS)
    alike = [other for other, _ in lines if all(other[name] == cell[name] for name in same)]
    mixed = len({other.get(_GIVEN) for other in alike}) > 1
    parts = [in_words(cell, _SETTINGS)]
    for name in _THETA_AND_NU:
        if len({other[name] for other in alike}) > 1 or (mixed and name == "theta"):
            parts.append(in_words(cell, [name]) + (" given" if mixed and name == "theta" and cell[_GIVEN] else ""))
    parts += ["uncertified"] if unproven(cell) else []
    return ", ".join(filter(None, parts))


def _costs_caption(lines: list[Line]) -> str:
    ratios: dict[str, list[float]] = defaultdict(list)
    for cell, parent in lines:
        if parent is not None:
            ratios[f"{cell['learner']} ({cell['plan']})"].append(_ratio(cell, parent))
    parts = [f"{name} {_middle(values)}" for name, values in sorted(ratios.items())]
    first = "Labels in multiples of those of the parent, which promises nothing, in the same world: "
    first = f"{first}{listed(parts, 5)}." if parts else "No world has a learner without a promise to compare with."
    shaded = any(row["labels_mean"] > ABSURD for line in lines for row in line if row is not None)
    return first + (f" Shaded: over {plainly(ABSURD)} labels, which nobody could pay for." if shaded else "")


def _middle(ratios: list[float]) -> str:
    words = span(ratios)
    return f"{words} (median {number(median(ratios))})" if " to " in words else words


# The plain learner, ours, the paper's: for labels without noise, then with noise.
_FAMILIES = (("cal", "rounded-cal", "replical"), ("a2", "rounded-a2", "replica2"))
_NAMES = {
    "cal": "CAL",
    "rounded-cal": "Rounded CAL",
    "replical": "RepliCAL",
    "a2": "A²",
    "rounded-a2": "Rounded A²",
    "replica2": "ReplicA²",
}
_WORLD_headline = ("class", "noise", "epsilon", "delta")
_LONG = 1e4  # from here on a power of ten is easier to compare
_WIDE = 20  # times the fewest labels: from here on an axis of logarithms
# Inches: a letter of what is under the names, the panel, what is above and below it, a line; right ends of columns.
_LETTER_headline, _PANEL_headline, _ABOVE_headline, _BELOW_headline, _LINE_headline = 0.058, 3.3, 0.62, 0.5, 0.44
_COLUMNS_headline = (0.8, 2.5, 3.6)


@dataclass(frozen=True)
class Headline:
    """One promise in one world, and who makes it.

    Attributes
    ----------
    lines
        A cell each of the plain learner, of ours and of the paper's (one for each plan), as far as the study has them.
    """

    rho: float | None
    lines: tuple[Row, ...]

    @property
    def settings(self) -> Row:
        """The class, ε, ρ and noise that all lines share."""
        return {name: self.lines[0][name] for name in _WORLD_headline} | {"rho": self.rho}


def headline(rows: Sequence[Row], folder: Path) -> list[Picture]:
    """The picture, where the study has one of these learners in a world that counts."""
    best = chosen(rows)
    if best is None:
        return []
    title = "Labels for the same promise" if best.rho is not None else "Labels without a promise"
    return [write_picture(_figure(best), folder, "headline", title, _caption(best))]


def chosen(rows: Iterable[Row]) -> Headline | None:
    """The promise with the most of these learners; then one that Rounded keeps where labs do not agree anyway."""
    ran = [row for row in done(rows) if row["labels_mean"] and row["max_labels"] is None and not by_hand(row)]
    found = [each for family in _FAMILIES for each in _promises(family, ran, parents(ran))]
    return max(found, key=_rank, default=None)


def _rank(each: Headline) -> tuple[object, ...]:
    """By how much it says; what follows the pairs only makes the choice the same for the same rows."""
    rounded = [row for row in each.lines if find(row["learner"]).rounds]
    proven = sum(not row["vacuous"] and not unproven(row) for row in rounded)
    pairs = max((row["pairs"] for row in rounded or each.lines), default=0)
    kinds = len({row["learner"] for row in each.lines})
    noise = str(each.lines[0]["noise"])
    world = (each.lines[0]["hypotheses"] or 0, -each.lines[0]["epsilon"], -(each.rho or 0), each.lines[0]["class"])
    return kinds, proven, each.rho is not None, each.lines[0]["learner"] in _FAMILIES[0], pairs, *world, noise


def _promises(family: tuple[str, ...], ran: list[Row], of: dict[str, Row]) -> Iterator[Headline]:
    """Every promise made for a world, in worlds where labs do not agree whatever they do."""
    mine = [row for row in ran if row["learner"] in family]
    for world in dict.fromkeys(tuple(row[name] for name in _WORLD_headline) for row in mine):
        here = [row for row in mine if tuple(row[name] for name in _WORLD_headline) == world]
        plain = [row for row in here if not row["replicable"]]
        if not any(_tells(row) for row in here):
            continue
        for rho in dict.fromkeys(row["rho"] for row in here if row["replicable"]) or (None,):
            promised = [row for row in here if row["replicable"] and row["rho"] == rho]
            lines = list(_best(promised))
            kin = [of[row["cell"]] for row in lines if row["cell"] in of]
            first = [row for row in (*kin, *plain) if row["learner"] == family[0]][:1]
            yield Headline(
                rho, (*first, *sorted(lines, key=lambda row: (family.index(row["learner"]), row["labels_mean"])))
            )


def _tells(row: Row) -> bool:
    """Does this cell show that labs differ in its world, if nothing is done about it?"""
    return not row["vacuous"] if row["replicable"] else (row["disagreement"] or 0) >= COUNTED


def _best(rows: list[Row]) -> Iterator[Row]:
    """For each learner and plan the cell that counts, is proven, has most pairs and fewest labels, in this order."""
    for kind in dict.fromkeys((row["learner"], row["plan"]) for row in rows):
        yield min(
            (row for row in rows if (row["learner"], row["plan"]) == kind),
            key=lambda row: (bool(row["vacuous"]), bool(unproven(row)), -row["pairs"], row["labels_mean"], row["cell"]),
        )


def _figure(found: Headline) -> Figure:
    """A line a learner: its name, its labels, and what they buy."""
    lines, tall = found.lines, _LINE_headline * len(found.lines)
    left = 0.35 + _LETTER_headline * max(20, *(len(_where(row)) for row in lines))
    width, height = left + _PANEL_headline + _COLUMNS_headline[-1] + 0.1, _ABOVE_headline + tall + _BELOW_headline
    figure = blank(width, height)
    figure.set_layout_engine("none")
    axes = figure.add_axes(
        (left / width, _BELOW_headline / height, _PANEL_headline / width, tall / height), ylim=(-tall, 0)
    )
    places = [-_LINE_headline * (place + 0.5) for place in range(len(lines))]
    labels = [row["labels_mean"] for row in lines]
    axes.set_xlabel("labels per lab")
    if max(labels) > _WIDE * min(labels):
        axes.set(xscale="log", xlim=(min(labels) / 4, max(labels) * 4))
        by_tens(axes.xaxis, most=7)
    else:
        axes.set_xlim(0, max(labels) * 1.2)
    axes.hlines(places, 0, 1, transform=axes.get_yaxis_transform(), color="#b0b0b0", linewidth=0.6, zorder=1)
    dots(axes, lines, zip(labels, places, strict=True))
    axes.tick_params(left=False, labelleft=False)
    axes.grid(visible=False, axis="y")
    for row, y in zip(lines, places, strict=True):
        at = (row["labels_mean"], y)
        axes.annotate(count(row["labels_mean"]), at, (0, 7), textcoords="offset points", ha="center", weight="bold")
        _words(axes, row, lines, y)
    words = ("" if found.rho is None else "The same promise: ") + _promise(found)
    figure.text(0.1 / width, 1 - 0.22 / height, words, weight="bold", fontsize=9.5)
    return figure


def _words(axes: Axes, row: Row, lines: Sequence[Row], y: float) -> None:
    """Who it is at the left, figures at the right; heads above the first line."""
    side = axes.get_yaxis_transform()
    axes.text(-0.05, y + 0.02, _NAMES[row["learner"]], transform=side, ha="right", va="bottom", weight="bold")
    axes.text(-0.05, y - 0.02, _where(row), transform=side, ha="right", va="top", fontsize=7.5, color=GREY)
    words = (_times(row["labels_mean"] / lines[0]["labels_mean"]), _differ(row), _proof(row))
    heads = (f"× {_NAMES[lines[0]['learner']]}", "pairs that differ", "proven")
    for head, at, word in zip(heads, _COLUMNS_headline, words, strict=True):
        x = 1 + at / _PANEL_headline
        axes.text(x, y, word, transform=side, ha="right", va="center")
        if row is lines[0]:
            axes.text(x, 0.06, head, transform=side, ha="right", fontsize=7.5, color=GREY)


def _times(ratio: float) -> str:
    """As many digits as can be compared.

    Examples
    --------
    >>> _times(1.0), _times(2.04), _times(2423919.2)
    ('1', '2', '2.4 × 10⁶')
    """
    return number(ratio) if ratio < _LONG else plainly(float(f"{ratio:.2g}")).replace("·", " × ")


def _where(row: Row) -> str:
    """What it knows of the items, and whose sizes it has."""
    plan = {"tight": "", "paper": "sizes of the paper"}.get(row["plan"], f"plan {row['plan']}")
    sizes = "our sizes" if not plan and row["plan"] == "tight" and find(row["learner"]).paper else plan
    items = "known distribution" if row["pool_size"] == "exact" else f"{int(row['pool_size']):,} items"
    return ", ".join(filter(None, (items, sizes if row["replicable"] else "")))


def _differ(row: Row) -> str:
    """How often two labs differ, as measured; where they agree anyway that says nothing."""
    if row["vacuous"]:
        return "not tested"
    return (
        f"{percent(row['disagreement'])} ({at_least(row['disagreement_low'])} to {at_most(row['disagreement_high'])})"
    )


def _proof(row: Row) -> str:
    if not row["replicable"] or unproven(row):
        return "nothing"
    return f"at most {at_most(row['rho'] if row['rho_proven'] is None else row['rho_proven'])}"


def _promise(found: Headline) -> str:
    return in_words(found.settings, ("class", "noise", "epsilon", "delta", "rho"))


def _caption(found: Headline) -> str:
    """A sentence a learner."""
    first = "The same promise, " if found.rho is not None else ""
    parts = [f"{_called(row)} asks for {count(row['labels_mean'])} labels per lab{_buys(row)}" for row in found.lines]
    idle = any(row["vacuous"] for row in found.lines)
    note = " Not tested: with so many labels two labs agree without the shared last step too." if idle else ""
    return f"{first}{_promise(found)}: {'; '.join(parts)}. In brackets: 95% intervals.{note}"


def _called(row: Row) -> str:
    return _NAMES[row["learner"]] + (" with the sizes of the paper" if row["plan"] == "paper" else "")


def _buys(row: Row) -> str:
    """What is proven of how often two labs differ, and what was measured."""
    proof = _proof(row)
    said = ", promises nothing" if not row["replicable"] else f", proves {proof.replace('at most', 'that at most')}"
    if proof != "nothing":
        said += " of pairs differ"
    return said + ("" if row["vacuous"] else f", and {percent(row['disagreement'])} of pairs differ")

"""The first picture of a study: labels of the plain learner, of handicap and of the paper's, for one promise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from replical.learners.catalogue import find
from replical.study import judging
from replical.study.pictures import style
from replical.study.results import Row
from replical.worlds.audit import COUNTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The plain learner, ours, the paper's: for labels without noise, then with noise.
_FAMILIES = (("cal", "handicap", "replical"), ("a2", "handicap", "replica2"))
_NAMES = {"cal": "CAL", "handicap": "handicap", "replical": "RepliCAL", "a2": "A²", "replica2": "ReplicA²"}
_WORLD = ("class", "noise", "epsilon", "delta")
_LONG = 1e4  # from here on a power of ten is easier to compare
_WIDE = 20  # times the fewest labels: from here on an axis of logarithms
# Inches: a letter of what is under the names, the panel, what is above and below it, a line; right ends of columns.
_LETTER, _PANEL, _ABOVE, _BELOW, _LINE = 0.058, 3.3, 0.62, 0.5, 0.44
_COLUMNS = (0.8, 2.5, 3.6)


@dataclass(frozen=True)
class Headline:
    """One promise in one world, and a cell of each learner that makes it; the plain learner's comes first."""

    rho: float | None
    lines: tuple[Row, ...]

    @property
    def words(self) -> str:
        """The class, noise, ε, δ and ρ that all lines share."""
        return style.describe(self.lines[0] | {"rho": self.rho}, (*_WORLD, "rho"))


def headline(rows: Sequence[Row], folder: Path) -> list[style.Picture]:
    """The picture, where the study has one of these learners in a world that counts."""
    best = choose(rows)
    if best is None:
        return []
    title = "Labels for the same promise" if best.rho is not None else "Labels without a promise"
    return [style.write_picture(_figure(best), folder, "headline", title, _caption(best))]


def choose(rows: Iterable[Row]) -> Headline | None:
    """The promise with the most of these learners; then one that handicap keeps where labs do not agree anyway."""
    ran = [
        row
        for row in judging.finished_rows(rows)
        if row["labels_mean"] and row["max_labels"] is None and not judging.has_own_sizes(row)
    ]
    found = [each for family in _FAMILIES for each in _promises(family, ran, judging.parents(ran))]
    return max(found, key=_rank, default=None)


def _rank(each: Headline) -> tuple[object, ...]:
    """By how much it says; what follows the pairs only makes the choice the same for the same rows."""
    certifying = [row for row in each.lines if find(row["learner"]).certifies]
    proven = sum(not row["vacuous"] and not judging.missing_proof(row) for row in certifying)
    pairs = max((row["pairs"] for row in certifying or each.lines), default=0)
    kinds = len({row["learner"] for row in each.lines})
    noise = str(each.lines[0]["noise"])
    world = (each.lines[0]["hypotheses"] or 0, -each.lines[0]["epsilon"], -(each.rho or 0), each.lines[0]["class"])
    return kinds, proven, each.rho is not None, each.lines[0]["learner"] in _FAMILIES[0], pairs, *world, noise


def _promises(family: tuple[str, ...], ran: list[Row], of: dict[str, Row]) -> Iterator[Headline]:
    """Every promise made for a world, in worlds where labs do not agree whatever they do."""
    mine = [row for row in ran if row["learner"] in family]
    for world in dict.fromkeys(tuple(row[name] for name in _WORLD) for row in mine):
        here = [row for row in mine if tuple(row[name] for name in _WORLD) == world]
        plain = [row for row in here if not row["replicable"]]
        if not any(_shows_difference(row) for row in here):
            continue
        for rho in dict.fromkeys(row["rho"] for row in here if row["replicable"]) or (None,):
            promised = [row for row in here if row["replicable"] and row["rho"] == rho]
            lines = list(_best(promised))
            kin = [of[row["cell"]] for row in lines if row["cell"] in of]
            first = [row for row in (*kin, *plain) if row["learner"] == family[0]][:1]
            yield Headline(
                rho, (*first, *sorted(lines, key=lambda row: (family.index(row["learner"]), row["labels_mean"])))
            )


def _shows_difference(row: Row) -> bool:
    """Does this cell show that labs differ in its world, if nothing is done about it?"""
    return not row["vacuous"] if row["replicable"] else (row["disagreement"] or 0) >= COUNTED


def _best(rows: list[Row]) -> Iterator[Row]:
    """For each learner and plan the cell that counts, is proven, has most pairs and fewest labels, in this order."""
    for kind in dict.fromkeys((row["learner"], row["plan"]) for row in rows):
        yield min(
            (row for row in rows if (row["learner"], row["plan"]) == kind),
            key=lambda row: (
                bool(row["vacuous"]),
                bool(judging.missing_proof(row)),
                -row["pairs"],
                row["labels_mean"],
                row["cell"],
            ),
        )


def _figure(found: Headline) -> Figure:
    """A line a learner: its name, its labels, and what they buy."""
    lines, tall = found.lines, _LINE * len(found.lines)
    left = 0.35 + _LETTER * max(20, *(len(_conditions(row)) for row in lines))
    width, height = left + _PANEL + _COLUMNS[-1] + 0.1, _ABOVE + tall + _BELOW
    figure = style.new_figure(width, height)
    figure.set_layout_engine("none")
    axes = figure.add_axes((left / width, _BELOW / height, _PANEL / width, tall / height), ylim=(-tall, 0))
    places = [-_LINE * (place + 0.5) for place in range(len(lines))]
    labels = [row["labels_mean"] for row in lines]
    axes.set_xlabel("labels per lab")
    if max(labels) > _WIDE * min(labels):
        axes.set(xscale="log", xlim=(min(labels) / 4, max(labels) * 4))
        style.log_ticks(axes.xaxis, most=7)
    else:
        axes.set_xlim(0, max(labels) * 1.2)
    axes.hlines(places, 0, 1, transform=axes.get_yaxis_transform(), color="#b0b0b0", linewidth=0.6, zorder=1)
    style.draw_markers(axes, lines, zip(labels, places, strict=True))
    axes.tick_params(left=False, labelleft=False)
    axes.grid(visible=False, axis="y")
    for row, y in zip(lines, places, strict=True):
        at = (row["labels_mean"], y)
        axes.annotate(
            judging.count(row["labels_mean"]), at, (0, 7), textcoords="offset points", ha="center", weight="bold"
        )
        _write_words(axes, row, lines, y)
    words = ("" if found.rho is None else "The same promise: ") + found.words
    figure.text(0.1 / width, 1 - 0.22 / height, words, weight="bold", fontsize=9.5)
    return figure


def _write_words(axes: Axes, row: Row, lines: Sequence[Row], y: float) -> None:
    """Who it is at the left, figures at the right; heads above the first line."""
    side = axes.get_yaxis_transform()
    axes.text(-0.05, y + 0.02, _NAMES[row["learner"]], transform=side, ha="right", va="bottom", weight="bold")
    axes.text(-0.05, y - 0.02, _conditions(row), transform=side, ha="right", va="top", fontsize=7.5, color=style.GREY)
    words = (_multiple(row["labels_mean"] / lines[0]["labels_mean"]), _disagreement(row), _proof(row))
    heads = (f"× {_NAMES[lines[0]['learner']]}", "pairs that differ", "proven")
    for head, at, word in zip(heads, _COLUMNS, words, strict=True):
        x = 1 + at / _PANEL
        axes.text(x, y, word, transform=side, ha="right", va="center")
        if row is lines[0]:
            axes.text(x, 0.06, head, transform=side, ha="right", fontsize=7.5, color=style.GREY)


def _multiple(ratio: float) -> str:
    """As many digits as can be compared.

    Examples
    --------
    >>> _multiple(1.0), _multiple(2.04), _multiple(2423919.2)
    ('1', '2', '2.4 × 10⁶')
    """
    return judging.number(ratio) if ratio < _LONG else style.tick_text(float(f"{ratio:.2g}")).replace("·", " × ")


def _conditions(row: Row) -> str:
    """What it knows of the items, and whose sizes it has."""
    plan = {"tight": "", "paper": "sizes of the paper"}.get(row["plan"], f"plan {row['plan']}")
    sizes = "our sizes" if not plan and row["plan"] == "tight" and find(row["learner"]).paper else plan
    items = "known distribution" if row["pool_size"] == "exact" else f"{int(row['pool_size']):,} items"
    return ", ".join(filter(None, (items, sizes if row["replicable"] else "")))


def _disagreement(row: Row) -> str:
    """How often two labs differ, as measured; where they agree anyway that says nothing."""
    if row["vacuous"]:
        return "not tested"
    ends = f"{judging.percent_down(row['disagreement_low'])} to {judging.percent_up(row['disagreement_high'])}"
    return f"{judging.percent(row['disagreement'])} ({ends})"


def _proof(row: Row) -> str:
    """What is proven of how often two labs differ; by how many labs, where not by all."""
    if not row["replicable"]:
        return "nothing"
    if judging.missing_proof(row):
        some = row["certified_fraction"] and not judging.missing_proof(row | {"certified_fraction": 1.0})
        return f"by {judging.percent(row['certified_fraction'])} of labs" if some else "nothing"
    return f"at most {judging.percent_up(row['rho'] if row['rho_proven'] is None else row['rho_proven'])}"


def _caption(found: Headline) -> str:
    """A sentence a learner."""
    first = "The same promise, " if found.rho is not None else ""
    parts = []
    for row in found.lines:
        who = _NAMES[row["learner"]] + (" with the sizes of the paper" if row["plan"] == "paper" else "")
        parts.append(f"{who} asks for {judging.count(row['labels_mean'])} labels per lab{_gain(row)}")
    idle = any(row["vacuous"] for row in found.lines)
    note = " Not tested: two labs agree there whatever they do." if idle else ""
    return f"{first}{found.words}: {'; '.join(parts)}. In brackets: 95% intervals.{note}"


def _gain(row: Row) -> str:
    """What is proven of how often two labs differ, and what was measured."""
    proof = _proof(row)
    if not row["replicable"]:
        said = ", promises nothing"
    elif proof.startswith("by "):
        said = f", {proof.removeprefix('by ')} prove their answer"
    else:
        said = f", proves {proof.replace('at most', 'that at most')}" + (
            " of pairs differ" if proof != "nothing" else ""
        )
    return said + ("" if row["vacuous"] else f", and {judging.percent(row['disagreement'])} of pairs differ")

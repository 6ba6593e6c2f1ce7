"""What a study shows and what it does not, in sentences made from its rows.

Each function gives its sentences, none if there is nothing to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import fsum
from typing import Any

from replical.core.exact import upper_tail
from replical.core.text import interval
from replical.study.judging import (
    BELOW,
    OPEN,
    WITHIN,
    amount,
    cell_name,
    certifies,
    count,
    error_chance,
    finished_rows,
    lacks_pairs,
    list_few,
    missing_proof,
    number,
    parents,
    percent,
    replicable_rows,
    span,
    verdict,
)
from replical.study.results import Row
from replical.worlds.audit import COUNTED

TERMS = (
    "A cell is one learner in one world, run by many pairs of labs. Controls are the same labs with strings of their own, "
    "and labs that return what errs least on as many labels. A cell counts if in one of the two at least "
    f"{percent(COUNTED)} of pairs differ. Its parent is the learner it is made from. ρ is how often two labs may differ."
)
SIMULATED = (
    "All worlds are simulated: labels come from a hypothesis of the class with known noise, and both labs draw from one "
    "population. Real experts err in other ways, and real labs have other data."
)


def summary_sentence(rows: list[Row]) -> str:
    """The study in a sentence."""
    ran, promised = finished_rows(rows), replicable_rows(rows)
    refused = len(rows) - len(ran)
    if not ran:
        return f"Nothing was run: {amount(refused, 'cell was', 'cells were')} refused."
    parts = [_agreement(ran, promised)]
    if below := [row for row in promised if verdict(row) == BELOW]:
        parts.append(
            f"Below it: {list_few([('uncertified ' if missing_proof(row) else '') + cell_name(row) for row in below])}"
        )
    proving = [row for row in promised if certifies(row) and not row["vacuous"]]
    if paid := ratios(proving, rows):
        learners = list_few(sorted({row["learner"] for row in proving}))
        parts.append(f"{learners} took {span(paid)} times the labels of its parent")
    empty = [row for row in promised if row["vacuous"]]
    if 0 < len(empty) < len(promised):
        parts.append(
            f"{amount(len(empty), 'cell shows', 'cells show')} nothing about it, because labs agree there "
            "whatever they do"
        )
    if refused:
        parts.append(f"{amount(refused, 'cell was', 'cells were')} refused")
    return ". ".join(parts) + "."


def _agreement(ran: list[Row], promised: list[Row]) -> str:
    """How often labs agree, against what was promised."""
    if not promised:
        share = span([row["agreement"] for row in ran], percent)
        return f"{amount(len(ran), 'cell')} without a replicable learner: two labs agreed in {share} of pairs"
    counted = [row for row in promised if not row["vacuous"]]
    below = sum(verdict(row) == BELOW for row in promised)
    if not counted:
        cells = amount(len(promised), "cell")
        first = f"None of {cells} with a replicable learner counts: labs agree whatever they do"
        return first + (f", and yet agreement lies below the promise of 1-ρ in {below}" if below else "")
    lie = Counter(verdict(row) for row in counted)
    if all(map(lacks_pairs, counted)):
        sentence = _first_look(counted, lie[BELOW])
    else:
        cells = amount(len(counted), "cell that counts", "cells that count")
        sentence = (
            f"In {lie[WITHIN]} of {cells} the 95% interval of two labs' agreement lies wholly within the promise of 1-ρ, in "
            f"{lie[OPEN]} it is compatible with it, in {lie[BELOW]} below it"
        )
    return f"{sentence}; it is also below in {below - lie[BELOW]} of the others" if below > lie[BELOW] else sentence


def _first_look(counted: list[Row], below: int) -> str:
    """Where no cell could have confirmed its promise."""
    pairs = span([row["pairs"] for row in counted])
    are = "pair a cell is" if pairs == "1" else "pairs a cell are"
    first = f"A first look: {pairs} {are} too few to confirm a promise"
    cells = amount(len(counted), "cell that counts", "cells that count")
    return f"{first}; of {cells} {below or 'none'} {'look' if below > 1 else 'looks'} broken"


def findings(rows: list[Row]) -> list[str]:
    """What the study shows."""
    return [*broken_promises(rows), *accuracy(rows)]


def broken_promises(rows: list[Row]) -> list[str]:
    """Where labs differ more often than ρ."""
    below = [row for row in replicable_rows(rows) if verdict(row) == BELOW]
    sure, unsure = [row for row in below if not missing_proof(row)], [row for row in below if missing_proof(row)]
    sentences = []
    if sure:
        sentences.append(
            f"The promise is broken in {amount(len(sure), 'cell')}: the whole 95% interval of agreement lies below 1-ρ for "
            f"{list_few([_agreement_words(row) for row in sure])}."
        )
    if unsure:
        sentences.append(
            f"Labs differ more often than ρ in {amount(len(unsure), 'cell')} where nothing was proven: "
            f"{list_few([_agreement_words(row) for row in unsure])}."
        )
    return sentences


def _agreement_words(row: Row) -> str:
    ends = interval(row["agreement_low"], row["agreement_high"])
    return f"{cell_name(row)}, agreement {percent(row['agreement'])}, {ends}"


def ratios(some_rows: Iterable[Row], rows: list[Row]) -> list[float]:
    """Labels of some cells in those of their parents; a budget makes no price, so cells that have one are left out."""
    of = parents(rows)
    pairs = [(row, of[row["cell"]]) for row in some_rows if row["cell"] in of and row["max_labels"] is None]
    return [row["labels_mean"] / parent["labels_mean"] for row, parent in pairs if parent["labels_mean"]]


def accuracy(rows: list[Row]) -> list[str]:
    """How many labs ended above ε, against how many may."""
    ran = finished_rows(rows)
    if not ran:
        return []
    over, labs = sum(row["excess_over_epsilon"] or 0 for row in ran), sum(2 * row["pairs"] for row in ran)
    allowed = fsum(2 * row["pairs"] * row["delta"] for row in ran)
    deltas = {row["delta"] for row in ran}
    chance = f" (p = {upper_tail(over, labs, deltas.pop()):.2g}, exact binomial)" if len(deltas) == 1 else ""
    first = f"{count(over)} of {amount(labs, 'lab')} ended with an error more than ε above the best; δ allows for "
    first += f"{count(allowed)} in the mean{chance}."
    chances = [(row, error_chance(row)) for row in ran]
    bad = [f"{cell_name(row)}, p = {p:.2g}" for row, p in chances if p is not None and p < 0.05 / len(ran)]
    if not bad:
        return [first]
    return [first, f"More labs than chance explains ended above ε in {amount(len(bad), 'cell')}: {list_few(bad)}."]


def limits(rows: list[Row], facts: Mapping[str, Any]) -> list[str]:
    """What the study does not show."""
    makers = (vacuous_cells, uncertified_cells, chance)
    sentences = [sentence for make in makers for sentence in make(rows)]
    return [*sentences, *several_versions(facts), SIMULATED]


def vacuous_cells(rows: list[Row]) -> list[str]:
    """Cells in which labs agree anyway."""
    empty = [row for row in replicable_rows(rows) if row["vacuous"]]
    if not empty:
        return []
    return [
        f"{amount(len(empty), 'cell says', 'cells say')} nothing about replicability: labs agree in more than "
        f"{percent(1 - COUNTED)} of pairs with strings of their own too, and if they take what errs least: "
        f"{list_few([cell_name(row) for row in empty])}."
    ]


def uncertified_cells(rows: list[Row]) -> list[str]:
    """Cells whose promise is measured and not proven."""
    unsure = [row for row in replicable_rows(rows) if missing_proof(row)]
    if not unsure:
        return []
    partly = [row["certified_fraction"] for row in unsure if row["certified_fraction"] is not None]
    labs = f", because {span(partly, percent)} of labs were certified" if partly else ""
    return [
        f"In {amount(len(unsure), 'cell')} agreement is measured, not proven{labs}: "
        f"{list_few([cell_name(row) for row in unsure])}. "
        "The guarantee is about pairs of labs that are both certified."
    ]


def chance(rows: list[Row]) -> list[str]:
    """Many intervals, some of them wrong."""
    many = len(replicable_rows(rows))
    if many < 2:
        return []
    return [
        f"Each interval is a 95% interval of its own: of {many} promises that are kept with nothing to spare, "
        f"{number(many / 40)} would look broken by chance."
    ]


def several_versions(facts: Mapping[str, Any]) -> list[str]:
    """Cells that different versions ran."""
    by = facts.get("cells_by_version") or {}
    if len(by) < 2:
        return []
    each = [f"{cells} by {version}" for version, cells in sorted(by.items())]
    return [
        f"The cells were not all run by one version of replical: {list_few(each, 5)}. Run again in an empty folder."
    ]

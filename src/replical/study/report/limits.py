"""What a study does not show, in sentences made from its rows and from how it was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from replical.study.judging import done, replicable, undecided, unproven, words_of
from replical.study.phrases import listed, number, percent, some, span
from replical.study.results import Row
from replical.study.spec import Cell
from replical.worlds.figures import COUNTED

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

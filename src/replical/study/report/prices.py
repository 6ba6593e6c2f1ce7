"""What replicability cost in a study, in labels and in accuracy, in sentences made from its rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from statistics import median

from replical.study.judging import BELOW, kind, parents, replicable, rounds, task, unproven, verdict, words_of
from replical.study.phrases import count, listed, number, some, span
from replical.study.results import Row


def by_kind(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows of each learner; those with sizes set by hand or with a budget by themselves."""
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        kinds[kind(row)].append(row)
    return dict(sorted(kinds.items()))


def ratios(some_rows: Iterable[Row], rows: list[Row]) -> list[float]:
    """Labels of some cells in those of their parents; a budget makes no price, so cells that have one are left out."""
    of = parents(rows)
    pairs = [(row, of[row["cell"]]) for row in some_rows if row["cell"] in of and row["max_labels"] is None]
    return [row["labels_mean"] / parent["labels_mean"] for row, parent in pairs if parent["labels_mean"]]


def price(rows: list[Row]) -> list[str]:
    """Labels of a replicable learner in those of its parent, in cells that count; in vacuous ones where it has no others."""
    of, sentences = parents(rows), []
    for learner, every in by_kind(row for row in replicable(rows) if row["cell"] in of).items():
        counted = [row for row in every if not row["vacuous"]]
        mine = counted or every
        times = ratios(mine, rows)
        if not times:
            continue
        more = [row["labels_mean"] - of[row["cell"]]["labels_mean"] for row in mine]
        middle = f" (median {number(median(times))})" if len(times) > 1 else ""
        sentences.append(
            f"{learner} asked for {span(times)} times the labels of {of[mine[0]['cell']]['learner']}{middle} in the same "
            f"world, {_more(more)} ({some(len(times), 'cell' if counted else 'vacuous cell')})."
        )
    return sentences


def _more(labels: list[float]) -> str:
    """By how many."""
    if min(labels) >= 0:
        return f"{span(labels, count)} more"
    if max(labels) < 0:
        return f"{span([-each for each in labels], count)} fewer"
    return f"from {count(-min(labels))} fewer to {count(max(labels))} more"


def contests(rows: list[Row]) -> list[list[Row]]:
    """Tasks that several learners solved with a proven promise: each learner's best cell, the fewest labels first."""
    tasks: dict[tuple[object, ...], dict[str, Row]] = defaultdict(dict)
    for row in replicable(rows):
        best = tasks[task(row)].get(row["learner"])
        if not unproven(row) and verdict(row) != BELOW and (best is None or row["labels_mean"] < best["labels_mean"]):
            tasks[task(row)][row["learner"]] = row
    return [sorted(each.values(), key=lambda row: row["labels_mean"]) for each in tasks.values() if len(each) > 1]


def fewest(rows: list[Row]) -> list[str]:
    """Which replicable learner asked for fewest labels."""
    tasks = contests(rows)
    won = Counter(contest[0]["learner"] for contest in tasks)
    return [
        f"Of the learners with a proven promise, {learner} asked for fewest labels in {wins} of {some(len(tasks), 'task')}; "
        f"the next asked for {span(_leads(tasks, learner))} times as many."
        for learner, wins in sorted(won.items(), key=lambda entry: (-entry[1], entry[0]))
    ]


def _leads(tasks: list[list[Row]], learner: str) -> list[float]:
    won = [contest for contest in tasks if contest[0]["learner"] == learner]
    return [second["labels_mean"] / max(1.0, first["labels_mean"]) for first, second, *_ in won]


def losses(rows: list[Row]) -> list[str]:
    """Where rounding is not the cheapest way."""
    lost = [
        f"{words_of(mine)} ({number(mine['labels_mean'] / max(1.0, contest[0]['labels_mean']))} times the labels of "
        f"{contest[0]['learner']})"
        for contest in contests(rows)
        for mine in contest[1:]
        if rounds(mine) and not rounds(contest[0])
    ]
    return (
        [f"Rounding is not the cheapest replicable way in {some(len(lost), 'task')}: {listed(lost)}."] if lost else []
    )


def error_price(rows: list[Row]) -> list[str]:
    """Rounding may cost accuracy."""
    of = parents(rows)
    mine = [row for row in replicable(rows) if rounds(row) and row["cell"] in of]
    worse = [row for row in mine if row["excess_error_mean"] > of[row["cell"]]["excess_error_mean"]]
    if not worse:
        return []
    share = [row["excess_error_mean"] / row["epsilon"] for row in worse]
    return [
        f"Rounding costs accuracy: its mean excess error is above its parent's in {len(worse)} of {some(len(mine), 'cell')} "
        f"and there {span(share)} of ε."
    ]

"""The course of a run: do its rounds and labels follow the plan's schedule, and could any data have made them?

A check returns nothing if all is well, and a sentence if not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from replical.core.words import count
from replical.lab.certificate.checks import same
from replical.lab.certificate.measured import askable, measured_on
from replical.lab.certificate.parts import RoundPart
from replical.lab.protocol import Protocol
from replical.learners.measured import measurable
from replical.learners.result import STOP
from replical.plans.a2 import A2Plan, AgnosticRoundsPlan
from replical.plans.base import CALPlan, Plan, RoundsPlan, SamplePlan
from replical.plans.boosted import BoostedPlan
from replical.plans.settled import SettledPlan

Rounds = Sequence[RoundPart]


def counts(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Do labels, skips and rounds add up, within pool and budget?"""
    labels, rounds, items = body["labels"], body["rounds"], body["pool"]["items"]
    asked = sum(each["drawn"] for each in rounds)
    if labels["asked"] != asked:
        return f"{count(labels['asked'], 'label was', 'labels were')} asked, the rounds ask for {asked}"
    if labels["asked"] > labels["answered"]:
        return f"{count(labels['asked'], 'label was', 'labels were')} asked, and only {labels['answered']} answered"
    if labels["answered"] + labels["skipped"] > items:
        answered = count(labels["answered"], "item was", "items were")
        return f"{answered} answered and {labels['skipped']} skipped, and there are {items}"
    if body["transcript"]["entries"] != labels["answered"] + labels["skipped"]:
        return "the transcript does not hold every answer and skip"
    if body["runs_in_journal"] < 1:
        return "the journal of a finished run holds at least one answer"
    if [each["round"] for each in rounds] != list(range(1, len(rounds) + 1)):
        return "the rounds are not numbered from 1"
    most, error = protocol.plan.max_labels, body.get("answer_error")
    spent = asked - (0 if error is None else error["labels"])  # measuring the error is no part of the budget
    return None if most is None or spent <= most else f"more labels than the budget of {most}"


def rounds(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Could any items and labels have made these rounds?"""
    plan, n, items = protocol.plan, len(protocol.recipe.C), body["pool"]["items"]
    choosing, measuring = split(body)
    total = measured_on(plan, items)
    for each in choosing:
        if wrong := _possible(each, plan, n, total):
            return f"round {each['round']}: {wrong}"
    if choosing and choosing[0]["survivors"] != n:
        return f"the first round begins with {choosing[0]['survivors']} hypotheses, the class has {n}"
    if choosing and choosing[0]["disagreement"][0] < _apart(body) and total == items:
        return "hypotheses of the summary differ on more items than are disputed in the first round"
    if plan.shrinks and (wrong := _shrinking(body, choosing)):
        return wrong
    scanned = sum(each["scanned"] for each in body["rounds"])
    if scanned > askable(plan, items):
        return f"the rounds look at {scanned} items, of {items} only {askable(plan, items)} may be looked at"
    return _scheduled(plan, choosing) or _measuring(plan, measuring, total)


def split(body: Mapping[str, Any]) -> tuple[Rounds, Rounds]:
    """The rounds that chose the answer, and those after it that measured its error."""
    error, rounds = body.get("answer_error"), body["rounds"]
    if error is None or error["labels"] == 0:
        return rounds, ()
    chosen = sum(each["drawn"] for each in rounds) - error["labels"]
    heard = accumulate((each["drawn"] for each in rounds), initial=0)
    last = next((number for number, count in enumerate(heard) if count == chosen), len(rounds))
    return rounds[:last], rounds[last:]


def _possible(each: RoundPart, plan: Plan, n: int, total: int) -> str | None:
    """One round by itself."""
    if len(each["disagreement"]) != 2 or each["disagreement"][1] != total:
        return f"disagreement is measured on {total} items"
    count = each["disagreement"][0]
    if count > total:
        return "a disagreement mass is above its total"
    if each["survivors"] > n:
        return f"the class has {n} hypotheses"
    if each["drawn"] > each["scanned"] and not _chooses_items(plan):
        return "more items are asked than looked at"
    if isinstance(plan, SamplePlan | BoostedPlan):
        return None
    if each["survivors"] < 2 or count == 0:
        return "items are asked where nobody disagrees"
    return "more items are asked than are disputed" if each["drawn"] > count and _asks_where_measured(plan) else None


def _chooses_items(plan: Plan) -> bool:
    """Does it ask items that it did not come across by looking at one after the other?"""
    base = plan if plan.base is None else plan.base
    return isinstance(base, CALPlan) and base.query == "halving"


def _asks_where_measured(plan: Plan) -> bool:
    return not getattr(plan, "measuring", 0)


def _apart(body: Mapping[str, Any]) -> int:
    """On so many items at least two of the summarised hypotheses differ."""
    columns = zip(*(each["predicts"] for each in body["pool"]["summary"]), strict=True)
    return max((max(column) - min(column) for column in columns), default=0)


def _shrinking(body: Mapping[str, Any], rounds: Rounds) -> str | None:
    """Survivors become fewer, and what they dispute with them; the same survivors dispute the same."""
    seen = [(each["survivors"], each["disagreement"][0]) for each in rounds]
    for (before, disputed), (after, left) in pairwise(seen):
        if after > before:
            return "the number of survivors grows"
        if left > disputed:
            return "the disagreement of survivors grows"
        if after == before and left != disputed:
            return "the same survivors disagree on another number of items"
    if seen and body["survivors"]["count"] > seen[-1][0]:
        return "the number of survivors grows"
    stop = next((each for each in body["conditions"] if each["name"] == STOP), None)
    if seen and stop is not None and stop["value"] > seen[-1][1] / rounds[-1]["disagreement"][1]:
        return "the disagreement at the stop is above that of the last round"
    return None


def _scheduled(plan: Plan, rounds: Rounds) -> str | None:
    """Does every round ask for as many labels as the plan says?"""
    base = plan if plan.base is None or isinstance(plan, BoostedPlan) else plan.base
    drawn = [each["drawn"] for each in rounds]
    if isinstance(base, CALPlan):
        if any(count != base.k for count in drawn) or base.spent(len(rounds) - 1):
            return f"the plan asks for {base.k} labels per round, and for so many rounds only"
    elif isinstance(base, A2Plan):
        opened = [base.opens(sum(drawn[:number])) for number in range(len(drawn))]
        if drawn[:-1] != opened[:-1] or not all(0 < count <= most for count, most in zip(drawn, opened, strict=True)):
            return "the plan asks for other numbers of labels per round"
    elif isinstance(base, SettledPlan):
        return _in_blocks(base, rounds)
    elif isinstance(base, SamplePlan):
        return same([[each["drawn"], each["scanned"]] for each in rounds], [[base.k, base.k]])
    elif isinstance(base, RoundsPlan):
        return _in_rounds(base, rounds)
    elif isinstance(base, BoostedPlan):
        most = base.labels_most
        return None if most is None or sum(drawn) <= most else f"more labels than all runs together ask, {most}"
    return None


def _in_rounds(plan: RoundsPlan, rounds: Rounds) -> str | None:
    """Rounds of k labels, at most N of them, and perhaps a last sample whose size depends on the mass that is left."""
    loop = [each["drawn"] == plan.k for each in rounds]
    if all(loop) and len(loop) <= plan.rounds_most:
        return None
    if not all(loop[:-1]) or len(loop) - 1 > plan.rounds_most:
        return f"the plan has at most {plan.rounds_most} rounds of {plan.k} labels and a last sample"
    last = rounds[-1]
    mass = Fraction(*last["disagreement"])
    size = plan.final_size(mass) if isinstance(plan, AgnosticRoundsPlan) else plan.integer("k_final")
    if last["drawn"] == size or (last["scanned"] == size and last["drawn"] < size):
        return None
    return f"the plan's last sample has {size} items"


def _in_blocks(plan: SettledPlan, rounds: Rounds) -> str | None:
    """At most a batch, and never longer idle than the plan allows."""
    asked, idle = 0, plan.integer("idle")
    for each in rounds:
        if not 0 < each["drawn"] <= plan.opens(asked):
            return f"round {each['round']} asks for {each['drawn']} labels, the plan for {plan.opens(asked)} at most"
        if each["scanned"] > idle * (each["drawn"] + (each["drawn"] < plan.opens(asked))):
            return f"round {each['round']} looks at {each['scanned']} items for {each['drawn']} labels"
        asked += each["drawn"]
    return None


def _measuring(plan: Plan, rounds: Rounds, total: int) -> str | None:
    """Fresh items, a batch at a time, wherever they lie."""
    if rounds and not measurable(plan):
        return f"{plan.learner} measures no error here"
    for number, (told, drawn) in enumerate(
        zip(rounds, _batches(plan, rounds), strict=True), rounds[0]["round"] if rounds else 1
    ):
        wanted = {"round": number, "disagreement": [0, total], "survivors": 1, "drawn": drawn, "scanned": drawn}
        if wrong := same(told, wanted):
            return f"round {number} measures the error: {wrong}"
    return None


def _batches(plan: Plan, rounds: Rounds) -> Iterator[int]:
    left = sum(each["drawn"] for each in rounds)
    for _ in rounds:
        yield min(left, getattr(plan, "batch", left))
        left -= min(left, getattr(plan, "batch", left))

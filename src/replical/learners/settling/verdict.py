"""The end of a run of Settled in words: proven or not, why not, what would help."""

from __future__ import annotations

from replical.learners.findings import Settling, Verdict
from replical.plans.base import Plan
from replical.plans.settled import SettledPlan
from replical.plans.settled_distance import SettledDistancePlan


def verdict(plan: SettledPlan, settling: Settling, *, left: int | None, unlabelled: int) -> Verdict:
    """What a lab is told; `left` items were not looked at, `unlabelled` ones nobody could label."""
    if settling.certified:
        return Verdict(certified=True)
    if unlabelled > settling.asked:
        return _hardly_labelled("candidates", settling, unlabelled)
    order = [] if plan.prior.places is not None else ["a public order of preference (protocol new --order-from)"]
    proven = f"it was proven that no other candidate is the first within {float(settling.v):.4f} of the best"
    return Verdict(
        certified=False,
        why=f"{_end(plan, settling)} before {proven}",
        helps=", ".join([_more(settling, left), *order, "or a larger epsilon"]),
    )


def verdict_by_distance(
    plan: SettledDistancePlan, settling: Settling, *, items: int, unlabelled: int, hopeless: bool
) -> Verdict:
    """The same, by distances on so many `items`; `hopeless` if nobody left could decide with any label."""
    if settling.certified:
        return Verdict(certified=True)
    if unlabelled > settling.asked:
        return _hardly_labelled("hypotheses", settling, unlabelled)
    ways = "a larger epsilon or the learner settled, all of them in a new protocol"
    if hopeless:
        why = f"{items:,} items are too few to tell who is the first within {float(settling.v):.4f} of the best"
        return Verdict(certified=False, why=why, helps=f"a larger pool, {ways}")
    why = f"{_end(plan, settling)} while hypotheses that may be the best led to different answers"
    return Verdict(
        certified=False, why=why, helps=f"{'more labels' if _spent(plan, settling) else 'a larger pool'}, {ways}"
    )


def _hardly_labelled(who: str, settling: Settling, unlabelled: int) -> Verdict:
    why = f"{unlabelled} items on which {who} differ could not be labelled, and only {settling.asked} were"
    return Verdict(certified=False, why=why, helps="items that somebody can label")


def _spent(plan: Plan, settling: Settling) -> bool:
    return plan.max_labels is not None and settling.asked >= plan.max_labels


def _end(plan: Plan, settling: Settling) -> str:
    return f"the budget of {plan.max_labels} labels was spent" if _spent(plan, settling) else "the pool was used up"


def _more(settling: Settling, left: int | None) -> str:
    ways = [f"roughly {settling.labels_left:,} more labels"] if settling.labels_left else []
    if left is not None and settling.items_left is not None and settling.items_left > left:
        ways.append(f"{'' if ways else 'roughly '}{settling.items_left - left:,} more items")
    return f"{' and '.join(ways)} (it may be several times as many)" if ways else "more labels"

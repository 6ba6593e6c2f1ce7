"""The end of a run of Settled in words: proven or not, why not, what would help."""

from __future__ import annotations

from replical.learners.result import Settling, Verdict
from replical.plans.settled import SettledPlan


def verdict(plan: SettledPlan, settling: Settling, *, left: int | None, unlabelled: int) -> Verdict:
    """What a lab is told; `left` items were not looked at, `unlabelled` ones nobody could label."""
    if settling.certified:
        return Verdict(certified=True)
    if unlabelled > settling.asked:
        return Verdict(
            certified=False,
            why=f"{unlabelled} items on which candidates differ could not be labelled, and only {settling.asked} were",
            helps="items that somebody can label",
        )
    order = [] if plan.prior.places is not None else ["a public order of preference (protocol new --order-from)"]
    spent = plan.max_labels is not None and settling.asked >= plan.max_labels
    end = f"the budget of {plan.max_labels} labels was spent" if spent else "the pool was used up"
    return Verdict(
        certified=False,
        why=f"{end} before it was proven that no other candidate is the first within {float(settling.v):.4f} of the best",
        helps=", ".join([_more(settling, left), *order, "or a larger epsilon"]),
    )


def _more(settling: Settling, left: int | None) -> str:
    ways = [f"roughly {settling.labels_left:,} more labels"] if settling.labels_left else []
    if left is not None and settling.items_left is not None and settling.items_left > left:
        ways.append(f"{'' if ways else 'roughly '}{settling.items_left - left:,} more items")
    return f"{' and '.join(ways)} (it may be several times as many)" if ways else "more labels"

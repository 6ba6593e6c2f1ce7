"""What is said of runs that look for a linear rule without a list: before the first label, and at the end."""

from __future__ import annotations

from collections.abc import Iterator

from replical.classes.base import HypothesisClass, Items
from replical.classes.linear import Linear, dependent
from replical.core.exact import up, up_to
from replical.learners.result import Result
from replical.plans.lattice import LatticePlan

_FEW = 3  # columns that are named


def lattice_remarks(C: HypothesisClass, plan: LatticePlan) -> Iterator[str]:
    """What somebody who publishes such a protocol, or plans to run it, should know."""
    assert isinstance(C, Linear), "a plan of lattices has one"
    if plan.noisy:
        yield (
            f"Each lab asks for {plan.labels_about(C)} labels. Labels may be wrong (nu), so nothing will be proven: how "
            "often labs differ is predicted, and called so."
        )
        return
    yield (
        f"About {plan.labels_about(C)} labels a lab, if items look alike from every side and no wall of the lattice is in "
        "the way: an estimate, no bound. What is proven supposes that some half-space makes no error."
    )
    if plan.max_labels is not None and plan.max_labels - plan.checks < C.d:
        yield (
            f"Note: nothing can be proven with so few labels: {plan.checks} of {plan.max_labels} check the answer, and "
            f"{C.d} coordinates need at least as many others; raise max_labels."
        )


def item_warnings(C: Linear, items: Items, names: tuple[str, ...]) -> Iterator[str]:
    """What is wrong with items on which no proof is possible."""
    columns = (*names, "the intercept")
    if len(items) < C.d:
        yield f"{len(items)} items cannot tell {C.d} coordinates apart, so nothing can be proven: bring more items"
        return
    if found := dependent(items):
        said = ", ".join(columns[j] for j in found[:_FEW]) + (" .." if len(found) > _FEW else "")
        follow = "follows" if len(found) == 1 else "follow"
        yield (
            f"on these items {said} {follow} from the other features (constant, a copy, a sum), so no label can tell their "
            "weights and nothing can be proven: publish a protocol without them"
        )


def lattice_words(result: Result, plan: LatticePlan) -> Iterator[str]:
    """The end of a run: proven or predicted, why not, what would help; how good the answer is."""
    found, verdict, error = result.enclosing, result.verdict, result.measured
    assert found is not None, "asked of such runs only"
    assert verdict is not None, "asked of such runs only"
    if found.certified and found.enclosed:
        yield (
            "Certified: every half-space that contradicts no label lies in this cell of the lattice. All labs of which that "
            "is true return this very rule, surely, if some half-space makes no error."
        )
    elif found.certified:
        labs = "two labs both prove this" if plan.labs == 2 else f"of {plan.labs} labs two prove this"
        yield (
            f"Certified: that {labs} and yet differ has probability at most {up(found.rho_proven, 3)}, if some half-space "
            "makes no error."
        )
    else:
        yield f"Not certified: {verdict.why}. What helps: {verdict.helps}."
        if not found.enclosed:
            yield f"Predicted, not proven: another lab differs with probability {found.rho_predicted:.3f}."
    level = 1.0 if error is None else error.level + found.rho_proven / plan.labs
    if error is None or level >= 1 or found.rho_proven >= 1:
        yield "How often it errs is not proven."
    else:
        yield f"It errs on at most {up(error.high, 4)} of all items, at level {up_to(level, 3)}."


def bill_words(C: Linear, plan: LatticePlan, items: Items | None, names: tuple[str, ...]) -> str:
    """What a protocol costs, in one paragraph."""
    said = [*lattice_remarks(C, plan)]
    said += [] if items is None else [f"Warning: {each}." for each in item_warnings(C, items, names)]
    return " ".join(said)

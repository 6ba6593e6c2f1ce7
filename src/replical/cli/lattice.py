"""What is said of runs that look for a linear rule without a list: before the first label, and at the end."""

from __future__ import annotations

from collections.abc import Iterator

from replical.classes.base import HypothesisClass, Items, listed, size_of
from replical.classes.linear import Linear, dependent
from replical.core.words import at_most, confidence, count, plural, two_of
from replical.learners.findings import Enclosing
from replical.learners.result import Result
from replical.plans.lattice import LatticePlan
from replical.pools.cone import cells_of

_FEW = 3  # columns that are named


def hypotheses(C: HypothesisClass) -> str:
    """How many hypotheses a class has, in words."""
    if listed(C):
        return count(len(C), "hypothesis", "hypotheses")
    size = size_of(C)
    return f"a lattice of {size:,} cells" if size < 10**6 else f"a lattice of about 10^{len(str(size)) - 1} cells"


def lattice_remarks(C: HypothesisClass, plan: LatticePlan) -> Iterator[str]:
    """What somebody who publishes such a protocol, or plans to run it, should know."""
    assert isinstance(C, Linear), "a plan of lattices has one"
    if plan.noisy:
        yield (
            f"Each lab asks for {count(plan.labels_about(C), 'label')}. Labels may be wrong (nu), so nothing will be "
            "proven: how often labs differ is predicted, and called so."
        )
        return
    yield (
        f"About {count(plan.labels_about(C), 'label')} per lab, if items look alike from every side and no wall of "
        "the lattice is in the way: an estimate, no bound. What is proven supposes that some half-space makes no error."
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
        few = count(len(items), "item")
        yield f"{few} cannot tell {C.d} coordinates apart, so nothing can be proven: bring more items"
        return
    if found := dependent(items):
        said = ", ".join(columns[j] for j in found[:_FEW]) + (" .." if len(found) > _FEW else "")
        follow = plural(len(found), "follows", "follow")
        yield (
            f"on these items {said} {follow} from the other features (constant, a copy, a sum), so no label can tell their "
            "weights and nothing can be proven: publish a protocol without them"
        )


def lattice_proof(result: Result, plan: LatticePlan) -> str:
    """What a certified run has proven."""
    found, supposed = result.enclosing, "if some half-space makes no error"
    assert found is not None, "asked of such runs only"
    if found.enclosed:
        return (
            "every half-space that contradicts no label lies in this cell of the lattice. All labs of which that is true "
            f"return this very rule, surely, {supposed}"
        )
    both, bound = f"{two_of(plan.labs)} both prove this much and have different answers", at_most(found.rho_proven)
    return f"the chance that {both} is at most {bound}, {supposed}"


def lattice_error(result: Result, plan: LatticePlan) -> str:
    """How often the answer errs, as far as it is proven: where not all is in one cell the lab may have another rule."""
    found, error = result.enclosing, result.measured
    assert found is not None, "asked of such runs only"
    level = 1.0 if error is None else error.level + found.rho_proven / plan.labs
    if error is None or found.rho_proven >= 1 or level >= 1:
        return "no bound is proven"
    return f"at most {at_most(error.high, 4)} if some half-space makes no error, with confidence {confidence(level)}"


def lattice_details(found: Enclosing) -> str:
    """What else a run can tell: the cell, and where nothing contradicts how far the directions reach that are left."""
    cell = f"The answer is cell {' '.join(map(str, found.cell))} of the lattice"
    if found.axes is None:
        return f"{cell}; how far other directions reach is not known."
    return f"{cell}; directions that contradict no label lie in {count(cells_of(found.axes), 'cell')}."


def bill_words(C: Linear, plan: LatticePlan, items: Items | None, names: tuple[str, ...]) -> str:
    """What a protocol costs, in one paragraph."""
    said = [*lattice_remarks(C, plan)]
    said += [] if items is None else [f"Warning: {each}." for each in item_warnings(C, items, names)]
    return " ".join(said)

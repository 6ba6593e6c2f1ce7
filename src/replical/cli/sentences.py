"""What people are told in sentences: how often an answer errs, what is proven, why not and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replical.classes.base import HypothesisClass, Items, is_listed, size_of
from replical.core.exact import round_up
from replical.core.text import count, plural, two_of
from replical.lab.protocol import Protocol
from replical.lattice.linear import Linear, dependent_columns
from replical.lattice.plan import LatticePlan
from replical.learners.proof import broken_conditions, family_of
from replical.learners.result import Result, Verdict

_FEW = 3  # columns that are named
DIFFER = f"{two_of(2)} both prove this much and have different answers"  # what a certified lab has shown to be rare


def uncertified_words(verdict: Verdict) -> str:
    """Why a lab has not proven enough, and what would help."""
    return f"Not certified: {verdict.why}. What helps: {verdict.helps}."


def error_words(result: Result, protocol: Protocol) -> str:
    """How often the answer errs, as far as this run knows: an estimate with its interval, or a bound."""
    return family_of(protocol.record).error_words(result, protocol)


def proof_words(result: Result, protocol: Protocol) -> str:
    """Certified or not: what that means, or why not and what would help."""
    return family_of(protocol.record).proof_words(result, protocol)


def detail_words(result: Result, protocol: Protocol) -> Iterator[str]:
    """What else a run can tell."""
    family = family_of(protocol.record)
    yield from family.detail_words(result, protocol)
    for each in broken_conditions(result, told=family.told):
        yield f"Not held: {each}."


def hypotheses(C: HypothesisClass) -> str:
    """How many hypotheses a class has, in words."""
    if is_listed(C):
        return count(len(C), "hypothesis", "hypotheses")
    size = size_of(C)
    return f"a lattice of {size:,} cells" if size < 10**6 else f"a lattice of about 10^{len(str(size)) - 1} cells"


def loss_words(protocol: Protocol) -> Iterator[str]:
    """What a protocol counts instead of errors."""
    if (losses := protocol.recipe.losses) is not None:
        yield losses.words(protocol.labels)


def cut_words(section: Mapping[str, Any]) -> Iterator[str]:
    """What the cuts of a class section lose: nothing is said where they stand for nothing larger."""
    if "quantiles" not in section:
        return
    about, names = section["quantiles"], section["features"]
    of = names[0] if len(names) == 1 else f"{len(names)} features"
    yield (
        f"Cuts at {about['bins']:,} quantiles of {of} in {about['rows']:,} public rows: the best of them errs at most "
        f"{round_up(about['loss'], 4)} more than the best on the whole line, except with probability {about['level']:g}, if "
        "these rows are draws from the population of the labs. Keep them out of every pool."
    )


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
    if found := dependent_columns(items):
        said = ", ".join(columns[j] for j in found[:_FEW]) + (" .." if len(found) > _FEW else "")
        follow = plural(len(found), "follows", "follow")
        yield (
            f"on these items {said} {follow} from the other features (constant, a copy, a sum), so no label can tell their "
            "weights and nothing can be proven: publish a protocol without them"
        )


def bill_words(C: Linear, plan: LatticePlan, items: Items | None, names: tuple[str, ...]) -> str:
    """What a protocol costs, in one paragraph."""
    said = [*lattice_remarks(C, plan)]
    said += [] if items is None else [f"Warning: {each}." for each in item_warnings(C, items, names)]
    return " ".join(said)

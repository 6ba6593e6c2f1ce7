"""What people are told in sentences: how often an answer errs, what is proven, why not and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replical.classes.base import HypothesisClass, Items, is_listed, size_of
from replical.core.exact import fraction, round_up
from replical.core.text import about, at_least, at_most, confidence, count, listing, plural, two_of
from replical.lab.protocol import Protocol
from replical.lattice.cones import cells_of
from replical.lattice.learner import ACCURATE as SMALL
from replical.lattice.learner import ENCLOSED, SEPARABLE
from replical.lattice.linear import Linear, dependent_columns
from replical.lattice.plan import LatticePlan
from replical.learners.catalogue import find
from replical.learners.handicap.plan import HandicapPlan
from replical.learners.handicap.proof import PROVEN, HandicapProof
from replical.learners.plan import Plan
from replical.learners.result import AnswerError, Enclosing, Proof, Result, Verdict

_FEW = 3  # columns that are named
_TOLD = (
    PROVEN,
    ENCLOSED,
    SMALL,
    SEPARABLE,
)  # conditions that the sentences themselves are about


DIFFER = f"{two_of(2)} both prove this much and have different answers"  # what a certified lab has shown to be rare


def error_words(result: Result, protocol: Protocol) -> str:
    """How often the answer errs, as far as this run knows: an estimate with its interval, or a bound."""
    plan = protocol.plan
    if isinstance(plan, LatticePlan):
        return f"Error: {lattice_error(result, plan)}."
    if result.measured is not None:
        return f"Error: {_measured_error(result.measured)}."
    more = _reference(protocol)
    if result.proof is not None:
        hint = "; --measure-error 100 measures the error itself" if plan.measurable else ""
        what = "Error" if protocol.recipe.losses is None else "Loss (1 is the costliest error)"
        return f"{what}: {_excess_error(result.proof, more)}{hint}."
    if not result.sound or result.hypothesis is None:
        return f"Error: no bound is proven{' (-v says why)' if [*_broken_conditions(result)] else ''}."
    sure = confidence(protocol.parameter("delta"))
    return f"Error: at most {at_most(plan.epsilon, 4)} {more}, with confidence {sure}."


def lattice_error(result: Result, plan: LatticePlan) -> str:
    """How often the answer errs, as far as it is proven: where not all is in one cell the lab may have another rule."""
    found, error = result.enclosing, result.measured
    assert found is not None, "asked of such runs only"
    level = 1.0 if error is None else error.level + found.rho_proven / plan.labs
    if error is None or found.rho_proven >= 1 or level >= 1:
        return "no bound is proven"
    return f"at most {at_most(error.high, 4)} if some half-space makes no error, with confidence {confidence(level)}"


def _measured_error(error: AnswerError) -> str:
    wrong, items = round(error.estimate * error.labels), count(error.labels, "fresh item")
    seen = f"{about(error.estimate)}, wrong on {wrong} of {items}" if wrong else f"none seen on {items}"
    skipped = f" ({error.skipped} more could not be labelled and are left out)" if error.skipped else ""
    return f"{seen}{skipped}; {confidence(error.level)} interval {at_least(error.low)} to {at_most(error.high)}"


def _reference(protocol: Protocol) -> str:
    """Errors are told beside those of the best; of one that is supposed to make none, as they are."""
    record, nu = protocol.record, protocol.parameter("nu")
    if record.setting == "realizable" or (record.setting == "either" and (nu == 0 if record.infers else not nu)):
        return "if some hypothesis makes no error"
    return "more than the best"


def _excess_error(proof: Proof, more: str) -> str:
    """How much more often than the best: an estimate, and a bound where it is certified."""
    most = proof.excess_upper
    estimate = min(max(proof.excess, 0.0), 1.0 if most is None else most)
    told = f"about {about(estimate)} {more}" if estimate else "no more than the best on these labels"
    if most is None:
        return f"{told}, an estimate without a bound"
    return f"{told}, {confidence(min(1.0, 2 * proof.beta))} interval 0 to {at_most(most, 4)}"


def _broken_conditions(result: Result) -> Iterator[str]:
    for condition in result.conditions:
        if not condition.held and condition.name not in _TOLD:
            yield f"{condition.name} ({condition.value:g}, bound {condition.bound:g})"


def proof_words(result: Result, protocol: Protocol) -> str:
    """Certified or not: what that means, or why not and what would help."""
    plan, verdict = protocol.plan, result.verdict
    if verdict is None:
        return _no_proof(result, plan, protocol.parameter("rho"))
    if not verdict.certified:
        return f"{uncertified_words(verdict, result)}{_tolerance_words(result, protocol)}"
    if isinstance(plan, LatticePlan):
        return f"Certified: {lattice_proof(result, plan)}."
    if isinstance(result.proof, HandicapProof):
        return _handicap_proof(result.proof, plan, protocol)
    proven = 0.0 if result.proven is None else result.proven.rho_proven
    return f"Certified: the chance that {DIFFER} is at most {at_most(proven)}."


def _no_proof(result: Result, plan: Plan, rho: float) -> str:
    """Of a learner that does not prove anything of its own runs."""
    record, broken = find(plan.learner), [*_broken_conditions(result)]
    helps = "What helps: --learner handicap, which proves it."
    if not record.replicable:
        return f"Not certified: {plan.learner} does not promise that labs agree. {helps}"
    if broken:
        return f"Not certified: the theorem of {plan.learner} does not cover this run: {'; '.join(broken)}. {helps}"
    agree = at_least(1 - fraction(rho))
    return (
        f"Not certified: the theorem of {plan.learner} promises that two labs agree with probability {agree}, and no run "
        f"proves it of itself. {helps}"
    )


def uncertified_words(verdict: Verdict, result: Result) -> str:
    """Why a lab has not proven enough, what would help, and what is estimated beside proofs."""
    sentence = f"Not certified: {verdict.why}. What helps: {verdict.helps}."
    if result.enclosing is not None and not result.enclosing.enclosed:
        differs = about(result.enclosing.rho_predicted)
        return f"{sentence} Predicted, not proven: another lab differs with probability {differs}."
    return sentence


def lattice_proof(result: Result, plan: LatticePlan) -> str:
    """What a certified run has proven."""
    found, supposed = result.enclosing, "if some half-space makes no error"
    assert found is not None, "asked of such runs only"
    if found.enclosed:
        return (
            "every half-space that contradicts no label lies in this cell of the lattice. All labs of which that is true "
            f"return this very rule, surely, {supposed}"
        )
    differ, bound = f"{two_of(plan.labs)} both prove this much and have different answers", at_most(found.rho_proven)
    return f"the chance that {differ} is at most {bound}, {supposed}"


def _handicap_proof(proof: HandicapProof, plan: Plan, protocol: Protocol) -> str:
    noiseless = ", if some hypothesis makes no error" if plan.infers else ""
    whose = "candidate" if protocol.recipe.models else "hypothesis"
    return (
        f"Certified: this is the {whose} with the smallest error plus handicap. The chance that {two_of(proof.labs)} are "
        f"both certified and have different answers is at most {at_most(proof.rho_proven)}{noiseless}."
    )


def _tolerance_words(result: Result, protocol: Protocol) -> str:
    """What is proven of the public favourite, whoever is left; nothing where there is none, or nothing is proven of it."""
    proof, plan = result.proof, protocol.plan
    if not isinstance(proof, HandicapProof) or not isinstance(plan, HandicapPlan):
        return ""
    if plan.favourite is None or proof.tolerance is None or proof.tolerance >= 1:
        return ""
    first = protocol.recipe.describe(plan.favourite)
    word = "too" if proof.certified else "all the same"
    return (
        f" Proven {word}: {first}, the first of the public order, errs at most {at_most(proof.tolerance, 4)} more than the "
        f"best (confidence {confidence(proof.beta)})."
    )


def detail_words(result: Result, protocol: Protocol) -> Iterator[str]:
    """What else a run can tell."""
    if isinstance(result.proof, HandicapProof):
        yield from _handicap_details(result.proof, result, protocol)
    elif result.enclosing is not None:
        yield lattice_details(result.enclosing)
    else:
        yield f"{count(result.V.size, 'hypothesis', 'hypotheses')} left in {count(len(result.rounds), 'round')}."
    for each in _broken_conditions(result):
        yield f"Not held: {each}."


def _handicap_details(proof: HandicapProof, result: Result, protocol: Protocol) -> Iterator[str]:
    """Who is left, how many items were looked at, and what is proven of the first of a public order."""
    left = result.survivors.indices
    names = listing([protocol.recipe.describe(h) for h in left[:_FEW].tolist()], len(left))
    yield (
        f"{count(len(left), 'survivor')}: {names}. One of them has the smallest error plus handicap, except with "
        f"probability {at_most(proof.beta)}."
    )
    yield (
        f"{count(proof.scanned, 'item')} {plural(proof.scanned, 'was', 'were')} looked at, labels were asked for "
        f"{100 * proof.asked / max(proof.scanned, 1):.0f}% of them."
    )
    if not proof.certified:
        doubt = "nothing is" if proof.doubt >= 1 else f"only level {at_most(proof.doubt)} is"
        yield f"The level asked for is {proof.beta:.3g}, and {doubt} proven."
    elif told := _tolerance_words(result, protocol):
        yield told.strip()


def lattice_details(found: Enclosing) -> str:
    """What else a run can tell: the cell, and where nothing contradicts how far the directions reach that are left."""
    cell = f"The answer is cell {' '.join(map(str, found.cell))} of the lattice"
    if found.axes is None:
        return f"{cell}; how far other directions reach is not known."
    return f"{cell}; directions that contradict no label lie in {count(cells_of(found.axes), 'cell')}."


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

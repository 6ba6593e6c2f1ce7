"""What people are told in sentences: how often an answer errs, what is proven, why not and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replical.classes.base import HypothesisClass, Items, is_listed, size_of
from replical.core.exact import fraction, round_up
from replical.core.text import about, at_least, at_most, confidence, count, listing, percent, plural, two_of
from replical.lab.protocol import Protocol
from replical.lattice.cones import cells_of
from replical.lattice.learner import ACCURATE as SMALL
from replical.lattice.learner import ENCLOSED, SEPARABLE
from replical.lattice.linear import Linear, dependent_columns
from replical.lattice.plan import LatticePlan
from replical.learners.catalogue import find
from replical.learners.handicap.plan import HandicapPlan
from replical.learners.handicap.proof import PROVEN as IDEAL
from replical.learners.handicap.proof import HandicapProof
from replical.learners.plan import Plan
from replical.learners.result import AnswerError, Enclosing, Proof, Result, Rounding, Settling, Verdict
from replical.learners.rounded.learner import ACCURATE, CERTIFIED, NEAR
from replical.learners.rounded.plan import RoundedPlan
from replical.learners.settled.learner import PROVEN
from replical.learners.settled.plan import SettledDistancePlan

_FEW = 3  # columns that are named
_TOLD = (
    CERTIFIED,
    ACCURATE,
    NEAR,
    PROVEN,
    IDEAL,
    ENCLOSED,
    SMALL,
    SEPARABLE,
)  # conditions that the sentences themselves are about


def error_words(result: Result, protocol: Protocol) -> str:
    """How often the answer errs, as far as this run knows: an estimate with its interval, or a bound."""
    plan = protocol.plan
    if isinstance(plan, LatticePlan):
        return f"Error: {lattice_error(result, plan)}."
    rounding, settling, verdict = result.rounding, result.settling, result.verdict
    if result.measured is not None:
        return f"Error: {_measured_error(result.measured)}."
    more = _reference(protocol)
    if (result.proof or settling) is not None:
        hint = "; --measure-error 100 measures the error itself" if plan.measurable else ""
        what = "Error" if protocol.recipe.losses is None else "Loss (1 is the costliest error)"
        return f"{what}: {_excess_error(result.proof or settling, more)}{hint}."
    if rounding is not None and rounding.certified and not rounding.accurate and verdict is not None:
        return f"Error: no bound is proven: {verdict.why}. What helps: {verdict.helps}."
    bounded = result.sound if rounding is None else rounding.accurate
    if not bounded or result.hypothesis is None:
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
    setting = find(protocol.plan.learner).setting
    if setting == "realizable" or (setting == "either" and not protocol.parameter("nu")):
        return "if some hypothesis makes no error"
    return "more than the best"


def _excess_error(settling: Proof | Settling | None, more: str) -> str:
    """How much more often than the best: an estimate, and a bound where it is certified."""
    assert settling is not None, "asked where something is proven"
    most = settling.excess_upper
    estimate = min(max(settling.excess, 0.0), 1.0 if most is None else most)
    told = f"about {about(estimate)} {more}" if estimate else "no more than the best on these labels"
    if most is None:
        return f"{told}, an estimate without a bound"
    return f"{told}, {confidence(min(1.0, 2 * settling.beta))} interval 0 to {at_most(most, 4)}"


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
        return f"{uncertified_words(verdict, result, plan)}{_tolerance_words(result, protocol)}"
    if isinstance(plan, LatticePlan):
        return f"Certified: {lattice_proof(result, plan)}."
    if result.settling is not None:
        return _settled_proof(result.settling, plan)
    if isinstance(result.proof, HandicapProof):
        return _handicap_proof(result.proof, plan, protocol)
    proven = 0.0 if result.proven is None else result.proven.rho_proven
    fixed = f" {_fixed_words(plan)}" if result.rounding is not None and result.rounding.fixed else ""
    return (
        f"Certified: the chance that {difference_words(plan)} is at most {at_most(proven)}{_assumptions(plan)}.{fixed}"
    )


def _no_proof(result: Result, plan: Plan, rho: float) -> str:
    """Of a learner that does not prove anything of its own runs."""
    record, broken = find(plan.learner), [*_broken_conditions(result)]
    helps = f"What helps: --learner {'settled-cal' if record.setting == 'realizable' else 'settled'}, which proves it."
    if not record.replicable:
        return f"Not certified: {plan.learner} does not promise that labs agree. {helps}"
    if broken:
        return f"Not certified: the theorem of {plan.learner} does not cover this run: {'; '.join(broken)}. {helps}"
    agree = at_least(1 - fraction(rho))
    return (
        f"Not certified: the theorem of {plan.learner} promises that two labs agree with probability {agree}, and no run "
        f"proves it of itself. {helps}"
    )


def uncertified_words(verdict: Verdict, result: Result, plan: Plan) -> str:
    """Why a lab has not proven enough, what would help, and what is estimated beside proofs."""
    sentence = f"Not certified: {verdict.why}. What helps: {verdict.helps}."
    if result.rounding is not None:
        return sentence + _prediction(result.rounding, plan)
    if result.settling is not None:
        same = f"{percent(result.settling.agreement_estimate)} of cases"
        return f"{sentence} Estimate, not a proof: another lab with such a pool has the same answer in {same}."
    if result.enclosing is not None and not result.enclosing.enclosed:
        differs = about(result.enclosing.rho_predicted)
        return f"{sentence} Predicted, not proven: another lab differs with probability {differs}."
    return sentence


def _prediction(rounding: Rounding, plan: Plan) -> str:
    if rounding.rho_predicted is not None:
        labs = plan.labs if isinstance(plan, RoundedPlan) else 2
        differs = "another lab differs" if labs == 2 else f"{labs} labs do not all agree"
        return f" Predicted: {differs} with probability {about(rounding.rho_predicted)}."
    if rounding.far_apart:
        return " How often another lab differs is not predicted: the hypotheses left are too far apart."
    return ""


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


def _settled_proof(settling: Settling, plan: Plan) -> str:
    v, far = f"{float(settling.v):.4f}", isinstance(plan, SettledDistancePlan)
    ideal = f"that differs from the best on a share of at most {v} of all items" if far else f"within {v} of the best"
    return (
        f"Certified: this is the first {'hypothesis' if far else 'candidate'} in the shared order {ideal}. The chance "
        f"that {two_of(settling.labs)} are both certified and have different answers is at most "
        f"{at_most(settling.rho_proven)}{_assumptions(plan)}."
    )


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


def _assumptions(plan: Plan) -> str:
    """What a proof takes for granted."""
    return ", if some hypothesis makes no error" if find(plan.learner).setting == "realizable" else ""


def _fixed_words(plan: Plan) -> str:
    """What is certain of this string, and as far as what."""
    words = "Fixed: with this string every certified lab returns this answer"
    if not plan["delta_A"]:
        return f"{words}{_assumptions(plan)}."
    lost = at_most(plan["labs"] * plan["delta_A"])
    return f"{words}, unless one of {plan.integer('labs')} has lost the best hypothesis (probability at most {lost})."


def difference_words(plan: Plan) -> str:
    """What a certified lab has shown to be rare."""
    if not isinstance(plan, RoundedPlan):
        pair = two_of(2)
    elif plan.yardstick is None:
        pair = two_of(plan.labs)
    else:
        labs = "any number of" if find(plan.learner).setting == "realizable" else str(plan.integer("labs"))
        pair = f"two of {labs} labs with this yardstick"
    return f"{pair} both prove this much and have different answers"


def detail_words(result: Result, protocol: Protocol) -> Iterator[str]:
    """What else a run can tell."""
    settling = result.settling
    if settling is not None:
        assert result.hypothesis is not None, "settled always has an answer"
        place = "first" if settling.place == 0 else f"number {settling.place + 1}"
        yield (
            f"{protocol.recipe.describe(result.hypothesis)} is {place} in the shared order; "
            f"{count(settling.scanned, 'item')} {plural(settling.scanned, 'was', 'were')} looked at, labels were asked for "
            f"{100 * settling.asked / max(settling.scanned, 1):.0f}% of them."
        )
        if not settling.certified:
            doubt = "nothing is" if settling.doubt >= 1 else f"only level {at_most(settling.doubt)} is"
            yield f"The level asked for is {settling.beta:.3g}, and {doubt} proven."
    elif isinstance(result.proof, HandicapProof):
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

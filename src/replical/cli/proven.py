"""What a run has proven and what it has not, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from replical.cli.output import count
from replical.core.exact import down, up, up_to
from replical.learners.findings import Rounding, Verdict
from replical.learners.measured import measurable
from replical.learners.result import Result
from replical.learners.rounding.own import shift_most
from replical.plans.base import Plan
from replical.plans.catalogue import find
from replical.plans.rounded import RoundedPlan
from replical.plans.settled_distance import SettledDistancePlan


def uncertified(verdict: Verdict, rounding: Rounding, plan: Plan) -> str:
    """Why a lab that rounds has not proven enough, what would help, and what is known beside proofs."""
    sentence = f"Not certified: {verdict.why}. What helps: {verdict.helps}."
    if rounding.rho_predicted is not None:
        labs = plan.labs if isinstance(plan, RoundedPlan) else 2
        differs = "another lab differs" if labs == 2 else f"{labs} labs do not all agree"
        sentence += f" Predicted: {differs} with probability {rounding.rho_predicted:.3f}."
    elif rounding.far_apart:
        sentence += " How often another lab differs is not predicted: the hypotheses left are too far apart."
    return sentence


def rounded_words(result: Result, plan: Plan) -> Iterator[str]:
    """What a rounded run has proven, sentence by sentence."""
    rounding, verdict = result.rounding, result.verdict
    if rounding is None or verdict is None:
        return
    if not verdict.certified:
        yield uncertified(verdict, rounding, plan)
        return
    yield f"Certified: that {both(plan)} has probability at most {up(rounding.rho_proven or 0.0, 3)}{_supposed(plan)}."
    if (largest := most_shift(result, plan)) is not None:
        yield _shift_words(plan, largest)
    if rounding.fixed:
        yield _fixed(plan)
    if verdict.why:
        yield f"Not accurate: {verdict.why}. What helps: {verdict.helps}."


def settled_words(result: Result, plan: Plan) -> Iterator[str]:
    """The end of a run of a `plan` of Settled: proven or not, why not, what would help; how good the answer is."""
    settling, verdict, measured = result.settling, result.verdict, result.measured
    assert settling is not None, "asked of settled runs only"
    assert verdict is not None, "asked of settled runs only"
    looked = (
        f"It stands at place {settling.place + 1} of the shared order; {count(settling.scanned, 'item')} "
        f"{'was' if settling.scanned == 1 else 'were'} looked at, {100 * settling.asked / max(settling.scanned, 1):.0f}% of "
        "them asked."
    )
    if verdict.certified:
        labs = "two labs both prove this" if settling.labs == 2 else f"of {settling.labs} labs two prove this"
        v, far = f"{float(settling.v):.4f}", isinstance(plan, SettledDistancePlan)
        ideal = (
            f"that differs from the best on a share of at most {v} of all items" if far else f"within {v} of the best"
        )
        yield (
            f"Certified: this is the first {'hypothesis' if far else 'candidate'} in the shared order {ideal}. That {labs} "
            f"and yet differ has probability at most {up(settling.rho_proven, 3)}{_supposed(plan)}."
        )
        yield looked
        most = up(settling.excess_upper or 0.0, 4)
        yield f"It errs at most {most} more often than the best, at level {up_to(2 * settling.beta, 3)}{_supposed(plan)}."
    else:
        doubt = "nothing is proven yet" if settling.doubt >= 1 else f"proven only at level {up(settling.doubt, 3)}"
        yield f"Not certified: {verdict.why} ({doubt}, asked for is {settling.beta:.3g})."
        yield f"What helps: {verdict.helps}."
        yield (
            f"{looked} Estimate, not a proof: another lab with such a pool has the same answer in "
            f"{100 * settling.agreement_estimate:.0f}% of cases."
        )
    if measured is None:
        hint = "; --measure-error 100 measures that" if measurable(plan) else ""
        yield f"How often it errs is not known{hint}."
        return
    skipped = f" ({measured.skipped} more could not be labelled and are left out)" if measured.skipped else ""
    yield (
        f"Its error: {measured.estimate:.3f} on {count(measured.labels, 'fresh item')}{skipped}; between "
        f"{down(measured.low, 3)} and {up(measured.high, 3)} at level {measured.level:g}."
    )


def both(plan: Plan) -> str:
    """What a certified lab has shown to be rare."""
    if not isinstance(plan, RoundedPlan) or (plan.yardstick is None and plan.labs == 2):
        return "two labs both prove this and yet differ"
    if plan.yardstick is None:
        return f"of {plan.labs} labs two prove this and yet differ"
    labs = "any number of" if find(plan.learner).setting == "realizable" else str(plan.integer("labs"))
    return f"of {labs} labs with this yardstick two prove this and yet differ"


def _fixed(plan: Plan) -> str:
    """What is certain of this string, and as far as what."""
    words = "Fixed: with this string every certified lab returns this answer"
    if not plan["delta_A"]:
        return f"{words}{_supposed(plan)}."
    lost = up(plan["labs"] * plan["delta_A"], 3)
    return f"{words}, unless one of {plan.integer('labs')} has lost the best hypothesis (probability at most {lost})."


def _supposed(plan: Plan) -> str:
    """What a proof takes for granted."""
    ways = ["some hypothesis makes no error"] if find(plan.learner).setting == "realizable" else []
    if isinstance(plan, RoundedPlan) and plan.shift:
        ways += [f"distances in the labs' populations are within {float(plan.shift):g} of those in a common one"]
    return f", if {' and '.join(ways)}" if ways else ""


def _shift_words(plan: Plan, most: float) -> str:
    """How different the labs' populations may be at most."""
    if most == 0:
        return "It supposes that all labs sample one population: a shift of 0.001 between them is not covered."
    stated = f"; the protocol asks for {float(plan.shift):g}" if isinstance(plan, RoundedPlan) and plan.shift else ""
    return (
        f"It would also hold if every distance in a lab's population were off by a factor of up to 1 ± {most:g} from that "
        f"in a common one{stated}."
    )


def most_shift(result: Result, plan: Plan) -> float | None:
    """How different labs' populations may be for what this lab has proven; None where it has not, or it does not matter."""
    if not isinstance(plan, RoundedPlan) or result.rounding is None:
        return None
    return shift_most(plan, result.rounding, result.survivors)

"""What a certificate says is proven: does it fit together, as far as that is seen without pool and journal?

Of a rounded run the conditions say what is certified, and slack and survivors what is possible. Of a settled run the level
follows from labels that the file does not tell; what no labels can have led to is found out here. A check returns nothing
if all is well, and a sentence if not.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from math import inf, log
from typing import Any

import numpy as np

from replical.bounds.betting import share_interval
from replical.core.exact import fraction
from replical.lab.certificate.checks import measured_items, split_rounds, value_of
from replical.lab.certificate.file import ranges_of, within
from replical.lab.protocol import Protocol
from replical.learners.proof import is_number, same
from replical.learners.rounded.learner import ACCURATE, NEAR
from replical.learners.rounded.plan import RoundedPlan
from replical.learners.rounded.proof import OwnBound
from replical.learners.settled.learner import LABELLED
from replical.learners.settled.outcome import DIGITS, up
from replical.learners.settled.plan import IdealPlan, SettledCALPlan, SettledDistancePlan, SettledPlan


def rounded_proof(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """What is certified follows from the conditions; what is said of ρ and of slack is possible."""
    plan, proven = protocol.plan, body["rho_proven"]
    assert isinstance(plan, RoundedPlan), "asked of rounded runs only"
    held = {each["name"]: each["held"] for each in body["conditions"][-2:]}
    both = list(held.values())
    certified = all(both) if plan.yardstick is None else both[0]
    if wrong := same(body["certified"], certified):
        return f"certified is what the conditions say: {wrong}"
    if body["certified"] and not body["labels_sufficient"]:
        return "certified, and yet labels are said to be missing"
    if proven is None:
        return "a rounded run always proves something"
    if round(proven, 6) != proven:
        return "rho_proven has more than six digits"
    if plan.yardstick is not None:
        return same((body["labels_sufficient"], body["rho_predicted"]), (body["certified"], None))
    return _check_own_items(body, protocol, plan)


def slack(body: Mapping[str, Any], plan: RoundedPlan) -> int:
    """κ in items, or on how many the answer differs from a survivor."""
    U = measured_items(plan, body["pool"]["items"])
    return round(value_of(body, ACCURATE if plan.yardstick is None else NEAR) * U)


def _check_own_items(body: Mapping[str, Any], protocol: Protocol, plan: RoundedPlan) -> str | None:
    """What slack and survivors leave possible."""
    U, kappa, proven = measured_items(plan, body["pool"]["items"]), slack(body, plan), body["rho_proven"]
    disputed = body["rounds"][-1]["disagreement"][0] if body["rounds"] else U
    if kappa > (0 if body["survivors"]["count"] == 1 else disputed):
        return "the slack is larger than what survivors dispute"
    own = OwnBound(plan, U)
    least = own.with_failures(0.0)
    least = least if kappa or own.exact is None else min(least, own.misjudged)
    if proven < least:
        return f"no pool proves less than {least}"
    silent = own.gamma.places is not None or kappa >= U * plan["a"]
    if (body["rho_predicted"] is None) != silent:
        return f"with this order and slack rho_predicted is {'null' if silent else 'a number'}"
    return _check_kept(body, protocol, plan, U, kappa)


def _check_kept(body: Mapping[str, Any], protocol: Protocol, plan: RoundedPlan, U: int, kappa: int) -> str | None:
    """Survivors are within the slack of the centre: all are kept if the shared distance is as large, and else not all."""
    v, inside = plan.threshold(protocol.shared, U), _all_kept(body, plan.n)
    if kappa <= v and not inside:
        return (
            f"survivors are within {kappa} items of the centre and the shared distance is {v}, so all of them are kept"
        )
    if kappa > v and inside and body["kept"]["count"] > body["survivors"]["count"]:
        return f"some survivor is {kappa} items from the centre, farther than the shared distance {v}, and yet all are kept"
    return None


def _all_kept(body: Mapping[str, Any], n: int) -> bool:
    return within(ranges_of(body["survivors"], n), ranges_of(body["kept"], n))


_STEP = 1 / DIGITS


def settled_levels(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Levels and threshold follow from the plan, the answer's place from the shared order, what is certified from both."""
    plan, part = _plan(protocol), body["settling"]
    beta, doubt = float(plan["beta"]), part["doubt"]
    if not is_number(doubt) or not beta <= doubt <= 1:
        return f"the level reached lies between {beta} and 1"
    if doubt not in (beta, min(1.0, beta + _STEP)) and round(doubt * DIGITS) / DIGITS != doubt:
        return "the level reached has more than six digits"
    if value_of(body, LABELLED) > part["asked"] and doubt < 1:
        return "more items could not be labelled than were, so nothing is proven"
    held, rho = doubt == beta, min(1.0, plan.integer("labs") * doubt)
    claim = (body["certified"], body["labels_sufficient"], body["rho_proven"], body["rho_predicted"])
    if wrong := same(claim, (held, held, rho, None)):
        return wrong
    public = {
        "beta": beta,
        "delta_A": float(plan["delta_A"]),
        "delta_I": float(plan["delta_I"]),
        "v": float(plan.threshold(protocol.shared)),
        "place": plan.prior.place_of(body["hypothesis"]["index"], protocol.shared, "order", n=plan.n),
    }
    return same({key: part[key] for key in public}, public)


def settled_counts(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Labels, skips and items looked at add up, and a run does not end before it must."""
    plan, part, error = _plan(protocol), body["settling"], body["answer_error"] or {"labels": 0, "skipped": 0}
    items, (choosing, _) = body["pool"]["items"], split_rounds(body)
    seen = part["scanned"] + error["labels"] + error["skipped"]
    if part["asked"] != sum(each["drawn"] for each in choosing) or part["asked"] > part["scanned"]:
        return "the labels asked do not add up"
    if seen > items or sum(each["scanned"] for each in choosing) > part["scanned"]:
        return "more items were looked at than there are"
    unlabelled = value_of(body, LABELLED)
    if unlabelled + error["skipped"] > body["labels"]["skipped"]:
        return "more items could not be labelled than were skipped"
    if not isinstance(plan, SettledPlan):
        return None
    if part["asked"] + unlabelled > part["scanned"]:
        return "more items were asked or could not be labelled than were looked at"
    if body["labels"]["answered"] + body["labels"]["skipped"] > seen:
        return "more items were answered and skipped than were looked at"
    if not body["certified"] and plan.opens(part["asked"]) > 0 and part["scanned"] < items:
        return "nothing is proven, and yet the run ended before pool and budget were used up"
    return None


def settled_reach(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Could so many items and labels have proven so much, had every one of them spoken for the answer?"""
    plan, part = _plan(protocol), body["settling"]
    v, place = plan.threshold(protocol.shared), part["place"]
    if isinstance(plan, SettledDistancePlan):
        items = body["pool"]["items"]
        short = plan.nearer(v, items, place) < 0 or (place > 0 and plan.farther(v, items) > items)
        return "so few items prove nothing" if body["certified"] and short else None
    assert isinstance(plan, SettledPlan), "there is no other way to the ideal answer"
    settles, rejects = _best_wealth(plan, v, part)
    n, survivors = plan.n, ranges_of(body["survivors"], plan.n)
    if body["survivors"]["count"] < n and rejects < plan.rejects_at:
        return "so few items and labels reject nobody"
    first = plan.prior.first_in(protocol.shared, "order", ranges=survivors)
    waiting = (
        plan.prior.place_of(first, protocol.shared, "order", n=n) < place
    )  # who is before the answer is not rejected
    if body["certified"]:
        return "so few items and labels prove nothing" if place < n - 1 and settles < plan.settles_at else None
    least = _least_level(plan, settles, rejects, place, waiting=waiting) * part["beta"]
    return None if part["doubt"] >= min(1.0, least) else f"so few items and labels prove no level below {least:.6f}"


def _least_level(plan: SettledPlan, settles: Decimal, rejects: Decimal, place: int, *, waiting: bool) -> float:
    """The smallest level, as a multiple of β, that an uncertified run can have reached."""
    if waiting:  # the last of those before the answer decides
        level = plan.rejects_at / rejects
    elif place < plan.n - 1:
        level = plan.settles_at / settles
    else:
        return inf  # nothing is missing but labels
    return float(level) * (1 - 1e-6)  # wealth in doubles and in decimals differ by less


def _best_wealth(plan: SettledPlan, v: Fraction, part: Mapping[str, Any]) -> tuple[Decimal, Decimal]:
    """The most that a rival's purse, and a charge against a candidate, can hold."""
    spoke, others = _speakers(plan, part)
    return plan.purses(v).wealth(others, 0, spoke), plan.charges(v).wealth(0, spoke, 0)  # who agrees is not rejected


def _speakers(plan: SettledPlan, part: Mapping[str, Any]) -> tuple[int, int]:
    """How many items can have spoken for somebody, and how many can not: labels may be inferred."""
    spoke = part["scanned"] if isinstance(plan, SettledCALPlan) else part["asked"]
    return spoke, part["scanned"] - spoke


def settled_bounds(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """A bound on the excess is told if and only if the answer is certified, and no better one than labels can give."""
    plan, part, upper = _plan(protocol), body["settling"], body["settling"]["excess_upper"]
    if not all(isinstance(body["verdict"][key], str) for key in ("why", "helps")):
        return "a verdict says in words why and what helps"
    silent = [body["verdict"][key] == "" for key in ("why", "helps")]
    if body["verdict"]["certified"] is not body["certified"] or silent != [body["certified"]] * 2:
        return "the verdict is not what is certified"
    if not _is_share(part["agreement_estimate"]):
        return "the estimate of agreement is a number from 0 to 1 with six digits"
    if body["certified"] != (upper is not None) or not (upper is None or _is_share(upper)):
        return "the excess bound is a number, told for certified answers"
    if upper is not None and (wrong := _check_excess(plan, plan.threshold(protocol.shared), part)):
        return wrong
    return _check_error(body, plan)


def _check_excess(plan: IdealPlan, v: Fraction, part: Mapping[str, Any]) -> str | None:
    """Is the excess bound at most v, and one that so many items and labels can give?"""
    upper, most = part["excess_upper"], up(float(v))
    if not isinstance(plan, SettledPlan):
        return same(upper, most)
    if not _STEP <= upper <= most:
        return f"the excess bound is at most the shared threshold {most}"
    if part["place"] == plan.n - 1:  # nobody is behind the answer
        return same(upper, _STEP)
    spoke, others = _speakers(plan, part)
    wealth = plan.purses(fraction(upper)).about(np.array([[others], [0], [spoke]], dtype=np.int64))[0]
    if wealth < -log(float(plan["beta"])) - 1e-6:  # in doubles
        return f"so few items and labels prove no excess bound as small as {upper}"
    return None


def _check_error(body: Mapping[str, Any], plan: IdealPlan) -> str | None:
    """An error that was measured has the interval of its count; one that was not is the excess, where that is proven."""
    part, error, upper = body["settling"], body["answer_error"], body["settling"]["excess_upper"]
    if error is None:
        return None if upper is None else "the answer is certified, and its excess error is not told"
    if not _is_share(error["estimate"]):
        return "the estimate of the error is a number from 0 to 1 with six digits"
    if error["of"] == "excess":
        if upper is None:
            return "an excess error is told for certified answers alone"
        excess = {"low": 0.0, "high": upper, "level": min(1.0, 2 * part["beta"]), "labels": 0, "skipped": 0}
        wrong = same({key: error[key] for key in excess}, excess)
        if wrong or isinstance(
            plan, SettledPlan
        ):  # there errors of those no longer compared are supposed, in fractions
            return wrong
        return _check_count(error["estimate"], max(body["pool"]["items"], 1))
    if not plan.measurable:
        return f"{plan.learner} measures no error where errors are not all alike"
    if error["of"] != "error" or error["level"] != float(plan["delta"]) or error["labels"] < 1:
        return "an error is measured at the level delta, on at least one label"
    errors = round(error["estimate"] * error["labels"])
    low, high = share_interval(errors, error["labels"], error["level"])
    return same([error["estimate"], error["low"], error["high"]], [round(errors / error["labels"], 6), low, high])


def _check_count(estimate: float, items: int) -> str | None:
    """Is it a number of errors on so many items?"""
    if round(round(estimate * items) / items, 6) == estimate:
        return None
    return f"the estimate is no number of errors on {items} items"


def _is_share(value: Any) -> bool:
    """A number from 0 to 1 as it is written."""
    return is_number(value) and 0 <= value <= 1 and round(value, 6) == value


def _plan(protocol: Protocol) -> IdealPlan:
    assert isinstance(protocol.plan, IdealPlan), "asked of settled runs only"
    return protocol.plan

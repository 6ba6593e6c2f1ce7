"""What a certificate says is proven: does it fit together, as far as that can be seen without pool and journal?

A check returns nothing if all is well, and a sentence if not.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from replical.bounds.anytime import share_interval
from replical.lab.certificate.checks import is_number, same
from replical.lab.protocol import Protocol
from replical.learners.rounded import ACCURATE, CERTIFIED, NEAR
from replical.learners.settled import LABELLED, PROVEN
from replical.plans.base import Plan
from replical.plans.ideal import IdealPlan
from replical.plans.rounded import RoundedPlan
from replical.plans.settled import SettledCALPlan, SettledPlan
from replical.plans.settled_distance import SettledDistancePlan


def rounded_proof(body: Mapping[str, Any], plan: Plan, named: Mapping[str, Any]) -> str | None:
    """What is said of rho and of the slack, or of how near the answer is, must fit together."""
    assert isinstance(plan, RoundedPlan), "asked of rounded runs only"
    on_own = plan.yardstick is None
    both, proven = (named[CERTIFIED], named[ACCURATE if on_own else NEAR]), body["rho_proven"]
    if both[0]["bound"] != float(plan["rho"]) or both[0]["value"] != (1.0 if proven is None else proven):
        return "the condition about rho is not about this rho"
    if any(each["held"] != (each["value"] <= each["bound"] and (proven is not None)) for each in both[:1]):
        return "rho is said to be proven, and is not"
    if both[1]["held"] != (both[1]["value"] <= both[1]["bound"]):
        return f"the {'slack is said to be small' if on_own else 'answer is said to be near'} enough, and is not"
    if body["certified"] and not body["labels_sufficient"]:
        return "certified, and yet labels are said to be missing"
    if body.get("shift_most", float(plan.shift)) < float(plan.shift):
        return "certified, and yet less shift is said to be proven than the protocol has"
    if on_own:
        return same(body["certified"], both[0]["held"] and both[1]["held"])
    U = body["pool"]["items"] if plan.items is None else plan.items
    claim = (body["certified"], body["labels_sufficient"], body["rho_predicted"], both[1]["bound"])
    return same(claim, (both[0]["held"], both[0]["held"], None, plan.apart_most(U) / U))


def settled_proof(body: Mapping[str, Any], protocol: Protocol, named: Mapping[str, Any]) -> str | None:
    """The level follows from labels that it does not tell; what is said of it must fit together."""
    plan, part = protocol.plan, body["settling"]
    assert isinstance(plan, IdealPlan), "asked of settled runs only"
    level, labelled = named[PROVEN], named[LABELLED]
    if labelled["held"] != (labelled["value"] <= labelled["bound"]) or labelled["bound"] != part["asked"]:
        return "more items could not be labelled than were, and that is not said"
    if level["bound"] != float(plan["beta"]) or not level["bound"] <= level["value"] <= 1:
        return "the condition about the ideal answer is not about this level"
    if level["held"] != (level["value"] == level["bound"]) or (level["held"] and not labelled["held"]):
        return "the answer is said to be proven, and is not"
    rho = min(1.0, plan.integer("labs") * level["value"])
    claim = (body["certified"], body["labels_sufficient"], body["rho_proven"], body["rho_predicted"])
    return same(claim, (level["held"], level["held"], rho, None)) or _levels(body, protocol, plan, level)


def _levels(body: Mapping[str, Any], protocol: Protocol, plan: IdealPlan, level: Mapping[str, Any]) -> str | None:
    """Levels and threshold follow from the plan, the answer's place from the shared order."""
    part = body["settling"]
    place = plan.prior.place_of(body["hypothesis"]["index"], protocol.shared, "order", n=plan.n)
    public = {
        "beta": float(plan["beta"]),
        "delta_A": float(plan["delta_A"]),
        "delta_I": float(plan["delta_I"]),
        "v": float(plan.threshold(protocol.shared)),
        "doubt": level["value"],
        "place": place,
    }
    if wrong := same({key: part[key] for key in public}, public):
        return wrong
    return _looked_at(body) or _within_reach(body, plan) or _bounds(body, plan)


def _looked_at(body: Mapping[str, Any]) -> str | None:
    """Labels, skips and items looked at add up."""
    part, error = body["settling"], body["answer_error"] or {"labels": 0, "skipped": 0}
    counts = (part["asked"], part["scanned"], error["labels"], error["skipped"])
    if any(isinstance(each, bool) or not isinstance(each, int) or each < 0 for each in counts):
        return "counts are whole numbers of at least 0"
    seen = part["scanned"] + error["labels"] + error["skipped"]
    if part["asked"] + error["labels"] != body["labels"]["asked"] or not part["asked"] <= part["scanned"]:
        return "the labels asked do not add up"
    if seen > body["pool"]["items"] or sum(each["scanned"] for each in body["rounds"]) > seen:
        return "more items were looked at than there are"
    unlabelled = next(each["value"] for each in body["conditions"] if each["name"] == LABELLED)
    if unlabelled + error["skipped"] > body["labels"]["skipped"]:
        return "more items could not be labelled than were skipped"
    return None


def _within_reach(body: Mapping[str, Any], plan: IdealPlan) -> str | None:
    """Could so many items and labels have proven it, had every one of them spoken for the answer?"""
    part = body["settling"]
    v, place = Fraction(part["v"]), part["place"]
    behind, before = place < plan.n - 1, place > 0
    if isinstance(plan, SettledPlan):
        spoke = part["scanned"] if isinstance(plan, SettledCALPlan) else part["asked"]  # labels may be inferred there
        others = part["scanned"] - spoke
        short = behind and plan.purses(v).wealth(others, 0, spoke) < plan.settles_at
        short = short or (before and plan.charges(v).wealth(others, spoke, 0) < plan.rejects_at)
    else:
        assert isinstance(plan, SettledDistancePlan), "there is no other way to the ideal answer"
        items = body["pool"]["items"]
        short = plan.nearer(v, items, place) < 0 or (before and plan.farther(v, items) > items)
    return "so few items and labels prove nothing" if body["certified"] and short else None


def _bounds(body: Mapping[str, Any], plan: IdealPlan) -> str | None:
    """A bound on the excess is told if and only if the answer is certified; an interval holds its estimate."""
    part, error, upper = body["settling"], body["answer_error"], body["settling"]["excess_upper"]
    if not all(isinstance(body["verdict"][key], str) for key in ("why", "helps")):
        return "a verdict says in words why and what helps"
    silent = [body["verdict"][key] == "" for key in ("why", "helps")]
    if body["verdict"]["certified"] is not body["certified"] or silent != [body["certified"]] * 2:
        return "the verdict is not what is certified"
    names = [each["name"] for each in body["conditions"]]
    if names != [*(each.name for each in plan.conditions), PROVEN, LABELLED]:
        return "a settled run has its plan's conditions and two of its own"
    if body["certified"] != (upper is not None) or not (upper is None or is_number(upper)):
        return "the excess bound is a number, told for certified answers"
    if upper is not None and not 0 <= upper <= part["v"] + 2e-6:
        return "the excess bound is at most the shared threshold"
    if not (is_number(part["agreement_estimate"]) and 0 <= part["agreement_estimate"] <= 1):
        return "the estimate of agreement is a number from 0 to 1"
    if error is None:
        return None if upper is None else "the answer is certified, and its excess error is not told"
    if not (is_number(error["estimate"]) and 0 <= error["estimate"] <= 1):
        return "the estimate of the error is a number from 0 to 1"
    excess = {"low": 0.0, "high": upper, "level": min(1.0, 2 * part["beta"]), "labels": 0, "skipped": 0}
    if error["of"] == "excess":
        return same({key: error[key] for key in excess}, excess)
    if error["of"] != "error" or error["level"] != float(plan["delta"]) or error["labels"] < 1:
        return "an error is measured at the level delta, on at least one label"
    wrong = round(error["estimate"] * error["labels"])
    low, high = share_interval(wrong, error["labels"], error["level"])
    return same([error["estimate"], error["low"], error["high"]], [round(wrong / error["labels"], 6), low, high])

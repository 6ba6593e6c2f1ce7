"""What a certificate says is proven: does it fit together, as far as that can be seen without pool and journal?

A check returns nothing if all is well, and a sentence if not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replical.bounds.anytime import share_interval
from replical.lab.certificate.checks import is_number, same
from replical.lab.protocol import Protocol
from replical.learners.rounded import ACCURATE, CERTIFIED
from replical.learners.settled import LABELLED, PROVEN
from replical.plans.base import Plan
from replical.plans.settled import IdealPlan


def rounded_proof(body: Mapping[str, Any], plan: Plan, named: Mapping[str, Any]) -> str | None:
    """What is said of rho and of the slack must fit together."""
    both, proven = (named[CERTIFIED], named[ACCURATE]), body["rho_proven"]
    if both[0]["bound"] != float(plan["rho"]) or both[0]["value"] != (1.0 if proven is None else proven):
        return "the condition about rho is not about this rho"
    if any(each["held"] != (each["value"] <= each["bound"] and (proven is not None)) for each in both[:1]):
        return "rho is said to be proven, and is not"
    if both[1]["held"] != (both[1]["value"] <= both[1]["bound"]):
        return "the slack is said to be small enough, and is not"
    if body["certified"] and not body["labels_sufficient"]:
        return "certified, and yet labels are said to be missing"
    return same(body["certified"], both[0]["held"] and both[1]["held"])


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
    order = plan.prior.order_of(protocol.shared, "order", n=plan.n).tolist()
    public = {
        "beta": float(plan["beta"]),
        "delta_A": float(plan["delta_A"]),
        "delta_I": float(plan["delta_I"]),
        "v": float(plan.threshold(protocol.shared)),
        "doubt": level["value"],
        "place": order.index(body["hypothesis"]["index"]),
    }
    if wrong := same({key: part[key] for key in public}, public):
        return wrong
    counts = (part["asked"], part["scanned"])
    if any(isinstance(each, bool) or not isinstance(each, int) for each in counts) or not counts[0] <= counts[1]:
        return "more items were asked than looked at"
    error = body["answer_error"]
    labels = error["labels"] if error is not None else 0
    if part["asked"] + labels != body["labels"]["asked"] or part["scanned"] + labels > body["pool"]["items"]:
        return "the items looked at do not fit the labels and the pool"
    return _bounds(body, plan)


def _bounds(body: Mapping[str, Any], plan: IdealPlan) -> str | None:
    """A bound on the excess is told if and only if the answer is certified; an interval holds its estimate."""
    part, error, upper = body["settling"], body["answer_error"], body["settling"]["excess_upper"]
    if not all(isinstance(body["verdict"][key], str) for key in ("why", "helps")):
        return "a verdict says in words why and what helps"
    if body["verdict"]["certified"] != body["certified"] or (body["verdict"]["why"] == "") != body["certified"]:
        return "the verdict is not what is certified"
    if body["certified"] != (upper is not None) or (upper is not None and not 0 <= upper <= part["v"] + 2e-6):
        return "the excess bound is told for certified answers, and is at most the shared threshold"
    if not (is_number(part["agreement_estimate"]) and 0 <= part["agreement_estimate"] <= 1):
        return "the estimate of agreement is a number from 0 to 1"
    if error is None:
        return None if upper is None else "the answer is certified, and its excess error is not told"
    excess = {"low": 0.0, "high": upper, "level": min(1.0, 2 * part["beta"]), "labels": 0}
    if error["of"] == "excess":
        return same({key: error[key] for key in excess}, excess)
    if error["of"] != "error" or error["level"] != float(plan["delta"]) or error["labels"] < 1:
        return "an error is measured at the level delta, on at least one label"
    wrong = round(error["estimate"] * error["labels"])
    low, high = share_interval(wrong, error["labels"], error["level"])
    return same([error["estimate"], error["low"], error["high"]], [round(wrong / error["labels"], 6), low, high])

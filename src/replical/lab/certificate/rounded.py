"""What the certificate of a rounded run says is proven: does it fit together, as far as that is seen without the pool?

A check returns nothing if all is well, and a sentence if not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replical.lab.certificate.checks import same
from replical.lab.certificate.conditions import value_of
from replical.lab.certificate.file import ranges_of, within
from replical.lab.certificate.measured import measured_on
from replical.lab.protocol import Protocol
from replical.learners.rounded import ACCURATE, NEAR
from replical.learners.rounding.own import OwnBound
from replical.plans.rounded import RoundedPlan


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
    if body.get("shift_most", float(plan.shift)) < float(plan.shift):
        return "certified, and yet less shift is said to be proven than the protocol has"
    if proven is not None and round(proven, 6) != proven:
        return "rho_proven has more than six digits"
    if (proven is None) != (plan.finish != "distance"):
        return f"the finish {plan.finish!r} {'always proves something' if proven is None else 'proves nothing'}"
    if plan.yardstick is not None:
        return same((body["labels_sufficient"], body["rho_predicted"]), (body["certified"], None))
    return _on_own_items(body, protocol, plan)


def slack(body: Mapping[str, Any], plan: RoundedPlan) -> int:
    """κ in items, or on how many the answer differs from a survivor."""
    U = measured_on(plan, body["pool"]["items"])
    return round(value_of(body, ACCURATE if plan.yardstick is None else NEAR) * U)


def _on_own_items(body: Mapping[str, Any], protocol: Protocol, plan: RoundedPlan) -> str | None:
    """What slack and survivors leave possible."""
    U, kappa, proven = measured_on(plan, body["pool"]["items"]), slack(body, plan), body["rho_proven"]
    disputed = body["rounds"][-1]["disagreement"][0] if body["rounds"] else U
    if kappa > (0 if body["survivors"]["count"] == 1 else disputed):
        return "the slack is larger than what survivors dispute"
    if plan.finish != "distance":
        return same((body["labels_sufficient"], body["rho_predicted"]), (False, None))
    own = OwnBound(plan, U)
    least = own.with_failures(0.0)
    least = least if kappa or own.exact is None else min(least, own.misjudged)
    if proven < least:
        return f"no pool proves less than {least}"
    silent = own.gamma.places is not None or kappa >= U * plan["a"] or bool(plan.shift)
    if (body["rho_predicted"] is None) != silent:
        return f"with this order, slack and shift rho_predicted is {'null' if silent else 'a number'}"
    return _kept(body, protocol, plan, U, kappa)


def _kept(body: Mapping[str, Any], protocol: Protocol, plan: RoundedPlan, U: int, kappa: int) -> str | None:
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

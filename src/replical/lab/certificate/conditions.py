"""What a guarantee needs, recomputed: bounds from plan and sizes, whether it held from the count that is told.

Some value of a condition only the lab's items or labels give: the slack, the disagreement left, how often a winner won.
It is a count over something known, and everything else follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from replical.errors import BadCertificate
from replical.lab.certificate.checks import same
from replical.lab.certificate.file import condition_part
from replical.lab.certificate.measured import measured_on
from replical.lab.protocol import Protocol
from replical.learners.base import MASSES
from replical.learners.boosted import FREQUENT
from replical.learners.result import STOP
from replical.learners.rounded import ACCURATE, CERTIFIED, NEAR
from replical.learners.settled import LABELLED, PROVEN
from replical.plans.a2 import A2Plan, A2RoundsPlan
from replical.plans.base import CALPlan, Condition, Plan, RoundsPlan, SamplePlan
from replical.plans.boosted import BoostedPlan, HeavyHittersPlan
from replical.plans.ideal import IdealPlan
from replical.plans.rounded import RoundedPlan


def conditions(body: Mapping[str, Any], protocol: Protocol) -> str | None:
    """Are they those of plan and learner, in their order, and does each say what follows from it?"""
    plan, told = protocol.plan, body["conditions"]
    fixed = [condition_part(each) for each in plan.conditions]
    if wrong := same(told[: len(fixed)], fixed):
        return f"the plan's conditions are not told as they are: {wrong}"
    own = _own(body, protocol)
    if own is None:  # a learner nobody here knows
        return None
    for claim, condition in zip(told[len(fixed) :], own, strict=False):
        if wrong := same(claim, condition_part(condition)):
            return f"{condition.name!r}: {wrong}"
    return same([each["name"] for each in told[len(fixed) :]], [each.name for each in own])


def value_of(body: Mapping[str, Any], name: str) -> float:
    """What a condition says was found."""
    return float(_named(body, name)["value"])


def _named(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    for each in body["conditions"]:
        if each["name"] == name:
            return dict(each)
    raise BadCertificate(f"the condition {name!r} is missing")


def _own(body: Mapping[str, Any], protocol: Protocol) -> tuple[Condition, ...] | None:
    """The learner's own conditions, recomputed; None where nobody knows how."""
    plan = protocol.plan
    if isinstance(plan, RoundedPlan):
        return _of_rounding(body, plan)
    if isinstance(plan, IdealPlan):
        return _of_settling(body, plan)
    if isinstance(plan, BoostedPlan):
        return (_frequent(body, protocol, plan),)
    if isinstance(plan, SamplePlan):
        return ()
    if isinstance(plan, CALPlan | A2Plan):
        return (_stopped(body, plan, inclusive=True), _MEASURED)
    if isinstance(plan, A2RoundsPlan):
        return (_stopped(body, plan, inclusive=False), _MEASURED)
    return (_stopped(body, plan, inclusive=False),) if isinstance(plan, RoundsPlan) else None


_MEASURED = Condition(name=MASSES, value=0.0, bound=1.0, held=False)  # labs have items, never a known distribution


def _of_rounding(body: Mapping[str, Any], plan: RoundedPlan) -> tuple[Condition, ...]:
    """What is proven of ρ, and slack or nearness in items."""
    proven, U = body["rho_proven"], measured_on(plan, body["pool"]["items"])
    rho, name = float(plan["rho"]), ACCURATE if plan.yardstick is None else NEAR
    most = plan.kappa_most(U) if plan.yardstick is None else plan.apart_most(U)
    count = _count(value_of(body, name), U)
    return (
        Condition(
            name=CERTIFIED,
            value=1.0 if proven is None else proven,
            bound=rho,
            held=proven is not None and proven <= rho,
        ),
        Condition(name=name, value=count / U, bound=most / U, held=count <= most),
    )


def _of_settling(body: Mapping[str, Any], plan: IdealPlan) -> tuple[Condition, ...]:
    """The level reached, and items that nobody could label."""
    part, beta = body["settling"], float(plan["beta"])
    unlabelled = int(value_of(body, LABELLED))
    return (
        Condition(name=PROVEN, value=part["doubt"], bound=beta, held=part["doubt"] == beta),
        Condition(name=LABELLED, value=float(unlabelled), bound=float(part["asked"]), held=unlabelled <= part["asked"]),
    )


def _stopped(body: Mapping[str, Any], plan: Plan, *, inclusive: bool) -> Condition:
    """The disagreement left when the loop ended."""
    total = measured_on(plan, body["pool"]["items"])
    mass = Fraction(_count(value_of(body, STOP), total), total)
    held = mass <= plan.stop_mass if inclusive else mass < plan.reach
    return Condition(name=STOP, value=float(mass), bound=float(plan.reach), held=held)


def _frequent(body: Mapping[str, Any], protocol: Protocol, plan: BoostedPlan) -> Condition:
    """How often the last string's winner won, and how often it had to."""
    told = _named(body, FREQUENT)
    # Of no winner the last string tells; which one a winner won with is not told.
    bounds = [plan.frequency(protocol.shared, string) for string in range(plan.strings)]
    v = next((each for each in bounds if float(each) == told["bound"]), bounds[-1])
    runs = plan.sizes.counted if isinstance(plan, HeavyHittersPlan) else plan.runs
    frequency = Fraction(_count(told["value"], runs), runs)
    return Condition(name=FREQUENT, value=float(frequency), bound=float(v), held=frequency >= v)


def _count(share: float, total: int) -> int:
    """The count nearest to a share; another share is not that of any count, and is found out when it is written again."""
    return min(total, max(0, round(share * total)))

"""On how many of a lab's items masses are measured, and how many may be asked: by plan and sizes alone."""

from __future__ import annotations

from math import floor

from replical.plans.a2 import A2Plan
from replical.plans.base import Plan
from replical.plans.boosted import BoostedPlan, HeavyHittersPlan
from replical.plans.rounded import RoundedPlan


def measured_on(plan: Plan, items: int) -> int:
    """Items on which a disagreement mass is measured, of a pool of so many `items`."""
    return set_aside(plan, _used(plan, items)) or _used(plan, items)


def askable(plan: Plan, items: int) -> int:
    """Items that a run may look at for labels: not those set aside to measure on."""
    if isinstance(plan, BoostedPlan):
        return items
    used = _used(plan, items)
    base = plan if plan.base is None else plan.base
    spared = floor(base["part"] * used) if isinstance(base, A2Plan) else 0
    return used - spared - set_aside(plan, used)


def set_aside(plan: Plan, used: int) -> int:
    """Of so many items `used`, those that measure masses alone; of a boosted run, in each of its parts."""
    inner = plan.base if isinstance(plan, BoostedPlan) else plan
    return int(getattr(inner, "measuring", 0))


def _used(plan: Plan, items: int) -> int:
    """The items of one run."""
    if isinstance(plan, RoundedPlan):
        return items if plan.items is None else plan.items
    if isinstance(plan, BoostedPlan):
        return items // (plan.runs if isinstance(plan, HeavyHittersPlan) else plan.strings * plan.runs)
    return items

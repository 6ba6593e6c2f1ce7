"""Learners by their ids, for protocols and the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from replical.learners.a2 import A2, A2Rounds
from replical.learners.base import Learner, Shrinks
from replical.learners.boosted import Boosted
from replical.learners.cal import CAL
from replical.learners.erm import ERM
from replical.learners.replica2 import ReplicA2
from replical.learners.replicable_erm import ReplicableERM
from replical.learners.replical import RepliCAL
from replical.learners.rounded import Rounded
from replical.plans.a2 import A2Plan, A2RoundsPlan
from replical.plans.base import CALPlan, ERMPlan, Plan
from replical.plans.boosted import BoostedPlan
from replical.plans.replica2 import ReplicA2Plan, ReplicableERMPlan
from replical.plans.replical import RepliCALPlan
from replical.plans.rounded import RoundedPlan

_LEARNERS: tuple[tuple[type[Plan], Callable[[Any], Learner]], ...] = (
    (ERMPlan, ERM),
    (CALPlan, CAL),
    (A2Plan, A2),
    (A2RoundsPlan, A2Rounds),
    (ReplicableERMPlan, ReplicableERM),
    (RepliCALPlan, RepliCAL),
    (ReplicA2Plan, ReplicA2),
    (BoostedPlan, lambda plan: Boosted(learner_for(plan.base), plan)),
    (RoundedPlan, lambda plan: Rounded(_base_for(plan.base), plan)),
)


def _base_for(plan: CALPlan | A2Plan) -> Shrinks:
    return CAL(plan) if isinstance(plan, CALPlan) else A2(plan)


def learner_for(plan: Plan) -> Learner:
    """The learner a plan was made for.

    Examples
    --------
    >>> from replical import plan
    >>> type(learner_for(plan("cal", 100, epsilon=.1, delta=.1))).__name__
    'CAL'
    """
    return next(make(plan) for kind, make in _LEARNERS if isinstance(plan, kind))

"""Learners by their ids, for protocols and the command line."""

from __future__ import annotations

from replical.learners.base import Learner
from replical.learners.cal import CAL
from replical.learners.erm import ERM
from replical.learners.replical import RepliCAL
from replical.plans.base import CALPlan, ERMPlan, Plan, RepliCALPlan


def learner_for(plan: Plan) -> Learner:
    """The learner a plan was made for.

    Examples
    --------
    >>> from replical import plan
    >>> type(learner_for(plan("cal", 100, epsilon=.1, delta=.1))).__name__
    'CAL'
    """
    match plan:
        case ERMPlan():
            return ERM(plan)
        case CALPlan():
            return CAL(plan)
        case RepliCALPlan():
            return RepliCAL(plan)
    raise NotImplementedError(plan.learner)

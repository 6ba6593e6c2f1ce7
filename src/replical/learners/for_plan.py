"""From a plan to the learner that runs it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from replical.learners.base import Learner
from replical.plans.base import Plan
from replical.plans.catalogue import find


def learner_for(plan: Plan) -> Learner:
    """The learner a plan was made for, as its record in `replical.plans.catalogue` says.

    Parameters
    ----------
    plan
        What `replical.plan` returned.

    Returns
    -------
    learner
        Ready for `replical.learn`; one that runs another learner inside has that one made too.

    Raises
    ------
    BadSpec
        For a plan of a learner that no record knows.

    Examples
    --------
    >>> from replical import learner_for, plan
    >>> type(learner_for(plan("cal", 100, epsilon=.1, delta=.1))).__name__
    'CAL'
    """
    module, _, name = find(plan.learner).learner.partition(":")
    make: Callable[..., Learner] = getattr(import_module(module), name)
    return make(plan) if plan.base is None else make(learner_for(plan.base), plan)

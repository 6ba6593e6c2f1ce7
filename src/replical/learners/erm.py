"""Passive empirical risk minimisation, realizable: label k items drawn from D, return a hypothesis with fewest errors.

Claim: with k from the plan, err ≤ ε with probability at least 1-δ, if some hypothesis of the class makes no error.
Reference: the sample size of the passive learner, after Algorithm 1. Not replicable: "any minimiser" is the first in
the shared order, the choice most favourable to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, check_plan
from replical.learners.result import Result
from replical.plans.base import ERMPlan
from replical.pools.pool import AnyPool


@dataclass(frozen=True)
class ERM:
    """The passive learner.

    Parameters
    ----------
    plan
        ``plan("erm", C, epsilon=.., delta=..)``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import ERM, Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool("exact", lab)
    >>> learner = ERM(plan("erm", C, epsilon=.05, delta=.05))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.hypothesis, world.error(result.hypothesis)
    (194, 315, Fraction(1, 999))
    """

    plan: ERMPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, ERMPlan, "ERM")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Label k items drawn from all of `pool` and keep the best; `shared` breaks ties.

        Returns
        -------
        conversation
            It ends with a `Result`. `V`: the hypotheses with fewest errors. `hypothesis`: the first of them in the
            shared order. `unrounded`: the same one. `conditions`: those of the plan.

        Raises
        ------
        PoolExhausted
            If a finite pool holds fewer than k items.
        """
        V, scan = pool.version_space(), pool.scan()
        S = yield scan.anywhere(V, self.plan.k)
        errors = V.errors(S)
        V = V.keep(errors == errors.min())
        h = V.first(shared, self.plan.prior)
        return Result(hypothesis=h, unrounded=h, V=V, conditions=self.plan.conditions)

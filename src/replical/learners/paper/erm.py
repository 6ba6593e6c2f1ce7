"""Passive empirical risk minimisation, realizable: label k items drawn from D, return a hypothesis with fewest errors.

Claim: with k from the plan, err ≤ ε with probability at least 1-δ, if some hypothesis of the class makes no error.
Reference: the sample size of the passive learner, after Algorithm 1. Not replicable: "any minimiser" is the first in
the shared order, the choice most favourable to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from replical.core.exact import ceil, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, check_plan
from replical.learners.plan import SamplePlan, Task
from replical.learners.result import Result
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


@dataclass(frozen=True, kw_only=True)
class ERMPlan(SamplePlan):
    """Take a best hypothesis."""


def paper(task: Task) -> ERMPlan:
    """Passive learning, realizable or (ν > 0) agnostic."""
    needed = ln(task.n / task.delta) / task.epsilon
    source = "ln(n/δ)/ε: a hypothesis of error above ε passes k labels with probability below e^(-kε), union over n"
    if task.nu > 0:
        needed = 2 * ln(2 * task.n / task.delta) / task.epsilon**2
        source = "2 ln(2n/δ)/ε²: every error is estimated to ε/2 (Hoeffding, union over n)"
    k, conditions = task.size("k_final", ceil(needed), source)
    return ERMPlan(
        learner="erm", name="paper", n=task.n, epsilon=fraction(task.epsilon), numbers=(k,), conditions=conditions
    )


def tight(task: Task) -> ERMPlan:
    """Passive learning; in the realizable case with the exact tail."""
    if task.nu > 0:
        return replace(paper(task), name="tight")
    k, conditions = task.size(
        "k_final",
        ceil(ln(task.n / task.delta) / -ln(1 - task.epsilon)),
        "ln(n/δ)/ln(1/(1-ε)): a hypothesis of error above ε passes k labels with probability below (1-ε)^k, union over n",
    )
    return ERMPlan(
        learner="erm", name="tight", n=task.n, epsilon=fraction(task.epsilon), numbers=(k,), conditions=conditions
    )

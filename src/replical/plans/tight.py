"""Plan "tight": our sharper sizes, from the rank lemma. Derivations: docs/claims/."""

from __future__ import annotations

from dataclasses import replace

from replical.core.exact import ceil, fraction, ln
from replical.plans import paper
from replical.plans.base import CALPlan, ERMPlan, Number, Task


def erm(task: Task) -> ERMPlan:
    """Passive learning; in the realizable case with the exact tail."""
    if task.nu > 0:
        return replace(paper.erm(task), name="tight")
    k, conditions = task.size(
        "k_final",
        ceil(ln(task.n / task.delta) / -ln(1 - task.epsilon)),
        "ln(n/δ)/ln(1/(1-ε)): a hypothesis of error above ε passes k labels with probability below (1-ε)^k, union over n",
    )
    return ERMPlan(
        learner="erm", name="tight", n=task.n, epsilon=fraction(task.epsilon), numbers=(k,), conditions=conditions
    )


def cal(task: Task) -> CALPlan:
    """CAL one item at a time: nothing to size."""
    numbers = (Number(name="k_loop", value=1, source="one item at a time"),)
    return CALPlan(
        learner="cal",
        name="tight",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=numbers,
        rounds_most=None,
        query=task.query,
    )


def cal_rounds(task: Task) -> CALPlan:
    """Algorithm 1 with the exact tail."""
    N = task.rounds
    k, conditions = task.size(
        "k_loop",
        ceil(ln(task.n * N / task.delta) / -ln(1 - 1 / (2 * task.theta))),
        "conditional error 1/(2Θ) passes k labels with probability at most (1-1/2Θ)^k, union over n and N",
    )
    return CALPlan(
        learner="cal-rounds",
        name="tight",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=(k, Number(name="N", value=N, source="⌊log2(1/ε)⌋+1 halvings")),
        conditions=conditions,
        rounds_most=N,
    )

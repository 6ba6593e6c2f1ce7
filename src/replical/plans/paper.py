"""Plan "paper": the paper's own proofs with numbers in place of O(·). Derivations: docs/claims/."""

from __future__ import annotations

from decimal import Decimal

from replical.core.exact import ceil, fraction, ln
from replical.errors import ValueOutOfRange
from replical.plans.base import CALPlan, ERMPlan, Number, Task


def erm(task: Task) -> ERMPlan:
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


def cal_rounds(task: Task) -> CALPlan:
    """Algorithm 1."""
    N = task.rounds
    k, conditions = task.size(
        "k_loop",
        ceil(2 * task.theta * ln(task.n * N / task.delta)),
        "2Θ ln(nN/δ): conditional error 1/(2Θ) passes k labels with probability below e^(-k/2Θ), union over n and N",
    )
    numbers = (k, Number(name="N", value=N, source="⌊log2(1/ε)⌋+1 halvings"))
    return CALPlan(
        learner="cal-rounds",
        name="paper",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=numbers,
        conditions=conditions,
        rounds_most=N,
    )


def intervals(n: Decimal | int, rho: Decimal) -> int:
    """How many intervals make at most a fraction ρ/8 of them bad."""
    m = ceil(8 / rho * (1 + ln(n) / ln(1 + rho / 30)))
    if m > 2**64:
        raise ValueOutOfRange(f"the plan 'paper' would need {Decimal(m):.2g} intervals, more than 2**64: raise rho")
    return m

"""Plan "paper": the paper's own proofs with numbers in place of O(·). Derivations: docs/claims/."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from replical.errors import ValueOutOfRange
from replical.exact import ceil, fraction, ln
from replical.plans.base import CALPlan, ERMPlan, Number, PaperRepliCALPlan, Task


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


def replical(task: Task) -> PaperRepliCALPlan:
    """Algorithm 3 with the sizes its Lemmas 1 and 2 need."""
    N, theta, T = task.rounds, task.theta, task.T
    rho = task.rho / N  # the paper's ρ' = ρ/N
    m = intervals(task.spread, rho)
    failure = min(task.delta, task.rho / 8)  # a loop that hits its cap is inaccurate and may split the labs
    accurate = 4 * theta * ln(task.n * N / failure) / (1 - 2 * T) ** 2
    replicable = 8 * theta * m**2 / T * max(1 + ln(2000 / rho**2), ln(1920 * (N + 1) / rho**2))
    needed = ceil(max(accurate, replicable))
    k_loop, loop_conditions = task.size(
        "k_loop", needed, "the larger of Lemma 1 (accuracy) and Lemma 2 (replicability)"
    )
    k_final, final_conditions = task.size("k_final", needed, "as in the loop")
    refusal = (
        f"the paper's plan needs the mass of DIS(V) to relative accuracy 1/(4m) = {1 / (4 * m):.1g}, which no finite pool "
        "can measure: use an exact population (pool size 'exact'), the plan 'tight', or sizes of your own"
    )
    numbers = (
        Number(name="N", value=N, source="⌊log2(1/ε)⌋+1 halvings"),
        Number(
            name="T", value=fraction(T), source="Algorithm 3 has 1/8, the proof of Lemma 1 has 3/8; any 0 < T < 1/2"
        ),
        Number(name="v_max", value=fraction(T) / fraction(theta), source="T/Θ, the threshold range of Algorithm 3"),
        Number(
            name="m", value=m, source="(8/ρ')(1 + ln n / ln(1+ρ'/30)), ρ'=ρ/N: at most ρ'/8 of the intervals are bad"
        ),
        Number(name="tau", value=fraction(T) / fraction(theta) / Fraction(m), source="T/(Θm)"),
        k_loop,
        k_final,
    )
    return PaperRepliCALPlan(
        learner="replical",
        name="paper",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=numbers,
        conditions=loop_conditions + final_conditions,
        exact_only="" if task.k_loop and task.k_final else refusal,
    )

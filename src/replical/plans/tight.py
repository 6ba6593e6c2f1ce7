"""Plan "tight": our sharper sizes, from the rank lemma. Derivations: docs/claims/."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from replical.exact import ceil, decimal, fraction, ln
from replical.plans import paper
from replical.plans.base import CALPlan, ERMPlan, Number, Task, TightRepliCALPlan


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


def replical(task: Task) -> TightRepliCALPlan:
    """RepliCAL by the rank lemma: the loop is plain, the final filter decides, and nothing is divided by Δ."""
    N, theta, n = task.measured_rounds, task.theta, task.n
    failure = min(task.delta, task.rho / 16)
    G = fraction(task.epsilon) / (4 * fraction(theta)) * (1 if task.exact else Fraction(8, 9))
    l, l2 = 1 + ln(task.spread), 1 + ln(2 * n)
    k_loop, loop_conditions = task.size(
        "k_loop",
        ceil(64 * theta * ln(2 * N * n / failure)),
        "64Θ ln(2Nn/min(δ, ρ/16)): Chernoff at 3/(8Θ) on both sides",
    )
    replicable = Decimal("8.67") * l**2 * l2 / (decimal(G) * (Decimal("0.9") * task.rho) ** 2)
    accurate = 2 * task.epsilon * ln(n / task.delta) / (task.epsilon - decimal(G)) ** 2
    k_final, final_conditions = task.size(
        "k_final",
        ceil(max(replicable, accurate)),
        "M = 8.67 l² l2/(G(.9ρ)²), l = 1+ln n, l2 = 1+ln 2n: rank lemma and Bernstein; unlabelled items, asked in DIS(V)",
    )
    measuring = 0 if task.exact else ceil(162 * ln(16 * N / failure) / task.epsilon)
    numbers = (
        Number(name="N", value=N, source="⌊log2(1/ε)⌋+1 halvings"),
        Number(name="v_loop", value=Fraction(3, 8) / fraction(theta), source="3/(8Θ), between 1/(4Θ) and 1/(2Θ)"),
        Number(name="G", value=G, source="Tε/Θ with T=1/4; 8/9 of it where Δ is measured"),
        Number(name="measuring", value=measuring, source="162 ln(16N/min(δ, ρ/16))/ε: Δ to relative accuracy 1/8"),
        k_loop,
        k_final,
    )
    return TightRepliCALPlan(
        learner="replical",
        name="tight",
        n=n,
        epsilon=fraction(task.epsilon),
        numbers=numbers,
        conditions=loop_conditions + final_conditions,
        exact_only="this plan takes Δ as known: make it with pool='finite'" if task.exact else "",
    )

"""The passive replicable learner for finite classes: label k items, keep everyone below a shared random threshold.

Claim: with k from the plan, two labs return the same hypothesis with probability at least 1-ρ, and its error is at most
ε (realizable, ν = 0) or ν+ε (agnostic) with probability at least 1-δ.
Reference: the paper's "Replicable Learner for Finite Classes", after Bun et al. (2023); docs/claims/replicable_erm.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor

from replical.bounds.ranks import crossing
from replical.core.exact import ceil, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, check_plan
from replical.learners.paper.replica2 import last_items
from replical.learners.plan import Condition, Number, SamplePlan, Task, grid_position, intervals
from replical.learners.result import Result
from replical.pools.pool import AnyPool


@dataclass(frozen=True)
class ReplicableERM:
    """Passive and replicable.

    Parameters
    ----------
    plan
        ``plan("replicable-erm", C, epsilon=.., delta=.., rho=.., nu=..)``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import Population, PrivateRandomness, ReplicableERM, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool("exact", lab)
    >>> learner = ReplicableERM(plan("replicable-erm", C, epsilon=.05, delta=.05, rho=.1, nu=0))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.hypothesis, result.unrounded, result.V.size
    (5933920, 305, 314, 29)
    """

    plan: ReplicableERMPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, ReplicableERMPlan, "ReplicableERM")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Label k items drawn from all of `pool`; threshold and order come from `shared`.

        Returns
        -------
        conversation
            It ends with a `Result`. `V`: everyone below the shared threshold. `hypothesis`: the first of them in the
            shared order. `unrounded`: the first of those with fewest errors. `conditions`: those of the plan.

        Raises
        ------
        EmptyVersionSpace
            If ν = 0 and everyone made too many errors: no hypothesis fits the labels.
        PoolExhausted
            If a finite pool holds fewer than k items.
        """
        plan, V = self.plan, pool.version_space()
        S = yield pool.scan().anywhere(V, plan.k)
        errors = V.errors(S)
        fewest = int(errors.min())
        best, V = V.keep(errors == fewest), V.keep(errors <= plan.most(shared, fewest))
        return Result(
            hypothesis=V.first(shared, plan.prior),
            unrounded=best.first(shared, plan.prior),
            V=V,
            conditions=plan.conditions,
        )


@dataclass(frozen=True, kw_only=True)
class ReplicableERMPlan(SamplePlan):
    """Passive and replicable: k labels, then a shared threshold on the (excess) error."""

    def most(self, shared: SharedRandomness, fewest: int) -> int:
        """Errors allowed: a shared threshold, above the fewest errors where labels may be noisy."""
        low, high = self["low"], self["high"]
        if "m" in {number.name for number in self.numbers}:
            position = grid_position(shared, self.integer("m"))
        else:
            position = Fraction(shared.uniform("threshold"))
        above = fewest if self["nu"] else 0
        return above + floor(self.k * (low + (high - low) * position))


def paper(task: Task) -> ReplicableERMPlan:
    """The paper's technique on D itself: a grid of m intervals."""
    m, L = intervals(task.spread, task.rho), 1 + ln(2000 / task.rho**2)
    grid = Number(name="m", value=m, source="(8/ρ)(1 + ln n / ln(1+ρ/30)): at most ρ/8 of the intervals are bad")
    if task.nu == 0:
        needed = max(8 * ln(task.n / task.delta), 16 * m**2 * L) / task.epsilon
        source = "the larger of 8 ln(n/δ)/ε (accuracy) and 16m²(1+ln(2000/ρ²))/ε (replicability)"
        return _erm(task, "paper", task.size("k_final", ceil(needed), source), Fraction(0), Fraction(1, 2), grid)
    needed = max(18 * ln(4 * task.n / task.delta), 72 * m**2 * max(L, ln(64 * task.n / task.rho))) / task.epsilon**2
    source = "the larger of 18 ln(4n/δ)/ε² and 8(3m/ε)²·max(1+ln(2000/ρ²), ln(64n/ρ))"
    return _erm(task, "paper", task.size("k_final", ceil(needed), source), Fraction(1, 3), Fraction(2, 3), grid)


def tight(task: Task) -> ReplicableERMPlan:
    """By Lemma R where labels are right, and by Lemma N where they are noisy."""
    if task.nu == 0:
        replicable = 2 * (crossing(2) * ln(task.spread) / (Decimal("0.99") * task.rho)) ** 2
        needed = max(8 * ln(task.n / task.delta), replicable, 8 * ln(200 * task.n / task.rho)) / task.epsilon
        source = "the largest of 8 ln(n/δ)/ε, 2(5.52 ln n/(.99ρ))²/ε and 8 ln(200n/ρ)/ε: Lemma R on [0, ε/2]"
        return _erm(task, "tight", task.size("k_final", ceil(needed), source), Fraction(0), Fraction(1, 2))
    return _erm(task, "tight", last_items(task), Fraction(0), Fraction(2, 3))


Size = tuple[Number, tuple[Condition, ...]]


def _erm(task: Task, name: str, size: Size, low: Fraction, high: Fraction, *grid: Number) -> ReplicableERMPlan:
    k, conditions = size
    epsilon = fraction(task.epsilon)
    setting = "0: realizable" if task.nu == 0 else "above 0: agnostic, errors count above the fewest"
    numbers = (
        Number(name="nu", value=fraction(task.nu), source=setting),
        Number(name="low", value=low * epsilon, source="start of the threshold range"),
        Number(name="high", value=high * epsilon, source="end of the threshold range"),
        *grid,
        k,
    )
    return ReplicableERMPlan(
        learner="replicable-erm", name=name, n=task.n, epsilon=epsilon, numbers=numbers, conditions=conditions
    )

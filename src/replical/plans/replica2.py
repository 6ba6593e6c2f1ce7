"""Plans of ReplicA² where masses are known, and of the passive replicable learner.

Derivations: docs/claims/replica2.md, replicable_erm.md. On finite pools: `replical.plans.replica2_pools`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor

from replical.core.exact import ceil, decimal, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.plans.a2 import (
    AgnosticRoundsPlan,
    agnostic_numbers,
    agnostic_rounds,
    final_sample,
    loop_mass,
    loop_runs,
)
from replical.plans.base import Condition, Number, SamplePlan, Task, grid_position
from replical.plans.paper import intervals
from replical.plans.stopping import StopTest, stopping
from replical.pools.query import Query
from replical.pools.scan import Scan
from replical.pools.version_space import VersionSpace


@dataclass(frozen=True, kw_only=True)
class ReplicA2Plan(AgnosticRoundsPlan):
    """ReplicA²: thresholds above ν̄/Δ in the loop, above the fewest errors at the end."""

    @property
    def largest_sample(self) -> int | None:
        """The larger of a round and the last sample, at its largest; a stop test looks at items of its own."""
        return None if self.stop_test is not None else max(self.k, self.final_size(Fraction(1)))

    def position(self, shared: SharedRandomness) -> Fraction:
        """The shared random position in [0, 1) that decides every threshold."""
        raise NotImplementedError

    @property
    def measuring(self) -> int:
        """Items of a finite pool set aside to measure Δ."""
        return 0

    def loop_most(self, mass: Fraction, scanned: int, position: Fraction) -> int:
        """err ≤ v + ν̄/Δ, in whole errors; `scanned` items were looked at to find the k in DIS(V)."""
        raise NotImplementedError

    def final_query(self, scan: Scan, V: VersionSpace) -> Query:
        """The labels of the final filter: k' points from DIS(V), none where nothing is disputed."""
        return scan.draw(V, self.final_size(V.mass))

    def final_most(self, mass: Fraction, position: Fraction, fewest: int) -> int:
        """err ≤ ν̂ + v', in whole errors."""
        low, high = self["excess_low"], self["excess_high"]
        return fewest + floor(self.final_size(mass) * (low + (high - low) * position) / mass)


@dataclass(frozen=True, kw_only=True)
class PaperReplicA2Plan(ReplicA2Plan):
    """Algorithm 4 as printed: the same interval index in the loop and at the end."""

    def position(self, shared: SharedRandomness) -> Fraction:
        """The middle of one of m equal intervals, the interval shared."""
        return grid_position(shared, self.integer("m"))

    def loop_most(self, mass: Fraction, scanned: int, position: Fraction) -> int:
        """v from 1/(16Θ) to 3/(16Θ)."""
        v = (1 + 2 * position) * self["loop_unit"]
        return floor(self.k * (v + self["nu_bar"] / mass))


@dataclass(frozen=True, kw_only=True)
class TightReplicA2Plan(ReplicA2Plan):
    """Ours: the loop cuts at the fixed offset 1/(8Θ); only the final filter looks at the shared threshold."""

    def position(self, shared: SharedRandomness) -> Fraction:
        """Uniform on [0, 1)."""
        return Fraction(shared.uniform("threshold"))

    def loop_most(self, mass: Fraction, scanned: int, position: Fraction) -> int:
        """err ≤ 1/(8Θ) + ν̄/Δ whatever the shared threshold is."""
        return floor(self.k * (2 * self["loop_unit"] + self["nu_bar"] / mass))


def paper(task: Task) -> PaperReplicA2Plan:
    """Algorithm 4 with the sizes its proof needs."""
    N = agnostic_rounds(task)
    task, stop_test, stop_numbers = agnostic_stopping(task, N)
    rho = task.rho / (2 * (N + 1))  # the paper's ρ' = ρ/(2(N+1))
    m, L = intervals(task.spread, rho), 1 + ln(2000 / rho**2)
    k_loop, conditions = task.size(
        "k_loop",
        ceil(max(128 * task.theta**2 * ln(4 * task.n * N / task.delta), 2 * (8 * task.theta * m) ** 2 * L)),
        "the larger of 128Θ² ln(4nN/δ) (accuracy) and 2(8Θm)²(1+ln(2000/ρ'²)) (replicability)",
    )
    accurate = 18 * ln(4 * task.n / task.delta) / task.epsilon**2
    precise = (3 * m / task.epsilon) ** 2 * max(L, ln(64 * task.n / rho))
    replicable = 8 * precise
    final, more = final_sample(
        task, max(accurate, replicable), "the larger of 18 ln(4n/δ)/ε² and 8(3m/ε)²·max(1+ln(2000/ρ'²), ln(64n/ρ'))"
    )
    grid = Number(name="m", value=m, source="(8/ρ')(1 + ln n / ln(1+ρ'/30)), ρ'=ρ/(2(N+1)): at most ρ'/8 are bad")
    return PaperReplicA2Plan(
        learner="replica2",
        name="paper",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=(*agnostic_numbers(task, N), *thresholds(task, Fraction(1, 3)), grid, k_loop, *final, *stop_numbers),
        conditions=(loop_runs(task), _range_fits(task), *conditions, *more),
        exact_only="" if task.k_loop and task.k_final else _refusal(task, precise),
        stop_test=stop_test,
        own_final=task.k_final,
    )


def tight(task: Task) -> TightReplicA2Plan:
    """ReplicA² by the rank lemma, where masses are known."""
    N = agnostic_rounds(task)
    task, stop_test, stop_numbers = agnostic_stopping(task, N)
    failure = min(task.delta / 2, task.rho / 16)
    halved = 2 * task.epsilon <= task.nu_bar
    k_loop, conditions = task.size(
        "k_loop",
        ceil((72 if halved else 288) * task.theta * ln(2 * N * (task.n + 1) / failure)),
        f"{72 if halved else 288}Θ ln(2N(n+1)/min(δ/2, ρ/16)): Bernstein on both sides of ν̄/Δ + 1/(8Θ)",
    )
    final, more = final_sample(task, excess_scale(task), "the larger of 18 ln(4n/δ)/ε² and 18 l² l2/(.9ρε)²")
    return TightReplicA2Plan(
        learner="replica2",
        name="tight",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=(*agnostic_numbers(task, N), *thresholds(task, Fraction(0)), k_loop, *final, *stop_numbers),
        conditions=(loop_runs(task), _range_fits(task), *conditions, *more),
        exact_only="this plan takes Δ as known: make it with pool='finite'",
        stop_test=stop_test,
        own_final=task.k_final,
    )


def agnostic_stopping(task: Task, N: int) -> tuple[Task, StopTest | None, tuple[Number, ...]]:
    """The stop test of ReplicA² at masses from 8Θν̄ on, and what it leaves of δ and ρ."""
    return stopping(task, N, stop_mass=loop_mass(task))


def excess_scale(task: Task) -> Decimal:
    """Labels, divided by Δ², that know every excess error well enough."""
    return 18 * precision(task) / task.epsilon**2


def precision(task: Task) -> Decimal:
    """A: what the last sample grows with, for accuracy and for the rank lemma on [0, 2ε/3]."""
    l, l2 = 1 + ln(task.spread), 1 + ln(2 * task.n)
    return max(ln(4 * task.n / task.delta), l**2 * l2 / (Decimal("0.9") * task.rho) ** 2)


def thresholds(task: Task, low: Fraction) -> tuple[Number, ...]:
    """The fixed offset of the loop, and the range of the shared final threshold."""
    epsilon = fraction(task.epsilon)
    return (
        Number(name="loop_unit", value=1 / (16 * fraction(task.theta)), source="1/(16Θ)"),
        Number(
            name="excess_low", value=low * epsilon, source="start of the range of the final threshold on excess error"
        ),
        Number(name="excess_high", value=Fraction(2, 3) * epsilon, source="2ε/3, its end: ε/3 is left for estimation"),
    )


def _range_fits(task: Task) -> Condition:
    """Hypotheses inside the final range must pass the loop: the proof needs ε ≤ 1.5ν̄, which ν̄ ≥ ε grants."""
    bound = 1.5 * float(task.nu_bar)
    return Condition(
        name="epsilon is at most 1.5 nu_bar", value=float(task.epsilon), bound=bound, held=float(task.epsilon) <= bound
    )


def _refusal(task: Task, precise: Decimal) -> str:
    """Scanned, an excess error is known to a quarter of an interval with 42·Δ/width² items a unit of the exponent."""
    items = 42 * max(decimal(loop_mass(task)), task.epsilon) * precise
    return (
        f"the paper's sizes of replica2 would take about {items:.1g} items of a finite pool: use an exact population (pool "
        "size 'exact'), the plan 'tight', or sizes of your own"
    )


@dataclass(frozen=True, kw_only=True)
class ReplicableERMPlan(SamplePlan):
    """Passive and replicable: k labels, then a shared threshold on the (excess) error."""

    @property
    def largest_sample(self) -> int:
        """The sample."""
        return self.k

    @property
    def grows_with(self) -> str:
        """Errors are known to ε with 1/ε labels, excess errors only with 1/ε²."""
        power = "epsilon^2" if self["nu"] else "epsilon"
        return f"it grows with (ln n)^3/({power} rho^2); raise rho or round instead"

    def most(self, shared: SharedRandomness, fewest: int) -> int:
        """Errors allowed: a shared threshold, above the fewest errors where labels may be noisy."""
        low, high = self["low"], self["high"]
        if "m" in {number.name for number in self.numbers}:
            position = grid_position(shared, self.integer("m"))
        else:
            position = Fraction(shared.uniform("threshold"))
        above = fewest if self["nu"] else 0
        return above + floor(self.k * (low + (high - low) * position))


def erm_paper(task: Task) -> ReplicableERMPlan:
    """The paper's technique on D itself: a grid of m intervals."""
    m, L = intervals(task.spread, task.rho), 1 + ln(2000 / task.rho**2)
    grid = Number(name="m", value=m, source="(8/ρ)(1 + ln n / ln(1+ρ/30)): at most ρ/8 of the intervals are bad")
    if task.nu == 0:
        needed = max(8 * ln(task.n / task.delta), 16 * m**2 * L) / task.epsilon
        source = "the larger of 8 ln(n/δ)/ε (accuracy) and 16m²(1+ln(2000/ρ²))/ε (replicability)"
        return _erm(task, "paper", needed, source, Fraction(0), Fraction(1, 2), grid)
    needed = max(18 * ln(4 * task.n / task.delta), 72 * m**2 * max(L, ln(64 * task.n / task.rho))) / task.epsilon**2
    source = "the larger of 18 ln(4n/δ)/ε² and 8(3m/ε)²·max(1+ln(2000/ρ²), ln(64n/ρ))"
    return _erm(task, "paper", needed, source, Fraction(1, 3), Fraction(2, 3), grid)


def erm_tight(task: Task) -> ReplicableERMPlan:
    """By the rank lemma."""
    l, l2 = 1 + ln(task.spread), 1 + ln(2 * task.n)
    if task.nu == 0:
        needed = max(8 * ln(task.n / task.delta), Decimal("17.7") * l**2 * l2 / task.rho**2) / task.epsilon
        source = "the larger of 8 ln(n/δ)/ε and 17.7 l² l2/(ερ²): rank lemma on [0, ε/2]"
        return _erm(task, "tight", needed, source, Fraction(0), Fraction(1, 2))
    source = "the larger of 18 ln(4n/δ)/ε² and 18 l² l2/(.9ρε)²: rank lemma on [0, 2ε/3]"
    return _erm(task, "tight", excess_scale(task), source, Fraction(0), Fraction(2, 3))


def _erm(
    task: Task, name: str, needed: Decimal, source: str, low: Fraction, high: Fraction, *grid: Number
) -> ReplicableERMPlan:
    k, conditions = task.size("k_final", ceil(needed), source)
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

"""ReplicA², agnostic: A² with a shared random threshold on the error and a shared order of the class.

Claim: if the best hypothesis errs at most ν, then with the sizes of its plan two labs that share one random string
return the same hypothesis with probability at least 1-ρ, and its error is at most ν+ε with probability at least 1-δ.
Reference: Algorithm 4, Theorem 2 (plan "paper"); docs/claims/replica2.md (all plans, line by line).

The plan "tight" divides nothing by Δ(V) at the end. Outside DIS(V) survivors agree, so on M fresh items the errors made
inside DIS(V) tell global errors apart, whatever Δ is; M is public, and the same in all labs. On a finite pool ν̄ times the
items scanned to find k disputed ones stands for k·ν̄/Δ in the loop, so Δ decides only when that ends, for which a rough
measure on items of its own will do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil as ceil_of
from math import floor

from replical.core.exact import ceil, decimal, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.core.text import amount
from replical.errors import PlanMismatch, PoolExhausted
from replical.learners.base import Conversation, check_plan, stop_condition
from replical.learners.paper.a2 import (
    AgnosticRoundsPlan,
    agnostic_numbers,
    agnostic_rounds,
    final_sample,
    loop_mass,
    loop_runs,
)
from replical.learners.plan import Condition, Cost, Number, Setting, Task, grid_position, intervals, rounds_cost
from replical.learners.result import Result
from replical.pools.pool import AnyPool
from replical.pools.query import Query
from replical.pools.scan import Scan
from replical.pools.version_space import VersionSpace


@dataclass(frozen=True)
class ReplicA2:
    """The paper's replicable A².

    Parameters
    ----------
    plan
        ``plan("replica2", C, epsilon=.., delta=.., rho=.., theta=.., nu=..)``, with ``pool="finite"`` for a lab's items.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import Population, PrivateRandomness, ReplicA2, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314, noise=.01), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool("exact", lab)
    >>> learner = ReplicA2(plan("replica2", C, epsilon=.05, delta=.05, rho=.1, theta=2, nu=.01))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.hypothesis, result.unrounded, result.V.size
    (10586013, 305, 236, 39)
    """

    plan: ReplicA2Plan

    def __post_init__(self) -> None:
        check_plan(self.plan, ReplicA2Plan, "ReplicA2")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Rounds on `pool` while Δ(V) ≥ 8Θν̄, then one last sample; threshold and order come from `shared`.

        The plan "paper" draws both from DIS(V); "tight" scans for the last, and for all on a finite pool. Errors count
        against all items scanned, because outside DIS(V) survivors agree.

        Returns
        -------
        conversation
            It ends with a `Result`. `V`: everyone within the shared threshold of the best on the last sample.
            `hypothesis`: the first of them in the shared order. `unrounded`: the first of those who had survived the
            loop. `conditions`: those of the plan, and whether the loop ended because Δ(V) was small.

        Raises
        ------
        EmptyVersionSpace
            If everyone made too many errors: the best hypothesis errs more often than ν.
        PoolExhausted
            If a finite pool runs out of the items a round needs.
        """
        plan, rounds = self.plan, 0
        pool = pool.reserve(plan.measuring)
        V, scan = pool.version_space(), pool.scan()
        position = plan.position(shared)
        while V.mass >= plan.stop_mass and rounds < plan.rounds_most:
            query = scan.draw(V, plan.k)
            S = yield query
            V = V.keep(V.errors(S) <= plan.loop_most(V.mass, query.scanned, position))
            rounds += 1
        before = V
        query = plan.final_query(scan, V)
        if query.total:  # otherwise nothing is disputed and everyone stays
            S = yield query
            errors = V.errors(S)
            V = V.keep(errors <= plan.final_most(V.mass, position, int(errors.min())))
        return Result(
            hypothesis=V.first(shared, plan.prior),
            unrounded=before.first(shared, plan.prior),
            V=V,
            conditions=(*plan.conditions, stop_condition(before, plan, held=before.mass < plan.stop_mass)),
        )


@dataclass(frozen=True, kw_only=True)
class ReplicA2Plan(AgnosticRoundsPlan):
    """Algorithm 4 as printed: the same interval index in the loop, above ν̄/Δ, and at the end, above the fewest errors."""

    def position(self, shared: SharedRandomness) -> Fraction:
        """Where in [0, 1) every threshold lies: the middle of one of m equal intervals, the interval shared."""
        return grid_position(shared, self.integer("m"))

    def loop_most(self, mass: Fraction, scanned: int, position: Fraction) -> int:
        """err ≤ v + ν̄/Δ, v from 1/(16Θ) to 3/(16Θ), in whole errors; `scanned` items were looked at to find k in DIS(V)."""
        v = (1 + 2 * position) * self["loop_unit"]
        return floor(self.k * (v + self["nu_bar"] / mass))

    def final_query(self, scan: Scan, V: VersionSpace) -> Query:
        """The labels of the final filter: k' points from DIS(V), none where nothing is disputed."""
        return scan.draw(V, self.final_size(V.mass))

    def final_most(self, mass: Fraction, position: Fraction, fewest: int) -> int:
        """err ≤ ν̂ + v', in whole errors."""
        low, high = self["excess_low"], self["excess_high"]
        return fewest + floor(self.final_size(mass) * (low + (high - low) * position) / mass)


@dataclass(frozen=True, kw_only=True)
class TightReplicA2Plan(ReplicA2Plan):
    """Ours: the loop cuts at the fixed offset 1/(8Θ); only the final filter, of M items, looks at the shared threshold."""

    @property
    def final_scans(self) -> bool:
        """On items outside DIS(V) survivors agree, so they need no label."""
        return True

    @property
    def labels_most(self) -> int:
        """N rounds, and of the M last items about the fraction at which the loop ends."""
        mass = min(Fraction(1), self.stop_mass)
        return self.k * self.rounds_most + ceil_of(self.final_size(mass) * mass)

    def cost(self, setting: Setting) -> Cost:
        """The rounds, and the last M items."""
        rounds, M = self.rounds_most, self.final_size(self.stop_mass)
        last = self.labels_most - rounds * self.k
        return rounds_cost(rounds, self.k, self.stop_mass, last=last, looked_at=Fraction(M))

    def position(self, shared: SharedRandomness) -> Fraction:
        """Uniform on [0, 1)."""
        return Fraction(shared.uniform("threshold"))

    def loop_most(self, mass: Fraction, scanned: int, position: Fraction) -> int:
        """err ≤ 1/(8Θ) + ν̄/Δ whatever the shared threshold is."""
        return floor(self.k * (2 * self["loop_unit"] + self["nu_bar"] / mass))

    def final_size(self, mass: Fraction) -> int:
        """M, whatever the mass is."""
        return self.integer("k_final")

    def final_query(self, scan: Scan, V: VersionSpace) -> Query:
        """Those of M fresh items that lie in DIS(V); on all others survivors agree."""
        return scan.among(V, self.integer("k_final"))

    def final_most(self, mass: Fraction, position: Fraction, fewest: int) -> int:
        """(errors - fewest) / M ≤ u, in whole errors."""
        return fewest + floor(self.integer("k_final") * self["excess_high"] * position)


_ROUGHLY = Fraction(105, 100)  # rounds are run at masses from s/1.05 on, if Δ̂ is measured as planned
_SLOWLY = Fraction(8, 7)  # a round scans at most so many times k/Δ items, except with probability e^(-k/112)


@dataclass(frozen=True, kw_only=True)
class ScanningReplicA2Plan(TightReplicA2Plan):
    """Ours, on a finite pool: both filters count errors on all items scanned, and ask for those in DIS(V)."""

    @property
    def measuring(self) -> int:
        """Items set aside to measure Δ."""
        return self.integer("measuring")

    @property
    def pool_least(self) -> int:
        """No run returns with fewer items: those set aside, and the last sample."""
        return self.measuring + self.integer("k_final")

    @property
    def pool_enough(self) -> int:
        """Items with which runs return if Θ is right: Δ halves, so the masses of the rounds are s/1.05 times 1, 2, 4, .."""
        mass, N = min(Fraction(1), self.stop_mass), self.rounds_most
        rounds = self.k * _SLOWLY * _ROUGHLY / mass * (2 - Fraction(2, 2**N))
        return self.measuring + ceil_of(rounds) + self.integer("k_final")

    def cost(self, setting: Setting) -> Cost:
        """The rounds and the last sample, and a pool large enough for both."""
        return replace(super().cost(setting), unlabelled=self.pool_enough)

    def check(self, pool: AnyPool) -> None:
        """Refuse a known distribution, which has no items to scan, and a pool with which no run would return."""
        super().check(pool)
        if pool.exact:
            raise PlanMismatch("this plan scans the items of a finite pool: make it with pool='exact'")
        if pool.size < self.pool_least:
            times = Decimal(self.pool_enough) / pool.size
            raise PoolExhausted(
                f"replica2 needs at least {amount(self.pool_least)} items and {amount(self.pool_enough)} would do, "
                f"{times:,.1f} times the pool of {pool.size:,}: bring more items, ask for less by larger epsilon or rho, or "
                "take the learner handicap"
            )

    def loop_most(self, mass: Fraction, scanned: int, position: Fraction) -> int:
        """errors ≤ ν̄T + k/(8Θ), T items scanned, whatever the shared threshold and the measured mass are."""
        return floor(self["nu_bar"] * scanned + 2 * self["loop_unit"] * self.k)


def paper(task: Task) -> ReplicA2Plan:
    """Algorithm 4 with the sizes its proof needs."""
    N = agnostic_rounds(task)
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
    return ReplicA2Plan(
        learner="replica2",
        name="paper",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=(*agnostic_numbers(task, N), *thresholds(task, Fraction(1, 3)), grid, k_loop, *final),
        conditions=(loop_runs(task), _range_fits(task), *conditions, *more),
        exact_only="" if task.k_loop and task.k_final else _refusal(task, precise),
        own_final=task.k_final,
    )


def tight(task: Task) -> ReplicA2Plan:
    """ReplicA² by Lemma N: rounds in DIS(V) where masses are known, scanning on a finite pool."""
    return _exact(task) if task.exact else _scanning(task)


def _exact(task: Task) -> TightReplicA2Plan:
    """ReplicA² by Lemma N, where masses are known."""
    N = agnostic_rounds(task)
    failure = min(task.delta / 2, task.rho / 16)
    halved = 2 * task.epsilon <= task.nu_bar
    k_loop, conditions = task.size(
        "k_loop",
        ceil((72 if halved else 288) * task.theta * ln(2 * N * (task.n + 1) / failure)),
        f"{72 if halved else 288}Θ ln(2N(n+1)/min(δ/2, ρ/16)): Bernstein on both sides of ν̄/Δ + 1/(8Θ)",
    )
    final, more = last_items(task)
    return TightReplicA2Plan(
        learner="replica2",
        name="tight",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=(*agnostic_numbers(task, N), *thresholds(task, Fraction(0)), k_loop, final),
        conditions=(loop_runs(task), _range_fits(task), *conditions, *more),
        exact_only="this plan takes Δ as known: make it with pool='finite'",
    )


def _scanning(task: Task) -> ScanningReplicA2Plan:
    s, N = loop_mass(task), 1
    while Fraction(1, 2**N) > s / _ROUGHLY:
        N += 1
    failure = min(task.delta / 2, task.rho / 16)
    measuring = ceil(882 / decimal(s) * ln(16 * (N + 1) / failure))
    factor = 128 if 2 * task.epsilon <= task.nu_bar else 583
    k_loop, conditions = task.size(
        "k_loop",
        ceil(factor * task.theta * ln(2 * N * (task.n + 1) / failure)),
        f"{factor}Θ ln(2N(n+1)/min(δ/2, ρ/16)): Chernoff for the errors, and for the items scanned",
    )
    final, more = last_items(task)
    return ScanningReplicA2Plan(
        learner="replica2",
        name="tight",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=(
            *agnostic_numbers(task, N, "the fewest halvings with 2^-N ≤ s/1.05, s = min(1, 8Θν̄)"),
            *thresholds(task, Fraction(0)),
            Number(
                name="measuring",
                value=measuring,
                source="882 ln(16(N+1)/min(δ/2, ρ/16))/s, s = min(1, 8Θν̄): Δ to 5% at s",
            ),
            k_loop,
            final,
        ),
        conditions=(loop_runs(task), *conditions, *more),
    )


def last_items(task: Task) -> tuple[Number, tuple[Condition, ...]]:
    """M: what the last sample has to tell, in items, labelled or looked at."""
    G = 2 * task.epsilon / 3
    v = 2 * (task.nu_bar + G)
    replicable = (Decimal("7.05") * ln(task.spread) + Decimal("1.47") * ln(2 * task.n).sqrt()) / (
        Decimal("0.9") * task.rho
    )
    far = Decimal("2.27") * ln(400 * task.n / task.rho)
    return task.size(
        "k_final",
        ceil(v / G**2 * max(replicable**2, far, 8 * ln(4 * task.n / task.delta))),
        "v/G² times the largest of ((7.05 ln n + 1.47 √ln 2n)/(.9ρ))², 2.27 ln(400n/ρ) and 8 ln(4n/δ), G = 2ε/3, "
        "v = 2ν̄+2G: Lemma N",
    )


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

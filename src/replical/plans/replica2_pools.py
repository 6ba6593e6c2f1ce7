"""Plan "tight" of ReplicA² on finite pools: nothing is divided by Δ(V). Derivation: docs/claims/replica2.md.

Outside DIS(V) survivors agree, so on M fresh items the errors made inside DIS(V) tell global errors apart, whatever Δ
is; and in the loop ν̄ times the items scanned to find k disputed ones stands for k·ν̄/Δ. Δ itself decides only when the
loop ends and how large M is, for which a rough measure on items of its own will do.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor

from replical.core.exact import ceil, decimal, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.errors import PlanMismatch, PoolExhausted
from replical.plans import replica2
from replical.plans.a2 import agnostic_numbers, ceil_of, final_sample, loop_mass, loop_runs
from replical.plans.base import Number, Task
from replical.plans.costs import Cost, Setting
from replical.plans.replica2 import ReplicA2Plan, agnostic_stopping, precision, thresholds
from replical.pools.pool import AnyPool
from replical.pools.query import Query
from replical.pools.scan import Scan
from replical.pools.version_space import VersionSpace

_ROUGHLY = Fraction(105, 100)  # rounds are run at masses from s/1.05 on, if Δ̂ is measured as planned
_SLOWLY = Fraction(8, 7)  # a round scans at most so many times k/Δ items, except with probability e^(-k/112)


@dataclass(frozen=True, kw_only=True)
class ScanningReplicA2Plan(ReplicA2Plan):
    """Ours, on a finite pool: both filters count errors on all items scanned, and ask for those in DIS(V)."""

    @property
    def largest_sample(self) -> int | None:
        """None: a finite pool has no runs side by side."""
        return None

    @property
    def measuring(self) -> int:
        """Items set aside to measure Δ."""
        return self.integer("measuring")

    @property
    def labels_most(self) -> int:
        """N rounds, and of the M last items about the fraction at which the loop ends."""
        mass = min(Fraction(1), self.reach)
        return self.k * self.rounds_most + ceil_of(self.final_size(mass) * mass)

    @property
    def pool_least(self) -> int:
        """No run returns with fewer items: those set aside, a first stop test, and the least last sample."""
        tested = self.integer("stop_items") if self.stop_test is not None and self.rounds_most else 0
        return self.measuring + tested + self.final_size(Fraction(0))

    @property
    def pool_enough(self) -> int:
        """Items with which runs return if Θ is right: Δ halves, so the masses of the rounds are s/1.05 times 1, 2, 4, .."""
        mass, N = min(Fraction(1), self.reach), self.rounds_most
        rounds = self.k * _SLOWLY * _ROUGHLY / min(Fraction(1), self.stop_mass) * (2 - Fraction(2, 2**N))
        tested = N * self.integer("stop_items") if self.stop_test is not None else 0
        return self.measuring + tested + ceil_of(rounds) + self.final_size(mass)

    def cost(self, setting: Setting) -> Cost:
        """The rounds and the last sample, and a pool large enough for both."""
        rounds = self.rounds_most
        return Cost(
            labels=self.labels_most,
            kind="most",
            rounds=rounds,
            labels_per_round=self.k,
            labels_final=self.labels_most - rounds * self.k,
            unlabelled=self.pool_enough,
        )

    def check(self, pool: AnyPool) -> None:
        """Refuse a known distribution, which has no items to scan, and a pool with which no run would return."""
        super().check(pool)
        if pool.exact:
            raise PlanMismatch("this plan scans the items of a finite pool: make it with pool='exact'")
        if pool.size < self.pool_least:
            times = Decimal(self.pool_enough) / pool.size
            raise PoolExhausted(
                f"replica2 needs at least {_in_words(self.pool_least)} items and {_in_words(self.pool_enough)} would do, "
                f"{times:,.1f} times the pool of {pool.size:,}: bring more items, ask for less by larger epsilon or rho, or "
                "take the learner settled-distance"
            )

    def position(self, shared: SharedRandomness) -> Fraction:
        """Uniform on [0, 1)."""
        return Fraction(shared.uniform("threshold"))

    def loop_most(self, mass: Fraction, scanned: int, position: Fraction) -> int:
        """errors ≤ ν̄T + k/(8Θ), T items scanned, whatever the shared threshold and the measured mass are."""
        return floor(self["nu_bar"] * scanned + 2 * self["loop_unit"] * self.k)

    def final_size(self, mass: Fraction) -> int:
        """M for the measured mass; with a stop test nothing is measured, and what it leaves is at most `reach`."""
        if self.own_final is not None:
            return self.own_final
        left = mass if self.stop_test is None else min(Fraction(1), self.reach)
        return ceil_of(self["final_scale"] * max(left, self.epsilon))

    def final_query(self, scan: Scan, V: VersionSpace) -> Query:
        """Those of M fresh items that lie in DIS(V); on all others survivors agree."""
        return scan.among(V, self.final_size(V.mass))

    def final_most(self, mass: Fraction, position: Fraction, fewest: int) -> int:
        """(errors - fewest) / M ≤ u, in whole errors."""
        return fewest + floor(self.final_size(mass) * self["excess_high"] * position)


def _in_words(items: int) -> str:
    return f"{items:,}" if items < 10**12 else f"{Decimal(items):.3g}"


def tight(task: Task) -> ReplicA2Plan:
    """ReplicA² by the rank lemma: conditional samples where masses are known, scanning on a finite pool."""
    return replica2.tight(task) if task.exact else _scanning(task)


def _scanning(task: Task) -> ScanningReplicA2Plan:
    s, N = loop_mass(task), 1
    while Fraction(1, 2**N) > s / _ROUGHLY:
        N += 1
    task, stop_test, stop_numbers = agnostic_stopping(task, N)
    failure = min(task.delta / 2, task.rho / 16)
    measuring = ceil(max(50 / task.epsilon, 882 / decimal(s)) * ln(16 * (N + 1) / failure)) if task.measured else 0
    factor = 128 if 2 * task.epsilon <= task.nu_bar else 583
    k_loop, conditions = task.size(
        "k_loop",
        ceil(factor * task.theta * ln(2 * N * (task.n + 1) / failure)),
        f"{factor}Θ ln(2N(n+1)/min(δ/2, ρ/16)): Chernoff for the errors, and for the items scanned",
    )
    final, more = final_sample(
        task,
        27 * precision(task) / task.epsilon**2,
        "27/ε² times the larger of ln(4n/δ) and l² l2/(.9ρ)²: Bernstein and rank lemma; unlabelled items, asked in DIS(V)",
        times="max(Δ, ε)",
    )
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
                source="max(50/ε, 882/s) ln(16(N+1)/min(δ/2, ρ/16)), s = min(1, 8Θν̄): Δ to 5% at s, to a quarter from ε on",
            ),
            k_loop,
            *final,
            *stop_numbers,
        ),
        conditions=(loop_runs(task), *conditions, *more),
        stop_test=stop_test,
        own_final=task.k_final,
    )

"""The paper's optional stop test: Δ(V) estimated by rSTAT instead of known.

The loops halve Δ and spare everybody who is in the final range only while Δ is at least s = ε (RepliCAL) or 8Θν̄
(ReplicA²). So Δ is measured to s/2 and the loop stops below 3s/2: a round below s is never run, and what is left is
below 2s. Claim and what it costs: docs/claims/subroutines.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from replical.bounds.subroutines import Statistic
from replical.core.exact import fraction
from replical.core.randomness import SharedRandomness
from replical.errors import ValueOutOfRange
from replical.plans.base import Number, RoundsPlan, Task
from replical.pools.scan import Scan
from replical.pools.version_space import VersionSpace


@dataclass(frozen=True, kw_only=True)
class StopTest:
    """Is Δ(V) still too large? Asked of fresh unlabelled items, answered replicably."""

    statistic: Statistic
    bound: Fraction
    tolerance: Fraction

    def large(self, V: VersionSpace, scan: Scan, shared: SharedRandomness, rounds: int) -> bool:
        """Is the rounded estimate at least the bound?"""
        samples = self.statistic.samples
        mean = Fraction(scan.inside(V, samples), samples)
        return self.statistic.round(mean, shared, "stop", rounds) >= self.bound


def stopping(task: Task, N: int, *, stop_mass: Fraction) -> tuple[Task, StopTest | None, tuple[Number, ...]]:
    """The stop test of a learner with at most `N` rounds at masses from `stop_mass` on, and what it leaves of δ and ρ."""
    if task.stop != "rstat":
        return task, None, ()
    tolerance, bound = stop_mass / 2, 3 * stop_mass / 2
    rho, delta = task.rho / (2 * N), task.stop_delta or min(task.delta, task.rho) / (8 * N)
    most = min(
        task.delta / (2 * N), task.rho / (4 * N)
    )  # half of δ is left, and rSTAT needs its own ρ above 2 stop_delta
    if delta >= most:
        raise ValueOutOfRange(
            f"stop_delta is spent up to {2 * N} times and must leave some of delta and rho: give less than "
            f"{float(most):.2g}, got {float(delta):g}"
        )
    statistic = Statistic.of(tau=float(tolerance), rho=float(rho), delta=float(delta))
    numbers = (
        Number(name="stop_tau", value=tolerance, source="rSTAT's tolerance on Δ(V)"),
        Number(name="stop_delta", value=fraction(delta), source="a stop test misses its tolerance; min(δ, ρ)/(8N)"),
        Number(name="stop_rho", value=fraction(rho), source="ρ/(2N), as in the paper"),
        Number(name="stop_items", value=statistic.samples, source="fresh unlabelled items a stop test: rSTAT's size"),
    )
    left = replace(task, delta=task.delta - N * delta, rho=task.rho - 2 * N * delta)
    return left, StopTest(statistic=statistic, bound=bound, tolerance=tolerance), numbers


@dataclass(frozen=True, kw_only=True)
class StoppedPlan(RoundsPlan):
    """A plan whose loop may ask rSTAT whether to go on."""

    stop_test: StopTest | None = None

    @property
    def reach(self) -> Fraction:
        """What Δ(V) is below when the loop has ended by its own test."""
        return self.stop_mass if self.stop_test is None else self.stop_test.bound + self.stop_test.tolerance

    def large(self, V: VersionSpace, scan: Scan, shared: SharedRandomness, rounds: int) -> bool:
        """Δ(V) ≥ what the loop stops at, by the known mass or by the stop test."""
        if self.stop_test is None:
            return V.mass >= self.stop_mass
        return self.stop_test.large(V, scan, shared, rounds)

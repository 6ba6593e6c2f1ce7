"""Plans of boosting: strings, runs, and the shared threshold on the winner's frequency. Claim: docs/claims/boosting.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from replical.classes.prior import Prior
from replical.core.exact import ceil, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.plans.base import Condition, Number, Plan, Task
from replical.plans.costs import Cost, Setting
from replical.pools.pool import AnyPool

_RHO_BASE = Decimal("0.01")  # of a run: then a string is bad with probability at most .01/.25 = 1/25
_LOW, _HIGH = Fraction(11, 20), Fraction(7, 10)  # a good string's winner has .75, a tie at most .5

Base = TypeVar("Base", bound=Plan)


@dataclass(frozen=True, kw_only=True)
class BoostedPlan(Plan):
    """Run a replicable learner often with each of a few strings; a frequent winner is the answer.

    Attributes
    ----------
    base
        The plan of one run.
    """

    base: Plan

    @property
    def shrinks(self) -> bool:
        """Every run begins anew."""
        return False

    @property
    def abstains(self) -> bool:
        """Without a heavy hitter there is no answer."""
        return True

    @property
    def grows_with(self) -> str:
        """It takes a tiny ρ before 1/ρ² runs at ρ = .01 cost less than one run at ρ."""
        return "boosting beats the paper's own sizes only below rho of about 10^-7; take the learner itself"

    def cost(self, setting: Setting) -> Cost:
        """Every run of every string."""
        one, runs = self.base.cost(setting), self.strings * self.runs
        note = f"{self.runs} runs with each of {self.strings} strings; fewer strings if the first has a heavy hitter"
        items = None if one.unlabelled is None else runs * one.unlabelled
        return Cost(labels=runs * one.labels, kind="most", unlabelled=items, note=note)

    def under(self, prior: Prior, max_labels: int | None) -> BoostedPlan:
        """The prior is every run's; the budget is that of all of them."""
        return replace(super().under(prior, max_labels), base=self.base.under(prior, None))

    @property
    def strings(self) -> int:
        """K."""
        return self.integer("K")

    @property
    def runs(self) -> int:
        """T, with each string."""
        return self.integer("runs")

    @property
    def labels_most(self) -> int | None:
        """Every run of every string."""
        most = self.base.labels_most
        return None if most is None else self.strings * self.runs * most

    def frequency(self, shared: SharedRandomness) -> Fraction:
        """The shared threshold v' on the frequency of a string's winner."""
        return self["low"] + (self["high"] - self["low"]) * Fraction(shared.uniform("frequency"))

    def check(self, pool: AnyPool) -> None:
        """Refuse a pool this plan was not made for."""
        super().check(pool)
        self.base.check(pool)


def boosted(learner: str, make: Callable[[Task], Plan]) -> Callable[[Task], BoostedPlan]:
    """The boosted form of a learner, given how its own plan is made."""

    def plan(task: Task) -> BoostedPlan:
        rho = task.rho
        K = task.strings or ceil(ln(4 / rho) / ln(25))
        spread = Decimal(_HIGH.numerator) / _HIGH.denominator - Decimal(_LOW.numerator) / _LOW.denominator
        replicable = 32 * K**2 * ln(16 * K / rho) / (spread * rho) ** 2
        needed = ceil(max(replicable, 200 * ln(6 * K / task.delta)))
        source = "the larger of 32K² ln(16K/ρ)/(.15ρ)² (Hoeffding) and 200 ln(6K/δ) (no winner below one half)"
        base = make(replace(task, rho=_RHO_BASE, delta=task.delta / (4 * K)))
        numbers = (
            Number(
                name="K",
                value=K,
                source="given" if task.strings else "⌈ln(4/ρ)/ln 25⌉ strings: all are bad with probability at most ρ/4",
            ),
            Number(
                name="runs",
                value=task.runs or needed,
                source=f"given; the proof asks for {needed}" if task.runs else source,
            ),
            Number(name="low", value=_LOW, source="start of the range of the threshold on the frequency"),
            Number(name="high", value=_HIGH, source="its end: a good string's winner has frequency .75 at least"),
            Number(name="rho_base", value=fraction(_RHO_BASE), source="how often two runs with one string may differ"),
            Number(name="delta_base", value=fraction(task.delta / (4 * K)), source="δ/(4K): a run is inaccurate"),
        )
        return BoostedPlan(
            learner=f"boosted-{learner}",
            name=base.name,
            n=task.n,
            epsilon=base.epsilon,
            numbers=numbers,
            conditions=(*_enough(task, K, needed), *base.conditions),
            exact_only=base.exact_only,
            base=base,
        )

    return plan


def _enough(task: Task, K: int, needed: int) -> tuple[Condition, ...]:
    conditions = []
    if task.strings:
        failing = (1 / 25) ** K
        bound = float(task.rho / 4)
        conditions.append(
            Condition(
                name="all strings are bad with probability at most rho/4",
                value=failing,
                bound=bound,
                held=failing <= bound,
            )
        )
    if task.runs:
        held = task.runs >= needed
        conditions.append(
            Condition(
                name="runs with each string are at least what the proof needs", value=task.runs, bound=needed, held=held
            )
        )
    return tuple(conditions)

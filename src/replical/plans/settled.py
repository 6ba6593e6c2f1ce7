"""Plans of Settled: the range of the shared threshold, what may go wrong, and the bets. Claim: docs/claims/settled.md."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil as ceil_of

from replical.core.exact import decimal, decimals, fraction
from replical.core.randomness import SharedRandomness
from replical.errors import ValueOutOfRange
from replical.plans.base import Number, Task
from replical.plans.betting import BettingPlan
from replical.plans.costs import Cost, Setting


@dataclass(frozen=True, kw_only=True)
class SettledPlan(BettingPlan):
    """Find the ideal answer, and bet until it is proven to be it."""

    def threshold(self, shared: SharedRandomness) -> Fraction:
        """The shared threshold v on the excess error, uniform on [a, b]."""
        return self["a"] + (self["b"] - self["a"]) * Fraction(shared.uniform("threshold"))

    @property
    def settles_at(self) -> Decimal:
        """The wealth that settles a rival: 1/δ_A."""
        with decimals():
            return 1 / decimal(self["delta_A"])

    @property
    def rejects_at(self) -> Decimal:
        """The wealth that rejects a candidate: 1/δ_I."""
        with decimals():
            return 1 / decimal(self["delta_I"])

    def cost(self, setting: Setting) -> Cost:
        """An estimate: what a comparison with a gap of a quarter of v takes, asked where candidates differ."""
        gap = float(self["b"] - self["a"]) / 4 + float(self["a"]) / 4
        nu = setting.nu or 0.0
        spread = 2 * nu + 2 * float(self["b"])
        items = 8 * (spread + gap**2) / gap**2
        theta = setting.theta or 1.0
        labels = ceil_of(min(1.0, theta * spread) * items)
        note = "a rough estimate: what it takes depends on how far candidates lie from the shared threshold"
        return Cost(labels=labels, kind="estimate", unlabelled=ceil_of(items), note=note)


def settled(task: Task) -> SettledPlan:
    """Theorem S': β for each lab, of which .6 may be lost to rivals and .4 to candidates before the ideal answer."""
    a, b = task.excess_range(Fraction(3, 4))
    if task.labs < 2:
        raise ValueOutOfRange(f"labs must be at least 2, got {task.labs}: whoever is alone differs from nobody")
    beta = min(fraction(task.delta), fraction(task.rho) / task.labs)
    numbers = (
        Number(name="a", value=a, source="start of the range of the shared threshold v; .75b if not given"),
        Number(name="b", value=b, source="its end; ε if not given"),
        Number(name="rho", value=fraction(task.rho), source="given"),
        Number(name="delta", value=fraction(task.delta), source="given"),
        Number(
            name="labs", value=task.labs, source="K labs that may differ with probability ρ at most; 2 if not given"
        ),
        Number(name="beta", value=beta, source="min(δ, ρ/K): a lab is certified and its answer is not the ideal one"),
        Number(
            name="delta_A", value=Fraction(3, 5) * beta, source=".6β: the best settles where the ideal answer is later"
        ),
        Number(name="delta_I", value=Fraction(2, 5) * beta, source=".4β: the ideal answer is rejected"),
        Number(name="optimism", value=4, source="errors above v·t that a favourite may have; 3 to 6 cost the same"),
        Number(name="patience", value=3, source="errors by which a favourite or opponent outlasts its rule"),
        Number(name="idle", value=16, source="unasked items in a row after which bets are settled all the same"),
    )
    return SettledPlan(
        learner="settled",
        name="tight",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=numbers,
        batch=task.batch,
    )

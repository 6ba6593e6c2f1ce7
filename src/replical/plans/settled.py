"""Plans of Settled: the range of the shared threshold, what may go wrong, and the bets. Claim: docs/claims/settled.md."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil as ceil_of

from replical.core.exact import decimal, decimals, fraction
from replical.errors import PlanMismatch
from replical.plans.base import Number, Task
from replical.plans.betting import BettingPlan
from replical.plans.costs import Cost, Setting, by_scanning
from replical.plans.ideal import IdealPlan, ideal, parts
from replical.pools.pool import AnyPool


@dataclass(frozen=True, kw_only=True)
class SettledPlan(BettingPlan, IdealPlan):
    """Bet until the favourite is proven to be the ideal answer, by excess errors."""

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


@dataclass(frozen=True, kw_only=True)
class SettledCALPlan(SettledPlan):
    """The same, with labels inferred from those who made no error."""

    def check(self, pool: AnyPool) -> None:
        """Refuse a `pool` this plan was not made for."""
        super().check(pool)
        if pool.exact:
            raise PlanMismatch(
                f"{self.learner} infers labels, so on a known distribution neither labels nor items would run out: give a "
                "pool size instead of 'exact'"
            )

    def cost(self, setting: Setting) -> Cost:
        """What CAL asks on as many items as Settled takes."""
        items = super().cost(setting).unlabelled
        assert items is not None, "Settled says so"
        note = "items are a rough estimate: they depend on how far candidates lie from the shared threshold"
        return Cost(labels=by_scanning(setting, items), kind="estimate", unlabelled=items, note=note)


def settled(task: Task) -> SettledPlan:
    """Theorem S': β for each lab, of which .6 may be lost to rivals and .4 to candidates before the ideal answer."""
    numbers = (
        *ideal(task, "excess error"),
        *parts(
            task,
            delta_A=(Fraction(3, 5), ".6β: the best settles where the ideal answer is later"),
            delta_I=(Fraction(2, 5), ".4β: the ideal answer is rejected"),
        ),
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


def settled_cal(task: Task) -> SettledCALPlan:
    """The numbers of Settled: inferred labels are as good as asked ones."""
    made = settled(task)
    return SettledCALPlan(
        learner="settled-cal", name=made.name, n=made.n, epsilon=made.epsilon, numbers=made.numbers, batch=made.batch
    )

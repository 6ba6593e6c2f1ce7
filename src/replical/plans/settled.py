"""Plans of Settled: the range of the shared threshold, what may go wrong, and the bets. Claim: docs/claims/settled.md."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil as ceil_of

from replical.bounds.betting import Bets, accepting, rejecting
from replical.classes.prior import Prior
from replical.core.exact import decimal, decimals, fraction
from replical.core.randomness import SharedRandomness
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.plans.base import Choice, Number, Plan, Task
from replical.plans.costs import Cost, Setting, by_scanning
from replical.pools.pool import AnyPool

STAKES = tuple(map(Decimal, ("0.8", "0.4", "0.2", "0.1", "0.05")))


@dataclass(frozen=True, kw_only=True)
class SettledPlan(Plan):
    """Find the ideal answer, and bet until it is proven to be it.

    Attributes
    ----------
    batch
        Items open at once.
    """

    batch: int

    @property
    def shrinks(self) -> bool:
        """Who is compared depends on the favourite, and that may change."""
        return False

    @property
    def choice(self) -> Choice:
        """The first candidate that is not rejected, once that is proven; before, errors that no certificate tells decide."""
        return "labels"

    @property
    def labels_most(self) -> int | None:
        """Only the pool and the budget limit it."""
        return self.max_labels

    def under(self, prior: Prior, max_labels: int | None) -> SettledPlan:
        """The same plan with a `prior` and a budget of `max_labels`, which is at least one batch."""
        if max_labels is not None and max_labels < self.batch:
            raise ValueOutOfRange(
                f"max_labels = {max_labels} is below batch = {self.batch}, so not even one batch could be asked: "
                "raise the budget or lower the batch"
            )
        return super().under(prior, max_labels)

    def check(self, pool: AnyPool) -> None:
        """Refuse a `pool` this plan was not made for."""
        super().check(pool)
        if pool.exact and self.max_labels is None:
            raise PlanMismatch("on a known distribution items never run out: give settled a budget, max_labels")

    def threshold(self, shared: SharedRandomness) -> Fraction:
        """The shared threshold v on the excess error, uniform on [a, b]."""
        return self["a"] + (self["b"] - self["a"]) * Fraction(shared.uniform("threshold"))

    def opens(self, asked: int) -> int:
        """How many items to ask next: a batch, or what is left of the budget."""
        return self.batch if self.max_labels is None else min(self.batch, self.max_labels - asked)

    def purses(self, v: Fraction) -> Bets:
        """Bets that a favourite's excess over a rival is at most v."""
        with decimals():
            return accepting(decimal(v), STAKES)

    def charges(self, v: Fraction) -> Bets:
        """Bets that a candidate's excess is above v."""
        with decimals():
            return rejecting(decimal(v), STAKES)

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
    a, b = task.excess_range(Fraction(3, 4))
    if task.labs < 2:
        raise ValueOutOfRange(f"labs must be at least 2, got {task.labs}: whoever is alone differs from nobody")
    beta = min(fraction(task.delta), fraction(task.rho) / task.labs)
    numbers = (
        Number(name="a", value=a, source="start of the range of the shared threshold v; .75ε if not given"),
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


def settled_cal(task: Task) -> SettledCALPlan:
    """The numbers of Settled: inferred labels are as good as asked ones."""
    made = settled(task)
    return SettledCALPlan(
        learner="settled-cal", name=made.name, n=made.n, epsilon=made.epsilon, numbers=made.numbers, batch=made.batch
    )

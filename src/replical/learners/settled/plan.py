"""What plans have in common whose learners prove that they found the ideal answer. Claims: docs/claims/settled*.md.

What plans have in common whose learners look at a pool once, in blocks, and bet on what they hear.

Plans of Settled: the range of the shared threshold, what may go wrong, and the bets. Claim: docs/claims/settled.md.

The plan of Settled by distance: what A² and the tests of distances may cost. Claim: docs/claims/settled_distance.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil as ceil_of
from typing import Self

from replical.bounds.betting import PLAIN, Bets, accepting, rejecting
from replical.bounds.gamma import largest_count
from replical.classes.losses import Losses
from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import decimal, decimals, fraction
from replical.core.randomness import SharedRandomness
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.learners.paper import a2
from replical.learners.plan import Choice, Cost, Number, Plan, Setting, Task, halving_labels, scanning_labels
from replical.pools.pool import AnyPool


@dataclass(frozen=True, kw_only=True)
class IdealPlan(Plan):
    """Find the ideal answer, a constant of the distribution and the string, and prove that it is found."""

    @property
    def labels_most(self) -> int | None:
        """Only the pool and the budget limit it."""
        return self.max_labels

    def threshold(self, shared: SharedRandomness) -> Fraction:
        """The shared threshold v, uniform on [a, b]."""
        return self["a"] + (self["b"] - self["a"]) * Fraction(shared.uniform("threshold"))


def beta(task: Task) -> Fraction:
    """How often a lab may be certified and wrong."""
    return min(fraction(task.delta), fraction(task.rho) / task.labs)


def ideal(task: Task, measure: str) -> tuple[Number, ...]:
    """What makes an answer the ideal one, by a `measure`, and how sure of it a lab is to be."""
    a, b = threshold_range(task)
    range_of = "the range of the shared threshold v" + (" on distances" if measure == "distance" else "")
    return (
        Number(name="a", value=a, source=f"start of {range_of}; .75b if not given"),
        Number(name="b", value=b, source="its end; ε if not given"),
        Number(name="rho", value=fraction(task.rho), source="given"),
        Number(name="delta", value=fraction(task.delta), source="given"),
        Number(
            name="labs", value=task.labs, source="K labs that may differ with probability ρ at most; 2 if not given"
        ),
        Number(
            name="beta", value=beta(task), source="min(δ, ρ/K): a lab is certified and its answer is not the ideal one"
        ),
    )


def threshold_range(task: Task) -> tuple[Fraction, Fraction]:
    """[a, b] of the shared threshold: b is ε, and a is three quarters of b, where they are not given."""
    epsilon = fraction(task.epsilon)
    b = epsilon if task.b is None else fraction(task.b)
    a = Fraction(3, 4) * b if task.a is None else fraction(task.a)
    if b > epsilon:
        raise ValueOutOfRange(
            f"b must be at most epsilon = {float(epsilon):g}, got {float(b):g}: the answer may err b more than the best"
        )
    if not 0 < a <= b:
        raise ValueOutOfRange(
            f"a must be above 0 and at most b = {float(b):g}, got {float(a):g}: the shared threshold is drawn between them"
        )
    return a, b


def parts(task: Task, **shares: tuple[Fraction, str]) -> tuple[Number, ...]:
    """The ways in which that may happen: the share of β that each has."""
    return tuple(Number(name=name, value=share * beta(task), source=source) for name, (share, source) in shares.items())


STAKES = tuple(map(Decimal, ("0.8", "0.4", "0.2", "0.1", "0.05")))


@dataclass(frozen=True, kw_only=True)
class BettingPlan(Plan):
    """Ask a batch, settle the bets, ask again.

    Attributes
    ----------
    batch
        Items open at once.
    losses
        What predictions cost; None where errors are counted.
    """

    batch: int
    losses: Losses | None = None

    @property
    def values(self) -> tuple[Decimal, ...]:
        """By how much two hypotheses may differ in loss on an item."""
        if self.losses is None:
            return PLAIN
        with decimals():
            return tuple(Decimal(each) / self.losses.unit for each in self.losses.differences)

    @property
    def differences(self) -> tuple[int, ...]:
        """The same in whole parts of the costliest error."""
        return (0, 1, -1) if self.losses is None else self.losses.differences

    @property
    def choice(self) -> Choice:
        """Bets on labels decide, and no certificate tells labels."""
        return "labels"

    @property
    def labels_most(self) -> int | None:
        """Only the pool and the budget limit it."""
        return self.max_labels

    def under(self, prior: Prior, max_labels: int | None) -> Self:
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
            raise PlanMismatch(f"on a known distribution items never run out: give {self.learner} a budget, max_labels")

    def opens(self, asked: int) -> int:
        """How many items to ask next: a batch, or what is left of the budget."""
        return self.batch if self.max_labels is None else min(self.batch, self.max_labels - asked)

    def purses(self, v: Fraction) -> Bets:
        """Bets that an answer errs at most v more than a rival."""
        with decimals():
            return accepting(decimal(v), STAKES, self.values)

    def charges(self, v: Fraction) -> Bets:
        """Bets that a candidate errs more than v above an opponent."""
        with decimals():
            return rejecting(decimal(v), STAKES, self.values)


@dataclass(frozen=True, kw_only=True)
class SettledPlan(BettingPlan, IdealPlan):
    """Bet until the favourite is proven to be the ideal answer, by excess errors."""

    @property
    def measurable(self) -> bool:
        """It does, and errors are counted where they are all alike."""
        return self.losses is None

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
        return Cost(labels=scanning_labels(setting, items), kind="estimate", unlabelled=items, note=note)


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


@dataclass(frozen=True, kw_only=True)
class SettledDistancePlan(IdealPlan):
    """Ask until everyone who may be the best leads to one answer, by distances that are known without labels.

    Attributes
    ----------
    base
        The plan of the learner that shrinks the version space.
    """

    base: Plan

    @property
    def choice(self) -> Choice:
        """Whoever is within v of the centre; the answer alone, once it is proven."""
        return "ball"

    def under(self, prior: Prior, max_labels: int | None) -> SettledDistancePlan:
        """The budget is the base's too."""
        return replace(super().under(prior, max_labels), base=self.base.under(UNIFORM, max_labels))

    def check(self, pool: AnyPool) -> None:
        """Refuse a `pool` this plan was not made for."""
        super().check(pool)
        if pool.exact:
            raise PlanMismatch(
                f"{self.learner} measures distances on a finite pool: give a pool size instead of 'exact'"
            )

    def farther(self, v: Fraction, items: int) -> int:
        """So many differences on `items` prove, at the level δ_I, a distance above v."""
        return items - largest_count(items, 1 - float(v), float(self["delta_I"]))

    def nearer(self, v: Fraction, items: int, place: int) -> int:
        """So many differences at most prove a distance of at most v, at the share of δ_A that this `place` has."""
        return largest_count(items, float(v), float(self["delta_A"]) / ((place + 1) * (place + 2)))

    def cost(self, setting: Setting) -> Cost:
        """An estimate: A² until V is as small as an eighth of v."""
        labels = halving_labels(setting, a2.bets(setting, self["delta_V"]), self["b"] / 8)
        items = ceil_of(8 * 8**2 / float(self["b"]))
        note = (
            f"{a2.FLIPS}; a rough estimate: what it takes depends on how far hypotheses lie from the shared threshold"
        )
        return Cost(labels=labels, kind="estimate", unlabelled=items, note=note)


def settled_distance(task: Task) -> SettledDistancePlan:
    """β for each lab: .4 of it may be lost to A², .3 to each of the two tests of distances."""
    levels = parts(
        task,
        delta_V=(Fraction(2, 5), ".4β: the base removes the best"),
        delta_A=(
            Fraction(3, 10),
            ".3β: someone before the ideal answer is taken for it; 1/((p+1)(p+2)) of it at place p",
        ),
        delta_I=(Fraction(3, 10), ".3β: the ideal answer is rejected"),
    )
    return SettledDistancePlan(
        learner="settled-distance",
        name="tight",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=(*ideal(task, "distance"), *levels),
        base=a2.betting(replace(task, delta=decimal(levels[0].value), kappa=None)),
    )

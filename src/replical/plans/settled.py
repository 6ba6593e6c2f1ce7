"""Plans of Settled: the range of the shared threshold, what may go wrong, and the bets. Claim: docs/claims/settled.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil as ceil_of

from replical.bounds.betting import Bets, accepting, rejecting
from replical.bounds.tails import largest_count
from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import decimal, decimals, fraction
from replical.core.randomness import SharedRandomness
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.plans import a2
from replical.plans.base import Choice, Number, Plan, Task
from replical.plans.costs import Cost, Setting, by_halving, by_scanning
from replical.pools.pool import AnyPool

STAKES = tuple(map(Decimal, ("0.8", "0.4", "0.2", "0.1", "0.05")))


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


@dataclass(frozen=True, kw_only=True)
class SettledPlan(IdealPlan):
    """Bet until the favourite is proven to be the ideal answer, by excess errors.

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
        labels = by_halving(setting, a2.bets(setting, self["delta_V"]), self["b"] / 8)
        items = ceil_of(8 * 8**2 / float(self["b"]))
        note = (
            f"{a2.FLIPS}; a rough estimate: what it takes depends on how far hypotheses lie from the shared threshold"
        )
        return Cost(labels=labels, kind="estimate", unlabelled=items, note=note)


def settled(task: Task) -> SettledPlan:
    """Theorem S': β for each lab, of which .6 may be lost to rivals and .4 to candidates before the ideal answer."""
    numbers = (
        *_ideal(task, "excess error"),
        *_parts(
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


def settled_distance(task: Task) -> SettledDistancePlan:
    """β for each lab: .4 of it may be lost to A², .3 to each of the two tests of distances."""
    parts = _parts(
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
        numbers=(*_ideal(task, "distance"), *parts),
        base=a2.betting(replace(task, delta=decimal(parts[0].value), kappa=None)),
    )


def _beta(task: Task) -> Fraction:
    return min(fraction(task.delta), fraction(task.rho) / task.labs)


def _ideal(task: Task, measure: str) -> tuple[Number, ...]:
    """What makes an answer the ideal one, and how sure of it a lab is to be."""
    a, b = task.excess_range(Fraction(3, 4))
    if task.labs < 2:
        raise ValueOutOfRange(f"labs must be at least 2, got {task.labs}: whoever is alone differs from nobody")
    range_of = "the range of the shared threshold v" + (" on distances" if measure == "distance" else "")
    return (
        Number(name="a", value=a, source=f"start of {range_of}; .75ε if not given"),
        Number(name="b", value=b, source="its end; ε if not given"),
        Number(name="rho", value=fraction(task.rho), source="given"),
        Number(name="delta", value=fraction(task.delta), source="given"),
        Number(
            name="labs", value=task.labs, source="K labs that may differ with probability ρ at most; 2 if not given"
        ),
        Number(
            name="beta", value=_beta(task), source="min(δ, ρ/K): a lab is certified and its answer is not the ideal one"
        ),
    )


def _parts(task: Task, **parts: tuple[Fraction, str]) -> tuple[Number, ...]:
    return tuple(Number(name=name, value=share * _beta(task), source=source) for name, (share, source) in parts.items())

"""The plan of Settled by distance: what A² and the tests of distances may cost. Claim: docs/claims/settled_distance.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil as ceil_of

from replical.bounds.tails import largest_count
from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import decimal, fraction
from replical.errors import PlanMismatch
from replical.plans import a2
from replical.plans.base import Choice, Plan, Task
from replical.plans.costs import Cost, Setting, by_halving
from replical.plans.ideal import IdealPlan, ideal, parts
from replical.pools.pool import AnyPool


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

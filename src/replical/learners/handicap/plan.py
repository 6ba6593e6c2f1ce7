"""Plans of Handicap: the level of a lab, the stakes, where handicaps come from. Claim: docs/claims/handicap.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Self

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Indices
from replical.classes.grading import Gold
from replical.classes.losses import Losses
from replical.classes.prior import Prior
from replical.core.exact import decimal, decimals, fraction, round_up_to
from replical.core.randomness import SharedRandomness
from replical.errors import BadSpec, PlanMismatch, ValueOutOfRange
from replical.learners.handicap.handicaps import Handicaps, Source, best_slope, by_exponentials, by_order, by_weights
from replical.learners.plan import Choice, Cost, Number, Plan, Rounds, Setting, Task, scanning_labels
from replical.pools.groups import SINGLE, Groups
from replical.pools.pool import AnyPool
from replical.pools.query import Query

STAKES = tuple(map(Decimal, ("0.8", "0.4", "0.2", "0.1", "0.05")))
_OUTCOMES = 10_000  # more than anybody wants to see in a certificate
_LARGEST_TABLE = 10**6  # so many factors doubles are good for
_SLACK = Fraction(
    1_000_001, 1_000_000
)  # doubles are off by far less than one part in a million after a million factors


@dataclass(frozen=True, kw_only=True)
class BettingPlan(Plan):
    """Ask a batch, settle the bets, ask again.

    Attributes
    ----------
    batch
        Items open at once.
    losses
        What predictions cost; None where errors are counted.
    groups
        How items count that belong together.
    hasty
        Is a sixteenth of the labels so far asked at once? So simulations take a fraction of the time.
    """

    batch: int
    losses: Losses | Gold | None = None
    groups: Groups = SINGLE
    hasty: bool = False

    @property
    def unit(self) -> int:
        """q: losses are whole multiples of 1/q."""
        return 1 if self.losses is None else self.losses.unit

    @property
    def differences(self) -> tuple[int, ...]:
        """By how much two hypotheses may differ in loss on an item, in whole parts of 1/q: 0, q and -q first."""
        return (0, 1, -1) if self.losses is None else self.losses.differences

    @cached_property
    def outcomes(self) -> tuple[tuple[int, int], ...]:
        """What may come of a group: its size, and the difference of two hypotheses' losses on it; 0 first of each size.

        Without groups every item is a group of 1.
        """
        found, sums = list[tuple[int, int]](), {0}
        for size in range(1, self.groups.largest + 1):
            sums = {total + each for total in sums for each in self.differences}
            order = self.differences if size == 1 else [0, *sorted(sums - {0}, key=lambda s: (abs(s), -s))]
            found += [(size, each) for each in order]
            if len(found) > _OUTCOMES:
                raise BadSpec(
                    f"groups of up to {self.groups.largest} items whose losses are in parts of 1/{self.unit} come to more "
                    f"than {_OUTCOMES:,} outcomes: take a smaller bound, or coarser losses"
                )
        return tuple(found)

    @cached_property
    def values(self) -> tuple[Decimal, ...]:
        """The difference of each of them as a share of the costliest error, with the weight of the group."""
        with decimals():
            return tuple(Decimal(each) / (self.unit * self.groups.parts(size)) for size, each in self.outcomes)

    def items_counted(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many items `counts` are about, a row for each outcome."""
        items: NDArray[np.int64] = np.array([size for size, _ in self.outcomes]) @ counts
        return items

    @cached_property
    def weights(self) -> tuple[Decimal, ...]:
        """The weight of each of them."""
        return tuple(decimal(self.groups.weight(size)) for size, _ in self.outcomes)

    @property
    def fine(self) -> bool:
        """Are outputs compared item by item, on a grid of which few differences ever come?"""
        return isinstance(self.losses, Gold) and self.groups == SINGLE

    @property
    def labels_most(self) -> int | None:
        """Only the pool and the budget limit it."""
        return self.max_labels

    @property
    def choice(self) -> Choice:
        """Bets on labels decide, and no certificate tells labels."""
        return "labels"

    def check_rounds(self, rounds: Rounds) -> str | None:
        """At most a batch, or the groups in which it ends, and never longer idle than the plan allows."""
        asked, more = 0, self.groups.largest - 1
        idle = self.integer("idle") + 2 * more
        for each in rounds:
            most = self.opens(asked) + more
            if not 0 < each["drawn"] <= most:
                return f"round {each['round']} asks for {each['drawn']} labels, the plan for {most} at most"
            if each["scanned"] > idle * (each["drawn"] + (each["drawn"] < self.opens(asked) or more > 0)):
                return f"round {each['round']} looks at {each['scanned']} items for {each['drawn']} labels"
            asked += each["drawn"]
        return None

    def opens(self, asked: int) -> int:
        """How many items to ask next: a batch, or what is left of the budget."""
        batch = max(self.batch, asked // 16) if self.hasty else self.batch
        return batch if self.budget is None else max(0, min(batch, self.budget - asked))

    def room(self, asked: int) -> int | None:
        """How many more labels the budget allows; None where there is none."""
        return None if self.budget is None else self.budget - asked

    def affords(self, judged: int, query: Query) -> bool:
        """Is the budget enough for a `query` after so many judgements? A batch is asked whole, or not at all."""
        return not query.judgements or self.opens(judged + query.judgements - 1) > 0

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
        if pool.groups is not None:
            self.groups.check(np.bincount(pool.groups))
        elif self.groups != SINGLE:
            raise PlanMismatch(
                "the plan is for items that belong together, and here each is taken for a draw of its own"
            )
        if pool.exact and self.max_labels is None:
            raise PlanMismatch(f"on a known distribution items never run out: give {self.learner} a budget, max_labels")


@dataclass(frozen=True, kw_only=True)
class HandicapPlan(BettingPlan):
    """Drop whoever is clearly not the smallest error plus handicap, until one is left.

    Attributes
    ----------
    noiseless
        Does some hypothesis make no error, so that labels can be inferred?
    handicaps
        Where handicaps come from; None: from the prior, or from the string where nobody is preferred.
    until
        Labels that a lab wants to spend, neither fewer nor more: once its answer is proven they sharpen the tolerance of the
        first of a public order. None to stop as soon as the answer is proven.
    table
        Is a lab's table the whole population, so that its items are no independent draws?
    """

    noiseless: bool
    handicaps: Handicaps | None = None
    until: int | None = None
    table: bool = False

    @property
    def budget(self) -> int | None:
        """The most labels a run may ask for: the protocol's budget, or the lab's own."""
        return min((each for each in (self.max_labels, self.until) if each is not None), default=None)

    @property
    def sharpens(self) -> bool:
        """Does a run go on when the first of a public order is proven, to say more sharply how good it is?"""
        return self.until is not None and self.favourite is not None and not self.noiseless

    @property
    def may_spend(self) -> bool:
        """Whenever a run stops, what it says is proven."""
        return True

    def in_haste(self) -> Self:
        """The same plan, for simulations."""
        return replace(self, hasty=True)

    def spending(self, labels: int) -> Self:
        """The same plan, for a lab that wants to spend so many `labels`."""
        return replace(self, until=labels)

    @property
    def source(self) -> Source:
        """Where handicaps come from."""
        if self.handicaps is not None:
            return self.handicaps.source
        return "order" if self.prior.kind == "order" else "weights" if self.prior.kind == "weights" else "exponentials"

    def terms(self, shared: SharedRandomness) -> tuple[Indices, Indices, Indices]:
        """The candidates, ascending, their handicaps in units of 2⁻⁴⁰, and their places where scores are equal."""
        candidates = self.candidates
        if self.source == "cover":
            return candidates, np.zeros(len(candidates), dtype=np.int64), candidates
        if self.source == "order":
            assert self.prior.places is not None, "a strict order has places"
            places = self.prior.places[candidates]
            return candidates, by_order(places, self.threshold(shared)), places
        return candidates, self._units(shared), candidates

    @cached_property
    def candidates(self) -> Indices:
        """Who may be the answer, ascending."""
        members = self.members
        return np.arange(self.n, dtype=np.int64) if members is None else members

    @property
    def members(self) -> Indices | None:
        """The members of a cover or of a shortlist, ascending; None where every hypothesis is a candidate."""
        if self.source == "cover" and self.handicaps is not None:
            return self.handicaps.values
        if "shortlist" not in self or self.prior.places is None:
            return None
        return np.flatnonzero(self.prior.places < self.integer("shortlist"))

    @property
    def among(self) -> str:
        """Of whom the answer is one and errors are compared, where that is not everybody in the class."""
        kind = "cover" if self.source == "cover" else "shortlist"
        return "" if self.members is None else f" of the {kind} of {len(self.members):,}"

    def _units(self, shared: SharedRandomness) -> Indices:
        if self.handicaps is not None:
            values = self.handicaps.values
            return np.zeros(self.n, dtype=np.int64) if values is None else values
        words = shared.words("handicap", count=self.n)
        if self.source == "weights":
            return by_weights(self.prior, words, self["L"], self.epsilon)
        return by_exponentials(words, self["L"], self.epsilon, self.epsilon)

    def threshold(self, shared: SharedRandomness) -> Fraction:
        """v: in an order the handicaps of all but the first lie between .9v and v."""
        return self["a"] + (self["b"] - self["a"]) * Fraction(shared.uniform("threshold"))

    @property
    def foreseen(self) -> bool:
        """Can it be estimated how a run goes on? Not of groups, nor of a table that is all."""
        return self.groups == SINGLE and not self.table

    def wider(self, tolerance: float) -> float | None:
        """The least ε of two digits with which a first of an order that is within `tolerance` of the best has a proof.

        With every string: all others have a handicap of at least .9a. None where it would be this one, or beyond one half.
        """
        needed = fraction(tolerance) / (Fraction(9, 10) * self["a"]) * self.epsilon
        return float(round_up_to(float(needed), 2)) if self.epsilon < needed <= Fraction(1, 2) else None

    @property
    def favourite(self) -> int | None:
        """The first of a public order, whose tolerance is measured; None without an order, and where a table is all."""
        if self.table or self.source != "order" or self.prior.places is None:
            return None
        return int(self.prior.places.argmin())

    def patience(self, h: int) -> int:
        """How many errors plus handicap the favourite `h` may be behind before another takes its place."""
        return self.integer("loyalty" if h == self.favourite else "patience")

    @cached_property
    def leaves_at(self) -> float:
        """The wealth with which a member leaves: (1/β)(1 + 10⁻⁶)."""
        return float(_SLACK / self["beta"])

    @cached_property
    def stakes(self) -> tuple[float, ...]:
        """λ."""
        return tuple(map(float, STAKES))

    @property
    def measurable(self) -> bool:
        """What it has not looked at is fresh; of items in groups, or of a table that is all, nothing is measured."""
        return self.foreseen

    def drops_unasked(self, quiet: int) -> bool:
        """They show that nobody is much worse, once a block of them is settled."""
        return not self.infers and quiet >= self.integer("idle")

    @property
    def infers(self) -> bool:
        """Labels are inferred where all consistent hypotheses agree: then rounds tell of these, and not of the survivors."""
        return self.noiseless

    def check(self, pool: AnyPool) -> None:
        """Refuse a `pool` this plan was not made for."""
        super().check(pool)
        if self.handicaps is not None:
            self.handicaps.check(pool.C)
        if self.table and pool.size > _LARGEST_TABLE:
            raise PlanMismatch(
                f"a table that is the population has at most {_LARGEST_TABLE:,} items, got {pool.size:,}"
            )
        if pool.exact and self.table:
            raise PlanMismatch("a known distribution is no table: give a pool size instead of 'exact'")
        if pool.exact and self.noiseless:
            raise PlanMismatch(
                f"{self.learner} infers labels where nu is 0, so on a known distribution neither labels nor items would "
                "run out: give a pool size instead of 'exact'"
            )

    def cost(self, setting: Setting) -> Cost:
        """An estimate: what a comparison with a gap of a quarter of ε takes, asked where candidates differ."""
        gap = float(self.epsilon) / 4
        spread = 2 * (setting.nu or 0.0) + 2 * float(self.epsilon)
        items = ceil(8 * (spread + gap**2) / gap**2)
        labels = ceil(min(1.0, (setting.theta or 1.0) * spread) * items)
        if self.noiseless:
            labels = scanning_labels(setting, items)
        note = "a rough estimate: what it takes depends on how near the best candidates are to each other"
        return Cost(labels=labels, kind="estimate", unlabelled=items, note=note)


def handicap(task: Task) -> HandicapPlan:
    """Theorem H at the level β of each lab."""
    a, b = threshold_range(task)
    if task.nu > 0:
        raise ValueOutOfRange(
            f"nu of handicap is left out, for labels of any kind, or 0 where some hypothesis makes no error, got {task.nu:g}"
        )
    beta = min(fraction(task.delta), fraction(task.rho) / task.labs)
    numbers = (
        Number(name="rho", value=fraction(task.rho), source="given"),
        Number(name="delta", value=fraction(task.delta), source="given"),
        Number(name="labs", value=task.labs, source="K labs; 2 if not given"),
        Number(name="beta", value=beta, source="min(δ, ρ/K): the ideal answer ever leaves a lab's survivors"),
        Number(name="a", value=a, source="an order's v is drawn from here on; .75b if not given"),
        Number(name="b", value=b, source="to here; ε if not given"),
        Number(
            name="L", value=best_slope(task.n), source="ε/τ of truncated exponentials: the least Λ = L(1+n/(e^L-1))"
        ),
        Number(name="patience", value=2, source="errors plus handicap by which a favourite outlasts a better one"),
        Number(name="loyalty", value=4, source="the same for the first of a public order"),
        Number(
            name="gate", value=Fraction(7, 10), source="of the tolerance: who is nearer is not compared to sharpen it"
        ),
        Number(name="idle", value=16, source="unasked items in a row after which bets are settled all the same"),
    )
    shortlist = "given: so many of the public order, from the first on, are the candidates"
    more = () if task.shortlist is None else (Number(name="shortlist", value=task.shortlist, source=shortlist),)
    return HandicapPlan(
        learner="handicap",
        name="tight",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=(*numbers, *more),
        batch=task.batch,
        noiseless=task.noiseless,
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

"""Plans of Rounded: what its base may fail with, where the shared threshold lies, what a proof needs.

Theorems L1-L3 and the simple statements R1 and R2: docs/claims/certificate.md, docs/claims/rounded.md. With a yardstick:
docs/claims/yardstick.md. More labs than two, or populations that differ: docs/claims/many_labs.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import floor, log, sqrt

import numpy as np
from numpy.typing import NDArray

from replical.bounds.gamma import COARSE, FINE, Gamma, largest_count
from replical.bounds.yardstick import YardstickBound
from replical.classes.base import Indices
from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import ceil, decimal, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.learners.paper import a2
from replical.learners.paper import cal as tight
from replical.learners.plan import Choice, Cost, Number, Plan, Setting, Task, halving_labels, scanning_labels
from replical.pools.pool import AnyPool
from replical.pools.yardstick import Yardstick

_SMALL_POOL, _LARGEST_POOL = 200_000, 10**7  # up to which a fine grid is worth its time; beyond which nobody goes
_SAMPLED_WELL = 300_000  # items from which on sampling takes so little of ρ that A² may fail more often (decision 12)
_SHARPER = "with a look at a pool the certificate needs far fewer items and labels"


@dataclass(frozen=True, kw_only=True)
class RoundedPlan(Plan):
    """Shrink with a base learner, then round without labels.

    Attributes
    ----------
    base
        The plan of the learner that shrinks the version space.
    items
        Items every lab rounds on; None where each uses all it has.
    yardstick
        Public items on which distances are measured; None where each lab measures on its own.
    """

    base: Plan
    items: int | None
    yardstick: Yardstick | None = None

    @property
    def labs(self) -> int:
        """K: of so many labs two may differ with probability ρ at most; 2 where nothing is said."""
        return int(self._values.get("labs", 2))

    @property
    def slack(self) -> Fraction:
        """The slack at which a run may stop uncertified; 0 if none was given."""
        return self["kappa"]

    @property
    def choice(self) -> Choice:
        """The ball of radius v around the centre."""
        return "ball"

    def under(self, prior: Prior, max_labels: int | None) -> RoundedPlan:
        """The budget is the base's too."""
        return replace(super().under(prior, max_labels), base=self.base.under(UNIFORM, max_labels))

    @property
    def labels_most(self) -> int | None:
        """Only the pool and the budget limit it."""
        return self.max_labels

    def check(self, pool: AnyPool) -> None:
        """Refuse a pool this plan was not made for."""
        super().check(pool)
        if self.yardstick is not None:
            self.yardstick.check(pool.C)
        if pool.exact:
            raise PlanMismatch(
                f"{self.learner} measures distances on a finite pool: give a pool size instead of 'exact'"
            )
        if self.items is not None and pool.size < self.items:
            raise PlanMismatch(
                f"the protocol rounds on {self.items} items and the pool holds {pool.size}: bring {self.items - pool.size} "
                "more, or publish a protocol with fewer items before any label is asked"
            )

    def ball(self, shared: SharedRandomness, scores: Indices, items: int, survivors: Indices) -> Indices:
        """The set the shared order chooses from: everyone within the shared distance of the centre, measured on `items`."""
        within = np.flatnonzero(scores <= self.threshold(shared, items))
        # A centre that votes with a majority need not be a hypothesis: nobody within v is possible on tiny pools.
        return within if len(within) else survivors

    def kappa_most(self, U: int) -> int:
        """The largest slack, in items, with which the error bound is proven; negative if there is none.

        The answer is within b+κ of the best hypothesis on the pool.
        """
        return self.apart_most(U) - floor(U * self["b"])

    def apart_most(self, U: int) -> int:
        """Whoever differs from the best on so few of `U` items errs at most ε more, except with probability δ/2; or -1."""
        return largest_count(U, float(self.epsilon), float(self["delta"]) / (2 * self.n))

    def threshold(self, shared: SharedRandomness, items: int) -> int:
        """The shared threshold v, uniform on [a, b]: on how many of `items` to differ."""
        return floor(items * (self["a"] + (self["b"] - self["a"]) * Fraction(shared.uniform("threshold"))))

    def gamma(self, U: int) -> Gamma:
        """What a lab with `U` items bounds its differences to others with."""
        prior = self.prior
        return Gamma(
            U=U,
            a=float(self["a"]),
            b=float(self["b"]),
            beta=log(2 * self.n / float(self["delta_C"])),
            masses=prior.masses(self.n) * self.n if prior.kind == "weights" else None,
            places=prior.places,
            alone=self.items is None,
            labs=self.labs,
        )

    def yardstick_bound(self, yardstick: Yardstick) -> YardstickBound:
        """What a lab bounds its differences to others with where all measure on this `yardstick`."""
        prior = self.prior
        return YardstickBound(
            M=yardstick.size,
            a=self["a"],
            b=self["b"],
            n=self.n,
            masses=prior.masses(self.n) if prior.kind == "weights" else None,
            places=prior.places,
        )

    @property
    def rho_string(self) -> Fraction:
        """ρ0 = ρ-Kδ_A, what a lab certified on a yardstick proves of the string alone: all labs alike miss so often."""
        return self["rho"] - self["delta_A"] * (self.integer("labs") if self["delta_A"] else 0)

    def pool_needed(self, distances: NDArray[np.float64]) -> int | None:
        """About the smallest pool with which the proof passes for a truth at these distances; None beyond 10⁷.

        Half of what ρ leaves for Γ̂ is kept for slack, so that labels need not be exhausted. None with a yardstick, where no
        size is needed for the proof.
        """
        if self.yardstick is not None:
            return None
        return _smallest(lambda U: self._suffices(distances, U))

    def pool_accurate(self, slack: Fraction) -> int | None:
        """About the smallest pool with which the error bound is proven at a `slack` of this share; None beyond 10⁷."""
        return _smallest(lambda U: self.kappa_most(U) >= slack * U)

    def _suffices(self, distances: NDArray[np.float64], U: int) -> bool:
        if self.kappa_most(U) < 0:
            return False
        scores, least = np.rint(distances * U).astype(np.int64), self.n / self.prior.spread(self.n)
        gamma = self.gamma(U).bound(scores, 0, least, step=FINE if U <= _SMALL_POOL else COARSE)
        room = float(self["rho"] - self.labs * (self["delta_A"] + self["delta_C"]))
        return (self.labs if self.items is None else 1) * gamma <= room / 2


def _smallest(suffices: Callable[[int], bool]) -> int | None:
    """About the smallest pool that suffices, one tenth too large at most."""
    low, high = 100, 1000
    while not suffices(high):  # from below: large pools cost memory to think about
        if high >= _LARGEST_POOL:
            return None
        low, high = high, min(4 * high, _LARGEST_POOL)
    while high > 1.1 * low:
        middle = floor(sqrt(low * high))
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


@dataclass(frozen=True, kw_only=True)
class RoundedCALPlan(RoundedPlan):
    """Rounded over CAL."""

    def cost(self, setting: Setting) -> Cost:
        """Theorem R1, or Y0 with a yardstick, without a look at a pool."""
        items = self.integer("pool_R1" if self.yardstick is None else "pool_Y0")
        return Cost(labels=scanning_labels(setting, items), kind="expected", unlabelled=items, note=_SHARPER)


@dataclass(frozen=True, kw_only=True)
class RoundedA2Plan(RoundedPlan):
    """Rounded over A²."""

    def cost(self, setting: Setting) -> Cost:
        """Theorem R2, without a look at a pool; with a yardstick the slack at which its crudest bound passes."""
        bets, note = a2.bets(setting, self["delta_A"]), f"{a2.FLIPS}; {_SHARPER}"
        if self.yardstick is not None:
            return Cost(labels=halving_labels(setting, bets, self["kappa_Y"]), kind="estimate", note=note)
        labels = halving_labels(setting, bets, self["kappa_R2"])
        return Cost(labels=labels, kind="estimate", unlabelled=self.integer("pool_R2"), note=note)


def cal(task: Task) -> RoundedPlan:
    """Rounded over CAL: realizable, so no survivor is ever lost."""
    base = tight.cal(task)
    a, b = _distances(task)
    l, l2 = _logarithms(task)
    simple = Number(
        name="pool_R1",
        value=ceil(Decimal("8.85") * decimal(b) * l**2 * l2 / (decimal(b - a) ** 2 * task.rho**2)),
        source="8.85 b l² l2/((b-a)ρ)²: Theorem R1, the pool that suffices without looking at it",
    )
    if task.yardstick is not None:
        simple = Number(
            name="pool_Y0",
            value=ceil(8 * l * ln(4 * task.n / task.rho) / (task.rho * decimal(b - a))),
            source="8 l ln(4n/ρ)/(ρ(b-a)): Theorem Y0, the pool that suffices where the yardstick is like it",
        )
    never = Number(name="delta_A", value=Fraction(0), source="0: under realizability never removed")
    return _rounded(RoundedCALPlan, task, "rounded-cal", base, never, (*_many(task), simple))


def a2_betting(task: Task) -> RoundedPlan:
    """Rounded over A²."""
    sampled_well = task.yardstick is None and task.items is not None and task.items >= _SAMPLED_WELL
    share = (2 if sampled_well else 4) * task.labs
    failure = min(task.delta / 2, task.rho / share)
    base = a2.betting(replace(task, delta=failure, kappa=None))
    a, b = _distances(task)
    l, l2 = _logarithms(task)
    delta_A = Number(name="delta_A", value=fraction(failure), source=f"min(δ/2, ρ/{share}): the base removes the best")
    if task.yardstick is not None:
        kappa = (task.rho - task.labs * failure) * decimal(b - a) / (2 * l)
        numbers = (
            Number(name="labs", value=task.labs, source="given; 2 if not"),
            Number(name="kappa_Y", value=fraction(kappa), source="(ρ-Kδ_A)(b-a)/(2l): Δ̂(V) with which Y surely passes"),
        )
        return _rounded(RoundedA2Plan, task, "rounded-a2", base, delta_A, numbers)
    kappa = task.rho * decimal(b - a) / (8 * l)
    reach = decimal(b) + kappa
    left = Decimal("0.74") * task.rho - task.labs * failure
    pool = Decimal("8.67") * reach * l**2 * l2 / (decimal(b - a) * left) ** 2
    if (gap := task.epsilon - reach) > 0:
        pool = max(pool, 2 * task.epsilon * ln(2 * task.n / task.delta) / gap**2)
    simple = (
        Number(name="kappa_R2", value=fraction(kappa), source="ρ(b-a)/(8l): Theorem R2's bound on Δ̂(V)"),
        Number(name="pool_R2", value=ceil(pool), source="Theorem R2: the pool that suffices without looking at it"),
    )
    return _rounded(RoundedA2Plan, task, "rounded-a2", base, delta_A, (*_many(task), *simple))


def _logarithms(task: Task) -> tuple[Decimal, Decimal]:
    """l and l2: 1+ln n, or 1+ln(1/μ) for the smallest prior mass μ, and 1+ln(n·K(K-1))."""
    return 1 + ln(task.spread), 1 + ln(task.n * task.labs * (task.labs - 1))


def _many(task: Task) -> tuple[Number, ...]:
    """How many labs there are, if more than two that measure on their own items."""
    labs = Number(name="labs", value=task.labs, source="given: K labs that may differ with probability ρ at most")
    return (labs,) if task.yardstick is None and task.labs > 2 else ()


def _distances(task: Task) -> tuple[Fraction, Fraction]:
    """[a, b] on distances: b = .9ε leaves room for slack, a = b/2 makes the growth of the class between them small."""
    epsilon = fraction(task.epsilon)
    b = Fraction(9, 10) * epsilon if task.b is None else fraction(task.b)
    a = b / 2 if task.a is None else fraction(task.a)
    if b >= epsilon and task.yardstick is None:
        raise ValueOutOfRange(
            f"b must be below epsilon = {float(epsilon):g}, got {float(b):g}: the rest is for what a pool cannot measure"
        )
    if not 0 < a < b:
        raise ValueOutOfRange(
            f"a must be above 0 and below b = {float(b):g}, got {float(a):g}: the shared threshold is drawn between them"
        )
    return a, b


def _rounded(
    kind: type[RoundedPlan], task: Task, learner: str, base: Plan, delta_A: Number, simple: tuple[Number, ...]
) -> RoundedPlan:
    a, b = _distances(task)
    # Published certificates list σ, which nothing uses, and speak of other finishes, which there are none of.
    sigma = fraction(2 * task.epsilon / (3 * ln(2 * task.n / task.delta)))
    slack = "slack at which a run stops uncertified; ε/3 for other finishes"
    numbers = (
        Number(name="a", value=a, source="start of the range of the shared threshold; b/2 if not given"),
        Number(name="b", value=b, source="its end; .9ε if not given"),
        Number(name="rho", value=fraction(task.rho), source="given"),
        Number(name="delta", value=fraction(task.delta), source="given"),
        delta_A,
        _measuring(task),
        Number(name="kappa", value=fraction(task.kappa or 0), source=slack),
        Number(name="sigma", value=sigma, source="(2ε/3)/ln(2n/δ): scale of the shared noise"),
        *simple,
    )
    return kind(
        learner=learner,
        name="tight",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=numbers,
        base=base,
        items=task.items,
        yardstick=task.yardstick,
    )


def _measuring(task: Task) -> Number:
    """What measuring distances costs: a failure probability on own items, nothing on public ones."""
    if task.yardstick is not None:
        return Number(name="M", value=task.yardstick.size, source="items of the yardstick")
    parts = 100 * task.labs
    return Number(
        name="delta_C", value=fraction(task.rho) / parts, source=f"ρ/{parts}: a lab's intervals of distances fail"
    )

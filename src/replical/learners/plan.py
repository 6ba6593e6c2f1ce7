"""Plans: every size and threshold a learner uses, each with where it came from, and what that costs in labels.

A learner's file has no constants; it asks its plan. Plans are frozen numbers plus pure functions of what a run has
measured, computed in decimal arithmetic so that two machines hold the same plan to the last label. Costs are the parts
that bills are made of (docs/claims/bills.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil as ceil_of
from math import log, log2
from typing import Any, Literal, Self

from replical.classes.base import HypothesisClass, Indices, class_size
from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import ceil, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.learners.parameters import PARAMETERS
from replical.pools.groups import SINGLE
from replical.pools.pool import AnyPool

STOP = "disagreement mass at the stop is what the plan asks for"
MASSES = "disagreement mass is known, so the error bound speaks of the distribution"
# The answer is the first in the shared order of V, or decided by labels nobody publishes.
Choice = Literal["survivors", "labels"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Every number a learner uses.

    Attributes
    ----------
    learner, name
        The learner's id, and which of its plans this is.
    n, epsilon
        The task.
    numbers
        Every number with its source.
    conditions
        What the guarantee needs of sizes set by hand and the like.
    exact_only
        Why the proof needs a known distribution; empty where finite pools will do.
    max_labels
        Budget.
    prior
        How the shared order prefers hypotheses.
    base
        The plan of the learner this one runs inside, where there is one.
    """

    learner: str
    name: str
    n: int
    epsilon: Fraction
    numbers: tuple[Number, ...]
    conditions: tuple[Condition, ...] = ()
    exact_only: str = ""
    max_labels: int | None = None
    prior: Prior = UNIFORM
    base: Plan | None = None

    @property
    def measurable(self) -> bool:
        """Does a run leave items on which its answer does not depend, so that its errors can be counted there?"""
        return False

    @property
    def infers(self) -> bool:
        """Do rounds tell of all who are consistent, and not of the survivors alone?"""
        return False

    def drops_unasked(self, quiet: int) -> bool:
        """May hypotheses leave before the first label?

        Parameters
        ----------
        quiet
            How many items passed on which all agree.

        Returns
        -------
        leaves
            Where True, fewer may be left than all although nobody was asked.
        """
        return False

    @property
    def members(self) -> Indices | None:
        """Who may be the answer, by number, where that is not everybody in the class."""
        return None

    @property
    def among(self) -> str:
        """Of whom, in words, the answer is one and errors are compared; nothing where that is everybody in the class."""
        return ""

    def __getitem__(self, name: str) -> Fraction:
        return self._values[name]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    @cached_property
    def _values(self) -> dict[str, Fraction]:
        return {number.name: Fraction(number.value) for number in reversed(self.numbers)}

    def integer(self, name: str) -> int:
        """The number called `name`, which is a size."""
        return int(self[name])

    @property
    def stop_mass(self) -> Fraction:
        """The disagreement mass at which the loop ends."""
        return self.epsilon

    @property
    def measuring(self) -> int:
        """Items of a pool that are set aside to measure masses on, and never asked."""
        return 0

    def measured(self, items: int) -> int:
        """On how many of a pool's `items` masses are measured."""
        return self.measuring or items

    def askable(self, items: int) -> int:
        """How many of a pool's `items` a run may look at for labels."""
        return items - self.measuring

    @property
    def keeps_all_left(self) -> bool:
        """Are the survivors all who were left when the loop ended, and not those of a last sample?"""
        return False

    @property
    def asks_anywhere(self) -> bool:
        """Does it ask for labels where nobody disagrees, too?"""
        return False

    def check_rounds(self, rounds: Rounds) -> str | None:
        """What is wrong, if no run of this plan has such `rounds`."""
        raise NotImplementedError

    def own_conditions(self, report: RunReport) -> tuple[Condition, ...]:
        """The conditions that a run adds to those of its plan, as far as they follow from its `report`."""
        raise NotImplementedError

    @property
    def labels_most(self) -> int | None:
        """The most labels a run can be expected to ask for; None where only the pool limits it."""
        raise NotImplementedError

    @property
    def choice(self) -> Choice:
        """Who the shared order chooses from."""
        return "survivors"

    def cost(self, setting: Setting) -> Cost:
        """What a run asks for, in the `setting` the plan was made for."""
        raise NotImplementedError

    @property
    def budget(self) -> int | None:
        """The most labels a run asks for, where the protocol or the lab says so."""
        return self.max_labels

    @property
    def may_spend(self) -> bool:
        """May a lab say how many labels it wants to spend?"""
        return False

    def in_haste(self) -> Self:
        """The same plan for simulations, which need not ask label by label."""
        return self

    def spending(self, labels: int) -> Self:
        """The same plan, for a lab that wants to spend so many `labels` and no others.

        Raises
        ------
        PlanMismatch
            If the learner asks for as many labels as its plan says.
        """
        raise PlanMismatch(
            f"{self.learner} asks for as many labels as its plan says: leave out until_budget = {labels}"
        )

    def under(self, prior: Prior, max_labels: int | None) -> Self:
        """The same plan with a `prior` and a budget of `max_labels`."""
        return replace(self, prior=prior, max_labels=max_labels)

    def check(self, pool: AnyPool) -> None:
        """Refuse a `pool` this plan was not made for.

        Raises
        ------
        PlanMismatch
            If the class has another size, or the proof needs a known distribution.
        """
        if len(pool.C) != self.n:
            raise PlanMismatch(f"the plan is for {self.n} hypotheses, but the pool's class has {len(pool.C)}")
        self.prior.check(pool.C)
        if pool.groups is not None and getattr(self, "groups", SINGLE) == SINGLE:
            raise PlanMismatch(
                f"items of the pool belong together, and {self.learner} takes each for a draw of its own"
            )
        if self.exact_only and not pool.exact:
            raise PlanMismatch(self.exact_only)


@dataclass(frozen=True, kw_only=True)
class SamplePlan(Plan):
    """Passive learning: one sample of k labelled items."""

    @property
    def asks_anywhere(self) -> bool:
        """The sample is asked as it comes."""
        return True

    def check_rounds(self, rounds: Rounds) -> str | None:
        """One round."""
        one = [(each["drawn"], each["scanned"]) for each in rounds] == [(self.k, self.k)]
        return None if one else f"the plan asks for {self.k} labels at once"

    def own_conditions(self, report: RunReport) -> tuple[Condition, ...]:
        """None."""
        return ()

    def cost(self, setting: Setting) -> Cost:
        """The sample."""
        return Cost(labels=self.k, kind="most", rounds=1, labels_final=self.k, unlabelled=self.k)

    @property
    def k(self) -> int:
        """Labels."""
        return self.integer("k_final")

    @property
    def labels_most(self) -> int:
        """The most labels a run can ask for."""
        return self.k


@dataclass(frozen=True, kw_only=True)
class RoundsPlan(Plan):
    """A learner that works in at most N rounds of k labels, and perhaps asks for a last sample."""

    def check_rounds(self, rounds: Rounds) -> str | None:
        """Rounds of k labels, at most N of them, and perhaps a last sample whose size depends on the mass that is left."""
        loop = [each["drawn"] == self.k for each in rounds]
        if all(loop) and len(loop) <= self.rounds_most:
            return None
        if not all(loop[:-1]) or len(loop) - 1 > self.rounds_most:
            return f"the plan has at most {self.rounds_most} rounds of {self.k} labels and a last sample"
        last = rounds[-1]
        size = self.final_size(Fraction(*last["disagreement"]))
        if last["drawn"] == size or (last["scanned"] == size and last["drawn"] < size):
            return None
        return f"the plan's last sample has {size} items"

    def own_conditions(self, report: RunReport) -> tuple[Condition, ...]:
        """Whether the loop ended because little is disputed."""
        return (report.stop_condition(self, inclusive=False),)

    @property
    def final_scans(self) -> bool:
        """Does the last sample ask those of so many fresh items that lie in DIS(V), and not so many of them there?"""
        return False

    def final_size(self, mass: Fraction) -> int:
        """Items of the last sample, where so much is disputed."""
        return self.integer("k_final")

    @property
    def k(self) -> int:
        """Labels a round."""
        return self.integer("k_loop")

    @property
    def rounds_most(self) -> int:
        """N."""
        return self.integer("N")


@dataclass(frozen=True, kw_only=True)
class Number:
    """One number of a plan and where it came from.

    Attributes
    ----------
    name, value
        What it is called, and what it is.
    source
        The formula, theorem or choice behind it.
    """

    name: str
    value: int | Fraction
    source: str


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Something a guarantee needs.

    Attributes
    ----------
    name
        What has to hold, in words.
    value, bound
        What was measured, and what it had to be.
    held
        Did it hold?
    """

    name: str
    value: float
    bound: float
    held: bool


Rounds = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """What a finished run says: its pool's `items`, its `conditions` by name, and the shared randomness."""

    items: int
    conditions: Mapping[str, Mapping[str, Any]]
    shared: SharedRandomness

    def value(self, name: str) -> float:
        """What the condition `name` says was found."""
        return float(self.conditions[name]["value"])

    def stop_condition(self, plan: Plan, *, inclusive: bool) -> Condition:
        """Is the disagreement left when the loop ended what the plan asks for?"""
        total = plan.measured(self.items)
        mass = Fraction(nearest_count(self.value(STOP), total), total)
        held = mass <= plan.stop_mass if inclusive else mass < plan.stop_mass
        return Condition(name=STOP, value=float(mass), bound=float(plan.stop_mass), held=held)


# Labs have items, never a known distribution.
MEASURED = Condition(name=MASSES, value=0.0, bound=1.0, held=False)


def nearest_count(share: float, total: int) -> int:
    """The count nearest to a share; another share is not that of any count, and is found out when it is written again."""
    return min(total, max(0, round(share * total)))


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is asked of a learner: the parameters of `replical.plan`, checked, numbers as exact decimals.

    Attributes
    ----------
    C
        The class, where that was given and not just its number of hypotheses.
    n
        Hypotheses in the class; 0 where they are no list.
    noiseless
        Was it said that some hypothesis makes no error, ``nu=0``?
    exact
        Are masses known, or measured on a finite pool?
    spread
        1/μ for the smallest prior mass μ; n where all are equal.
    """

    C: HypothesisClass | None
    n: int
    exact: bool
    noiseless: bool
    spread: Decimal
    epsilon: Decimal
    delta: Decimal
    rho: Decimal
    theta: Decimal
    nu: Decimal
    T: Decimal
    k_loop: int | None
    k_final: int | None
    batch: int
    a: Decimal | None
    b: Decimal | None
    shortlist: int | None
    strings: int | None
    runs: int | None
    labs: int

    @property
    def nu_bar(self) -> Decimal:
        """ν̄ = max(ν, ε): an upper bound on ν is all that the agnostic learners need."""
        return max(self.nu, self.epsilon)

    @property
    def rounds(self) -> int:
        """N = ⌊log2(1/ε)⌋ + 1: after N halvings the mass is below ε."""
        N = 1
        while Fraction(1, 2**N) >= fraction(self.epsilon):
            N += 1
        return N

    @property
    def measured_rounds(self) -> int:
        """Halvings after which a mass measured to one part in eight is below ε: 2^-N ≤ 8ε/9."""
        near = Fraction(1, 2**self.rounds) > Fraction(8, 9) * fraction(self.epsilon)
        return self.rounds + (1 if near and not self.exact else 0)

    def size(self, name: str, needed: int, source: str) -> tuple[Number, tuple[Condition, ...]]:
        """The size the proof needs, or the user's own with the condition it may break."""
        own_size = self.k_loop if name == "k_loop" else self.k_final
        if own_size is None:
            return Number(name=name, value=needed, source=source), ()
        condition = Condition(
            name=f"{name} is at least what the proof needs", value=own_size, bound=needed, held=own_size >= needed
        )
        return Number(name=name, value=own_size, source=f"given; the proof asks for {needed}"), (condition,)


def intervals(n: Decimal | int, rho: Decimal) -> int:
    """How many intervals make at most a fraction ρ/8 of them bad."""
    m = ceil(8 / rho * (1 + ln(n) / ln(1 + rho / 30)))
    if m > 2**64:
        raise ValueOutOfRange(f"the plan 'paper' would need {Decimal(m):.2g} intervals, more than 2**64: raise rho")
    return m


def grid_position(shared: SharedRandomness, m: int) -> Fraction:
    """The middle of one of m equal intervals of [0, 1]; which one is shared."""
    return Fraction(2 * shared.integer("threshold", high=m) + 1, 2 * m)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public numbers a bill depends on, as in `replical.plan`; no `nu` means that labels are noiseless."""

    n: int
    epsilon: float
    delta: float
    rho: float
    theta: float | None = None
    nu: float | None = None
    labs: int = 2

    def __post_init__(self) -> None:
        class_size("the number of hypotheses", self.n)
        for name in ("epsilon", "delta", "rho", "theta", "nu", "labs"):
            if getattr(self, name) is not None:
                PARAMETERS[name].check(getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a plan asks for.

    Attributes
    ----------
    labels, kind
        How many labels, and in which sense: the ``"most"`` a run can ask for, a theorem's bound on the ``"expected"``
        number, or an ``"estimate"``.
    rounds, labels_per_round, labels_final
        What they are made of, where the learner works in rounds.
    unlabelled
        Items to look at, where that can be said.
    note
        What a reader has to know.
    """

    labels: int
    kind: Literal["most", "expected", "estimate"]
    rounds: int | None = None
    labels_per_round: int | None = None
    labels_final: int | None = None
    unlabelled: int | None = None
    note: str = ""


def rounds_cost(rounds: int, k: int, stop_mass: Fraction, *, last: int = 0, looked_at: Fraction = Fraction(0)) -> Cost:
    """N rounds of k labels and a last sample; finding k items in DIS(V) takes about k/Δ(V), and Δ halves."""
    items = looked_at + sum(k * min(Fraction(2**r), 1 / stop_mass) for r in range(rounds))
    return Cost(
        labels=rounds * k + last,
        kind="most",
        rounds=rounds,
        labels_per_round=k,
        labels_final=last or None,
        unlabelled=ceil_of(items),
    )


def scanning_labels(setting: Setting, items: int) -> int:
    """Labels that CAL over so many items asks in the mean, at most: Theorem R1 (docs/claims/cal.md)."""
    A = min((setting.theta or 1.0) * (1 + log(setting.n)), items)
    return min(ceil_of(2 + A * (1 + log(items / A))), items)


def halving_labels(setting: Setting, telling: float, until: Fraction) -> int:
    """A² until Δ is at most this: halvings, times labels; at least one in 2Θ tells whoever has to go from the best."""
    return ceil_of(log2(1 / until) * 2 * (setting.theta or 1.0) * telling)

"""Plans: every size and threshold a learner uses, each with where it came from.

A learner's file has no constants; it asks its plan. Plans are frozen numbers plus pure functions of what a run has
measured, computed in decimal arithmetic so that two machines hold the same plan to the last label.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import fraction
from replical.core.randomness import SharedRandomness
from replical.errors import PlanMismatch
from replical.pools.pool import AnyPool
from replical.pools.query import Query
from replical.pools.scan import Scan
from replical.pools.version_space import VersionSpace


@dataclass(frozen=True, kw_only=True)
class Number:
    """One number of a plan and where it came from."""

    name: str
    value: int | Fraction
    source: str


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Something a guarantee needs: what was found, what it had to be, whether it held."""

    name: str
    value: float
    bound: float
    held: bool


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is asked of a learner, as exact decimals: the public inputs, checked."""

    n: int
    epsilon: Decimal
    delta: Decimal
    rho: Decimal
    theta: Decimal
    nu: Decimal
    T: Decimal
    kappa: Decimal | None
    batch: int
    k_loop: int | None
    k_final: int | None
    exact: bool
    spread: Decimal
    strict: bool
    query: str
    items: int | None
    finish: str
    a: Decimal | None
    b: Decimal | None
    stop: str
    stop_delta: Decimal | None
    strings: int | None
    runs: int | None

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
        given = self.k_loop if name == "k_loop" else self.k_final
        if given is None:
            return Number(name=name, value=needed, source=source), ()
        kept = Condition(
            name=f"{name} is at least what the proof needs", value=given, bound=needed, held=given >= needed
        )
        return Number(name=name, value=given, source=f"given; the proof asks for {needed}"), (kept,)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Every number a learner uses.

    Attributes
    ----------
    exact_only
        Why the proof needs a known distribution; empty where finite pools will do.
    prior
        How the shared order prefers hypotheses.
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

    def __getitem__(self, name: str) -> Fraction:
        return self._values[name]

    @cached_property
    def _values(self) -> dict[str, Fraction]:
        return {number.name: Fraction(number.value) for number in reversed(self.numbers)}

    def integer(self, name: str) -> int:
        """A number that is a size."""
        return int(self[name])

    @property
    def stop(self) -> Fraction:
        """The disagreement mass at which the loop ends."""
        return self.epsilon

    @property
    def labels_most(self) -> int | None:
        """The most labels a run can be expected to ask for; None where only the pool limits it."""
        raise NotImplementedError

    def check(self, pool: AnyPool) -> None:
        """Refuse a pool this plan was not made for."""
        if len(pool.C) != self.n:
            raise PlanMismatch(f"the plan is for {self.n} hypotheses, but the pool's class has {len(pool.C)}")
        self.prior.check(pool.C)
        if self.exact_only and not pool.exact:
            raise PlanMismatch(self.exact_only)


def grid_position(shared: SharedRandomness, m: int) -> Fraction:
    """The middle of one of m equal intervals of [0, 1]; which one is shared."""
    return Fraction(2 * shared.integer("threshold", high=m) + 1, 2 * m)


@dataclass(frozen=True, kw_only=True)
class SamplePlan(Plan):
    """Passive learning: one sample of k labelled items."""

    @property
    def k(self) -> int:
        """Labels."""
        return self.integer("k_final")

    @property
    def labels_most(self) -> int:
        """The most labels a run can ask for."""
        return self.k


@dataclass(frozen=True, kw_only=True)
class ERMPlan(SamplePlan):
    """Take a best hypothesis."""


@dataclass(frozen=True, kw_only=True)
class CALPlan(Plan):
    """CAL: k labels a round; k = 1 is the streaming form, which may also choose its items."""

    rounds_most: int | None
    query: str = "scan"

    @property
    def k(self) -> int:
        """Labels a round."""
        return self.integer("k_loop")

    def next(self, scan: Scan, V: VersionSpace) -> Query:
        """What to ask next: the next disputed items of the scan, or the one that splits V most evenly."""
        return scan.evenest(V) if self.query == "halving" else scan.draw(V, self.k)

    def spent(self, rounds: int) -> bool:
        """Is the number of rounds (or, one item at a time, the budget of labels) used up?"""
        most = self.max_labels if self.rounds_most is None else self.rounds_most
        return most is not None and rounds >= most

    @property
    def labels_most(self) -> int | None:
        """The most labels a run can ask for."""
        return self.max_labels if self.rounds_most is None else self.k * self.rounds_most


@dataclass(frozen=True, kw_only=True)
class RoundsPlan(Plan):
    """A learner that works in at most N rounds of k labels."""

    @property
    def k(self) -> int:
        """Labels a round."""
        return self.integer("k_loop")

    @property
    def rounds_most(self) -> int:
        """N."""
        return self.integer("N")

"""What plans have in common whose learners look at a pool once, in blocks, and bet on what they hear."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Self

from replical.bounds.betting import PLAIN, Bets, accepting, rejecting
from replical.classes.losses import Losses
from replical.classes.prior import Prior
from replical.core.exact import decimal, decimals
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.plans.base import Choice, Plan
from replical.pools.pool import AnyPool

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
    def shrinks(self) -> bool:
        """Who is compared depends on what was heard, and may come back."""
        return False

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

"""The plan of Confirm: the margin, how often an outcome may be wrong, and the bets. Claim: docs/claims/confirm.md."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from replical.classes.losses import Losses
from replical.classes.prior import UNIFORM
from replical.core.exact import decimal, decimals, fraction, in_open
from replical.plans.base import Number
from replical.plans.betting import BettingPlan
from replical.plans.parameters import PARAMETERS


@dataclass(frozen=True, kw_only=True)
class ConfirmPlan(BettingPlan):
    """Bet for and against one answer until it is confirmed or refuted."""

    @property
    def margin(self) -> Fraction:
        """ε', by how much the answer may err more than the best."""
        return self["margin"]

    @property
    def level(self) -> Fraction:
        """α, how often either outcome may be wrong."""
        return self["level"]

    @property
    def enough(self) -> Decimal:
        """The wealth that decides a bet: 1/α."""
        with decimals():
            return 1 / decimal(self.level)


def confirm_plan(
    n: int, *, margin: Any, level: Any, batch: Any = 1, max_labels: Any = None, losses: Losses | None = None
) -> ConfirmPlan:
    """The numbers of a confirmation among `n` hypotheses.

    Parameters
    ----------
    n
        Hypotheses in the class.
    margin, level
        Does the answer err at most `margin` more than the best? Either outcome is wrong at most this often.
    batch, max_labels
        Items open at once, and the budget.
    losses
        What predictions cost; None where errors are counted.

    Raises
    ------
    ValueOutOfRange
        For a number out of its range, and a budget below one batch.

    Examples
    --------
    >>> made = confirm_plan(10, margin=.05, level=.05)
    >>> made.margin, float(made.enough)
    (Fraction(1, 20), 20.0)
    """
    exact = fraction(in_open("margin", margin, 0, 1))
    numbers = (
        Number(name="margin", value=exact, source="ε', by how much the answer may err more than the best"),
        Number(
            name="level",
            value=fraction(in_open("level", level, 0, 1)),
            source="α: a bad answer is confirmed, or a good one refuted",
        ),
        Number(name="idle", value=16, source="unasked items in a row after which bets are settled all the same"),
    )
    budget = None if max_labels is None else PARAMETERS["max_labels"].check(max_labels)
    plan = ConfirmPlan(
        learner="confirm",
        name="tight",
        n=n,
        epsilon=exact,
        numbers=numbers,
        batch=PARAMETERS["batch"].check(batch),
        losses=losses,
    )
    return plan.under(UNIFORM, budget)

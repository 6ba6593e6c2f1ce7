"""What a run of Settled ends with: whether the answer is proven, at which level it would have been, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from replical.bounds.betting import accepting
from replical.core.exact import decimal, decimals
from replical.learners.findings import Settling
from replical.learners.settling.estimates import agreement, items_left
from replical.learners.settling.purses import Charges, Purses
from replical.learners.settling.tally import Tally
from replical.plans.betting import STAKES
from replical.plans.settled import SettledPlan

Indices = NDArray[np.int64]

DIGITS = 10**6  # levels and bounds are rounded up to this, so that two machines publish the same
_HALVINGS = 40  # of [0, v], in the search for the excess bound


@dataclass(frozen=True, kw_only=True, eq=False)
class Ending:
    """Where a run stood when it ended.

    Attributes
    ----------
    place
        The answer's.
    heads
        One place for each history, ascending.
    before
        Those before the answer that are not rejected.
    rivals
        Those behind it that are not settled at or before its place.
    asked
        Labels asked for.
    unlabelled
        Items that would have been asked if anybody could label them.
    share
        Of the items scanned last, about how many had to be asked.
    """

    plan: SettledPlan
    v: Fraction
    place: int
    heads: Indices
    before: Indices
    rivals: Indices
    purses: Purses
    charges: Charges
    tally: Tally
    asked: int
    unlabelled: int
    share: float

    def conclude(self) -> Settling:
        """Everything a lab knows now."""
        plan, tally = self.plan, self.tally
        beta, level = float(plan["beta"]), self._doubt()
        certified = level == beta
        left = None if certified else self._items_left()
        return Settling(
            certified=certified,
            doubt=level,
            beta=beta,
            levels=(float(plan["delta_A"]), float(plan["delta_I"])),
            v=self.v,
            place=self.place,
            asked=self.asked,
            scanned=tally.t,
            labs=plan.integer("labs"),
            excess=round(float(tally.E[self.place] - tally.E[self.heads].min()) / max(tally.t, 1), 6),
            excess_upper=self._excess_upper() if certified else None,
            agreement_estimate=agreement(float(self.v), self.purses, self.charges, self.place, self.heads),
            labels_left=None if left is None else ceil(left * self.share),
            items_left=left,
        )

    def _items_left(self) -> int | None:
        v = float(self.v)
        return items_left(self.plan, v, self.purses, self.charges, self.place, self.before, self.rivals)

    def _doubt(self) -> float:
        """The smallest β at which this path would have been certified; at least β, at most 1.

        For any fixed level α, Pr[doubt ≤ α and the answer is not the ideal one] ≤ α.
        """
        plan, beta = self.plan, float(self.plan["beta"])
        if self.unlabelled > self.asked:  # what nobody can label shows nothing
            return 1.0
        if len(self.rivals) == 0 and len(self.before) == 0:
            return beta
        levels = [beta]
        if len(self.rivals):
            wealth = [logs[self.rivals] for m, logs in self.purses.best.items() if m <= self.place]
            best = np.max(wealth, axis=0, initial=-np.inf)
            levels.append(float(np.exp(-best.min())) * beta / float(plan["delta_A"]))
        if len(self.before):
            levels.append(float(np.exp(-self.charges.best[self.before].min())) * beta / float(plan["delta_I"]))
        above = up(min(max(levels), 1.0))
        return min(1.0, above if above > beta else beta + 1 / DIGITS)

    def _excess_upper(self) -> float:
        """The least x at which every rival's purse on the answer, were the bets about x, holds 1/β; at most v.

        Wealth grows with x, and on {the answer is the ideal one} only the purse of the best matters, which is a fixed pair
        of hypotheses: so Pr[certified, excess above it] ≤ β + β, without a union.
        """
        v, enough = float(self.v), float(-np.log(float(self.plan["beta"])))
        counts = self.purses.counts(self.place)[:, self.heads[self.heads > self.place]]
        low, high = 0.0, v
        for _ in range(_HALVINGS):
            x = (low + high) / 2
            with decimals():
                bets = accepting(decimal(x), STAKES, self.plan.values)
            low, high = (low, x) if (bets.about(counts) >= enough).all() else (x, high)
        return min(up(high), up(v))


def up(x: float) -> float:
    """Rounded up to six digits."""
    return ceil(x * DIGITS * (1 + 1e-9)) / DIGITS

"""Estimates at the end of a run of Settled: no bound, no proof, and nothing depends on them but what people are told.

What a run of Settled ends with: whether the answer is proven, at which level it would have been, and how good it is.

The end of a run of Settled in words: proven or not, why not, what would help.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, log10, sqrt

import numpy as np
from numpy.typing import NDArray

from replical.bounds.betting import PLAIN, accepting
from replical.core.exact import decimal, decimals
from replical.learners.plan import Plan
from replical.learners.result import Settling, Verdict
from replical.learners.settled.bets import Charges, Purses
from replical.learners.settled.candidates import Tally
from replical.learners.settled.plan import STAKES, SettledDistancePlan, SettledPlan

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_MOST = 10**7  # items beyond which nobody goes


def agreement(v: float, purses: Purses, charges: Charges, place: int, heads: Indices) -> float:
    """About how often another lab with such a pool has the same answer.

    It has to see, on data of its own, that everyone before the answer errs more than v above the best, and the answer does
    not. Both labs' means are off by their standard errors. Whoever has the same counts is one and the same to them.
    """
    before, behind = heads[heads < place], heads[heads > place]
    own = np.concatenate([charges.counts[:, place, None], purses.counts(place)[:, behind]], axis=1)
    return same_answer(v, charges.counts[:, before], own, purses.bets.values)


def same_answer(v: float, before: Counts, own: Counts, values: Sequence[Decimal] = PLAIN) -> float:
    """The same from how often Z had each of its `values` (rows) for those before the answer, and for the answer itself."""
    from scipy.special import ndtr

    earlier = float(np.prod(ndtr(_apart(np.unique(before, axis=1), v, values))))
    heard = own[:, own.sum(axis=0) > 0]
    return round(earlier * float(ndtr((-_apart(heard, v, values)).min(initial=np.inf))), 6)


def _apart(counts: Counts, v: float, values: Sequence[Decimal]) -> Floats:
    """How far the mean of Z lies above v, in standard errors of the difference between two labs."""
    items, Z = np.maximum(counts.sum(axis=0), 1), np.array(values, dtype=np.float64)
    mean = Z @ counts / items
    variance = np.maximum(Z**2 @ counts / items - mean**2, 1 / items) / items
    apart: Floats = np.where(counts.sum(axis=0) > 0, (mean - v) / np.sqrt(2 * variance), 0.0)
    return apart


def items_left(
    plan: SettledPlan, v: float, purses: Purses, charges: Charges, place: int, before: Indices, rivals: Indices
) -> int | None:
    """Roughly how many more items a proof takes; None where no comparison has begun.

    Wealth grows like half the square of a gap, in standard deviations. A gap is taken to be a standard error smaller than
    it looks: of many comparisons the one that takes longest decides. What is lost in the noise is taken to be as large as
    the noise, and may be far smaller.
    """
    missing = np.concatenate(
        [
            _missing(purses.counts(place)[:, rivals], v, float(plan.settles_at.ln()), plan.values),
            _missing(charges.counts[:, before], v, float(plan.rejects_at.ln()), plan.values),
        ]
    )
    most = max(float(missing.max(initial=0.0)), float(plan["idle"]))
    if len(missing) == 0 or most > _MOST:
        return None
    unit: int = 10 ** max(0, floor(log10(most)) - 1)  # two digits are more than anybody knows
    return ceil(most / unit) * unit


def _missing(counts: Counts, v: float, enough: float, values: Sequence[Decimal]) -> Floats:
    """Items until the wealth suffices, for each bet that has begun."""
    counts = counts[:, counts.sum(axis=0) > 0]
    items = counts.sum(axis=0)
    apart = np.maximum(np.abs(_apart(counts, v, values)) * sqrt(2) - 1, 1.0)  # in standard errors of the mean
    missing: Floats = np.maximum(2 * enough / apart**2 - 1, 0.0) * items
    return missing


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


def verdict(plan: SettledPlan, settling: Settling, *, left: int | None, unlabelled: int) -> Verdict:
    """What a lab is told; `left` items were not looked at, `unlabelled` ones nobody could label."""
    if settling.certified:
        return Verdict(certified=True)
    if unlabelled > settling.asked:
        return _hardly_labelled("candidates", settling, unlabelled)
    order = [] if plan.prior.places is not None else ["a public order of preference (protocol new --order-from)"]
    proven = f"it was proven that no other candidate is the first within {float(settling.v):.4f} of the best"
    return Verdict(
        certified=False,
        why=f"{_end(plan, settling)} before {proven}",
        helps=", ".join([_more(settling, left), *order, "or a larger epsilon"]),
    )


def verdict_by_distance(
    plan: SettledDistancePlan, settling: Settling, *, items: int, unlabelled: int, hopeless: bool
) -> Verdict:
    """The same, by distances on so many `items`; `hopeless` if nobody left could decide with any label."""
    if settling.certified:
        return Verdict(certified=True)
    if unlabelled > settling.asked:
        return _hardly_labelled("hypotheses", settling, unlabelled)
    ways = "a larger epsilon or the learner settled, all of them in a new protocol"
    if hopeless:
        why = f"{items:,} items are too few to tell who is the first within {float(settling.v):.4f} of the best"
        return Verdict(certified=False, why=why, helps=f"a larger pool, {ways}")
    why = f"{_end(plan, settling)} while hypotheses that may be the best led to different answers"
    return Verdict(
        certified=False, why=why, helps=f"{'more labels' if _spent(plan, settling) else 'a larger pool'}, {ways}"
    )


def _hardly_labelled(who: str, settling: Settling, unlabelled: int) -> Verdict:
    why = f"{unlabelled} items on which {who} differ could not be labelled, and only {settling.asked} were"
    return Verdict(certified=False, why=why, helps="items that somebody can label")


def _spent(plan: Plan, settling: Settling) -> bool:
    return plan.max_labels is not None and settling.asked >= plan.max_labels


def _end(plan: Plan, settling: Settling) -> str:
    return f"the budget of {plan.max_labels} labels was spent" if _spent(plan, settling) else "the pool was used up"


def _more(settling: Settling, left: int | None) -> str:
    ways = [f"roughly {settling.labels_left:,} more labels"] if settling.labels_left else []
    if left is not None and settling.items_left is not None and settling.items_left > left:
        ways.append(f"{'' if ways else 'roughly '}{settling.items_left - left:,} more items")
    return f"{' and '.join(ways)} (it may be several times as many)" if ways else "more labels"

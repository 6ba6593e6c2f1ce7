"""What a run of Handicap has proven: who may be the ideal answer, how good the answer is, and how good the public favourite.

Bounds are on public grids and rounded up; near a grid point wealth is compared in decimals, so that two machines publish
the same. Claim: docs/claims/handicap.md, statements (4) and (5), and the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from replical.bounds.betting import PLAIN, accepting
from replical.bounds.betting import Bets as FixedBets
from replical.classes.base import Indices
from replical.core.exact import decimal, decimals
from replical.learners.handicap.bets import Bets, Block
from replical.learners.handicap.plan import STAKES, HandicapPlan
from replical.learners.plan import Condition
from replical.learners.result import Verdict
from replical.pools.scan import Blocks
from replical.pools.version_space import VersionSpace

Counts = NDArray[np.int64]

PROVEN = "the answer is proven to be the ideal one"
LABELLED = "of the items on which candidates differ at least as many were labelled as could not be"
DIGITS = 10**6  # levels are rounded up to this
_STEPS = 64  # of [0, ε] for excess_upper
_CLEAR = 1e-6  # doubles are off by far less; what is nearer to its bound is decided in decimals
_RATIO = Decimal("1.05")  # from one tolerance of the grid to the next
_FINEST = Decimal("0.001")


@dataclass(frozen=True, kw_only=True)
class HandicapProof:
    """What a lab knows at the end of a run of Handicap.

    Attributes
    ----------
    certified
        Is one survivor left? Then it is the ideal answer.
    doubt
        The smallest level at which the answer would have been proven: β if certified, 1 if nothing is known.
    beta
        The level asked for: the ideal answer ever leaves the survivors with this probability at most.
    labs
        K, how many labs the protocol is for.
    survivors
        How many are left.
    asked, scanned, skipped
        Labels asked for, items looked at, and disputed items that nobody could label.
    excess
        An estimate of the answer's excess error, not a bound.
    excess_upper
        A bound on it at the level 2β; None where the answer is not certified.
    tolerance
        The first of the public order errs at most so much more than the best, at the level β; None without an order, and 1
        where nothing is proven.
    verdict
        In words.
    """

    certified: bool
    doubt: float
    beta: float
    labs: int
    survivors: int
    asked: int
    scanned: int
    skipped: int
    excess: float
    excess_upper: float | None
    tolerance: float | None
    verdict: Verdict

    @property
    def rho_proven(self) -> float:
        """Each of K labs is off the ideal answer at its own level: so often two of them differ, at most."""
        return min(1.0, self.labs * self.doubt)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What nobody can label tells candidates apart for nobody; a proof made of that alone would be none."""
        return (
            Condition(name=PROVEN, value=self.doubt, bound=self.beta, held=self.certified),
            Condition(
                name=LABELLED, value=float(self.skipped), bound=float(self.asked), held=self.skipped <= self.asked
            ),
        )


class History:
    """Which items were labelled while who was in S: from it follow bounds on how good the answer is."""

    def __init__(self, S: VersionSpace, plan: HandicapPlan) -> None:
        self._whole, self._plan = S, plan
        self._left = np.full(S.size, -1, dtype=np.int64)  # the number of blocks each member was in S for, when it left
        self._blocks: list[tuple[Indices, Indices, int]] = []
        self._f = None if plan.favourite is None else plan.favourite
        self._against_first = Accounts(S.size, plan.values)

    def add(self, S: VersionSpace, block: Block, items: Indices, codes: Indices) -> None:
        """A block in which S was compared."""
        self._blocks.append((items, codes, block.scanned))
        self._left[np.searchsorted(self._whole.indices, S.indices)] = len(self._blocks)
        if self._f is not None and self._f in S.indices:
            self._against_first.add(
                np.searchsorted(self._whole.indices, S.indices), int(np.searchsorted(S.indices, self._f)), block
            )

    def against(self, h: int) -> Accounts:
        """The differences between the losses of `h` and of everyone, on the items for which they were in S."""
        accounts = Accounts(self._whole.size, self._plan.values)
        for number, (items, codes, scanned) in enumerate(self._blocks, 1):
            present = np.flatnonzero(self._left >= number)
            S = self._whole.only(self._whole.indices[present])
            block = Block.of(S, items, codes, items[:0], scanned, self._plan.losses)
            accounts.add(present, int(np.searchsorted(S.indices, h)), block)
        return accounts

    def tolerance(self) -> float | None:
        """U, for the first of a public order."""
        if self._f is None:
            return None
        others = self._whole.indices != self._f
        return tolerance_bound(self._against_first, others, self._plan["beta"])


class Accounts:
    """How often the difference of losses between one hypothesis and every other had each of its values.

    Attributes
    ----------
    counts
        Rows are the values of Z, 0 first; columns are hypotheses.
    """

    def __init__(self, n: int, values: tuple[Decimal, ...] = PLAIN) -> None:
        self.values = values
        with decimals():
            self._unit = max(int(1 / abs(each)) for each in values if each)
            whole = [int(each * self._unit) for each in values]
        self._rows = np.zeros(2 * self._unit + 1, dtype=np.int64)
        self._rows[np.array(whole) + self._unit] = np.arange(len(values))
        self.counts = np.zeros((len(values), n), dtype=np.int64)

    def add(self, columns: Indices, m: int, block: Block) -> None:
        """Losses of the `m`-th less those of everyone at `columns`; what nobody can label counts against the `m`-th."""
        self.counts[0, columns] += block.scanned
        for losses in block.losses:
            apart = losses[m] - losses
            self._move(columns, apart)
        for codes in block.disputed:
            self._move(columns, self._unit * (codes != codes[m]))

    def _move(self, columns: Indices, apart: NDArray[np.int64]) -> None:
        """From the value 0 to the value `apart`, in whole parts of 1/q."""
        rows = self._rows[apart + self._unit]
        self.counts[0, columns] -= 1
        self.counts[rows, columns] += 1

    def reach(self, x: Decimal, enough: Decimal) -> NDArray[np.bool_]:
        """Whose bet that Z has a mean below x holds `enough`."""
        bets, about = _bets(x, self.values), float(enough.ln())
        wealth = bets.about(self.counts)
        reached = wealth >= about
        for column in np.flatnonzero(np.abs(wealth - about) < _CLEAR).tolist():
            reached[column] = bets.wealth(*self.counts[:, column].tolist()) >= enough
        return reached


@cache
def _bets(x: Decimal, values: tuple[Decimal, ...]) -> FixedBets:
    return accepting(x, STAKES, values)


def excess_bound(accounts: Accounts, gaps: list[Fraction], epsilon: Fraction, beta: Fraction) -> float:
    """The least x on the grid of ε/64 such that everybody's bet at x holds 1/β, or whose handicap allows no more than x."""
    with decimals():
        enough, top = 1 / decimal(beta), decimal(epsilon)
    low, high = 0, _STEPS
    while low < high:
        k = (low + high) // 2
        x = epsilon * k / _STEPS
        allowed = np.array([gap <= x for gap in gaps])
        with decimals():
            reached = accounts.reach(top * k / _STEPS, enough)
        low, high = (low, k) if bool((allowed | reached).all()) else (k + 1, high)
    return float(epsilon * low / _STEPS)


def tolerance_bound(accounts: Accounts, others: NDArray[np.bool_], beta: Fraction) -> float:
    """U: the least x on a grid of 5% steps at which the bet of all `others` against the public favourite holds 1/β."""
    with decimals():
        enough = 1 / decimal(beta)
        grid = [_FINEST]
        while grid[-1] < 1:
            grid.append(min(grid[-1] * _RATIO, Decimal(1)))
    low, high = 0, len(grid) - 1
    while low < high:
        k = (low + high) // 2
        with decimals():
            reached = bool(accounts.reach(grid[k], enough)[others].all())
        low, high = (low, k) if reached else (k + 1, high)
    return float(grid[low])


def conclude(
    plan: HandicapPlan, S: VersionSpace, m: int, bets: Bets, history: History, *, asked: int, blocks: Blocks
) -> HandicapProof:
    """Everything that is proven when S is left, with the `m`-th of it as favourite."""
    certified = S.size == 1 and blocks.unlabelled <= asked
    beta = float(plan["beta"])
    best = (bets.lost.min() / plan.unit) / max(bets.scanned, 1)
    excess = round(float(bets.lost[m]) / plan.unit / max(bets.scanned, 1) - float(best), 6)
    proof = HandicapProof(
        certified=certified,
        doubt=beta if certified else _doubt(bets, m, beta) if blocks.unlabelled <= asked else 1.0,
        beta=beta,
        labs=plan.integer("labs"),
        survivors=S.size,
        asked=asked,
        scanned=bets.scanned,
        skipped=blocks.unlabelled,
        excess=excess,
        excess_upper=None,
        tolerance=history.tolerance(),
        verdict=Verdict(certified=certified),
    )
    return proof


def _doubt(bets: Bets, m: int, beta: float) -> float:
    """1 over the least of the largest wealths of the others, rounded up: at least β, at most 1."""
    others = np.delete(bets.most, m)
    return min(1.0, max(beta, ceil(DIGITS * (1 + 1e-9) / float(others.min())) / DIGITS)) if len(others) else beta

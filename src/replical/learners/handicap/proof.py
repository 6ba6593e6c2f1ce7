"""What a run of Handicap has proven: who may be the ideal answer, how good the answer is, and how good the public favourite.

Bounds are on public grids and rounded up; near a grid point wealth is compared in decimals, so that two machines publish
the same. Claim: docs/claims/handicap.md, statements (4) and (5), and the tolerance.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Indices
from replical.classes.grading import Scores
from replical.core.exact import decimal, decimals
from replical.core.text import count, listing
from replical.learners.handicap.ahead import Ahead
from replical.learners.handicap.bets import Accounts, Bets, Block, Observation
from replical.learners.handicap.handicaps import UNIT
from replical.learners.handicap.plan import HandicapPlan
from replical.learners.plan import Condition
from replical.learners.result import AnswerError, Verdict
from replical.pools.groups import SINGLE
from replical.pools.scan import Blocks
from replical.pools.version_space import VersionSpace

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]

PROVEN = "the answer is proven to be the ideal one"
LABELLED = "of the items on which candidates differ at least as many were labelled as could not be"
DIGITS = 10**6  # levels are rounded up to this
MOST_COUNTED = 10_000  # candidates whose counts are told
_NAMED = 3  # of survivors that nothing tells apart
STEPS = 64  # of [0, ε] for excess_upper
_RATIO = Decimal("1.05")  # from one tolerance of the grid to the next
FINEST = Decimal("0.001")


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
    budget
        The most labels that the protocol or the lab allowed; None where there was no limit.
    excess
        An estimate of the answer's excess error, not a bound.
    excess_upper
        A bound on it at the level 2β; None where the answer is not certified.
    tolerance
        The first of the public order errs at most so much more than the best, at the level β; None without an order, and 1
        where nothing is proven.
    counts
        What the tolerance follows from: for every candidate how often its loss and that of the first of the public order
        differed by each of ``plan.outcomes``. None without an order, or where candidates are more than `MOST_COUNTED`.
    verdict
        In words.
    differences
        Where outputs are compared: the values of ``plan.differences`` that are counted, 0 and those that came. None for all.
    ended
        Was a budget too little for what came next?
    left
        Items of the pool that nobody has looked at.
    ahead
        How the run may go on, for estimates; None where one is left, of groups, and of a table that is all.
    """

    certified: bool
    doubt: float
    beta: float
    labs: int
    survivors: int
    asked: int
    scanned: int
    skipped: int
    budget: int | None
    excess: float
    excess_upper: float | None
    tolerance: float | None
    counts: tuple[tuple[int, ...], ...] | None
    verdict: Verdict
    differences: tuple[int, ...] | None = None
    ended: bool = False
    left: int = 0
    ahead: Ahead | None = field(default=None, compare=False, repr=False)

    @property
    def rho_proven(self) -> float:
        """Each of K labs is off the ideal answer at its own level: so often two of them differ, at most."""
        return min(1.0, self.labs * self.doubt)

    @property
    def more(self) -> str:
        """An estimate of what a proof takes; empty where nobody can say."""
        if self.ahead is None:
            return ""
        rest = self.ahead.play()
        if self.spent:
            return f"{rest.span('labels').of('more label')}, among {rest.span('items').of('item')}"
        return f"{rest.span('items').of('more item')}, with {rest.span('labels').of('label')}"

    @property
    def spent(self) -> bool:
        """Did a budget end the run, and not the pool?"""
        return self.budget is not None and (self.ended or self.asked >= self.budget)

    @property
    def outcome(self) -> None:
        """The run was to find an answer."""
        return None

    @property
    def answer_error(self) -> AnswerError | None:
        """Its excess, where the answer is certified."""
        if self.excess_upper is None:
            return None
        level = min(1.0, 2 * self.beta)
        return AnswerError(estimate=self.excess, low=0.0, high=self.excess_upper, level=level, of="excess", labels=0)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The level reached, and items that nobody could label."""
        proven = Condition(name=PROVEN, value=self.doubt, bound=self.beta, held=self.certified)
        return proven, labelled(self.asked, self.skipped)


def labelled(asked: int, skipped: int) -> Condition:
    """What nobody can label tells candidates apart for nobody; a proof made of that alone would be none."""
    return Condition(name=LABELLED, value=float(skipped), bound=float(asked), held=skipped <= asked)


class History:
    """Which items were labelled while who was in S: from it follow bounds on how good the answer is."""

    def __init__(self, S: VersionSpace, plan: HandicapPlan) -> None:
        self.whole, self._plan = S, plan
        self._blocks: list[Observation] = []
        self.columns = np.arange(S.size)  # of S, among all candidates
        self._left = np.zeros(S.size, dtype=np.int64)  # blocks that each has seen who left S
        self._first = Accounts(S.size, plan)  # of the first of a public order
        self._rivals: VersionSpace | None = None

    def add(self, S: VersionSpace, block: Block, observation: Observation) -> None:
        """A block in which S was compared."""
        self._blocks.append(observation)
        f = self._plan.favourite
        if f is not None and f in S.indices:
            self._first.add(self.columns, int(np.searchsorted(S.indices, f)), block)

    @property
    def sharpens(self) -> bool:
        """Is the first of a public order the only one left, and is there more to prove of it?"""
        f, left = self._plan.favourite, self.whole.indices[self.columns]
        return self._plan.sharpens and left.tolist() == [f] and self._tolerance > FINEST

    def rivals(self) -> VersionSpace:
        """The first of a public order, and all who are not yet proven to be within .7 of the tolerance of it."""
        with decimals():
            near = self._first.reach(decimal(self._plan["gate"]) * self._tolerance, self._winning_wealth)
        near[self.columns] = False
        members = self.whole.indices[~near]
        if self._rivals is None or not np.array_equal(members, self._rivals.indices):
            self._rivals = self.whole.restrict(members)
        return self._rivals

    def compare(self, T: VersionSpace, observation: Observation) -> None:
        """A block in which the first of a public order was compared with the others of `T`."""
        self._blocks.append(observation)
        f, columns = self._plan.favourite, np.searchsorted(self.whole.indices, T.indices)
        assert f is not None, "only an order has a first"
        block = Block.of(T, observation)
        self._first.add(columns, int(np.searchsorted(T.indices, f)), block)

    def keep(self, mask: Mask) -> None:
        """Go on with those marked alone."""
        if not mask.all():
            self._left[self.columns[~mask]] = len(self._blocks)
            self.columns = self.columns[mask]

    @property
    def scanned(self) -> int:
        """Items so far."""
        return sum(block.scanned for block in self._blocks)

    @property
    def observation(self) -> Observation:
        """What was learned of all items so far."""
        parts = {name: _concatenate([getattr(each, name) for each in self._blocks]) for name in _PARTS}
        return Observation(scanned=self.scanned, **parts)

    @property
    def _last(self) -> Indices:
        """Blocks that each has seen."""
        last = self._left.copy()
        last[self.columns] = len(self._blocks)
        return last

    def against(self, h: int, columns: Indices) -> Accounts:
        """The differences between the losses of `h` and of those at `columns`, on the items for which each was in S."""
        accounts, seen = Accounts(len(columns), self._plan), self._last[columns]
        members, predictions = self.whole.indices[columns], self.whole.predictions
        if self._plan.losses is not None or self._plan.groups != SINGLE:
            for number, observation in enumerate(self._blocks, 1):
                some = np.flatnonzero(seen >= number)
                S = self.whole.restrict(members[some])
                accounts.add(some, int(np.searchsorted(S.indices, h)), Block.of(S, observation))
            return accounts
        observation = self.observation
        items, codes, unknown = observation.items, observation.answers, observation.unknown
        sizes = np.array([(each.scanned, len(each.items), len(each.unknown)) for each in self._blocks], dtype=np.int64)
        wrong, says = predictions.codes(h, items) != codes, predictions.codes(h, unknown).astype(np.int64)
        for blocks in np.unique(seen).tolist():  # errors of all who left S at the same time are counted at once
            some = np.flatnonzero(seen == blocks)
            scanned, labelled, others = sizes.reshape(-1, 3)[:blocks].sum(axis=0).tolist()
            right, lost = np.flatnonzero(~wrong[:labelled]), np.flatnonzero(wrong[:labelled])
            minus = self.whole.contradicted(items[right], codes[right], members[some])
            plus = len(lost) - self.whole.contradicted(items[lost], codes[lost], members[some])
            plus += self.whole.contradicted(unknown[:others], says[:others], members[some])
            accounts.counts[:, some] = scanned - plus - minus, plus, minus
        return accounts

    def least(self) -> VersionSpace:
        """Who lost least on all items that were labelled, in S or not."""
        if self._plan.losses is None and self._plan.groups == SINGLE:
            lost = self.whole.contradicted(self.observation.items, self.observation.answers)
            return self.whole.keep(lost == lost.min())
        added, counted = np.zeros(self.whole.size), self._plan.groups.counted
        for observation in self._blocks:
            block = Block.of(self.whole, observation)
            for losses, size in zip(block.losses, block.sizes, strict=True):
                added += losses / (size // counted(size))
        return self.whole.keep(added == added.min())

    def excess_upper(self, h: int, units: Indices) -> float:
        """Of the answer `h`: the least x on a grid of ε/64 at which everybody's bet holds 1/β, or c_g - c_h is at most x."""
        plan, whole = self._plan, self.whole
        every = self._first if h == plan.favourite else self.against(h, np.arange(whole.size))
        accounts, kinds = every.kinds()
        gaps = np.zeros(accounts.size, dtype=np.int64)
        behind = units - units[np.searchsorted(whole.indices, h)]
        np.maximum.at(gaps, kinds, behind)  # of those with equal accounts whoever is farthest behind decides

        def holds(k: int) -> bool:
            x = plan.epsilon * k / STEPS
            allowed = gaps <= int(x * UNIT)
            if plan.table or allowed.all():  # accounts are of independent draws
                return bool(allowed.all())
            return bool((allowed | accounts.reach(decimal(x), self._winning_wealth)).all())

        with decimals():
            return up(decimal(plan.epsilon * bisect_left(range(STEPS), True, key=holds) / STEPS))

    def tolerance(self, *, shown: bool = True) -> float | None:
        """U: the first of a public order is proven to be within so much of the best; None without an order.

        1, which is nothing, unless labels have `shown` something: what nobody can label counts for nobody.
        """
        if self._plan.favourite is None:
            return None
        return up(self._tolerance) if shown else 1.0

    @property
    def _tolerance(self) -> Decimal:
        assert self._plan.favourite is not None, "only an order has a first"
        return tolerance_of(self._plan, self._first, self._plan.favourite)

    @property
    def counts(self) -> dict[str, Any]:
        """What the tolerance follows from, a row a candidate; None without an order, or where they are too many to tell."""
        if self._plan.favourite is None or self.whole.size > MOST_COUNTED:
            return {"counts": None}
        counts = self._first.counts
        if not self._plan.fine:
            return {"counts": tuple(map(tuple, counts.T.tolist()))}
        came = np.flatnonzero(counts.any(axis=1) | (np.arange(len(counts)) == 0))
        differences = tuple(self._plan.differences[place] for place in came.tolist())
        return {"counts": tuple(map(tuple, counts[came].T.tolist())), "differences": differences}

    @property
    def _winning_wealth(self) -> Decimal:
        return 1 / decimal(self._plan["beta"])


_PARTS = ("items", "answers", "unknown")


def _concatenate(parts: list[Indices]) -> Indices:
    """One after another; empty ones have no shape of their own."""
    return np.concatenate([part for part in parts if len(part)] or [np.zeros(0, dtype=np.int64)])


def tolerance_of(plan: HandicapPlan, accounts: Accounts, f: int) -> Decimal:
    """U: the least x on a grid of 5% steps at which the bets of all but `f`, the first of a public order, hold 1/β."""
    others = plan.candidates != f
    with decimals():
        grid, enough = _grid(), 1 / decimal(plan["beta"])
        return grid[bisect_left(grid[:-1], True, key=lambda x: bool(accounts.reach(x, enough)[others].all()))]


@cache
def _grid() -> tuple[Decimal, ...]:
    grid = [FINEST]
    while grid[-1] < 1:
        grid.append(min(grid[-1] * _RATIO, Decimal(1)))
    return tuple(grid)


def up(x: Decimal) -> float:
    """Rounded up to six digits."""
    return ceil(x * DIGITS) / DIGITS


def conclude(
    plan: HandicapPlan,
    S: VersionSpace,
    m: int,
    bets: Bets,
    history: History,
    *,
    units: Indices,
    asked: int,
    ended: bool,
    blocks: Blocks,
    describe: Callable[[int], str],
    ahead: Ahead | None,
) -> HandicapProof:
    """Everything that is proven when S is left, with the `m`-th of it as favourite; `units` are the handicaps of all."""
    beta, h = float(plan["beta"]), int(S.indices[m])
    shown = blocks.unlabelled <= asked  # what nobody can label shows nothing
    certified = S.size == 1 and shown
    errors = bets.lost / plan.unit / max(bets.scanned, 1)
    proof = HandicapProof(
        certified=certified,
        doubt=_doubt(bets, m, beta) if shown else 1.0,
        beta=beta,
        labs=plan.integer("labs"),
        survivors=S.size,
        asked=asked,
        scanned=history.scanned,
        skipped=blocks.unlabelled,
        budget=plan.budget,
        ended=ended,
        left=blocks.left or 0,
        excess=round(float(errors[m] - errors.min()), 6),
        excess_upper=history.excess_upper(h, units) if certified and not plan.hasty else None,
        tolerance=None if plan.hasty else history.tolerance(shown=shown),
        verdict=Verdict(certified=True),
        ahead=ahead,
        **history.counts,
    )
    if certified:
        return proof
    alike = copies(S, m, bets.c)
    names = listing([describe(each) for each in alike[:_NAMED].tolist()], len(alike))
    return replace(proof, verdict=_verdict(plan, proof, alike=len(alike), names=names))


def copies(S: VersionSpace, m: int, c: Indices) -> Indices:
    """Members of S that nothing tells from the `m`-th: they say the same on the whole pool and have its handicap.

    Examples
    --------
    >>> from replical import Thresholds
    >>> S = VersionSpace.whole(Thresholds(5), np.array([0, 3]), np.ones(2, dtype=np.int64))
    >>> copies(S, 1, np.zeros(5, dtype=np.int64)).tolist(), copies(S, 1, np.arange(5)).tolist()
    ([1, 2, 3], [])
    """
    equal = c == c[m]
    if np.count_nonzero(equal) > 1:
        equal &= S.distances(int(S.indices[m])) == 0
    return S.indices[equal] if np.count_nonzero(equal) > 1 else S.indices[:0]


def _doubt(bets: Bets, m: int, beta: float) -> float:
    """1 over the least of the largest wealths of the others, rounded up: β where there are none, at most 1."""
    others = np.delete(bets.most, m)
    return beta if len(others) == 0 else min(1.0, max(beta + 1 / DIGITS, up(Decimal(1 / float(others.min())))))


def _verdict(plan: HandicapPlan, proof: HandicapProof, *, alike: int, names: str) -> Verdict:
    """Why the answer is not proven, and what would help: no estimates, as it is published.

    So many survivors are `alike`, as nothing tells them apart; these are their `names`.
    """
    if proof.skipped > proof.asked:
        why = f"{proof.skipped} items on which candidates differ could not be labelled, and only {proof.asked} were"
        return Verdict(certified=False, why=why, helps="items that somebody can label")
    what = "judgement" if isinstance(plan.losses, Scores) else "label"
    end = f"the budget of {count(proof.budget or 0, what)} was spent" if proof.spent else "the pool was used up"
    order = [] if plan.source == "order" else ["a public order of preference"]
    usual = ["more labels" if proof.spent else "more items", *order, "or a larger epsilon"]
    why, items = f"{end} before one alone was left: it is one of", count(proof.scanned, "item")
    apart = f"never differed on {items} and have one handicap, so no label tells them apart"
    helps = ["items on which they differ", "a protocol with one of them alone if they are the same"]
    if alike == proof.survivors:
        which = "two" if alike == 2 else f"{alike:,}"
        why = f"{why} these {which}, {names}, which {apart}"
        return Verdict(certified=False, why=why, helps=", ".join([*helps, "or a public order of preference"]))
    why = f"{why} {proof.survivors:,}"
    if alike:
        return Verdict(
            certified=False, why=f"{why}; of these {names} {apart}", helps=", ".join([usual[0], *helps, *usual[1:]])
        )
    return Verdict(certified=False, why=why, helps=", ".join(usual))

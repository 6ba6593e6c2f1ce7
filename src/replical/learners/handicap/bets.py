"""The bets of Handicap: every member of S bets that it is the ideal answer, against whoever is the favourite.

Wealth is multiplied item by item, with + - × ÷ of doubles alone, so that two machines decide alike; it is never more than
one part in a million from what it should be, and a member leaves only beyond that (docs/claims/handicap.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache

import numpy as np
from numpy.typing import NDArray

from replical.bounds.betting import Bets as FixedBets
from replical.bounds.betting import accepting
from replical.classes.base import Indices
from replical.classes.grading import Gold, Scores
from replical.classes.losses import Losses
from replical.learners.handicap.handicaps import UNIT
from replical.learners.handicap.plan import STAKES, BettingPlan
from replical.pools.groups import SINGLE, Groups
from replical.pools.query import Answers, Query
from replical.pools.scan import Blocks
from replical.pools.version_space import VersionSpace

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_FEW_VALUES = 100  # of Z, up to which bets are made for all of them and kept
_AT_ONCE = 2**14  # members whose bets are settled together: so many stay in the cache


@dataclass(frozen=True, kw_only=True, eq=False)
class Observation:
    """What was learned of some items in a row.

    Attributes
    ----------
    scanned
        Items, disputed or not.
    items, answers
        Disputed ones whose labels are known, and for each the code of its label; where losses are not errors, what each
        prediction costs there.
    unknown
        Disputed ones that nobody can label, and that are held against the favourite.
    sizes, owners
        Where items come in groups: how many items each group has, and in which of these every labelled item is.
    """

    scanned: int
    items: Indices
    answers: Indices
    unknown: Indices
    sizes: Indices | None = None
    owners: Indices | None = None

    @classmethod
    def of(cls, query: Query, answers: Answers | None, losses: Losses | Gold | None) -> Observation:
        """What was answered; what nobody can label tells nobody apart."""
        none = query.items[:0]
        if answers is None:
            return cls(scanned=query.scanned, items=none, answers=none, unknown=none, sizes=query.sizes, owners=none)
        outcomes = np.argmax(answers.counts, axis=1) if answers.losses is None else answers.losses
        if isinstance(losses, Losses):
            outcomes = np.array([losses.row(code) for code in outcomes.tolist()], dtype=np.int64)
        return cls(
            scanned=query.scanned,
            items=answers.items,
            answers=outcomes,
            unknown=none,
            sizes=query.sizes,
            owners=query.owners,
        )


def next_query(
    blocks: Blocks, S: VersionSpace, plan: BettingPlan, judged: int, V: VersionSpace | None = None
) -> Query | None:
    """The next block, of which outputs that members of S have are scored, if any are; None where pool or budget end.

    A budget that ends inside a block ends before it: nobody bets on what was not asked.
    """
    place = blocks.place
    query = blocks.next(S, plan.opens(judged), idle=plan.integer("idle"), V=V, room=plan.room(judged))
    if isinstance(plan.losses, Scores):
        said = (np.unique(S.predictions.codes_of_item(item, S.indices)).tolist() for item in query.items.tolist())
        query = replace(query, outputs=tuple(map(tuple, said)))
    if query.scanned and plan.affords(judged, query):
        return query
    blocks.place = place
    return None


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """The same for the members of S.

    Attributes
    ----------
    losses
        For each item whose label is known (rows) what each member (columns) lost, in whole parts of 1/q; where items come
        in groups, for each group with such items what each member lost on them together.
    disputed
        For each that is held against the favourite, what each member says.
    sizes
        How many items each row of losses is about.
    quiet
        Of how many items, and how often, groups were in which no label is known; single items are groups of 1.
    """

    losses: NDArray[np.signedinteger]
    disputed: NDArray[np.uint16]
    sizes: tuple[int, ...]
    quiet: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, S: VersionSpace, observation: Observation) -> Block:
        """What members of S lost."""
        says = [S.predictions.codes_of_item(item, S.indices) for item in observation.items.tolist()]
        plain = observation.answers.ndim == 1
        lost = [
            (said != answer) if plain else answer[said] for said, answer in zip(says, observation.answers, strict=True)
        ]
        unlabelled = [S.predictions.codes_of_item(item, S.indices) for item in observation.unknown.tolist()]
        kind: type[np.signedinteger] = np.int8 if plain else np.int32
        losses: NDArray[np.signedinteger] = np.array(lost, dtype=kind).reshape(-1, S.size)
        disputed = np.array(unlabelled, dtype=np.uint16).reshape(-1, S.size)
        sizes: tuple[int, ...] = (1,) * len(losses)
        quiet: tuple[tuple[int, int], ...] = ((1, observation.scanned - len(losses) - len(disputed)),)
        if observation.sizes is not None and observation.owners is not None:
            known, rows = np.unique(observation.owners, return_inverse=True)
            each, losses = losses, np.zeros((len(known), S.size), dtype=np.int64)
            np.add.at(losses, rows, each)
            others = np.unique(np.delete(observation.sizes, known), return_counts=True)
            sizes = tuple(observation.sizes[known].tolist())
            quiet = tuple(zip(*(part.tolist() for part in others), strict=True))
        return cls(losses=losses, disputed=disputed, sizes=sizes, quiet=quiet)


class Bets:
    """The accounts of the members of S, in the order of ``S.indices``.

    Attributes
    ----------
    c
        Handicaps in units of 2⁻⁴⁰.
    places
        Whoever has the smaller place is favourite where errors plus handicap are equal.
    lost
        Losses so far, in parts of 1/q, on the items that were labelled; where groups count alike, their means added up.
    wealth
        For every stake (row) and member: what the bet of the member that it is the ideal answer has come to.
    mean, most
        Mean wealth over the stakes, and the largest so far.
    scanned
        Items so far; where groups count alike, groups.
    """

    def __init__(
        self, c: Indices, places: Indices, stakes: tuple[float, ...], unit: int, groups: Groups = SINGLE
    ) -> None:
        self._stakes, self._unit, self._groups = stakes, unit, groups
        self.c, self.places = c, places
        self.lost = np.zeros(len(c))
        self.wealth = np.ones((len(stakes), len(c)))
        self.scanned = 0
        self.mean, self.most = _mean(self.wealth), np.ones(len(c))

    @property
    def scores(self) -> Floats:
        """Errors plus handicap so far, in parts of 1/q: of thirds doubles would not see every tie."""
        scores: Floats = self.lost + (self.c / UNIT) * self.scanned * self._unit
        return scores

    def lead(self, m: int | None, patience: int) -> int:
        """The place in S of the favourite: the old one `m` while it is at most `patience` errors behind the best."""
        scores = self.scores
        least = scores.min()
        if m is not None and scores[m] <= least + patience * self._unit:
            return m
        ties = np.flatnonzero(scores == least)
        return int(ties[self.places[ties].argmin()])

    def settle(self, m: int, block: Block) -> None:
        """Settle every member's bet against the favourite `m` on a block of items."""
        for start in range(0, len(self.c), _AT_ONCE):
            self._settle(m, block, slice(start, start + _AT_ONCE))
        counted = self._groups.counted
        self.scanned += sum(map(counted, block.sizes)) + sum(counted(size) * times for size, times in block.quiet)
        self.scanned += len(block.disputed)

    def _settle(self, m: int, block: Block, part: slice) -> None:
        """The same for a part of the members."""
        theta = (self.c[part] - self.c[m]) / UNIT
        ahead = np.flatnonzero(theta < 0)  # a stake on a difference below 0 is smaller, so that no bet loses everything
        groups, sized = self._groups, list(zip(block.losses, block.sizes, strict=True))
        gaps = [
            float(groups.weight(size)) * theta - (losses[m] - losses[part]) / (self._unit * groups.parts(size))
            for losses, size in sized
        ]
        gaps += [theta - (codes[part] != codes[m]) for codes in block.disputed]
        for stake, row in zip(self._stakes, self.wealth, strict=True):
            wealth, less = row[part], stake / (1 - theta[ahead])
            for size, times in block.quiet:
                if times:
                    wealth *= power(factor(stake, float(groups.weight(size)) * theta, ahead, less), times)
            for gap in gaps:
                wealth *= factor(stake, gap, ahead, less)
        for losses, size in sized:
            self.lost[part] += losses[part] / (size // groups.counted(size))
        self._take_means(part)

    def _take_means(self, part: slice = slice(None)) -> None:
        self.mean[part] = mean = _mean(self.wealth[:, part])
        np.maximum(self.most[part], mean, out=self.most[part])

    def stays(self, m: int, leaves_at: float) -> Mask:
        """Who stays in S: whose wealth is below that, and the favourite `m`, who never leaves while it is one."""
        stays: Mask = self.mean < leaves_at
        stays[m] = True
        return stays

    def keep(self, mask: Mask) -> None:
        """Forget whoever left S."""
        if not mask.all():
            kept = np.flatnonzero(mask)
            self.c, self.places, self.lost = self.c[kept], self.places[kept], self.lost[kept]
            self.mean, self.most, self.wealth = self.mean[kept], self.most[kept], self.wealth.take(kept, axis=1)


class Accounts:
    """How often the difference of losses between one hypothesis and each other one had each of its values.

    Attributes
    ----------
    counts
        A row for each of ``plan.outcomes``, a column for each hypothesis.
    """

    def __init__(self, n: int, plan: BettingPlan) -> None:
        self._plan, self._unit = plan, plan.unit
        self.counts = np.zeros((len(plan.outcomes), n), dtype=np.int64)
        sizes = range(1, plan.groups.largest + 1)
        self._rows = {size: np.zeros(2 * size * self._unit + 1, dtype=np.int64) for size in sizes}  # of differences
        for row, (size, difference) in enumerate(plan.outcomes):
            self._rows[size][difference + size * self._unit] = row

    def add(self, columns: Indices, m: int, block: Block) -> None:
        """Losses of the `m`-th less those of everyone at `columns`; what nobody can label counts against the `m`-th."""
        for size, times in block.quiet:
            self.counts[self._rows[size][size * self._unit], columns] += times
        for losses, size in zip(block.losses, block.sizes, strict=True):
            self._count(columns, losses[m] - losses, size)
        for codes in block.disputed:
            self._count(columns, self._unit * (codes != codes[m]), 1)

    def _count(self, columns: Indices, differences: NDArray[np.signedinteger], size: int) -> None:
        """A group of so many items, by the difference in whole parts of 1/q."""
        self.counts[self._rows[size][differences + size * self._unit], columns] += 1

    @property
    def size(self) -> int:
        """How many there are."""
        return self.counts.shape[1]

    def kinds(self) -> tuple[Accounts, Indices]:
        """Those of which no two are equal, and which of them each is."""
        key, room = np.zeros(self.size, dtype=np.int64), 1
        for row in self.counts:
            span = int(row.max(initial=0)) + 1
            room *= span
            key = key * span + row
        if room >= 2**63:
            return self, np.arange(self.size)
        _, first, kinds = np.unique(key, return_index=True, return_inverse=True)
        some = Accounts(0, self._plan)
        some.counts = self.counts[:, first]
        return some, kinds

    def reach(self, x: Decimal, enough: Decimal) -> Mask:
        """Whose bet that the difference has a mean below x holds `enough`."""
        values, weights, counts = self._plan.values, self._plan.weights, self.counts
        if len(counts) <= _FEW_VALUES:
            return _fixed_bets(x, values, weights).reach(counts, enough)
        came = np.flatnonzero(counts.any(axis=1))  # of a fine grid few differences ever do
        values, weights = (tuple(each[place] for place in came.tolist()) for each in (values, weights))
        return accepting(x, STAKES, values, weights).reach(counts[came], enough)


@cache
def _fixed_bets(x: Decimal, values: tuple[Decimal, ...], weights: tuple[Decimal, ...]) -> FixedBets:
    return accepting(x, STAKES, values, weights)


def _mean(wealth: Floats) -> Floats:
    """Over the stakes, added up in their order."""
    total: Floats = wealth[0].copy()
    for each in wealth[1:]:
        total += each
    total /= len(wealth)
    return total


def factor(stake: float, gap: Floats, some: Indices, less: Floats) -> Floats:
    """By what wealth is multiplied: 1 and the gap times the stake, which is `less` for `some` (the last axis)."""
    found: Floats = stake * gap
    if len(some):
        found[..., some] = less * gap[..., some]
    found += 1
    return found


def power(x: Floats, exponent: int) -> Floats:
    """x to a whole power, by multiplications alone.

    Examples
    --------
    >>> power(np.array([2.0, 1.5]), 5).tolist()
    [32.0, 7.59375]
    """
    result = np.ones_like(x)
    while exponent:
        if exponent & 1:
            result = result * x
        exponent >>= 1
        if exponent:
            x = x * x
    return result

"""What Settled remembers: errors heard and supposed, purses against rivals, charges against candidates.

Candidates are counted by their places in the shared order, the first at place 0. Of those that have had one history
only the first, the head of its group, is kept up to date.

Which labels are known: those that were asked. A learner that can infer others says so here.

One block of items: who was wrong on those whose label is known. On most others everyone compared says the same.

Purses and charges: whole numbers from which wealth follows.

A purse is one rival's, staked on one favourite at a time and apart for each: how often the favourite was wrong and the
rival right, the other way round, neither. A rival is settled at the favourite's place when its wealth suffices wherever
behind that place the ideal answer may be, so gains on later favourites never pay for earlier places.

All that a run of Settled remembers, as arrays that can be kept and put back.

Only the entries of heads are kept: nobody looks at others. What is put back is looked at first, because it comes from a
file; that it is what the run itself would have come to is for a replay to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.bounds.betting import Bets, mirror
from replical.classes.losses import Losses
from replical.core.exact import decimals
from replical.core.kernels.accounts import add
from replical.errors import BadLabel
from replical.learners.base import Memory, State, check_array
from replical.learners.settled.candidates import Everyone, Tally
from replical.pools.query import Answers, Indices, Query
from replical.pools.scan import Blocks
from replical.pools.version_space import VersionSpace

Labelled = tuple[Indices, NDArray[np.int64]]  # items, and their label codes


class Known:
    """Known is what was asked, and what nobody can label tells candidates apart for nobody.

    Attributes
    ----------
    V
        Where it disagrees labels are unknown; None where they are unknown everywhere.
    """

    V: VersionSpace | None = None

    def kept(self) -> State:
        """What is known beside the answers themselves."""
        return {}

    def put_back(self, kept: State) -> None:
        """Know what was kept; `ValueError` if nobody can know that."""

    def labels(self, query: Query, answers: Answers | None) -> Labelled:
        """The labels known of the items that a query passed; no answers where nothing was asked."""
        if answers is None:
            return query.items, query.items
        return answers.items, np.argmax(answers.counts, axis=1)

    def unknown(self, query: Query) -> Indices:
        """Items that a query passed and that count against the favourite because their labels are unknown."""
        return query.unlabelled[:0]


Codes = NDArray[np.uint16]
Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Items scanned, and who was wrong on those whose labels are known.

    Attributes
    ----------
    scanned
        Items, disputed or not.
    places
        Who is compared, ascending.
    wrong
        For each disputed item whose label is known (rows), who of them (columns) was wrong.
    unknown
        For each disputed item that counts against the favourite because nobody could label it, what they say.
    """

    scanned: int
    places: Indices
    wrong: Mask
    unknown: Codes

    @property
    def errors(self) -> NDArray[Any]:
        """Errors of each of them, in the order of `places`."""
        errors: Counts = self.wrong.sum(axis=0, dtype=np.int64)
        return errors

    def apart(self, one: int, others: Indices) -> Counts:
        """For each of those at `others`: items on which Z was 0, `one` alone was wrong, `one` alone was right (rows)."""
        place, theirs = np.searchsorted(self.places, one), self.wrong.take(others, axis=1)
        counts = np.zeros((3, theirs.shape[1]), dtype=np.int64)
        counts[0] = self.scanned  # on whatever has no label Z is 0
        for wrong, mine in zip(theirs, self.wrong[:, place].tolist(), strict=True):
            alone = ~wrong if mine else wrong
            counts[1 if mine else 2] += alone
            counts[0] -= alone
        return counts

    def at_worst(self, one: int, others: Indices) -> Counts:
        """The same, if `one` alone was wrong wherever they differ and the label is unknown."""
        counts, place = self.apart(one, others), np.searchsorted(self.places, one)
        for codes in self.unknown:
            differ = codes[others] != codes[place]
            counts[1] += differ
            counts[0] -= differ
        return counts


@dataclass(frozen=True, kw_only=True, eq=False)
class Priced(Block):
    """The same, where predictions cost more or less.

    Attributes
    ----------
    losses
        What they cost.
    costs
        For each disputed item whose label is known (rows), what each of them (columns) lost.
    """

    losses: Losses
    costs: Counts

    @property
    def errors(self) -> NDArray[Any]:
        """What each of them lost, in costliest errors."""
        total: NDArray[np.float64] = self.costs.sum(axis=0, dtype=np.int64) / self.losses.unit
        return total

    def apart(self, one: int, others: Indices) -> Counts:
        """For each of those at `others`: on how many items the loss of `one` less theirs had each value (rows)."""
        place, theirs = np.searchsorted(self.places, one), self.costs.take(others, axis=1)
        counts = np.zeros((len(self.losses.differences), theirs.shape[1]), dtype=np.int64)
        counts[0] = self.scanned  # on whatever has no label Z is 0
        columns = np.arange(theirs.shape[1])
        for row, mine in zip(theirs, self.costs[:, place].tolist(), strict=True):
            counts[0] -= 1
            counts[self.losses.places(mine - row), columns] += 1
        return counts


def heard(
    groups: Everyone, S: Indices, known: Labelled, unknown: Indices, scanned: int, losses: Losses | None = None
) -> Block:
    """Who was wrong on the items whose labels are `known`, and what they say about the `unknown` ones."""
    answered = [groups.codes(item, S) for item in known[0].tolist()]
    wrong = [said != code for said, code in zip(answered, known[1].tolist(), strict=True)]
    says = [groups.codes(item, S) for item in unknown.tolist()]
    block = Block(
        scanned=scanned,
        places=S,
        wrong=np.array(wrong, dtype=np.bool_).reshape(-1, len(S)),
        unknown=np.array(says, dtype=np.uint16).reshape(-1, len(S)),
    )
    if losses is None:
        return block
    if (known[1] >= losses.labels).any():
        raise BadLabel("a label is what candidates say that abstain, and nobody's label ever is that")
    costs = [losses.table[code][said] for said, code in zip(answered, known[1].tolist(), strict=True)]
    return Priced(**vars(block), losses=losses, costs=np.array(costs, dtype=np.int64).reshape(-1, len(S)))


Floats = NDArray[np.float64]

_CLEAR = 1e-6  # doubles are off by far less; what is nearer to its bound is decided in decimals
_FEW = 32  # so many are decided one by one: finding equal counts would take longer


class Purses:
    """Every rival's purse, by favourite."""

    def __init__(self, n: int, bets: Bets, enough: Decimal) -> None:
        self._n, self.bets, self._enough = n, bets, enough
        self._about_enough = float(enough.ln())
        self._counts: dict[int, Counts] = {}
        self._logs: dict[int, Floats] = {}
        self.best: dict[int, Floats] = {}  # the largest ln of wealth seen so far at a favourite's place

    def begin(self, m: int) -> None:
        """Purses for the favourite `m`, if it has none."""
        if m not in self._counts:
            self._counts[m], self._logs[m], self.best[m] = (
                np.zeros((len(self.bets.values), self._n), np.int64),
                *np.zeros((2, self._n)),
            )

    def settle(self, m: int, among: Mask, block: Block) -> Indices:
        """Settle the bets of the favourite `m` against the rivals `among` those compared in a block; who is settled?"""
        self.begin(m)
        which = np.flatnonzero(among)
        rivals = block.places[which]
        counts = add(self._counts[m], rivals, block.at_worst(m, which))
        self._logs[m][rivals] = self.bets.about(counts)
        about = self._about(m, rivals)
        self.best[m][rivals] = np.maximum(self.best[m][rivals], about)
        near = rivals[np.flatnonzero(about >= self._about_enough - _CLEAR)]
        if len(near) == 0:
            return near
        history = [np.where(k < near, each[:, near], -1) for k, each in self._counts.items()]
        return _who(near, np.concatenate(history), lambda g: self._suffices(m, g))

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Whatever is remembered of each candidate."""
        yield from (*self._counts.values(), *self._logs.values(), *self.best.values())

    def counts(self, m: int) -> Counts:
        """On how many items Z had each value while `m` was the favourite, for every rival."""
        return self._counts.get(m, np.zeros((len(self.bets.values), self._n), dtype=np.int64))

    def _about(self, m: int, rivals: Indices) -> Floats:
        """ln of the least wealth over all places behind m at which the ideal answer may be."""
        total, least = np.zeros(len(rivals)), np.zeros(len(rivals))
        for k in sorted(self._logs):
            if k <= m:
                total += self._logs[k][rivals]
                least = total.copy()
            else:
                total += np.where(k < rivals, self._logs[k][rivals], 0.0)
                least = np.minimum(least, total)
        return least

    def _suffices(self, m: int, g: int) -> bool:
        """The same in decimals."""
        with decimals():
            wealth = Decimal(1)
            for k in sorted(self._counts):
                if k >= g:
                    break
                wealth *= self.bets.wealth(*self._counts[k][:, g].tolist())
                if k >= m and wealth < self._enough:
                    return False
            return wealth >= self._enough


class Charges:
    """Every candidate's charge against the opponents it was compared with."""

    def __init__(self, n: int, bets: Bets, enough: Decimal) -> None:
        self.counts = np.zeros((len(bets.values), n), dtype=np.int64)  # on how many items Z had each value
        self.bets, self._enough = bets, enough
        self._about_enough = float(enough.ln())
        self.best = np.zeros(n)  # the largest ln of wealth seen so far

    def reject(self, o: int, among: Mask, block: Block) -> Indices:
        """Charge those `among` the compared against the opponent `o` on a block of items; who is rejected?"""
        which = np.flatnonzero(among)
        charged = block.places[which]
        apart = block.apart(o, which)
        counts = add(
            self.counts, charged, [apart[row] for row in mirror(len(apart))]
        )  # Z is about their losses, not the opponent's
        about = self.bets.about(counts)
        self.best[charged] = np.maximum(self.best[charged], about)
        near = np.flatnonzero(about >= self._about_enough - _CLEAR)
        return _who(charged[near], counts[:, near], self._suffices)

    def _suffices(self, h: int) -> bool:
        return self.bets.wealth(*self.counts[:, h].tolist()) >= self._enough

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Whatever is remembered of each candidate."""
        yield from (self.counts, self.best)


def _who(places: Indices, counts: Counts, enough: Callable[[int], bool]) -> Indices:
    """Those who have enough; whoever has the same counts (columns) has it too."""
    firsts = alike = np.arange(len(places))
    if len(places) > _FEW:
        _, firsts, alike = np.unique(counts, axis=1, return_index=True, return_inverse=True)
    have = np.array([enough(place) for place in places[firsts].tolist()], dtype=np.bool_)
    return places[have[alike.reshape(-1)]]  # NumPy 2.0 gives the inverse two axes


@dataclass(frozen=True, kw_only=True, eq=False)
class Books:
    """Whatever changes in a run, by place in the shared order."""

    tally: Tally
    is_open: NDArray[np.bool_]
    settled_at: NDArray[np.int64]
    purses: Purses
    charges: Charges
    groups: Everyone
    known: Known
    blocks: Blocks

    def kept(self, m: int, o: int, asked: int, share: float, place: tuple[int, int] | None) -> State | None:
        """Everything, when the favourite is `m`, the opponent `o` and the scan at `place`; None where it cannot go back."""
        if place is None:
            return None
        heads = self.groups.heads
        counts = {"m": m, "o": o, "asked": asked, "t": self.tally.t, "at": place[0], "unlabelled": place[1]}
        told: dict[str, NDArray[Any]] = {name: np.array(count, dtype=np.int64) for name, count in counts.items()}
        told |= {
            "share": np.array(share),
            "heads": heads,
            "favourites": np.array(list(self.purses.best), dtype=np.int64),
        }
        told |= {name: array[..., heads] for name, array in self._arrays().items()}
        return {**told, **self.groups.kept(), **self.known.kept()}

    def opened(self, memory: Memory) -> tuple[int, int, int, float]:
        """Take over what was kept, if anything; favourite, opponent, labels asked and the share of disputed items.

        Raises
        ------
        ValueError
            If it is none of this learner's on this pool.
        """
        if memory.state is None:
            return 0, 0, 0, 1.0
        try:
            return self._put_back(memory.state)
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(f"not what a run keeps: {error}") from error

    def _put_back(self, kept: State) -> tuple[int, int, int, float]:
        n = len(self.is_open)
        m, o, asked, t, at, unlabelled = (
            int(check_array(kept[name], (), np.int64)) for name in ("m", "o", "asked", "t", "at", "unlabelled")
        )
        self.groups.put_back(kept)
        heads, favourites = self.groups.heads, kept["favourites"]
        check_array(kept["heads"], heads.shape, np.int64)
        for place in check_array(favourites, favourites.shape, np.int64).tolist():
            if not 0 <= place < n:
                raise ValueError(f"place {place} of {n}")
            self.purses.begin(place)
        if not (np.array_equal(kept["heads"], heads) and np.isin([m, o], heads).all()):
            raise ValueError("favourite and opponent are no heads")
        if min(asked, t, unlabelled) < 0:
            raise ValueError("a negative count")
        for name, array in self._arrays().items():
            array[..., heads] = check_array(kept[name], array[..., heads].shape, array.dtype)
        self.tally.t = t
        self.blocks.go_to((at, unlabelled))
        self.known.put_back(kept)
        return m, o, asked, float(check_array(kept["share"], (), np.float64))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Whatever is remembered of each candidate."""
        arrays: dict[str, NDArray[Any]] = {"E": self.tally.E, "open": self.is_open, "settled_at": self.settled_at}
        arrays |= {f"purses {number}": array for number, array in enumerate(self.purses.arrays())}
        return arrays | {f"charges {number}": array for number, array in enumerate(self.charges.arrays())}

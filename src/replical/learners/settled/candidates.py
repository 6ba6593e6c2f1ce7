"""Errors of every candidate, heard where it was compared and supposed where it was not.

Only choices depend on them (who is the favourite, who the opponent), never the proof. Doubles are added, multiplied and
divided one by one, so two machines choose alike.

Candidates with one history: the first of them in the shared order, the *head* of the group, speaks for all.

What becomes of a candidate depends on what it said about the items it was compared on, on which side of each favourite it
stands, and on whether it was itself a favourite or an opponent; on nothing else. So a group parts only where its members
answer an item differently, where a favourite comes to stand between them, and where one of them is chosen; until then one
record serves all of them, and it is copied when they part.

Candidates of a table answer differently after a few items, so there everyone is a group. On a line a label parts one
interval of cuts, and a million thresholds are as many groups as a few labels make.

Who is the favourite, who the opponent: chosen from the past alone, and slow to change.

Any choice from the past keeps the promise; these ask for few labels. `heads` speak for all candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.predictions.line import LinePredictions
from replical.learners.base import State
from replical.learners.settled.plan import SettledPlan
from replical.pools.version_space import VersionSpace

Indices = NDArray[np.int64]


class Tally:
    """Errors E by place, after t items."""

    def __init__(self, n: int) -> None:
        self.E = np.zeros(n)
        self.t = 0

    def of(self, heads: Indices) -> NDArray[np.float64]:
        """Errors of the `heads`, without a copy where everyone is one."""
        return self.E if len(heads) == len(self.E) else self.E[heads]

    def add(self, heads: Indices, S: Indices, errors: NDArray[Any], scanned: int, favourite: int) -> None:
        """A block of items: who is in S was heard, every other head goes on erring at the rate at which it left.

        Without that a bad candidate that nobody compares any more would collect no errors and look best in the end.
        """
        E, t = self.E, self.t
        self.t += scanned
        before, of_S = E[favourite], E[S] + errors
        if t and len(S) < len(heads):
            after = of_S[np.searchsorted(S, favourite)]
            supposed = self.of(heads) - before
            supposed *= float(self.t)
            supposed /= float(t)
            supposed += after
            E[heads if len(heads) < len(E) else slice(None)] = supposed
        E[S] = of_S


Codes = NDArray[np.uint16]
Copy = Callable[[int, int], None]


class Everyone:
    """Every candidate is a group of its own; `order` has the hypothesis at each place."""

    def __init__(self, whole: VersionSpace, order: Indices) -> None:
        self._whole = self._last = whole
        self._order, self._compared = order, np.zeros(0, dtype=np.int64)
        self.heads = np.arange(len(order))  # places, ascending

    def kept(self) -> State:
        """Who is in which group."""
        return {}

    def put_back(self, kept: State) -> None:
        """Be the groups that were kept; `ValueError` if there are no such groups."""

    def choose(self, favourite: int, opponent: int) -> None:
        """No group holds one of them and somebody else, or stands on both sides of the favourite."""

    def spare(self, heads: Indices) -> int:
        """The last place in these groups, by itself from now on."""
        return int(heads[-1])

    def hear(self, S: Indices, items: Indices) -> Indices:
        """Part those in S who answer an item differently; the heads of S from now on."""
        return S

    def codes(self, item: int, S: Indices) -> Codes:
        """What those in S say about an item that they were parted by."""
        codes: Codes = self._whole.predictions.codes_of_item(item, self._whole.indices)[self._order[S]]
        return codes

    def region(self, S: Indices) -> VersionSpace:
        """Where those in S disagree; a smaller set is looked for where the last one disagreed."""
        if np.array_equal(S, self._compared):
            return self._last
        self._compared, mask = S, np.zeros(len(self._order), dtype=np.bool_)
        mask[self._order[S]] = True
        among = mask[self._last.indices]
        nested = np.count_nonzero(among) == len(S)
        self._last = self._last.keep(among) if nested else self._whole.keep(mask)
        return self._last

    def size(self, S: Indices) -> int:
        """How many candidates those in S speak for."""
        return len(S)

    def hypotheses(self, heads: Indices) -> Indices:
        """Everybody for whom they speak."""
        return self._order[heads]


class Line(Everyone):
    """Groups of cuts: those of an interval that stand in an interval of places, unless chosen."""

    def __init__(self, whole: VersionSpace, order: Indices, positions: Indices, copy: Copy) -> None:
        super().__init__(whole, order)
        n = len(order)
        places = np.empty(n, dtype=np.int64)
        places[order] = np.arange(n)
        self._positions, self._copy = positions, copy
        self._members: dict[int, tuple[Indices, Indices]] = {}  # of each group the cuts, ascending, and their places
        self._lowest, self._highest, self._final, self._size = np.zeros(
            (4, n), dtype=np.int64
        )  # of each group, by head
        self.heads = np.zeros(1, dtype=np.int64)
        self._set(0, whole.indices, places)

    def kept(self) -> State:
        """Of each place the head of its group."""
        speaker = np.empty(len(self._order), dtype=np.int64)
        for head in self.heads.tolist():
            speaker[self._members[head][1]] = head
        return {"speaker": speaker}

    def put_back(self, kept: State) -> None:
        """Be the groups that were kept; `ValueError` if there are no such groups."""
        speaker, places = kept["speaker"], np.arange(len(self._order))
        if speaker.shape != places.shape or speaker.dtype != places.dtype or (speaker > places).any():
            raise ValueError("no groups of these places")
        if not np.array_equal(speaker[speaker], speaker):  # nobody stands before the head of a group, which is in it
            raise ValueError("a head speaks for itself")
        by_cut = np.argsort(self._order)
        by_head = by_cut[np.argsort(speaker[by_cut], kind="stable")]
        self.heads, sizes = np.unique(speaker, return_counts=True)
        for head, members in zip(self.heads.tolist(), np.split(by_head, np.cumsum(sizes)[:-1]), strict=True):
            self._set(head, self._order[members], members)

    def choose(self, favourite: int, opponent: int) -> None:
        """No group holds one of them and somebody else, or stands on both sides of the favourite."""
        for head in self.heads[(self.heads < favourite) & (self._final[self.heads] >= favourite)].tolist():
            self._part(head, self._members[head][1] < favourite)
        self._single(favourite, favourite)
        self._single(opponent, opponent)

    def spare(self, heads: Indices) -> int:
        """The last place in these groups, by itself from now on."""
        head = int(heads[np.argmax(self._final[heads])])
        place = int(self._final[head])
        self._single(place, head)
        return place

    def hear(self, S: Indices, items: Indices) -> Indices:
        """Part those in S who answer an item differently; the heads of S from now on."""
        for position in self._positions[items].tolist():
            between = S[(self._lowest[S] < position) & (position <= self._highest[S])]
            if len(between):
                new = [self._part(head, self._members[head][0] < position) for head in between.tolist()]
                S = _with(S, new)
        return S

    def codes(self, item: int, S: Indices) -> Codes:
        """What those in S say about an item that they were parted by."""
        codes: Codes = (self._lowest[S] < self._positions[item]).astype(np.uint16)
        return codes

    def region(self, S: Indices) -> VersionSpace:
        """On a line the outermost two disagree wherever anybody does."""
        low, high = int(self._lowest[S].min()), int(self._highest[S].max())
        last = self._last.indices
        if (low, high) != (last[0], last[-1]):
            nested = last[0] <= low and high <= last[-1]
            self._last = (self._last if nested else self._whole).restrict(np.unique([low, high]))
        return self._last

    def size(self, S: Indices) -> int:
        """How many candidates those in S speak for."""
        return int(self._size[S].sum())

    def hypotheses(self, heads: Indices) -> Indices:
        """Everybody for whom they speak."""
        return np.concatenate([self._members[head][0] for head in heads.tolist()])

    def _single(self, place: int, head: int) -> None:
        if self._size[head] > 1:
            self._part(head, self._members[head][1] == place)

    def _part(self, head: int, which: NDArray[np.bool_]) -> int:
        """Part a group in two; the place of the new head."""
        cuts, places = self._members[head]
        stays = which if which[np.searchsorted(cuts, self._order[head])] else ~which
        new = self._set(int(places[~stays].min()), cuts[~stays], places[~stays])
        self._set(head, cuts[stays], places[stays])
        self.heads = _with(self.heads, [new])
        self._copy(new, head)
        return new

    def _set(self, head: int, cuts: Indices, places: Indices) -> int:
        self._members[head] = cuts, places
        self._lowest[head], self._highest[head] = cuts[0], cuts[-1]
        self._final[head], self._size[head] = places.max(), len(cuts)
        return head


def groups_of(whole: VersionSpace, order: Indices, copy: Copy) -> Everyone:
    """The groups of a class; ``copy(new, head)`` is told when a record is to be copied from a head to a new one."""
    line = whole.predictions
    return Line(whole, order, line.positions, copy) if isinstance(line, LinePredictions) else Everyone(whole, order)


def _with(places: Indices, new: list[int]) -> Indices:
    new.sort()
    return np.insert(places, np.searchsorted(places, new), new)


Mask = NDArray[np.bool_]


def opponent(plan: SettledPlan, tally: Tally, heads: Indices, o: int) -> int:
    """Whoever has the fewest errors; the old one while it is near to that."""
    best = int(heads[tally.of(heads).argmin()])
    return o if tally.E[o] - tally.E[best] <= plan.integer("patience") else best


def favourite(plan: SettledPlan, tally: Tally, heads: Indices, v: float, is_open: Mask, m: int) -> int:
    """The first open candidate whose excess looks like v or less; the old one while it is near to that."""
    allowed, patience = v * tally.t + plan.integer("optimism"), plan.integer("patience")
    best = first(tally, heads, is_open, allowed)
    if best == m or not is_open[m]:
        return best
    fewest = tally.of(heads).min()
    lost = tally.E[m] - fewest > allowed + patience
    if best > m:
        return best if lost else m
    return best if lost or tally.E[best] - fewest <= allowed - patience else m


def first(tally: Tally, heads: Indices, is_open: Mask, allowed: float) -> int:
    """The first open candidate with excess at most `allowed`, else the open one with the least."""
    E, alive = tally.of(heads), is_open[heads]
    excess = E - E.min()
    near = alive & (excess <= allowed)
    best = int(near.argmax())
    return int(heads[best if near[best] else np.where(alive, excess, np.inf).argmin()])

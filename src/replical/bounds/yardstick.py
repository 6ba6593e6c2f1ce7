"""How often labs differ that measure distances on the same public items: a bound by one lab, without labels.

All labs count on M public items. Lab s has survivors V, a centre ĥ and scores S(h) = D(h, ĥ); it returns the first
hypothesis in the shared order with S(h) ≤ x, x = ⌊Mv⌋. If t is the truth, no lab with S(t) ≤ k can keep fewer than
A = {D(h, t)+k ≤ x} or more than B = {D(h, t)-k ≤ x}, and Λ^t(k) is how often the first of B is not in A. One lab proves

    Y = max over its survivors t of Λ^t(S(t)),

and whoever proves Y ≤ ρ0 agrees with everybody else who does, except with probability ρ0. Statement and proof:
docs/claims/yardstick.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, inf

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Indices
from replical.classes.prior import Masses

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOST_PASSES = 200  # distances from so many survivors are counted at most: to give up proves less, never too much


@dataclass(frozen=True, kw_only=True, eq=False)
class YardstickBound:
    """What is public when a lab bounds how often it differs from others.

    Attributes
    ----------
    M
        Items of the yardstick, with their weights.
    a, b
        Range of the shared threshold, as shares of M.
    n
        Hypotheses in the class.
    masses
        Prior masses, one a hypothesis, in any unit; None if all are equal.
    places
        Place of each hypothesis in a strict order of preference, where that is the shared order.
    """

    M: int
    a: Fraction
    b: Fraction
    n: int
    masses: Masses | None = None
    places: Counts | None = None

    @cached_property
    def levels(self) -> Counts:
        """The values that x = ⌊Mv⌋ can have."""
        return np.arange(floor(self.M * self.a), floor(self.M * self.b) + 1, dtype=np.int64)

    @cached_property
    def chances(self) -> Floats:
        """How often x has each of its values: all are equally likely but the first and the last."""
        a, b, M = self.a, self.b, self.M
        first, last = int(self.levels[0]), int(self.levels[-1])
        chances = np.full(len(self.levels), float(1 / (M * (b - a))))
        chances[0] = float((min(Fraction(first + 1, M), b) - a) / (b - a))
        if last > first:
            chances[-1] = float((b - Fraction(last, M)) / (b - a))
        return chances

    def slack_most(self, limit: float) -> int:
        """With more slack than this Λ is above `limit`, whatever the class is: nobody is surely inside at small x."""
        empty = np.concatenate(([0.0], np.cumsum(self.chances)))[:-1]  # how often x is below each level
        return int(self.levels[np.searchsorted(empty, limit, side="right") - 1]) if limit >= 0 else -1

    def around(self, distances: Counts) -> Balls:
        """The balls around a labelling of the yardstick at these `distances` from each hypothesis."""
        if self.places is None:
            inside = np.cumsum(np.bincount(distances, weights=self.masses, minlength=self.M + 1).astype(np.float64))
            return Balls(self, inside)
        first = np.full(self.M + 1, self.n, dtype=np.int64)
        np.minimum.at(first, distances, self.places)
        return Balls(self, np.minimum.accumulate(first).astype(np.float64))

    def reach(self, V: Indices, scores: Counts, limit: float) -> int:
        """No lab that proves `limit` or less has a score of anybody that differs from this lab's by more.

        If t is the truth, whoever proves ρ0 is within k° = max{k: Λ^t(k) ≤ ρ0} of it. t is among the survivors `V`, so
        within κ of the centre: k° is at most κ more than around the centre, and t's distances at most κ from the `scores`.
        """
        kappa, balls = int(scores[V].max()), self.around(scores)
        return balls.most(limit, self.M) + 2 * kappa

    def cheap(self, V: Indices, scores: Counts) -> float:
        """Λ around the centre with twice the slack: a bound on Y from the scores alone."""
        return self.around(scores).lost(2 * int(scores[V].max()))

    def cover(self, V: Indices, scores: Counts, distances: Callable[[int], Counts], limit: float) -> float:
        """A bound on Y wherever Y is at most `limit`; otherwise a number above `limit` that bounds nothing.

        A survivor t at distance d from another, t0, has Λ^t(S(t)) ≤ Λ^t0(S(t)+d), so that a few of them speak for all.
        `distances` counts the items on which each hypothesis differs from a given one.
        """
        slack, worst = scores[V], 0.0
        left = np.argsort(-slack, kind="stable")
        for _ in range(_MOST_PASSES):
            there = distances(int(V[left[0]]))
            balls = self.around(there)
            if (alone := balls.lost(int(slack[left[0]]))) > limit:
                return alone
            needed = slack[left] + there[V[left]]
            covered = needed <= balls.most(limit, int(needed.max()))
            worst = max(worst, balls.lost(int(needed[covered].max())))
            left = left[~covered]
            if len(left) == 0:
                return worst
        return inf


class Balls:
    """The balls around one labelling of the yardstick, by their radius.

    Parameters
    ----------
    public
        The yardstick's numbers.
    inside
        For each radius from 0 to M the mass of the ball, or the place of its first in a strict order.
    """

    def __init__(self, public: YardstickBound, inside: Floats) -> None:
        self._public, self._inside = public, inside

    def lost(self, k: int) -> float:
        """Λ(k): how often the first of the ball of radius x+k is not in the ball of radius x-k."""
        public, inside, x = self._public, self._inside, self._public.levels
        large, small = inside[np.minimum(x + k, public.M)], inside[np.maximum(x - k, 0)]
        if public.places is None:
            kept = np.divide(small, large, out=np.zeros_like(large), where=large > 0)
        else:
            kept = (small == large).astype(np.float64)
        kept[x < k] = 0.0  # nobody is nearer than 0
        return max(0.0, float(((1 - kept) * public.chances).sum()))

    def most(self, limit: float, enough: int) -> int:
        """The largest k up to `enough` with Λ(k) at most `limit`; -1 if there is none. Λ never falls with k."""
        low, high = -1, enough + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.lost(middle) <= limit else (low, middle)
        return low

"""The rank lemma: how often two labs differ that cut their scores at one shared threshold.

Lab s keeps the hypotheses with score at most v, v uniform on [a, b] and shared, and returns the first of them in the
shared order. Given v the labs split with probability J(v), the weighted Jaccard distance of the two sets; the integral
of J is the failure probability exactly. Statement, proof and the bounds: docs/claims/ranks.md.

What it says about the next lab that all labs of a list agree. Claim: docs/claims/unanimity.md.

Given the string, labs are independent and alike: each has the answer f with probability p_f. The list, and so the number
m of labs on it, is fixed before any of them runs.

How often these very labs would return one answer, had another string been published. Claim: docs/claims/fresh.md.

Labs that round have scores that do not depend on the string. Lab s keeps everyone with score at most v, in shares of what
it measured on, and its survivors where that is nobody; all return one answer if and only if the first in the shared order
of those whom somebody keeps is kept by everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import inf, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import Indices
from replical.classes.prior import UNIFORM, Prior
from replical.errors import ValueOutOfRange

Scores = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class AgreementBound:
    """How often two labs with these scores return different hypotheses: the exact value and what bounds it.

    Attributes
    ----------
    exact
        E_v[J(v)].
    ranks
        (1/(b-a)) Σ w_h/R_h, each hypothesis by its rank (weighted: w_h μ_h/M_h; strict order: Σ over records of w_h).
    local
        (1 + ln(n_b/n_a)) max w/(b-a): the growth of the class between a and b. Infinite for a strict order.
    crude
        (1 + ln n) max w/(b-a), or with the prior's least weight in place of 1/n. Infinite for a strict order.
    """

    exact: float
    ranks: float
    local: float
    crude: float


def agreement_bound(
    scores_1: ArrayLike,
    scores_2: ArrayLike,
    range: tuple[float, float],  # noqa: A002 - the public name
    prior: Prior = UNIFORM,
) -> AgreementBound:
    """The rank lemma for two labs' scores, arbitrarily dependent.

    Parameters
    ----------
    scores_1, scores_2
        One score a hypothesis; infinity for one that a lab has removed.
    range
        The interval [a, b] of the shared threshold.
    prior
        How the shared order prefers hypotheses.

    Returns
    -------
    bound
        How often these two labs differ, exactly, and three bounds on it.

    Raises
    ------
    ValueOutOfRange
        If the labs do not have one score a hypothesis each, a score is not a number, the range is empty or infinite, or
        the prior is for another number of hypotheses.

    Examples
    --------
    >>> bound = agreement_bound([0, .2, .5], [0, .3, .5], (.1, .4))
    >>> round(bound.exact, 4), round(bound.ranks, 4), round(bound.local, 4)
    (0.1667, 0.1667, 0.5644)
    """
    one, two = np.asarray(scores_1, dtype=np.float64), np.asarray(scores_2, dtype=np.float64)
    a, b = range
    if one.shape != two.shape or one.ndim != 1 or len(one) == 0:
        raise ValueOutOfRange(f"two labs have one score a hypothesis each, got shapes {one.shape} and {two.shape}")
    if np.isnan(one).any() or np.isnan(two).any():
        raise ValueOutOfRange("scores must be numbers, got nan")
    if not -inf < a < b < inf:
        raise ValueOutOfRange(f"a threshold range needs a < b, got [{a:g}, {b:g}]")
    if prior.values is not None and len(prior.values) != len(one):
        raise ValueOutOfRange(f"the prior is for {len(prior.values)} hypotheses, but there are {len(one)} scores")
    if prior.places is not None:
        return _strict(one, two, np.argsort(prior.places), a, b)
    n = len(one)
    near = np.flatnonzero((one < b) | (two < b))
    if len(near) == 0:  # both labs keep nothing whatever the threshold is
        return AgreementBound(exact=0.0, ranks=0.0, local=0.0, crude=0.0)
    low, high = np.minimum(one[near], two[near]), np.maximum(one[near], two[near])
    widths = np.clip(high, a, b) - np.clip(low, a, b)
    masses, least = np.ones(len(near)), 1.0
    if prior.kind == "weights":
        masses, least = (prior.masses(n) * n)[near], n / prior.spread(n)
    order = np.argsort(low, kind="stable")
    ascending, cumulated = low[order], np.cumsum(masses[order])
    behind = cumulated[np.searchsorted(ascending, np.maximum(low, a), side="right") - 1]
    at_a = max(float(cumulated[np.searchsorted(ascending, a, side="right") - 1]) if ascending[0] <= a else 0.0, least)
    widest = float(widths.max()) / (b - a)
    return AgreementBound(
        exact=_integral(ascending, cumulated, high, masses, a, b),
        ranks=float((widths * masses / behind).sum()) / (b - a),
        local=(1 + log(float(cumulated[-1]) / at_a)) * widest,
        crude=(1 + log(n / least)) * widest,
    )


def _integral(low: Scores, cumulated: Scores, high: Scores, masses: Scores, a: float, b: float) -> float:
    """E[J(v)]: v meets μ{low ≤ v} in the union and μ{high ≤ v} in the intersection; both change at scores only."""
    order = np.argsort(high, kind="stable")
    ending, ended = high[order], np.concatenate(([0.0], np.cumsum(masses[order])))
    inside = np.concatenate((low[(low > a) & (low < b)], high[(high > a) & (high < b)], (a, b)))
    points = np.unique(inside)
    union = np.concatenate(([0.0], cumulated))[np.searchsorted(low, points[:-1], side="right")]
    both = ended[np.searchsorted(ending, points[:-1], side="right")]
    share = np.divide(both, union, out=np.ones_like(union), where=union > 0)
    return max(0.0, float(((1 - share) * np.diff(points)).sum()) / (b - a))


def _strict(one: Scores, two: Scores, preferred: NDArray[np.int64], a: float, b: float) -> AgreementBound:
    """A strict order: the answers are known for every v, and only hypotheses preferred to all nearer ones can differ."""
    low, high = np.minimum(one, two), np.maximum(one, two)
    widths = np.clip(high, a, b) - np.clip(low, a, b)
    points = np.unique(np.concatenate([scores[(scores > a) & (scores < b)] for scores in (one, two)] + [[a, b]]))
    answers = [_answers(scores[preferred], points[:-1]) for scores in (one, two)]
    exact = float(np.diff(points)[answers[0] != answers[1]].sum()) / (b - a)
    nearest_before = np.concatenate(([inf], np.minimum.accumulate(low[preferred])[:-1]))
    records = np.maximum(low[preferred], a) < np.maximum(nearest_before, a)
    return AgreementBound(exact=exact, ranks=float(widths[preferred][records].sum()) / (b - a), local=inf, crude=inf)


def _answers(scores: Scores, points: Scores) -> NDArray[np.int64]:
    """For each threshold the place of the most preferred hypothesis with score at most it; past the last if none."""
    nearest = np.minimum.accumulate(scores)  # falls with the place
    return np.searchsorted(-nearest, -points, side="left").astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Unanimity:
    """All labs of a list agree.

    Attributes
    ----------
    labs
        How many the list names, m.
    split
        The probability that they all agree and yet the next one differs is at most this.
    differs, level
        That the next one differs with probability at most `differs`, given the string, is wrong with probability at most
        `level`.
    """

    labs: int
    split: float
    differs: float
    level: float


def unanimity(m: int, level: float = 0.05) -> Unanimity:
    """What follows if all of `m` listed labs agree.

    Σ p_f^m(1-p_f) ≤ max x^(m-1)(1-x), which is at x = (m-1)/m; and Σ p_f^m over p_f ≤ 1-x is at most (1-x)^(m-1).

    Examples
    --------
    >>> found = unanimity(10)
    >>> round(found.split, 4), round(found.differs, 3)
    (0.0387, 0.283)
    """
    if m < 2:
        raise ValueOutOfRange(f"labs that agree are at least 2, got {m}")
    split = float(Fraction(m - 1, m) ** (m - 1) / m)
    return Unanimity(labs=m, split=split, differs=float(1 - level ** (1 / (m - 1))), level=level)


Shares = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabScores:
    """What of a lab's data its answer depends on, beside the string.

    Attributes
    ----------
    scores
        Items on which each hypothesis of the class differs from the lab's centre.
    items
        How many items that was counted on.
    survivors
        Whom the lab chooses from where nobody is near enough.
    """

    scores: NDArray[np.int64]
    items: int
    survivors: Indices

    @property
    def shares(self) -> Shares:
        """The scores as shares of the items."""
        return self.scores / self.items

    @property
    def nearest(self) -> float:
        """Below this threshold nobody is near enough."""
        return float(self.shares.min())

    def kept_from(self, v: float) -> Shares:
        """From which threshold on each hypothesis is kept, if the threshold is `v` or a little more."""
        if v >= self.nearest:
            return self.shares
        chosen = np.full(len(self.scores), inf)
        chosen[self.survivors] = 0.0
        return chosen


def one_answer(labs: Sequence[LabScores], range: tuple[float, float], prior: Prior = UNIFORM) -> float:  # noqa: A002
    """With what probability all these labs return one answer, over a fresh threshold and order.

    Parameters
    ----------
    labs
        Two or more.
    range
        The interval [a, b] of the shared threshold.
    prior
        How the shared order prefers hypotheses.

    Returns
    -------
    probability
        Exact for the data that these labs have, up to rounding in doubles. It promises nothing of other labs.

    Raises
    ------
    ValueOutOfRange
        If there are fewer than two labs.

    Examples
    --------
    >>> labs = [LabScores(scores=np.array(each), items=10, survivors=np.array([0])) for each in ([0, 2, 5], [0, 3, 5])]
    >>> round(one_answer(labs, (.1, .4)), 4)
    0.8333
    """
    if len(labs) < 2:
        raise ValueOutOfRange(f"one answer is that of two or more labs, got {len(labs)}")
    a, b = range
    ends = sorted({a, b, *(lab.nearest for lab in labs if a < lab.nearest < b)})
    differ = 0.0
    for low, high in pairwise(ends):  # between these every lab keeps by scores throughout, or its survivors throughout
        kept = [lab.kept_from(low) for lab in labs]
        soonest, latest = np.minimum.reduce(kept), np.maximum.reduce(kept)
        differ += (high - low) * agreement_bound(soonest, latest, (low, high), prior).exact
    return min(1.0, max(0.0, 1 - differ / (b - a)))

"""The rank lemma: how often labs differ that cut their scores at one shared threshold.

Lab s keeps the hypotheses with score at most v, v uniform on [a, b] and shared, and returns the first of them in the
shared order. Given v the labs split with probability J(v), the weighted Jaccard distance of the two sets; the integral
of J is the failure probability exactly. Where scores are shares of M items on which a hypothesis is wrong, `crossing`
over √M bounds it, for any number of labs. Statements and proofs: docs/claims/ranks.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import cache
from math import inf, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import decimals
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
    """How often two labs choose different hypotheses, by the rank lemma, however their scores depend on each other.

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


@cache
def crossing(labs: int) -> Decimal:
    """C_K of Lemma R, rounded up: so often, times ln n/√(GM), K labs split because scores cross the threshold.

    >>> [str(crossing(labs)) for labs in (2, 3, 5, 10)]
    ['5.52', '7.33', '10.71', '18.55']
    """
    with decimals():
        return min(_crossing(labs, Decimal(j) / 100) for j in range(1, 101)).quantize(Decimal("0.01"), ROUND_CEILING)


def _crossing(K: int, a: Decimal) -> Decimal:
    """For any λ > 0, here called a: expelled, thresholds before which the class grows fast, and intruders elsewhere."""
    return Decimal(K) / 2 + 1 / a + K / a * ((a * a).exp() + a / Decimal(2).sqrt() - 1)

"""Candidates that are nearly the same: no choice among them costs more than ε."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from replical.classes.table import PredictionTable
from replical.pools.pool import Pool

_MOST = 2000  # candidates among which near-ties are looked for: all pairs are compared
_MEASURED = 4096  # items on which they are compared, drawn by the private order


def near_ties(pool: Pool, epsilon: float) -> tuple[tuple[int, ...], ...]:
    """Groups, formed in the order of the class, in which every two hypotheses differ on at most ε of the items."""
    if not isinstance(pool.C, PredictionTable) or len(pool.C) > _MOST:
        return ()
    n, items = len(pool.C), pool.tail(Fraction(1))[:_MEASURED]
    codes = np.stack([pool.predictions.codes(h, items) for h in range(n)])
    same = np.zeros((n, n))
    for code in range(len(pool.C.labels)):
        votes = (codes == code).astype(np.float64)
        same += votes @ votes.T
    near = len(items) - same <= epsilon * len(items)
    free, groups = np.ones(n, dtype=np.bool_), []
    for h in range(n):
        if not free[h]:
            continue
        group, candidates = [h], near[h] & free
        candidates[: h + 1] = False
        while candidates.any():
            other = int(np.argmax(candidates))
            group.append(other)
            candidates &= near[other]
            candidates[other] = False
        free[group] = False
        if len(group) > 1:
            groups.append(tuple(group))
    return tuple(groups)

"""Rounded(CAL) on thresholds as one would write it in NumPy: whole arrays, no bookkeeping, nothing kept between looks.

It looks at its certificate after every label, with exact binomials on a dense grid, so it never asks for more labels
than the library, whose bounds are rigorous and whose looks are rarer. Where both stop at the same label they must
return the same hypothesis. Used as a check, and beside the library in benchmarks/throughput.py.
"""

from math import ceil, floor, log

import numpy as np
from scipy.special import bdtr

_POINTS = 400  # distances p at which a contribution is evaluated


def lab(drawn, target, *, n, epsilon, delta, rho, threshold, rank):
    """One lab: cells of its items in private order, and what the two labs share: the threshold, and ranks of hypotheses."""
    U = len(drawn)
    codes = np.arange(n)[:, None] < 1 + np.arange(n - 1)  # h says "high" on the cells from its own on
    counts = np.bincount(drawn, minlength=n - 1)
    a, b = 0.45 * epsilon, 0.9 * epsilon
    delta_C = rho / 200
    most = floor(U * epsilon) - floor(U * b)
    alive, asked = np.ones(n, dtype=bool), 0
    while True:
        V = codes[alive]
        disputed = V.any(axis=0) & ~V.all(axis=0)
        centre = 2 * V.sum(axis=0) > len(V)
        scores = (codes != centre) @ counts
        kappa = int(scores[alive].max())
        if kappa <= most:
            beta = log(2 * n / (delta_C if kappa else min(0.1, rho**0.5)))
            if gamma(scores, kappa, U, a, b, beta) + 2 * delta_C <= rho:
                break
        waiting = np.flatnonzero(disputed[drawn])
        if len(waiting) == 0:
            break
        item = drawn[waiting[0]]
        alive &= codes[:, item] == codes[target, item]
        asked += 1
    within = np.flatnonzero(scores <= threshold)
    chosen = within if len(within) else np.flatnonzero(alive)
    return int(chosen[np.argmin(rank[chosen])]), asked


def gamma(scores, kappa, U, a, b, beta):
    """Γ̂ from its definition."""
    x, y, spread = np.minimum((scores + kappa) / U, 1), np.maximum(scores - kappa, 0) / U, beta / U
    high = np.minimum(x + spread + np.sqrt(spread**2 + 2 * x * spread), 1)
    low = np.maximum(0, y - np.sqrt(2 * y * spread))
    m = np.arange(ceil(a * U), floor(b * U))
    p = np.linspace(0, 2 * b, _POINTS)
    sure = np.where(m >= kappa, bdtr(np.maximum(m - kappa, 0), U, p[:, None]), 0.0)
    maybe = bdtr(m + kappa, U, p[:, None])
    pi = np.where(m / U >= p[:, None], 1 - sure**2, 1 - (1 - maybe) ** 2 - sure**2)
    inside = np.maximum((high[:, None] <= m / U).sum(axis=0), 1)
    g = (pi / inside).sum(axis=1) / (U * (b - a))
    near = (p >= low[:, None]) & (p <= high[:, None])
    return float(np.where(near, g, 0).max(axis=1).sum())

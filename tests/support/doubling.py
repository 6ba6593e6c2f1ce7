"""The learner of docs/claims/doubling.md on hypotheses that err independently of each other, and its sizes."""

import math
from functools import cache

import numpy as np

from replical.learners.handicap.handicaps import best_slope


@cache
def steepness(n):
    """L, and Λ = L(1 + n/(e^L - 1)): the chance that the two best are within x is at most Λx/ε."""
    L = float(best_slope(n))
    return L, L * (1 + n / math.expm1(L))


@cache
def stages(n, epsilon, rho):
    """Items by the end of each stage, and by how much a leader has to lead."""
    beta, last = rho / 4, rho * epsilon / (4 * steepness(n)[1])  # 2Λw/ε = ρ/2
    K, before = 1, 0
    while before != K:  # the last width depends on how many stages there are, and they on it
        T = 2 * math.log((n - 1) * K * (K + 1) / beta) / last**2
        before, K = K, max(1, math.ceil(math.log(T / 64, 4)))
    sizes = [math.ceil(T / 4 ** (K - k)) for k in range(1, K + 1)]
    return sizes, [math.sqrt(2 * math.log((n - 1) * k * (k + 1) / beta) / size) for k, size in enumerate(sizes, 1)]


def handicaps(n, epsilon, generator):
    """ε - X, X exponential and truncated to [0, ε]."""
    L, _ = steepness(n)
    return epsilon - epsilon / L * -np.log1p(-generator.random(n) * -math.expm1(-L))


def lab(errors, c, epsilon, rho, generator, *, fewer=1):
    """The answer and the items it took; `fewer` divides all sizes and is no part of the claim."""
    made = np.zeros(len(errors))
    items = 0
    sizes, widths = stages(len(errors), epsilon, rho)
    for size, width in zip(sizes, widths, strict=True):
        more = max(1, size // fewer) - items
        items += more
        made += generator.binomial(more, errors)
        first, second = np.sort(made / items + c)[:2]
        if second - first >= width:
            break
    return int(np.argmin(made / items + c)), items


def bound(n, epsilon, rho):
    """Items in the mean, at most."""
    (sizes, widths), beta = stages(n, epsilon, rho), rho / 4
    slope = 2 * steepness(n)[1] / epsilon
    return sizes[0] + sum(size * (slope * width + beta) for size, width in zip(sizes[1:], widths, strict=False))

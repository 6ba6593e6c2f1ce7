"""How likely a private release is the answer that labs share, and how many labs that takes. Claim: docs/claims/release.md.

y labs vote for i and z for others; every count has exponential noise of rate ε. A rival with c votes beats i with
probability ½e^(-ε(y-c)), and z votes do most harm on one rival.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from replical.errors import ValueOutOfRange

CELLS = 200  # of [0, 1], on which a rate is bounded from above; more change the third digit
_MANY = 100_000  # labs nobody has

Floats = NDArray[np.float64]
Share = Callable[[int], float]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What the noise is added to, as far as everybody knows it.

    Attributes
    ----------
    n
        Candidates.
    epsilon
        Of the release.
    nobody
        Votes that "nobody" has; 0 where that is no choice.
    """

    n: int
    epsilon: float
    nobody: int = 0

    @property
    def rate(self) -> float:
        """Of the noise: thresholds and scales are rounded in favour of privacy, by less than this."""
        return self.epsilon * (1 - 1e-11)

    def misses(self, y: Floats, z: Floats) -> Floats:
        """Pr[not i is released] is at most this, if y labs vote for i and z for others.

        Examples
        --------
        >>> Selection(n=240, epsilon=1.0).misses(np.array([8.0, 20.0]), np.zeros(2)).round(7).tolist()
        [0.0400878, 2e-07]
        """
        log_rivals = [np.log(self.n - 2) if self.n > 2 else -np.inf, self.rate * z if self.n > 1 else -np.inf]
        log_rivals += [self.rate * self.nobody] if self.nobody else []
        total = np.logaddexp.reduce(np.broadcast_arrays(*log_rivals, np.full(y.shape, -np.inf)))
        return np.asarray(np.minimum(1.0, 0.5 * np.exp(np.minimum(total - self.rate * y, 1.0))))

    def at(self, k: int, rates: Floats) -> Floats:
        """The mean over k labs, each of which votes for another than i with probability `rates`, independently."""
        from scipy.special import xlog1py, xlogy

        z = np.arange(k + 1.0)
        ways = np.concatenate(([0.0], np.cumsum(np.log((k - z[:-1]) / (z[:-1] + 1)))))
        chances = np.exp(ways + xlogy(z, rates[:, None]) + xlog1py(k - z, -rates[:, None]))
        return np.asarray(np.minimum(1.0, chances @ self.misses(k - z, z)))

    def per_lab(self, beta: float, k: int) -> float:
        """If with every string each lab votes for another than the ideal answer with probability at most `beta`.

        Examples
        --------
        >>> round(Selection(n=240, epsilon=1.0).per_lab(.1, 10), 3)
        0.028
        """
        return float(self.at(k, np.array([beta]))[0])

    def per_pair(self, rho: float, k: int) -> float:
        """If two labs differ with probability at most `rho`, over strings and data.

        With string b a lab has another than b's commonest answer with probability q(b), whose mean is at most ρ. So the mean
        of g(q(b)), g of `at`, is at most the concave hull of g at ρ. Between two points g is at most its right end.

        Examples
        --------
        >>> round(Selection(n=240, epsilon=1.0).per_pair(.1, 20), 3)
        0.142
        """
        ends = np.linspace(0.0, 1.0, CELLS + 1)
        g = self.at(k, ends)
        x, y = np.concatenate(([0.0], ends[:-1], [1.0])), np.concatenate((g[:1], g[1:], g[-1:]))
        low, high = x <= rho, x >= rho
        run = np.maximum(x[high][None, :] - x[low][:, None], 1e-300)
        share = np.where(x[high][None, :] > x[low][:, None], (rho - x[low][:, None]) / run, 1.0)
        return float(min(1.0, (y[low][:, None] * (1 - share) + y[high][None, :] * share).max()))


@dataclass(frozen=True, kw_only=True)
class ReleaseChance:
    """What public numbers say of a private release.

    Attributes
    ----------
    labs, epsilon, nobody
        Labs that vote, the release's ε, and the votes that "nobody" has (0: no such choice).
    misses
        Another answer than the ideal one is released with probability at most this.
    limit
        What that bound comes to with as many labs as one likes.
    enough
        With so many labs it is at most the limit and `tolerance`; None if nobody has so many.
    tolerance
        How much the noise may add.
    apart
        Two consortia of so many labs each, with one string, release different answers with probability at most this.
    """

    labs: int
    epsilon: float
    nobody: int
    misses: float
    limit: float
    enough: int | None
    tolerance: float
    apart: float


def release_chance(
    selection: Selection,
    labs: int,
    *,
    beta: float | None = None,
    rho: float | None = None,
    string: float = 0.0,
    tolerance: float = 0.05,
) -> ReleaseChance:
    """How likely the release is the ideal answer.

    From `beta`, one lab's chance to vote for another with every string, apart from a share `string` of them that may mislead
    all labs alike; or from `rho`, how often two labs differ.

    Examples
    --------
    >>> chance = release_chance(Selection(n=240, epsilon=1.0), 20, beta=.0125)
    >>> chance.enough, chance.misses < 1e-5
    (8, True)
    >>> chance = release_chance(Selection(n=240, epsilon=1.0), 8, beta=0.0, string=.1)
    >>> round(chance.misses, 4), round(chance.apart, 4)
    (0.1401, 0.1802)
    """
    if labs < 1:
        raise ValueOutOfRange(f"a release needs at least 1 lab, got {labs}")
    misses: Share
    if beta is not None:
        misses, limit = partial(selection.per_lab, beta), 0.0 if beta < 0.5 else 1.0
    else:
        assert rho is not None, "one of the two"
        misses, limit = partial(selection.per_pair, rho), min(1.0, 2 * rho)
    noisy = misses(labs)
    return ReleaseChance(
        labs=labs, epsilon=selection.epsilon, nobody=selection.nobody, misses=min(1.0, string + noisy),
        limit=min(1.0, string + limit), enough=_fewest(misses, limit + tolerance) if limit < 1 else None,
        tolerance=tolerance, apart=min(1.0, string + 2 * noisy),
    )  # fmt: skip


def _fewest(misses: Share, target: float) -> int | None:
    """Labs that suffice, and one fewer would not: doubled until it is enough, then halved."""
    high = 1
    while misses(high) > target:
        high *= 2
        if high > _MANY:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if misses(middle) <= target else (middle, high)
    return high

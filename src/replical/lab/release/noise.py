"""The noisy maximum: one candidate out of many, from how many labs vote for each. Claim: docs/claims/release.md.

Every count gets noise of its own, exponential of rate ε, and the largest sum wins. OpenDP's reviewed mechanism makes the
noise. Its twin here does the same in whole numbers: each candidate flips a coin of probability q^(votes short of the top),
and one of those whose coin fell well is drawn. No floating point touches a probability. Which of the two released is said
by whoever calls and is told in the release; one never stands in for the other.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Sequence
from fractions import Fraction
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from replical.core.exact import decimal, decimals, fraction
from replical.errors import BadSpec, MissingExtra, ValueOutOfRange

SAMPLERS = ("opendp", "exact")
MOST = 20  # ε beyond this protects nobody: a ratio of e^20


class Coins(Protocol):
    """Where chance comes from."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """So many words of 64 independent fair bits."""
        ...

    def below(self, count: int) -> int:
        """One of so many numbers from 0 on, all alike."""
        ...


class SystemCoins:
    """The operating system's randomness: never the published string, which everybody knows."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """So many words of 64 independent fair bits."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    def below(self, count: int) -> int:
        """One of so many numbers from 0 on, all alike."""
        return secrets.randbelow(count)


def noisy_maximum(counts: Sequence[int], epsilon: float, sampler: str = "opendp") -> int:
    """One index, ε-differentially private for anyone who adds at most 1 to every count.

    Parameters
    ----------
    counts
        Votes for each candidate, at least one candidate.
    epsilon
        Above 0, at most 20.
    sampler
        ``"opendp"``, or ``"exact"`` for the twin.
    """
    check_epsilon(epsilon)
    check_sampler(sampler)
    if sampler == "exact":
        return permute_and_flip(np.asarray(counts, dtype=np.int64), threshold(epsilon), SystemCoins())
    return _opendp(list(map(int, counts)), epsilon)


def check_epsilon(epsilon: float) -> None:
    """Refuse an ε that is no privacy."""
    if not 0 < epsilon <= MOST:
        raise ValueOutOfRange(f"epsilon of a release must be above 0 and at most {MOST}, got {epsilon:g}")


def check_nobody(nobody: int | None) -> None:
    """Refuse votes for "no answer" that are none."""
    if nobody is not None and nobody < 1:
        raise ValueOutOfRange(f"nobody must be a whole number of at least 1, got {nobody}")


def threshold(epsilon: float) -> int:
    """⌈2⁶⁴e^-ε⌉: a word of 64 bits lies below it with probability q ≥ e^-ε.

    Examples
    --------
    >>> threshold(1.0), threshold(1e-30) == 2**64
    (6786177901268885275, True)
    """
    with decimals():  # to 50 digits, and one unit of the last one up: never below e^-ε
        return min(2**64, math.ceil(2**64 * (-decimal(epsilon)).exp().next_plus()))


def permute_and_flip(counts: NDArray[np.int64], t: int, coins: Coins) -> int:
    """Each candidate flips a coin of probability q^(c_max - c_h), q = t/2⁶⁴; a uniform one of the successes wins.

    A coin of probability q^k is k coins of probability q, so the flips go level by level: whoever is more than `level` votes
    short of the top flips once more. Who has most votes needs no coin, so somebody is always left.
    """
    short = counts.max() - counts
    left = np.arange(len(counts))
    for level in range(int(short.max())):
        flips = short[left] > level
        if not flips.any():
            break
        fell_well = np.ones(len(left), dtype=bool)
        fell_well[flips] = coins.words(int(flips.sum())) <= np.uint64(t - 1)
        left = left[fell_well]
    return int(left[coins.below(len(left))])


def sampler_name(sampler: str) -> str:
    """What made the noise, for those who read the release."""
    return "exact integers" if sampler == "exact" else f"opendp {version('opendp')}"


def check_sampler(sampler: str) -> None:
    """Refuse what is not there before anything is spent."""
    if sampler not in SAMPLERS:
        raise BadSpec(f"unknown sampler {sampler!r}; it is one of {', '.join(SAMPLERS)}")
    if sampler == "opendp":
        try:
            import opendp.measurements  # noqa: F401
        except ImportError as error:
            raise MissingExtra(
                "the noise of a release is made by OpenDP: install it with pip install 'replical[private]', or say "
                "--sampler exact for our own"
            ) from error


def _opendp(counts: list[int], epsilon: float) -> int:
    """OpenDP's noisy maximum, with the smallest scale for which it says that ε is kept."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence
    from opendp.metrics import linf_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    # monotonic: a lab more raises counts and lowers none
    space = vector_domain(atom_domain(T="i64")), linf_distance(T="i64", monotonic=True)
    scale = 1 / float(epsilon)
    while True:
        mechanism: Any = make_noisy_max(*space, max_divergence(), scale)
        if Fraction(mechanism.map(1)) <= fraction(epsilon):
            return int(mechanism(counts))
        scale = math.nextafter(scale, math.inf)

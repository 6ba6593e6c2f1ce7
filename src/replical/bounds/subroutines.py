"""Replicable answers to two simple questions about a distribution: a mean, and which values are frequent.

Both decide by shared randomness, so that two labs with independent samples give the same answer with probability at least
1-ρ. Reference: rSTAT and rHeavyHitters (Impagliazzo, Lei, Pitassi, Sorrell 2022); the paper boosts by the second;
docs/claims/subroutines.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import floor, fsum
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.core.exact import Real, ceil, check_between, decimal, decimals, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.errors import ValueOutOfRange

Sampler = Callable[[int], ArrayLike]
Ask = TypeVar("Ask")
Hear = TypeVar("Hear")

_AT_ONCE = 1 << 20  # values drawn at a time


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """rSTAT's numbers; `Statistic.of` makes them.

    Attributes
    ----------
    alpha
        The width of the cells to whose middles means are rounded.
    samples
        How many values are drawn.

    Examples
    --------
    >>> statistic = Statistic.of(tau=.1, rho=.2, delta=.05)
    >>> float(statistic.alpha), statistic.samples
    (0.18181818181818182, 22318)
    """

    alpha: Fraction
    samples: int

    @classmethod
    def of(cls, *, tau: float, rho: float, delta: float) -> Statistic:
        """α = 2τ/(ρ+1-2δ), s = ⌈ln(2/δ)(ρ+1-2δ)²/(2τ²(ρ-2δ)²)⌉.

        Parameters
        ----------
        tau, rho, delta
            As for `rstat`.

        Returns
        -------
        statistic
            The numbers.

        Raises
        ------
        ValueOutOfRange
            If one of them is not in (0, 1), or `rho` is not above ``2 delta``.
        """
        for name, value in (("tau", tau), ("rho", rho), ("delta", delta)):
            check_between(name, value, 0, 1)
        with decimals():
            t, r, d = (decimal(value) for value in (tau, rho, delta))
            if r <= 2 * d:
                raise ValueOutOfRange(
                    f"rSTAT needs rho above 2 delta, got rho {float(rho):g} and delta {float(delta):g}: lower delta below "
                    f"{float(r / 2):g}"
                )
            wide = r + 1 - 2 * d
            samples = ceil(ln(2 / d) * wide**2 / (2 * t**2 * (r - 2 * d) ** 2))
        exact = fraction(rho) + 1 - 2 * fraction(delta)
        return cls(alpha=2 * fraction(tau) / exact, samples=samples)

    def round(self, mean: Fraction, shared: SharedRandomness, *name: str | int) -> Fraction:
        """The middle of the cell that holds `mean`, clipped to [0, 1]; where cells begin is `shared` under `name`."""
        offset = self.alpha * Fraction(shared.uniform(*name))
        cell = floor((mean - offset) / self.alpha)
        return min(max(offset + (cell + Fraction(1, 2)) * self.alpha, Fraction(0)), Fraction(1))


def rstat(
    sampler: Sampler,
    shared: SharedRandomness,
    *,
    tau: float,
    rho: float,
    delta: float,
    name: tuple[str | int, ...] = ("rstat",),
) -> float:
    """The mean of a statistic with values in [0, 1], within `tau` with probability at least ``1 - delta``.

    Two labs return the identical number with probability at least ``1 - rho``.

    Parameters
    ----------
    sampler
        ``sampler(count)`` gives independent values in [0, 1]; it is called as often as needed.
    shared
        The published random string.
    tau, rho, delta
        Tolerance, how often two labs may differ, how often the tolerance may be missed; ``rho > 2 delta``.
    name
        Which of several questions this is: each has its own shared word.

    Returns
    -------
    mean
        The middle of a cell, or 0 or 1 where that lies outside [0, 1].

    Raises
    ------
    ValueOutOfRange
        If a parameter is outside its range, or the sampler gives other values, or not as many as asked for.

    Examples
    --------
    >>> coins = np.random.default_rng(0)
    >>> rstat(lambda s: coins.random(s) < .3, SharedRandomness("published"), tau=.1, rho=.2, delta=.05)
    0.2962052659442993
    """
    statistic = Statistic.of(tau=tau, rho=rho, delta=delta)
    sums = []
    for values in _draw(sampler, statistic.samples):
        inside = (values >= 0) & (values <= 1)
        if not inside.all():
            raise ValueOutOfRange(f"rSTAT is for statistics with values in [0, 1], got {values[~inside][0]}")
        sums.append(fsum(values.astype(np.float64).tolist()))
    return float(statistic.round(Fraction(fsum(sums)) / statistic.samples, shared, *name))


@dataclass(frozen=True, kw_only=True)
class HeavyHitters:
    """rHeavyHitters' numbers; `HeavyHitters.of` makes them.

    Attributes
    ----------
    candidates
        Draws that name candidates.
    counted
        Draws that count them.

    Examples
    --------
    >>> HeavyHitters.of(rho=.2, v=.5, epsilon=.2)
    HeavyHitters(candidates=16, counted=120169)
    """

    candidates: int
    counted: int

    @classmethod
    def of(cls, *, rho: Real, v: Real, epsilon: Real) -> HeavyHitters:
        """Q1 = ⌈ln(6/(ρ(v-ε)))/(v-ε)⌉, Q2 = ⌈(2B+1)² ln(32Q1/ρ)/(2(ρε)²)⌉, B = ⌊1/(v-ε)⌋.

        Parameters
        ----------
        rho, v, epsilon
            How often two labs may differ; the shared threshold on the frequency is drawn from [v-ε, v+ε].

        Returns
        -------
        sizes
            The numbers.

        Raises
        ------
        ValueOutOfRange
            If one of them is not in (0, 1), or [v-ε, v+ε] is not inside (0, 1].
        """
        for name, value in (("rho", rho), ("v", v), ("epsilon", epsilon)):
            check_between(name, cast(float, value), 0, 1)
        low, high = fraction(v) - fraction(epsilon), fraction(v) + fraction(epsilon)
        if low <= 0 or high > 1:
            raise ValueOutOfRange(
                f"heavy hitters need 0 < v - epsilon and v + epsilon at most 1, got v {float(v):g} and epsilon "
                f"{float(epsilon):g}: the shared threshold is drawn between the two"
            )
        with decimals():
            r, least, e = decimal(rho), decimal(low), decimal(epsilon)
            first = ceil(ln(6 / (r * least)) / least)
            second = ceil((2 * floor(1 / low) + 1) ** 2 * ln(32 * first / r) / (2 * (r * e) ** 2))
        return cls(candidates=first, counted=second)


def heavy_hitters(
    draw: Callable[[int], Generator[Ask, Hear, Counter[int]]], sizes: HeavyHitters, threshold: Fraction
) -> Generator[Ask, Hear, tuple[list[int], Counter[int]]]:
    """rHeavyHitters as a conversation, for draws that have to be asked for: the paper's steps, once for everybody.

    Parameters
    ----------
    draw
        ``draw(count)`` asks for so many fresh draws and ends with how often each value came.
    sizes
        Its numbers.
    threshold
        The shared v'.

    Returns
    -------
    conversation
        It ends with the candidates of frequency v' or more, ascending, and with how often every candidate was counted.
    """
    candidates = yield from draw(sizes.candidates)
    counts = yield from draw(sizes.counted)
    counted = Counter({value: counts[value] for value in sorted(candidates)})
    return [value for value, times in counted.items() if times >= threshold * sizes.counted], counted


def _draw(sampler: Sampler, count: int) -> Iterator[NDArray[Any]]:
    """`count` values in handy pieces."""
    while count:
        part = min(count, _AT_ONCE)
        values = np.asarray(sampler(part))
        if values.shape != (part,):
            raise ValueOutOfRange(f"the sampler was asked for {part} values and gave an array of shape {values.shape}")
        yield values
        count -= part

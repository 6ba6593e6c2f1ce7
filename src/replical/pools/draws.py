"""Binomial and multinomial numbers of any size, for simulations on known distributions."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from replical.errors import ValueOutOfRange
from replical.pools.query import Counts, blank_counts, total

# One binomial draw. NumPy's sampler is visibly wrong from 2**60 on (measured: variance 8% too large at 2**62, clean up
# to 2**59), so larger numbers are drawn in parts and added.
_LARGEST = 2**56
_MOST_PARTS = 4096  # beyond 2**68 draws a single round would take minutes
_SUMS_FIT = 2**62  # fewer labels than this can be added up in 63 bits


def binomial(generator: np.random.Generator, counts: Counts, p: NDArray[np.float64]) -> Counts:
    """One binomial number for each of `counts` with its probability.

    Parameters
    ----------
    generator
        Where randomness comes from.
    counts, p
        Numbers of trials, and the probability of success in each.

    Returns
    -------
    drawn
        Numbers of successes.

    Raises
    ------
    ValueOutOfRange
        If there are 2⁶⁸ trials or more.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> binomial(generator, np.array([0, 10, 10]), np.array([0.5, 0.0, 1.0])).tolist()
    [0, 0, 10]
    """
    if total(counts) >= _MOST_PARTS * _LARGEST:
        raise ValueOutOfRange(
            f"one round of {Decimal(total(counts)):.3g} labels cannot be simulated: ask for fewer than 2**68, e.g. by a "
            "larger rho or sizes of your own"
        )
    drawn, rest = blank_counts(counts.shape, counts), counts
    while rest.any():
        part = np.minimum(rest, _LARGEST).astype(np.int64)
        drawn = drawn + generator.binomial(part, p)
        rest = rest - part
    return drawn


def multinomial(generator: np.random.Generator, k: int, weights: NDArray[np.int64]) -> Counts:
    """Spread `k` draws over cells with integer weights.

    The draws are split down a binary tree over the cells: each split divides two integer sums, so that rounding does
    not add up from cell to cell as it would along a row.

    Parameters
    ----------
    generator
        Where randomness comes from.
    k
        How many draws.
    weights
        Masses of the cells.

    Returns
    -------
    counts
        How many draws fell into each cell.

    Raises
    ------
    ValueOutOfRange
        If `k` is 2⁶⁸ or more.

    Examples
    --------
    >>> int(multinomial(np.random.default_rng(0), 10**17, np.array([1, 2, 3])).sum()) == 10**17
    True
    """
    height = max(0, (len(weights) - 1).bit_length())
    level = np.zeros(2**height, dtype=np.int64)
    level[: len(weights)] = weights
    sums = [level]
    while len(sums[-1]) > 1:
        sums.append(sums[-1][::2] + sums[-1][1::2])
    counts: Counts = np.array([k], dtype=object)
    for below, here in zip(sums[-2::-1], sums[:0:-1], strict=True):
        left = binomial(generator, counts, below[::2] / np.maximum(here, 1))
        split = blank_counts((2 * len(counts),), counts)
        split[::2], split[1::2] = left, counts - left
        counts = split if split.max() > _LARGEST else split.astype(np.int64)
    # Sums over 2**62 labels need Python integers again.
    return counts[: len(weights)].astype(object if k >= _SUMS_FIT else np.int64)

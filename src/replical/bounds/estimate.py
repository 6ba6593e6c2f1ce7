"""How often labs will differ, estimated: the mean Jaccard distance of their balls around the truth.

A lab's score of h is its true distance plus sampling error, of variance d(1-d)/U, plus what its centre is off. Taking
scores as normal and independent between labs, h is in lab s's ball of radius v with probability C = Φ((v-d)/sd), and
J(v) ≈ Σ_h 2C(1-C) / Σ_h (1-(1-C)²); of all balls of K labs Σ_h (1-C^K-(1-C)^K) / Σ_h (1-(1-C)^K). An estimate, never a
bound; `replical.bounds.gamma` has the bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.classes.prior import Masses

Floats = NDArray[np.float64]

_THRESHOLDS = 48  # midpoints at which J is evaluated: doubling them moves the estimate by less than 1%
_FAR = 6.0  # standard deviations from which on a hypothesis is inside or outside for certain
_GROUPS = 3000  # distances told apart; more would be closer together than a tenth of a standard deviation


def estimate(
    distances: Floats,
    U: int,
    a: float,
    b: float,
    *,
    variance: float = 0.0,
    masses: Masses | None = None,
    labs: int = 2,
) -> float:
    """E[J] of labs with `U` items each, for distances to the truth and a centre off by a `variance`.

    Parameters
    ----------
    distances
        Of all hypotheses from the truth, as fractions of the items.
    U
        Items in each lab's pool.
    a, b
        The range of the shared threshold, as fractions.
    variance
        Variance of what the centre's own error adds to a score.
    masses
        The prior's weights; equal if left out.
    labs
        How many labs there are.

    Returns
    -------
    rho_predicted
        An estimate of how often two of the labs differ.

    Examples
    --------
    >>> line = np.abs(np.linspace(-.5, .5, 1_000_001))
    >>> [round(estimate(line, U, .0225, .045), 4) for U in (10**5, 10**6)]
    [0.0192, 0.0061]
    >>> round(estimate(line, 10**5, .0225, .045, labs=10), 4)
    0.0515
    """
    reach = _FAR * np.sqrt(b / U + variance)
    near = np.flatnonzero((distances >= a - reach) & (distances <= b + reach))
    if len(near) == 0:
        return 0.0
    surely = distances < a - reach
    sure = float(np.count_nonzero(surely)) if masses is None else float(masses[surely].sum())
    d, m = _grouped(distances[near], np.ones(len(near)) if masses is None else masses[near])
    sd = np.sqrt(np.maximum(d * (1 - d) / U + variance, 1e-300))
    v = a + (b - a) * (np.arange(_THRESHOLDS) + 0.5) / _THRESHOLDS
    from scipy.special import ndtr

    inside = ndtr((v[:, None] - d) / sd)
    outside = 1 - inside
    mixed = 2 * inside * outside if labs == 2 else 1 - inside**labs - outside**labs
    apart = mixed @ m
    union = sure + (1 - outside**labs) @ m
    return float(np.divide(apart, union, out=np.zeros_like(apart), where=union > 0).mean())


def _grouped(d: Floats, m: Masses) -> tuple[Floats, Masses]:
    """Distances close together count as one, with their masses added."""
    if len(d) <= _GROUPS:
        return d, m
    low, high = float(d.min()), float(d.max())
    place = np.minimum(((d - low) / max(high - low, 1e-300) * _GROUPS).astype(np.int64), _GROUPS - 1)
    mass: Masses = np.bincount(place, weights=m, minlength=_GROUPS).astype(np.float64)
    mean = np.bincount(place, weights=m * d, minlength=_GROUPS)[mass > 0] / mass[mass > 0]
    return mean, mass[mass > 0]

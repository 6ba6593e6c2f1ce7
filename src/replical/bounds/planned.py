"""Gamma in closed form: of a pool without end, and before any label. docs/claims/certificate.md (Theorem L3)."""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from replical.classes.prior import Masses

Floats = NDArray[np.float64]


def gamma_unlimited(
    scores: Floats, kappa: float, a: float, b: float, masses: Masses | None, least: float, shift: float = 0.0
) -> float:
    """Γ̂ of a pool without end: what is left of the bound when only labels are missing.

    Distances are then known up to κ, and h matters for thresholds within κ of its distance; where labs' populations differ
    by a `shift`, of its distance in any of them. With a shift it is an estimate: two distances are tried, not all.
    """
    if kappa >= a:
        return inf
    weights = np.ones(len(scores)) if masses is None else masses
    low, high = (scores - kappa) / (1 + shift), (scores + kappa) / (1 - shift)
    surely = high  # h is inside from here on
    order = np.argsort(surely, kind="stable")
    starts, cumulated = surely[order], np.cumsum(weights[order])
    points = np.unique(np.concatenate(([a, b], starts[(starts > a) & (starts < b)])))
    inside = np.maximum(np.concatenate(([0.0], cumulated))[np.searchsorted(starts, points[:-1], side="right")], least)
    integral = np.concatenate(([0.0], np.cumsum(np.diff(points) / inside)))

    def reach(p: Floats) -> Floats:
        ends = (np.clip(end, a, b) for end in (p * (1 + shift) + kappa, p * (1 - shift) - kappa))
        last, first = (np.interp(end, points, integral) for end in ends)
        mattering: Floats = last - first
        return mattering

    worst = reach(np.clip((a + kappa) / (1 - shift), low, high))  # 1/N falls with v: the smallest p that fits
    if shift:  # .. but a larger one matters for longer
        worst = np.maximum(worst, reach(np.clip((b - kappa) / (1 + shift), low, high)))
    return float((weights * worst).sum()) / (b - a)


def planned(distances: Floats, *, U: int, kappa: float, a: float, b: float, failure: float) -> float:
    """Theorem L3: a bound on the disagreement around one centre before any label, in closed form.

    Examples
    --------
    >>> line = np.abs(np.linspace(-.5, .5, 1_000_001))
    >>> [round(planned(line, U=U, kappa=0, a=.0225, b=.045, failure=.0005), 3) for U in (10**5, 10**6, 10**7)]
    [0.074, 0.016, 0.005]
    """
    lam = log(4 * len(distances) / failure)
    t = sqrt(2 * (b + kappa) * lam / U) + 3 * lam / U
    reach = t + kappa
    if reach > a:
        return inf
    ordered = np.sort(distances)

    def count(x: Floats | float) -> Floats:
        return np.searchsorted(ordered, x, side="right").astype(np.float64)

    near, inside = ordered[(ordered > a) & (ordered <= b + reach)], max(1.0, float(count(a)))
    # N(x+t')/N(x) is largest at x = a or where its numerator jumps, at x = d - t'.
    jumps = count(near) / np.maximum(count(np.maximum(a, near - reach)), 1.0)
    growth = max(float(count(a + reach)) / inside, float(jumps.max(initial=1.0)))
    g = 1 - float(count(a - reach)) / inside + growth * log(float(count(b + reach)) / inside)
    return g / (b - a) * (2 * kappa + 1.92 * sqrt((b + reach) / U)) + failure

"""The direction that fits labels of which some are wrong, and about how far off it is: an estimate, not a bound.

An item on the side x.θ has label 1 with probability η + (1-2η)/(1 + exp(-x.θ)): near the plane nobody is sure, and far from
it a share η is wrong. θ is found by Newton's method with Fisher's information, and a slight preference for short ones.

How far off the direction is depends on |θ|, how soon labels are sure away from the plane. Labels that were asked near the
plane hardly tell, and the longest θ that explains them would promise too much: `deviations` takes the shortest one that is
not much less likely. Measured: docs/claims/lattice.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RIDGE = 1e-3  # of |θ|²/2: with it θ exists where the labels can be separated
_CONVEX = 1.0  # ridge of the fit without wrong labels, from which a second attempt starts
_MOST_STEPS = 40
_SHARES = np.array([0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4])  # of wrong labels that may explain what was heard
_SHORTEST, _LENGTHS = 0.5, 25  # lengths of θ that may
_UNKNOWN = 1e-9  # information where there is none: deviations are large then, not infinite


@dataclass(frozen=True, eq=False)
class Fit:
    """A direction θ that was fitted, and the loss that was minimised."""

    theta: Floats
    loss: float

    @property
    def direction(self) -> Floats:
        """θ as a unit vector."""
        length = float(np.sqrt((self.theta**2).sum()))
        return np.asarray(self.theta / length) if length > 0 else np.eye(len(self.theta))[0]


def fit_direction(rows: Floats, ones: NDArray[np.bool_], wrong: float, start: Floats) -> Fit:
    """The better of two fits, one from the θ `start` and one from the direction that fits best if no label is wrong.

    Of the items, `rows`, those with label 1 are `ones`; η, the share of labels that are supposed to be wrong, is `wrong`.
    """
    y = ones.astype(np.float64)
    convex = _newton(rows, y, 0.0, _CONVEX, np.zeros_like(start)).theta
    attempts = (_newton(rows, y, wrong, RIDGE, start), _newton(rows, y, wrong, RIDGE, convex))
    return min(attempts, key=lambda each: each.loss)


def deviations(rows: Floats, ones: NDArray[np.bool_], direction: Floats, axes: Floats) -> Floats:
    """About how far off a fitted `direction` is along each row of `axes`: standard deviations, by Fisher's information.

    `rows` and `ones` are the items it was fitted to, and which of them have label 1.
    """
    length, wrong = _least_sharp(rows @ direction, ones, len(direction))
    information = _derivatives(rows, ones.astype(np.float64), wrong, _UNKNOWN, length * direction)[1]
    across = axes - np.outer(axes @ direction, direction)
    variance = np.einsum("ij,jk,ik->i", across, np.linalg.inv(information), across)
    return np.asarray(np.sqrt(variance) / length)


def _least_sharp(heights: Floats, ones: NDArray[np.bool_], d: int) -> tuple[float, float]:
    """The least |θ|, with its share η, whose likelihood is within e^d of the best: d numbers were fitted to these labels."""
    nearest = np.sort(np.abs(heights))
    longest = 1 / max(float(nearest[min(2 * d, len(nearest) - 1)]), 1e-9)  # some labels must lie where nobody is sure
    lengths = np.geomspace(_SHORTEST, max(longest, 2 * _SHORTEST), _LENGTHS)
    sure = 1 / (1 + np.exp(-np.clip(np.where(ones, heights, -heights) * lengths[:, None], -35, 35)))
    losses = np.array([-np.log(eta + (1 - 2 * eta) * sure).sum(axis=1) for eta in _SHARES])  # a row a share
    first = int(np.argmax(losses.min(axis=0) <= losses.min() + d))
    return float(lengths[first]), float(_SHARES[losses[:, first].argmin()])


def _newton(rows: Floats, y: Floats, wrong: float, ridge: float, theta: Floats) -> Fit:
    loss = _loss(rows, y, wrong, ridge, theta)
    for _ in range(_MOST_STEPS):
        gradient, information = _derivatives(rows, y, wrong, ridge, theta)
        step = np.linalg.solve(information, -gradient)
        length, slope = 1.0, float(gradient @ step)
        while (new := _loss(rows, y, wrong, ridge, theta + length * step)) > loss + 1e-4 * length * slope:
            length /= 2
            if length < 1e-4:
                return Fit(theta, loss)
        theta, gained, loss = theta + length * step, loss - new, new
        if gained < 1e-8:
            break
    return Fit(theta, loss)


def _chances(rows: Floats, wrong: float, theta: Floats) -> tuple[Floats, Floats]:
    """The probability of label 1, and its slope in x.θ."""
    p = 1 / (1 + np.exp(-np.clip(rows @ theta, -35, 35)))
    return wrong + (1 - 2 * wrong) * p, (1 - 2 * wrong) * p * (1 - p)


def _loss(rows: Floats, y: Floats, wrong: float, ridge: float, theta: Floats) -> float:
    q, _ = _chances(rows, wrong, theta)
    return float(-(y * np.log(q) + (1 - y) * np.log1p(-q)).sum() + ridge / 2 * (theta @ theta))


def _derivatives(rows: Floats, y: Floats, wrong: float, ridge: float, theta: Floats) -> tuple[Floats, Floats]:
    q, slope = _chances(rows, wrong, theta)
    spread = q * (1 - q)
    gradient = rows.T @ ((q - y) * slope / spread) + ridge * theta
    information = (rows * (slope**2 / spread)[:, None]).T @ rows + ridge * np.eye(len(theta))
    return np.asarray(gradient), np.asarray(information)

"""How far the unit vectors of a cone reach, by linear programs whose answers are bounds whatever the solver did.

A cone is {w : Aw >= 0}. Its unit vectors are looked at through the slice z.c = 1, c a unit vector inside: w = z/|z|. For any
λ >= 0 and μ, every z of the slice has v.z = μ - λ.Az + r.z <= μ + |r||z|, where r = v + Aᵀλ - μc is what the solver left
over. So its duals prove a bound, and its rounding is paid for. Claim: docs/claims/lattice.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDING = 2.0**-52


@dataclass(frozen=True, eq=False)
class Reach:
    """How far a slice reaches in a direction v.

    Attributes
    ----------
    bound
        μ, and
    left_over
        |r|, rounded up: v.z is at most μ + |r||z|. Infinite if the solver found no bound.
    point
        Where it is reached, about; None if the solver found none.
    """

    bound: float
    left_over: float
    point: Floats | None


@dataclass(frozen=True, eq=False)
class Slice:
    """The points z of a cone with z.c = 1.

    Parameters
    ----------
    A
        The cone's rows, unit vectors.
    c
        A unit vector inside.
    """

    A: Floats
    c: Floats

    def reach(self, v: Floats) -> Reach:
        """How far it reaches in the direction `v`."""
        from scipy.optimize import linprog

        d = len(self.c)
        if len(self.A) < d - 1:
            return Reach(math.inf, math.inf, None)  # a cone of so few rows holds a line across c
        found = linprog(
            -v,
            A_ub=-self.A,
            b_ub=np.zeros(len(self.A)),
            A_eq=self.c[None],
            b_eq=[1.0],
            bounds=(None, None),
            method="highs-ds",
        )
        if found.status != 0:
            return Reach(math.inf, math.inf, None)
        weights, bound = np.maximum(-found.ineqlin.marginals, 0.0), -float(found.eqlin.marginals[0])
        left_over = v + weights @ self.A - bound * self.c
        size = np.abs(v) + weights @ np.abs(self.A) + abs(bound) * np.abs(self.c)
        slack = (len(self.A) + 4) * _ROUNDING * size  # of computing it
        return Reach(bound, float(np.sqrt(((np.abs(left_over) + slack) ** 2).sum())) * (1 + 1e-12), found.x)


@dataclass(frozen=True, eq=False)
class Extent:
    """Between which bounds all unit vectors of a cone lie, along each axis.

    Attributes
    ----------
    low, high
        Bounds on (Qw)_j for unit w.
    slice_low, slice_high
        Bounds on (Qz)_j in the slice.
    """

    low: Floats
    high: Floats
    slice_low: Floats
    slice_high: Floats


def extent(Q: Floats, c: Floats, up: list[Reach], down: list[Reach]) -> Extent | None:
    """Bounds for all axes from the reach along each row of `Q` (nearly orthogonal) and against it.

    Returns
    -------
    extent
        None if the cone may hold a whole line, or the solver was too far off.
    """
    high, low = np.array([each.bound for each in up]), np.array([-each.bound for each in down])
    off = np.array([max(a.left_over, b.left_over) for a, b in zip(up, down, strict=True)])
    if not (np.isfinite(high).all() and np.isfinite(low).all() and np.isfinite(off).all()):
        return None
    # |Qz| >= t|z|, and |Qz| <= |bounds| + |off||z|: so |z| is bounded, and with it what the solver left over is worth.
    t = math.sqrt(max(0.0, 1 - float(np.sqrt(((Q.T @ Q - np.eye(len(Q))) ** 2).sum())) - 1e-12))
    room = t - float(np.sqrt((off**2).sum()))
    if room <= 0.5:
        return None
    longest = float(np.sqrt((np.maximum(np.abs(high), np.abs(low)) ** 2).sum())) / room * (1 + 1e-12)
    high, low = high + off * longest + 1e-14, low - off * longest - 1e-14
    # z = c + h with h across c: |z|² = 1 + |h|².
    across = np.maximum(high - Q @ c, Q @ c - low) + 1e-14
    length = math.sqrt(1 + float((across**2).sum()) / t**2) * (1 + 1e-12)
    most, least = 1 + 1e-12, 1 / length
    return Extent(
        low=np.minimum(low * most, low * least),
        high=np.maximum(high * most, high * least),
        slice_low=low,
        slice_high=high,
    )

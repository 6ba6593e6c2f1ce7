"""The analytic centre of a cone inside the unit ball: far from every wall, and moved a little by each further row.

It minimises -Σ log(a_i.w) - log(1 - |w|²); Newton's method starts from where the last one was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NEAR = 1e-6  # Newton decrement at which the centre is found; any point inside would do, so nothing depends on it
_MOST_STEPS = 100
_MOST_HALVINGS = 60  # of a step that leads outside


@dataclass(frozen=True, eq=False)
class Centre:
    """The centre of {w : Aw >= 0, |w| <= 1}, and the ellipsoid around it that lies inside.

    Attributes
    ----------
    A
        The cone's rows, unit vectors.
    w
        The centre.
    shape
        H⁻¹: every w + x with x.Hx < 1 is inside.
    """

    A: Floats
    w: Floats
    shape: Floats

    @classmethod
    def of_ball(cls, d: int) -> Centre:
        """Of the ball alone, before there is any row."""
        return cls(np.zeros((0, d)), np.zeros(d), np.eye(d) / 2)

    @property
    def direction(self) -> Floats:
        """The centre as a unit vector."""
        return np.asarray(self.w / np.sqrt((self.w**2).sum()))

    def scores(self, rows: Floats) -> Floats:
        """How far each row's plane is from the centre, in radii of the ellipsoid: below 1 it surely cuts the cone."""
        return np.asarray(np.abs(rows @ self.w) / (self._lengths(rows) + 1e-300))

    def widths(self, rows: Floats) -> Floats:
        """How wide the ellipsoid is across each row's plane, in lengths of the centre."""
        return np.asarray(self._lengths(rows) / np.sqrt((self.w**2).sum()))

    def _lengths(self, rows: Floats) -> Floats:
        return np.asarray(np.sqrt(np.maximum(0.0, np.einsum("ij,jk,ik->i", rows, self.shape, rows))))

    def cut(self, a: Floats, inside: Floats | None = None) -> Centre | None:
        """The centre with one row `a` more; None if what is left is too thin for doubles.

        Parameters
        ----------
        a
            The row, a unit vector.
        inside
            A point of the cone with ``a.w > 0``, where the row's plane lies outside of the ellipsoid.
        """
        height, towards = float(a @ self.w), self.shape @ a
        width = float(a @ towards)
        w = self.w
        if height <= 1e-3 * width**0.5:  # on the wrong side, or hardly on the right one
            if height**2 < width:  # half-way between the plane and the ellipsoid's end
                w = w + (-height / width + 1 / np.sqrt(width)) / 2 * towards
            elif inside is not None:
                other = inside / np.sqrt((inside**2).sum()) * np.sqrt((self.w**2).sum())
                least = -height / (float(a @ other) - height)
                w = w + (least + 0.3 * (1 - least)) * (other - w)
        return _centred(np.vstack([self.A, a]), w)

    def radii(self, rows: Floats) -> Floats:
        """How far the ellipsoid surely reaches along each row, for unit vectors about the direction."""
        across = rows - np.outer(rows @ self.direction, self.direction)
        return self.widths(across)


def _centred(A: Floats, w: Floats) -> Centre | None:
    if not _inside(A, w):
        return None
    try:
        for _ in range(_MOST_STEPS):
            gradient, hessian = _derivatives(A, w)
            step: Floats = np.asarray(np.linalg.solve(hessian, -gradient), dtype=np.float64)
            decrement = max(0.0, float(-gradient @ step)) ** 0.5
            if decrement < _NEAR:
                break
            length = 1.0 if decrement < 0.25 else 1 / (1 + decrement)
            lengths = (length / 2**halvings for halvings in range(_MOST_HALVINGS))
            further = next((each for each in lengths if _inside(A, w + each * step)), 0.0)
            w = w + further * step
        return Centre(A, w, np.asarray(np.linalg.inv(_derivatives(A, w)[1]), dtype=np.float64))
    except np.linalg.LinAlgError:
        return None


def _inside(A: Floats, w: Floats) -> bool:
    return bool((A @ w > 0).all() and w @ w < 1)


def _derivatives(A: Floats, w: Floats) -> tuple[Floats, Floats]:
    scaled, room = A / (A @ w)[:, None], 1 - float(w @ w)
    gradient = -scaled.sum(axis=0) + 2 * w / room
    hessian = scaled.T @ scaled + 2 * np.eye(len(w)) / room + 4 * np.outer(w, w) / room**2
    return np.asarray(gradient), np.asarray(hessian)

"""The disagreement coefficient as a picture: what a ball disputes, divided by its radius, as the ball grows."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from replical.errors import BadSpec
from replical.study.pictures.base import by_tens
from replical.study.pictures.style import blank, style
from replical.worlds.balls import Curve
from replical.worlds.theta import DisagreementCoefficient
from replical.worlds.theta_bound import ThetaBound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE, _BOUND = "#1f77b4", "#555555"
_POINTS = 2000  # along the axis, and as many places where the ball grows, if there are more


def theta_picture(
    curve: Curve, peak: DisagreementCoefficient, title: str, *, r0: float = 0.0, bound: ThetaBound | None = None
) -> Figure:
    """The curve r ↦ Δ(B(h, r))/r, its highest point from `r0` on and, over a pool, how high the population's may be."""
    if len(curve.radii) == 1:
        raise BadSpec(f"nothing to draw: nobody differs from hypothesis {curve.centre}")
    radii, disputed = curve.radii[1:] / curve.total, curve.disputed[1:] / curve.total
    grows = radii[:: -(-len(radii) // _POINTS)]
    r = np.sort(np.concatenate((grows, np.nextafter(grows[1:], 0), np.geomspace(radii[0], 1, _POINTS))))
    with style():
        figure = blank(7, 4)
        axes = figure.add_subplot()
    axes.semilogx(r, disputed[np.searchsorted(radii, r, side="right") - 1] / r, color=_LINE, linewidth=1.4)
    (near, of), value = peak.radius, peak.value
    if near:
        axes.plot([near / of], [value], marker="o", color=_LINE)
        axes.annotate(f"Θ = {value:.4g}", (near / of, value), xytext=(6, 4), textcoords="offset points")
    if r0 > 0:
        axes.axvline(r0, color=_BOUND, linestyle=":", linewidth=1)
        axes.annotate("r0", (r0, 0.02), xycoords=("data", "axes fraction"), xytext=(4, 0), textcoords="offset points")
    if bound is not None:
        axes.axhline(bound.value, color=_BOUND, linestyle="--", linewidth=1)
        words = f"Θ of the population is at most {bound.value:.3g} ({bound.confidence:.0%} confidence)"
        axes.annotate(
            words, (0.99, bound.value), xycoords=("axes fraction", "data"), fontsize=8, ha="right", va="bottom"
        )
    top = max(float((disputed / radii).max()), value, 1.0 if bound is None else bound.value)
    axes.set(
        xlabel="radius r of the ball", ylabel="mass it disputes, over r", title=fill(title, 70), ylim=(0, 1.12 * top)
    )
    by_tens(axes.xaxis, most=7)
    return figure

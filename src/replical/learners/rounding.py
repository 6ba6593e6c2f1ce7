"""What a lab knows about its own replicability at the end of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replical.prior import Prior
from replical.ranks import agreement_bound


@dataclass(frozen=True, kw_only=True, eq=False)
class Rounding:
    """What a lab knows about its own replicability at the end of a run; each field means one thing only.

    Attributes
    ----------
    rho_proven
        Two labs that prove this much differ at most this often. None where the finish has no such proof.
    labels_sufficient
        More labels are not needed: on a large enough pool the bound would be at most ρ.
    rho_predicted
        An estimate of how often two labs with such pools differ, not a bound. None where the order is strict.
    certified
        rho_proven ≤ ρ, and the slack is small enough for the error bound.
    kappa
        Slack: items on which a survivor may differ from the centre.
    supports
        Where uncertified: the ρ this pool could prove with all the labels in the world, and
    pool_needed
        about how many items would do for the ρ asked for.
    scores, range, items
        Distances of all hypotheses to the centre, in items, and the threshold's range, of this many items.
    """

    rho_proven: float | None
    labels_sufficient: bool
    rho_predicted: float | None
    certified: bool
    kappa: int
    kappa_most: int
    supports: float | None
    pool_needed: int | None
    scores: NDArray[np.int64]
    range: tuple[float, float]
    items: int

    def disagreement(self, other: Rounding, prior: Prior) -> float:
        """How often this lab and another differ, over the shared threshold and order."""
        if self.items == other.items:
            a, b = (end * self.items for end in self.range)
            return agreement_bound(self.scores, other.scores, (a, b), prior).exact
        return agreement_bound(self.scores / self.items, other.scores / other.items, self.range, prior).exact

    def figures(self) -> dict[str, float | int | bool | None]:
        """Everything but the scores, for an answer in JSON."""
        names = ("rho_proven", "labels_sufficient", "rho_predicted", "certified", "kappa", "kappa_most", "items")
        return {name: getattr(self, name) for name in (*names, "supports", "pool_needed")}

"""Who is the favourite, who the opponent: chosen from the past alone, and slow to change.

Any choice from the past keeps the promise; these ask for few labels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.learners.settling.tally import Tally
from replical.plans.settled import SettledPlan

Mask = NDArray[np.bool_]


def opponent(plan: SettledPlan, tally: Tally, o: int) -> int:
    """Whoever has the fewest errors; the old one while it is near to that."""
    best = int(np.argmin(tally.E))
    return o if tally.excess[o] <= plan.integer("patience") else best


def favourite(plan: SettledPlan, tally: Tally, v: float, alive: Mask, m: int) -> int:
    """The first open candidate whose excess looks like v or less; the old one while it is near to that."""
    excess, allowed, patience = tally.excess, v * tally.t + plan.integer("optimism"), plan.integer("patience")
    best = first(excess, allowed, alive)
    if best == m or not alive[m]:
        return best
    lost = excess[m] > allowed + patience
    if best > m:
        return best if lost else m
    return best if lost or excess[best] <= allowed - patience else m


def first(excess: NDArray[np.float64], allowed: float, alive: Mask) -> int:
    """The first open candidate with excess at most `allowed`, else the open one with the least."""
    near = np.flatnonzero(alive & (excess <= allowed))
    return int(near[0]) if len(near) else int(np.argmin(np.where(alive, excess, np.inf)))

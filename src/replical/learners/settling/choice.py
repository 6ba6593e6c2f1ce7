"""Who is the favourite, who the opponent: chosen from the past alone, and slow to change.

Any choice from the past keeps the promise; these ask for few labels. `heads` speak for all candidates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.learners.settling.tally import Tally
from replical.plans.settled import SettledPlan

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


def opponent(plan: SettledPlan, tally: Tally, heads: Indices, o: int) -> int:
    """Whoever has the fewest errors; the old one while it is near to that."""
    best = int(heads[tally.of(heads).argmin()])
    return o if tally.E[o] - tally.E[best] <= plan.integer("patience") else best


def favourite(plan: SettledPlan, tally: Tally, heads: Indices, v: float, is_open: Mask, m: int) -> int:
    """The first open candidate whose excess looks like v or less; the old one while it is near to that."""
    allowed, patience = v * tally.t + plan.integer("optimism"), plan.integer("patience")
    best = first(tally, heads, is_open, allowed)
    if best == m or not is_open[m]:
        return best
    fewest = tally.of(heads).min()
    lost = tally.E[m] - fewest > allowed + patience
    if best > m:
        return best if lost else m
    return best if lost or tally.E[best] - fewest <= allowed - patience else m


def first(tally: Tally, heads: Indices, is_open: Mask, allowed: float) -> int:
    """The first open candidate with excess at most `allowed`, else the open one with the least."""
    E, alive = tally.of(heads), is_open[heads]
    excess = E - E.min()
    near = alive & (excess <= allowed)
    best = int(near.argmax())
    return int(heads[best if near[best] else np.where(alive, excess, np.inf).argmin()])

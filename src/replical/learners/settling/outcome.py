"""What a run of Settled ends with: the answer, whether it is proven, and at which level it would have been."""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray

from replical.learners.settling.purses import Charges, Purses
from replical.plans.settled import SettledPlan

Indices = NDArray[np.int64]

_DIGITS = 10**6  # levels are rounded up to this, so that two machines publish the same


def doubt(plan: SettledPlan, purses: Purses, charges: Charges, before: Indices, rivals: Indices, place: int) -> float:
    """The smallest β at which this path would have been certified; at least β, at most 1.

    `before` are the candidates before the answer that are not rejected, `rivals` those behind it that are not settled at
    or before its `place`. For any fixed level α, Pr[doubt ≤ α and the answer is not the ideal one] ≤ α.
    """
    beta = float(plan["beta"])
    if len(rivals) == 0 and len(before) == 0:
        return beta
    levels = [beta]
    if len(rivals):
        wealth = [logs[rivals] for m, logs in purses.best.items() if m <= place]
        best = np.max(wealth, axis=0, initial=-np.inf)
        levels.append(float(np.exp(-best.min())) * beta / float(plan["delta_A"]))
    if len(before):
        levels.append(float(np.exp(-charges.best[before].min())) * beta / float(plan["delta_I"]))
    above = ceil(min(max(levels), 1.0) * _DIGITS * (1 + 1e-9)) / _DIGITS
    return min(1.0, above if above > beta else beta + 1 / _DIGITS)

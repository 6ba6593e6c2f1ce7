"""The last step of Rounded, without labels: which hypothesis is returned. Fixed by the protocol, never by the data.

distance: the first in the shared order within a shared distance of the centre. This one carries the certificate.
excess:   the first survivor whose empirical excess error is at most a shared threshold; between near-ties it errs less.
noise:    the survivor with the smallest excess error minus shared exponential noise.
What is proven about each: docs/claims/rounded.md.
"""

from __future__ import annotations

import numpy as np

from replical.classes.prior import exponentials
from replical.core.randomness import SharedRandomness
from replical.learners.base import Shrunk
from replical.learners.result import Rounding
from replical.plans.rounded import RoundedPlan


def finish(plan: RoundedPlan, shared: SharedRandomness, rounding: Rounding, shrunk: Shrunk) -> int:
    """The answer of the finish the plan names."""
    if plan.finish == "distance":
        within = np.flatnonzero(rounding.scores <= plan.threshold(shared, rounding.items))
        # A centre that votes with a majority need not be a hypothesis: nobody within v is possible on tiny pools.
        return plan.prior.first(shared, "order", indices=within if len(within) else shrunk.V.indices)
    excess = shrunk.errors - shrunk.errors.min()
    if plan.finish == "excess":
        within = shrunk.V.indices[excess <= plan.excess_most(shared, shrunk.scanned)]
        return plan.prior.first(shared, "order", indices=within)
    noise = float(plan["sigma"]) * exponentials(shared.ranks("noise", indices=shrunk.V.indices))
    return int(shrunk.V.indices[np.argmin(excess / max(1, shrunk.scanned) - noise)])

"""The last step of Rounded, without labels: which hypothesis is returned. Fixed by the protocol, never by the data.

distance: the first in the shared order within a shared distance of the centre. This one carries the proof.
excess:   the first survivor whose empirical excess error is at most a shared threshold; between near-ties it errs less.
noise:    the survivor with the smallest excess error minus shared exponential noise.
What is proven about each: docs/claims/rounded.md.
"""

from __future__ import annotations

import numpy as np

from replical.classes.base import Indices
from replical.classes.prior import exponentials
from replical.core.randomness import SharedRandomness
from replical.learners.base import Shrunk
from replical.plans.rounded import RoundedPlan


def finish(plan: RoundedPlan, shared: SharedRandomness, ball: Indices | None, shrunk: Shrunk) -> int:
    """The answer of the finish the plan names; `ball` is what the shared order chooses from, where it is no labels."""
    if ball is not None:
        return plan.prior.first(shared, "order", indices=ball)
    excess = shrunk.errors - shrunk.errors.min()
    if plan.finish == "excess":
        within = shrunk.V.indices[excess <= plan.threshold(shared, shrunk.scanned)]
        return plan.prior.first(shared, "order", indices=within)
    noise = float(plan["sigma"]) * exponentials(shared.ranks("noise", indices=shrunk.V.indices))
    return int(shrunk.V.indices[np.argmin(excess / max(1, shrunk.scanned) - noise)])

"""How often these very labs would return one answer, had another string been published. Claim: docs/claims/fresh.md.

Labs that round have scores that do not depend on the string. Lab s keeps everyone with score at most v, in shares of what
it measured on, and its survivors where that is nobody; all return one answer if and only if the first in the shared order
of those whom somebody keeps is kept by everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

from replical.bounds.ranks import agreement_bound
from replical.classes.base import Indices
from replical.classes.prior import UNIFORM, Prior
from replical.errors import ValueOutOfRange

Shares = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabScores:
    """What of a lab's data its answer depends on, beside the string.

    Attributes
    ----------
    scores
        Items on which each hypothesis of the class differs from the lab's centre.
    items
        How many items that was counted on.
    survivors
        Whom the lab chooses from where nobody is near enough.
    """

    scores: NDArray[np.int64]
    items: int
    survivors: Indices

    @property
    def shares(self) -> Shares:
        """The scores as shares of the items."""
        return self.scores / self.items

    @property
    def nearest(self) -> float:
        """Below this threshold nobody is near enough."""
        return float(self.shares.min())

    def kept_from(self, v: float) -> Shares:
        """From which threshold on each hypothesis is kept, if the threshold is `v` or a little more."""
        if v >= self.nearest:
            return self.shares
        chosen = np.full(len(self.scores), inf)
        chosen[self.survivors] = 0.0
        return chosen


def one_answer(labs: Sequence[LabScores], range: tuple[float, float], prior: Prior = UNIFORM) -> float:  # noqa: A002
    """With what probability all these labs return one answer, over a fresh threshold and order.

    Parameters
    ----------
    labs
        Two or more.
    range
        The interval [a, b] of the shared threshold.
    prior
        How the shared order prefers hypotheses.

    Returns
    -------
    probability
        Exact for the data that these labs have, up to rounding in doubles. It promises nothing of other labs.

    Raises
    ------
    ValueOutOfRange
        If there are fewer than two labs.

    Examples
    --------
    >>> labs = [LabScores(scores=np.array(each), items=10, survivors=np.array([0])) for each in ([0, 2, 5], [0, 3, 5])]
    >>> round(one_answer(labs, (.1, .4)), 4)
    0.8333
    """
    if len(labs) < 2:
        raise ValueOutOfRange(f"one answer is that of two or more labs, got {len(labs)}")
    a, b = range
    ends = sorted({a, b, *(lab.nearest for lab in labs if a < lab.nearest < b)})
    differ = 0.0
    for low, high in pairwise(ends):  # between these every lab keeps by scores throughout, or its survivors throughout
        kept = [lab.kept_from(low) for lab in labs]
        soonest, latest = np.minimum.reduce(kept), np.maximum.reduce(kept)
        differ += (high - low) * agreement_bound(soonest, latest, (low, high), prior).exact
    return min(1.0, max(0.0, 1 - differ / (b - a)))

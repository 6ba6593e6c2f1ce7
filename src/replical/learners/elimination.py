"""Two tests that remove hypotheses without ever removing the best one, except with probability δ.

Both watch only labels on which exactly one of two hypotheses is right, reuse every label, and stay valid at any time and
for any stop. Betting protects the best hypothesis alone and needs no union bound; paired elimination compares counts
with a bound that holds for all opponents and times at once. Proofs: docs/claims/a2.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from replical.classes.predictions import Nearness
from replical.plans.a2 import A2Plan
from replical.pools.query import Answers, Indices
from replical.pools.version_space import VersionSpace

Mask = NDArray[np.bool_]


class Elimination(Protocol):
    """What is remembered about each survivor."""

    def after(self, V: VersionSpace, S: Answers) -> Mask:
        """Hear the labels; which survivors stay?"""
        ...

    def keep(self, mask: Mask) -> None:
        """Forget the others."""
        ...


class Betting:
    """Each survivor h bets against an opponent; h is removed when the bets say that it is not the best.

    A wealth for each stake λ is multiplied by 1+λ when the opponent was right and h wrong, by 1-λ in the opposite case.
    It depends only on how often each happened, so two integers a hypothesis suffice.
    """

    def __init__(self, V: VersionSpace, nearness: Nearness, plan: A2Plan) -> None:
        self._nearness, self._plan = nearness, plan
        self._errors, self._lost, self._won = np.zeros(
            (3, V.size), dtype=np.int64
        )  # lost: the opponent alone was right

    def after(self, V: VersionSpace, S: Answers) -> Mask:
        """Settle the bets label by label, in the order of the scan; opponents are chosen before each label is heard."""
        stays = np.ones(V.size, dtype=np.bool_)
        for item, label, count in S.single():
            opponents = self.opponents(V)
            wrong = V.predictions.codes_of_item(item, V.indices) != label
            self._errors += wrong * count  # not with `where`, which is slow where neighbours differ, as stumps do
            opponent_wrong = opponents(wrong)
            winners = opponent_wrong & ~wrong
            if winners.any():
                self._won += winners * count
            losers = np.flatnonzero(wrong & ~opponent_wrong)
            self._lost[losers] += count
            won = self._won[losers]
            stays[losers] &= self._lost[losers] < self._plan.losses_allowed(int(won.max(initial=0)))[won]
        return stays

    def opponents(self, V: VersionSpace) -> Callable[[Mask], Mask]:
        """The opponent of h: among the survivors with fewest errors the one nearest to h, measured on spared items.

        The past alone decides who it is. It is looked for when the label is heard, and only if that takes more than a look
        at who was wrong: the function returned says, from who was wrong, whose opponent was.
        """
        best = np.flatnonzero(self._errors == self._errors.min())

        def wrong_ones(wrong: Mask) -> Mask:
            theirs = self._nearness.nearest_marked(V.indices, best, wrong)
            theirs[best] = wrong[best]  # a hypothesis does not bet against itself
            return theirs

        return wrong_ones

    def keep(self, mask: Mask) -> None:
        """Forget the others."""
        if not mask.all():
            stays = np.flatnonzero(mask)
            self._errors, self._lost, self._won = self._errors[stays], self._lost[stays], self._won[stays]


class Paired:
    """Remove h when the survivor with fewest errors has beaten it by more than chance allows."""

    def __init__(self, V: VersionSpace, plan: A2Plan) -> None:
        self._plan = plan
        self._errors = np.zeros(V.size, dtype=np.int64)
        self._answers: list[Answers] = []

    def after(self, V: VersionSpace, S: Answers) -> Mask:
        """x - y = difference in errors; m = labels on which exactly one of the two is right."""
        self._errors += V.errors(S).astype(np.int64)
        self._answers.append(S)
        best = int(np.argmin(self._errors))
        both_wrong = V.errors(self._where_wrong(V, int(V.indices[best]))).astype(np.int64)
        informative = self._errors + self._errors[best] - 2 * both_wrong
        lead = self._errors - self._errors[best]
        stays: Mask = lead < self._plan.lead_allowed(int(informative.max()))[informative]
        return stays

    def _where_wrong(self, V: VersionSpace, h: int) -> Answers:
        """All labels heard so far that `h` got wrong."""
        items: Indices = np.concatenate([S.items for S in self._answers])
        counts = np.concatenate([S.counts for S in self._answers])
        counts[np.arange(len(items)), V.predictions.codes(h, items)] = 0
        return Answers(items=items, counts=counts)

    def keep(self, mask: Mask) -> None:
        """Forget the others."""
        self._errors = self._errors[mask]

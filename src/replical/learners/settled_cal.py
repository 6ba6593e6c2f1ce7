"""Settled over CAL, realizable: whoever has never been wrong knows most labels, so hardly any are asked.

V holds the candidates without an error. The best one is among them, so where all of V say the same, that is the label.
Settled runs as it is, on labels asked and labels inferred: an item is asked only where those compared differ and V does too.

    V <- C
    repeat as Settled:
      an item on which those compared differ: asked if V differs on it, else it has the label that V gives it
      V <- V without those whom an answer contradicts
      an item that nobody can label counts as an error of the favourite against every rival that differs from it

Claim: if some candidate makes no error, the promises of Settled, with labels that grow with the logarithm of the items.
Reference: ours, docs/claims/settled_cal.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replical.learners.base import check_plan
from replical.learners.memory import Kept
from replical.learners.settled import Settled
from replical.learners.settling.known import Known, Labelled
from replical.plans.settled import SettledCALPlan
from replical.pools.pool import AnyPool
from replical.pools.query import Answers, Indices, Query
from replical.pools.version_space import VersionSpace


@dataclass(frozen=True)
class SettledCAL(Settled):
    """Choose among candidates of which one makes no error, certified for any pool.

    Parameters
    ----------
    plan
        ``plan("settled-cal", C, epsilon=.., delta=.., rho=.., pool="finite")``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import Population, PrivateRandomness, SettledCAL, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool(20_000, lab)
    >>> learner = SettledCAL(plan("settled-cal", C, epsilon=.1, delta=.05, rho=.1, pool="finite"))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.hypothesis, result.settling.certified, result.labels, result.settling.scanned
    (236, True, 13, 11785)
    """

    plan: SettledCALPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, SettledCALPlan, "SettledCAL")

    def known(self, pool: AnyPool) -> Consistent:
        """Labels that are known on `pool`: those that were asked, and those on which everyone consistent agrees.

        Returns
        -------
        known
            It is told every answer, and raises `EmptyVersionSpace` if nobody is consistent with them all.
        """
        return Consistent(pool.version_space())


class Consistent(Known):
    """Where all of `V`, who never contradicted an answer, say the same, that is the label."""

    def __init__(self, V: VersionSpace) -> None:
        self.V: VersionSpace = V

    def kept(self) -> Kept:
        """Who never contradicted an answer."""
        return {"consistent": self.V.indices}

    def put_back(self, kept: Kept) -> None:
        """Know what was kept; `ValueError` if nobody can know that."""
        mask = np.isin(self.V.indices, kept["consistent"])
        if not mask.any():
            raise ValueError("nobody is consistent")
        self.V = self.V.keep(mask)

    def labels(self, query: Query, answers: Answers | None) -> Labelled:
        """Those that V knew when the query was made, beside the answers; whoever contradicts one leaves V."""
        items, codes = super().labels(query, answers)
        inferred = self.V.predictions.codes(int(self.V.indices[0]), query.known)
        if answers is not None:
            self.V = self.V.keep(self.V.errors(answers) == 0)
        return np.concatenate([items, query.known]), np.concatenate([codes, inferred])

    def unknown(self, query: Query) -> Indices:
        """Items that nobody can label: if a rival is right about everything, it is right about them."""
        return query.unlabelled

"""Handicap: look for the smallest error plus public handicap, and keep everyone who may still be it.

Every hypothesis has a public handicap c between 0 and ε. The ideal answer I is the hypothesis with the smallest error plus
handicap: a constant of the distribution and of what is public. A lab drops, by bets, whoever is clearly not it:

    S <- C, a wealth of 1 for everyone
    repeat until one is left, or the pool or the budget ends:
      m <- the member of S with the smallest errors + handicap so far; the old one while it is near to that
      scan to the next item on which S is not unanimous, and ask it
      everyone else in S bets that m errs more than itself, by the difference of their handicaps at least
      whoever's wealth has reached 1/β leaves S: if it were ideal that would hardly ever happen

A lab that has labels to spend goes on, once the first f of a public order is the only one left:

    repeat until the pool or the budget ends:
      T <- f, and whoever is not yet proven to be within .7 of the tolerance of it
      scan to the next item on which T is not unanimous, ask it, and note how f and the others of T differ in loss

Claim: whatever the noise, the pool, the budget and the stop, S holds the ideal answer at every moment, except with
probability β; so K labs that are certified differ with probability at most Kβ ≤ ρ, and err(I) ≤ ν+ε.
Reference: ours, Theorem H (docs/claims/handicap.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, check_plan
from replical.learners.handicap.ahead import Ahead
from replical.learners.handicap.bets import Bets, Block, Observation, next_query
from replical.learners.handicap.plan import HandicapPlan
from replical.learners.handicap.proof import History, conclude
from replical.learners.handicap.table import TableBets
from replical.learners.result import Result, Standing
from replical.pools.pool import AnyPool
from replical.pools.query import Answers, Query
from replical.pools.version_space import VersionSpace


@dataclass(frozen=True)
class Handicap:
    """Find the hypothesis with the smallest error plus handicap, with a set that is proven to contain it.

    Parameters
    ----------
    plan
        ``plan("handicap", C, epsilon=.., delta=.., rho=.., pool="finite")``; with ``nu=0`` labels are inferred where all
        consistent hypotheses agree.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> import numpy as np
    >>> from replical import Handicap, KnownLabels, Pool, PredictionTable, Prior, PrivateRandomness, SharedRandomness
    >>> from replical import learn, plan
    >>> generator = np.random.default_rng(1)
    >>> C = PredictionTable(["good", "better", "bad"])
    >>> wrong = generator.random((3000, 3)) < [.06, .05, .3]
    >>> pool = Pool(C, wrong.astype(int), PrivateRandomness.simulated("doctest"))
    >>> order = Prior.order(C, ["good", "better", "bad"])
    >>> learner = Handicap(plan("handicap", C, epsilon=.1, delta=.05, rho=.1, pool="finite", prior=order))
    >>> result = learn(learner, pool, KnownLabels(C, np.zeros(3000, dtype=int)), SharedRandomness("published"))
    >>> result.describe(C), result.proof.certified, result.labels
    ('good', True, 27)
    """

    plan: HandicapPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, HandicapPlan, "Handicap")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Ask about items of `pool`, listen, and return with the `shared` string.

        Returns
        -------
        conversation
            Its result's ``V`` is S, which holds the ideal answer; ``hypothesis`` is the favourite, the ideal answer itself
            if ``proof.certified``; ``unrounded`` has the fewest errors; ``conditions`` says at which level the answer is
            proven.
        """
        plan = self.plan
        members, c, places = plan.terms(shared)
        S, labels, blocks = pool.version_space().restrict(members), Labels(pool, plan), pool.blocks()
        bets, history = Bets(c, places, plan.stakes, plan.unit, plan.groups), History(S, plan)
        if plan.table:
            bets = TableBets(c, places, plan.stakes, plan.unit, pool.size)
        m, asked, judged = bets.lead(None, 0), 0, 0

        def ahead() -> Ahead | None:
            """How the rest may go, if anything is left to decide, and items to come are like those so far."""
            foreseen = S.size > 1 and plan.foreseen and bets.scanned
            return Ahead.of(plan, S, m, bets, history.observation, labels.V) if foreseen else None

        def standing() -> Standing:
            """What is proven at this moment, and how the rest may go."""
            outcomes = None if (rest := ahead()) is None else rest.play(items=blocks.left, labels=plan.room(judged))
            proven = history.tolerance(shown=blocks.unlabelled <= asked)
            return Standing(outcomes, plan.favourite, proven, plan.favourite not in S.indices)

        while S.size > 1 and plan.opens(judged):
            query = next_query(blocks, S, plan, judged, labels.V)
            if query is None:
                break
            answers = (yield replace(query, standing=standing)) if query.total else None
            asked, judged = asked + query.total, judged + query.judgements
            observation = labels.hear(query, answers)
            block = Block.of(S, observation)
            bets.settle(m, block)
            history.add(S, block, observation)
            stays = bets.stays(m, plan.leaves_at)
            old = int(np.count_nonzero(stays[:m])) if stays[m] else None
            S = S.keep(stays)
            bets.keep(stays)
            history.keep(stays)
            m = bets.lead(old, 0 if old is None else plan.patience(int(S.indices[old])))
        while history.sharpens and plan.opens(judged):
            T = history.rivals()
            query = next_query(blocks, T, plan, judged)
            if query is None:
                break
            answers = (yield replace(query, survivors=S.size, standing=standing)) if query.total else None
            asked, judged = asked + query.total, judged + query.judgements
            history.compare(T, labels.hear(query, answers))
        ended = S.size > 1 and bool(blocks.left)  # by a budget that is too little for what comes next
        proof = conclude(
            plan,
            S,
            m,
            bets,
            history,
            units=c,
            asked=asked,
            ended=ended,
            blocks=blocks,
            describe=pool.C.describe,
            ahead=ahead(),
        )
        return Result(
            hypothesis=int(S.indices[m]),
            unrounded=(history.least() if labels.V is None else labels.V).first(shared, plan.prior),
            V=S,
            conditions=(*plan.conditions, *proof.conditions),
            proof=proof,
        )


class Labels:
    """Labels that are known: those that were asked and, where nobody's labels are wrong, those that can be inferred.

    Attributes
    ----------
    V
        Who never contradicted an answer: where they agree, that is the label. None where labels may be wrong.
    """

    def __init__(self, pool: AnyPool, plan: HandicapPlan) -> None:
        self.V: VersionSpace | None = pool.version_space() if plan.noiseless else None
        self._losses = plan.losses

    def hear(self, query: Query, answers: Answers | None) -> Observation:
        """What is known of the items that a query passed, now that its answers are in.

        Where labels may be wrong, what nobody can label tells nobody apart. Where they are not, such an item may be inferred
        in another run, so here it is held against the favourite.
        """
        asked = Observation.of(query, answers, self._losses)
        if self.V is None:
            return asked
        inferred = self.V.predictions.codes(int(self.V.indices[0]), query.known).astype(np.int64)
        if answers is not None:
            self.V = self.V.keep(self.V.errors(answers) == 0)
        items, codes = np.concatenate([asked.items, query.known]), np.concatenate([asked.answers, inferred])
        return Observation(scanned=query.scanned, items=items, answers=codes, unknown=query.unlabelled)

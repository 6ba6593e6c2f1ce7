"""Settled, agnostic: find the ideal answer, and bet until it is proven to be it.

The string fixes a threshold v and an order of the class. The ideal answer is the first candidate in that order whose excess
error is at most v: a constant of the distribution and the string. A lab takes the first candidate that looks like it as its
*favourite*, lets it bet against every rival behind it that it errs at most v more, and charges every candidate before it
with erring more than v. When every rival is settled and everyone before is rejected, the favourite is the ideal answer.

Claim: whatever the noise, the pool and the budget, Pr[certified, answer not ideal] ≤ β; so K certified labs differ with
probability at most Kβ ≤ ρ, and Pr[certified, error above ν+ε] ≤ β ≤ δ.
Reference: ours, Theorem S' (docs/claims/settled.md).

Settled over CAL, realizable: whoever has never been wrong knows most labels, so hardly any are asked.

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

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, Memory, State, check_plan
from replical.learners.plan import Condition
from replical.learners.result import Result, Settling
from replical.learners.settled.bets import Books, Charges, Known, Labelled, Purses, heard
from replical.learners.settled.candidates import Tally, favourite, first, groups_of, opponent
from replical.learners.settled.outcome import Ending, verdict
from replical.learners.settled.plan import SettledCALPlan, SettledPlan
from replical.pools.pool import AnyPool
from replical.pools.query import Answers, Indices, Query
from replical.pools.version_space import VersionSpace

Mask = NDArray[np.bool_]

PROVEN = "the answer is proven to be the ideal one"
LABELLED = "of the items on which candidates differ at least as many were labelled as could not be"


@dataclass(frozen=True)
class Settled:
    """Choose among candidates, certified for any pool.

    Parameters
    ----------
    plan
        ``plan("settled", C, epsilon=.., delta=.., rho=.., pool="finite")``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> import numpy as np
    >>> from replical import KnownLabels, Pool, PredictionTable, PrivateRandomness, SharedRandomness, learn, plan
    >>> generator = np.random.default_rng(1)
    >>> C = PredictionTable(["good", "better", "bad"])
    >>> wrong = generator.random((3000, 3)) < [.06, .05, .3]
    >>> pool = Pool(C, wrong.astype(int), PrivateRandomness.simulated("doctest"))
    >>> settled = Settled(plan("settled", C, epsilon=.1, delta=.05, rho=.1, pool="finite"))
    >>> result = learn(settled, pool, KnownLabels(C, np.zeros(3000, dtype=int)), SharedRandomness("published"))
    >>> result.describe(C), result.settling.certified, result.labels
    ('good', True, 27)
    """

    plan: SettledPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, SettledPlan, "Settled")

    def known(self, pool: AnyPool) -> Known:
        """Labels that are known on `pool`: those that were asked.

        Returns
        -------
        known
            It is told every answer.
        """
        return Known()

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Ask about items of `pool`, listen, and return with the `shared` string.

        Returns
        -------
        conversation
            Its result's ``hypothesis`` is the ideal answer if ``settling.certified``; ``unrounded`` has the fewest errors,
            ``V`` holds who is not rejected, ``conditions`` says at which level the answer is proven.
        """
        return self.resume(pool, shared, Memory())

    def resume(self, pool: AnyPool, shared: SharedRandomness, memory: Memory) -> Conversation:
        """The same, from what a `memory` has kept of an earlier run on `pool` with the `shared` string.

        Returns
        -------
        conversation
            As that of `run`.
        """
        plan, n = self.plan, self.plan.n
        v, order = plan.threshold(shared), plan.prior.order_of(shared, "order", n=n)
        tally, is_open, settled_at = Tally(n), np.ones(n, dtype=np.bool_), np.full(n, n)
        purses = Purses(n, plan.purses(v), plan.settles_at)
        charges = Charges(n, plan.charges(v), plan.rejects_at)
        whole, blocks, known = pool.version_space(), pool.blocks(), self.known(pool)

        def copy(new: int, head: int) -> None:
            for kept in (tally.E, is_open, settled_at, *purses.arrays(), *charges.arrays()):
                kept[..., new] = kept[..., head]

        groups = groups_of(whole, order, copy)

        books = Books(
            tally=tally, is_open=is_open, settled_at=settled_at, purses=purses, charges=charges, groups=groups,
            known=known, blocks=blocks,
        )  # fmt: skip
        m, o, asked, share = books.opened(memory)

        def unproven(place: int) -> tuple[Mask, Mask]:
            """Which heads stand before a place and are not rejected, and which behind it are not settled there."""
            heads = groups.heads
            return is_open[heads] & (heads < place), (heads > place) & (settled_at[heads] > place)

        while True:
            o = opponent(plan, tally, groups.heads, o)
            m = favourite(plan, tally, groups.heads, float(v), is_open, m)
            groups.choose(m, o)
            before, rivals = unproven(m)
            certified = not before.any() and not rivals.any() and blocks.unlabelled <= asked
            if certified or not plan.opens(asked):
                break
            heads = groups.heads
            S = heads[np.flatnonzero(before | rivals | (heads == m) | ((heads == o) & before.any()))]
            memory.snapshot = partial(books.kept, m, o, asked, share, blocks.place)
            query = blocks.next(groups.region(S), plan.opens(asked), idle=plan.integer("idle"), V=known.V)
            if query.scanned == 0:  # the pool is used up
                break
            asked, share = asked + query.total, query.disagreement[0] / query.disagreement[1]
            answers = (yield replace(query, survivors=groups.size(S))) if query.total else None
            labels, unknown = known.labels(query, answers), known.unknown(query)
            S = groups.hear(S, np.concatenate([labels[0], unknown]))
            block = heard(groups, S, labels, unknown, query.scanned, plan.losses)
            tally.add(groups.heads, S, block.errors, query.scanned, m)
            rivals = (m < S) & (settled_at[S] > m)
            settled_at[purses.settle(m, rivals, block)] = m  # of unsettled ones only, so never later than before
            if o in S:
                rejected = charges.reject(o, is_open[S], block)
                if len(rejected) == np.count_nonzero(is_open[groups.heads]):  # never the last
                    rejected = rejected[rejected != groups.spare(rejected)]
                is_open[rejected] = False
        place = m if certified else first(tally, groups.heads, is_open, float(v) * tally.t)
        groups.choose(place, o)
        before, rivals = unproven(place)
        heads = groups.heads
        settling = Ending(
            plan=plan,
            v=v,
            place=place,
            heads=heads,
            before=heads[before],
            rivals=heads[rivals],
            purses=purses,
            charges=charges,
            tally=tally,
            asked=asked,
            unlabelled=blocks.unlabelled,
            share=share,
        ).conclude()
        open_ones = np.zeros(n, dtype=np.bool_)
        open_ones[groups.hypotheses(heads[is_open[heads]])] = True
        return Result(
            hypothesis=int(order[place]),
            unrounded=int(order[heads[np.argmin(tally.E[heads])]]),
            V=whole.keep(open_ones),
            conditions=(*plan.conditions, *conditions(settling, blocks.unlabelled)),
            settling=settling,
            verdict=verdict(plan, settling, left=blocks.left, unlabelled=blocks.unlabelled),
        )


def conditions(settling: Settling, unlabelled: int) -> tuple[Condition, Condition]:
    """What nobody can label tells candidates apart for nobody; a proof made of that alone would be none."""
    return (
        Condition(name=PROVEN, value=settling.doubt, bound=settling.beta, held=settling.certified),
        Condition(
            name=LABELLED,
            value=float(unlabelled),
            bound=float(settling.asked),
            held=unlabelled <= settling.asked,
        ),
    )


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

    def kept(self) -> State:
        """Who never contradicted an answer."""
        return {"consistent": self.V.indices}

    def put_back(self, kept: State) -> None:
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

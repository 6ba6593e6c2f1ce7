"""Confirm: does a published answer h hold here, is its error within a margin ε' of the best candidate's?

The answer bets against every rival that it errs at most ε' more; a rival whose bet is won is done. One more bet, that it
errs more than ε' above an opponent, runs against it. Confirmed when every rival is done, refuted when that bet is won.

Claim: whatever the noise, the pool and the budget, Pr[confirmed, excess error above ε'] ≤ α and Pr[refuted, excess error at
most ε'] ≤ α, if h does not depend on the items scanned.
Reference: ours (docs/claims/confirm.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from replical.bounds.betting import Bets, accepting, rejecting
from replical.classes.base import Indices
from replical.classes.grading import Gold, loss_of
from replical.classes.losses import Losses
from replical.classes.predictions.base import Predictions
from replical.classes.predictions.line import LinePredictions
from replical.classes.prior import UNIFORM
from replical.core.exact import check_between, decimal, decimals, fraction
from replical.core.randomness import SharedRandomness
from replical.errors import ValueOutOfRange
from replical.learners.base import Conversation, check_plan, learn
from replical.learners.catalogue import Record
from replical.learners.handicap.bets import Accounts, Block, Observation, next_query
from replical.learners.handicap.plan import STAKES, BettingPlan
from replical.learners.handicap.proof import labelled
from replical.learners.parameters import PARAMETERS
from replical.learners.plan import Number
from replical.learners.result import Result, Verdict
from replical.pools.pool import AnyPool
from replical.pools.query import Labels

_UNUSED = SharedRandomness("a confirmation shares nothing")


def confirm(
    h: int,
    pool: AnyPool,
    labels: Labels,
    *,
    margin: float,
    level: float = 0.05,
    batch: int = 1,
    max_labels: int | None = None,
    losses: Losses | None = None,
) -> Confirmation:
    """Does the answer `h` hold on this pool: does it err at most `margin` more than the best hypothesis of the class?

    Parameters
    ----------
    h
        Index of the answer, which must not depend on the items of the pool.
    pool
        The lab's items.
    labels
        Who answers, as for `learn`.
    margin
        By how much the answer may err more than the best.
    level
        How often either outcome may be wrong: a bad answer confirmed, or a good one refuted.
    batch
        Items open at once.
    max_labels
        Budget; only the pool limits it if left out.
    losses
        What predictions cost where that is not one for each error; `margin` is then in costliest errors.

    Returns
    -------
    confirmation
        Confirmed, refuted or undecided, against whom, and with how many labels.

    Raises
    ------
    ValueOutOfRange
        For a number out of its range, a hypothesis that the class does not have, and a budget below one batch.
    BadLabel
        If there is not one label for each item, or an answer does not fit its query.

    Examples
    --------
    >>> import numpy as np
    >>> from replical import KnownLabels, Pool, PredictionTable, PrivateRandomness, confirm
    >>> C = PredictionTable(["good", "better", "bad"])
    >>> wrong = np.random.default_rng(1).random((3000, 3)) < [.06, .05, .3]
    >>> pool = Pool(C, wrong.astype(int), PrivateRandomness.simulated("doctest"))
    >>> labels = KnownLabels(C, np.zeros(3000, dtype=int))
    >>> found = confirm(0, pool, labels, margin=.1)
    >>> found.outcome, found.asked
    ('confirmed', 24)
    >>> found = confirm(2, pool, labels, margin=.1)
    >>> found.outcome, C.describe(found.against), found.asked
    ('refuted', 'better', 40)
    """
    counted = loss_of(pool.C) or losses
    plan = confirm_plan(len(pool.C), margin=margin, level=level, batch=batch, max_labels=max_labels, losses=counted)
    found = learn(Confirm(plan=plan, h=h), pool, labels, _UNUSED).proof
    assert isinstance(found, Confirmation), "Confirm says so"
    return found


Outcome = Literal["confirmed", "refuted", "undecided"]


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """Does an answer hold on a lab's data: does it err at most a margin more than the best? That is all that is proven.

    Attributes
    ----------
    outcome
        ``"confirmed"``, ``"refuted"``, or ``"undecided"`` where pool or budget ended first.
    hypothesis
        Index of the answer.
    against
        Refuted: the candidate it lost to. Undecided: of those not done the one with the fewest errors. None if all are done.
    margin
        By how much it may err more than the best.
    level
        How often either outcome is wrong, at most.
    asked
        Labels asked for.
    scanned
        Items looked at.
    unlabelled
        Items that would have been asked if anybody could label them. If they are more than were asked, nothing is confirmed.
    rivals
        Candidates that are not done.
    spent
        Undecided: did the budget end, and not the pool?
    """

    outcome: Outcome
    hypothesis: int
    against: int | None
    margin: float
    level: float
    asked: int
    scanned: int
    unlabelled: int
    rivals: int
    spent: bool = False

    @property
    def certified(self) -> bool:
        """Is the answer confirmed?"""
        return self.outcome == "confirmed"

    @property
    def rho_proven(self) -> float:
        """Nothing is proven of what other labs would choose."""
        return 1.0

    @property
    def answer_error(self) -> None:
        """It errs at most the margin more than the best, or more."""
        return None

    @property
    def verdict(self) -> Verdict:
        """In one word."""
        return Verdict(certified=self.certified, why="" if self.certified else self.outcome)


@dataclass(frozen=True, kw_only=True)
class Confirm:
    """Bet for and against the answer with index `h`; the `plan` is one of `confirm_plan`."""

    plan: ConfirmPlan
    h: int

    def __post_init__(self) -> None:
        check_plan(self.plan, ConfirmPlan, "Confirm")
        if isinstance(self.h, bool) or not isinstance(self.h, int | np.integer) or not 0 <= self.h < self.plan.n:
            raise ValueOutOfRange(f"the answer must be one of the {self.plan.n} hypotheses from 0 on, got {self.h!r}")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Ask about items of `pool` and listen; the `shared` string is not used.

        The result's ``proof``, a `Confirmation`, says the outcome, ``V`` holds the answer and the rivals that are not done,
        ``conditions`` whether enough items were labelled.
        """
        plan, whole, blocks = self.plan, pool.version_space(), pool.blocks()
        m, wagers, asked, judged, scanned = int(self.h), Wagers(self.plan), 0, 0, 0
        others = np.delete(whole.indices, m)
        starts = _starts(whole.predictions, others)  # one rival bets for all that say the same about every item
        copies = np.ones(plan.n, dtype=np.int64)
        copies[others[starts]] = np.diff(starts, append=len(others))
        S = whole.restrict(np.union1d(others[starts], [m]))
        while True:
            rivals = S.indices[S.indices != m]
            if wagers.refuted or len(rivals) == 0:
                break
            o = wagers.opponent(rivals)
            if plan.opens(judged) < 1:
                break
            query = next_query(blocks, S, plan, judged)
            if query is None:
                break
            asked, judged, scanned = asked + query.total, judged + query.judgements, scanned + query.scanned
            answers = (yield replace(query, survivors=int(copies[S.indices].sum()))) if query.total else None
            wagers.settle(S.indices, m, o, Block.of(S, Observation.of(query, answers, plan.losses)))
            S = S.keep((S.indices == m) | ~wagers.won(S.indices))
        left = np.repeat(np.isin(others[starts], rivals), copies[others[starts]])
        V = whole.keep(np.insert(left, m, True))
        condition = labelled(asked, blocks.unlabelled)
        outcome: Outcome = (
            "refuted" if wagers.refuted else "confirmed" if len(rivals) == 0 and condition.held else "undecided"
        )
        confirmation = Confirmation(
            outcome=outcome,
            hypothesis=m,
            against=o if wagers.refuted or len(rivals) else None,
            margin=float(plan.margin),
            level=float(plan.level),
            asked=asked,
            scanned=scanned,
            unlabelled=blocks.unlabelled,
            rivals=V.size - 1,
            spent=bool(blocks.left) or plan.opens(judged) < 1,
        )
        return Result(
            hypothesis=m,
            unrounded=m,
            V=V,
            conditions=(condition,),
            proof=confirmation,
        )


def _starts(predictions: Predictions, others: Indices) -> Indices:
    """Where in `others` stretches begin whose members say the same: on a line they are found, else each is its own."""
    if isinstance(predictions, LinePredictions):
        return predictions.starts(others)
    return np.arange(len(others))


class Wagers:
    """The bets: for the answer against every rival, that it errs at most ε' more (W), and one against it (R).

    Attributes
    ----------
    accounts
        Of the answer against everyone.
    charge
        Of the answer against whoever was the opponent, one column.
    """

    def __init__(self, plan: ConfirmPlan) -> None:
        self.accounts = Accounts(plan.n, plan)
        self.charge = np.zeros((len(plan.differences), 1), dtype=np.int64)
        self._differences = np.array(plan.differences, dtype=np.int64)
        self._for, self._against, self._winning_wealth = plan.bets_for, plan.bets_against, plan.winning_wealth

    def opponent(self, rivals: Indices) -> int:
        """The rival that lost least so far, the first if several did; of each it is known how much less it lost."""
        less = self._differences @ self.accounts.counts[:, rivals]
        return int(rivals[np.argmax(less)])

    def settle(self, S: Indices, m: int, o: int, block: Block) -> None:
        """Settle the bets of the answer `m` against those in S, and the one against it with the opponent `o`."""
        before = self.accounts.counts[:, [o]]
        self.accounts.add(S, int(np.searchsorted(S, m)), block)
        self.charge += self.accounts.counts[:, [o]] - before

    def won(self, rivals: Indices) -> NDArray[np.bool_]:
        """Which `rivals` are done: W has reached 1/α."""
        return self._for.reach(self.accounts.counts[:, rivals], self._winning_wealth)

    @property
    def refuted(self) -> bool:
        """Has R reached 1/α?"""
        return bool(self._against.reach(self.charge, self._winning_wealth)[0])


# In no list of learners: nobody runs it to find an answer.
CONFIRM = Record(
    id="confirm",
    learner="replical.learners.handicap.confirm:Confirm",
    setting="either",
    replicable=False,
    active=True,
    weighs=True,
    family="replical.learners.handicap.confirmation:FAMILY",
    paper=None,
    tight=None,
    colour="#000000",
    marker=".",
)


@dataclass(frozen=True, kw_only=True)
class ConfirmPlan(BettingPlan):
    """Bet for and against one answer until it is confirmed or refuted."""

    @property
    def margin(self) -> Fraction:
        """ε', by how much the answer may err more than the best."""
        return self["margin"]

    @property
    def level(self) -> Fraction:
        """α, how often either outcome may be wrong."""
        return self["level"]

    @property
    def winning_wealth(self) -> Decimal:
        """The wealth that decides a bet: 1/α."""
        with decimals():
            return 1 / decimal(self.level)

    @property
    def bets_for(self) -> Bets:
        """That the answer errs at most ε' more than a rival."""
        with decimals():
            return accepting(decimal(self.margin), STAKES, self.values)

    @property
    def bets_against(self) -> Bets:
        """That it errs more than ε' above an opponent."""
        with decimals():
            return rejecting(decimal(self.margin), STAKES, self.values)


def confirm_plan(
    n: int, *, margin: Any, level: Any, batch: Any = 1, max_labels: Any = None, losses: Losses | Gold | None = None
) -> ConfirmPlan:
    """The numbers of a confirmation among `n` hypotheses, with these `losses`, or errors where there are none.

    Examples
    --------
    >>> made = confirm_plan(10, margin=.05, level=.05)
    >>> made.margin, float(made.winning_wealth)
    (Fraction(1, 20), 20.0)
    """
    exact = fraction(check_between("margin", margin, 0, 1))
    numbers = (
        Number(name="margin", value=exact, source="ε', by how much the answer may err more than the best"),
        Number(
            name="level",
            value=fraction(check_between("level", level, 0, 1)),
            source="α: a bad answer is confirmed, or a good one refuted",
        ),
        Number(name="idle", value=16, source="unasked items in a row after which bets are settled all the same"),
    )
    budget = None if max_labels is None else PARAMETERS["max_labels"].check(max_labels)
    plan = ConfirmPlan(
        learner="confirm",
        name="tight",
        n=n,
        epsilon=exact,
        numbers=numbers,
        batch=PARAMETERS["batch"].check(batch),
        losses=losses,
    )
    return plan.under(UNIFORM, budget)

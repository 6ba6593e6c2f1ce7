"""A learner is a conversation.

``learner.run(pool, shared)`` yields the items it wants labelled, is sent how often each label came back, and returns
its result. It sees a pool, never a population; its answer is A(S; r) with S the pool and r the shared randomness.
`learn` drives the conversation with any source of labels and keeps the books; `AskTell` waits for people who bring their
own interface and keep their own books.

A conversation may keep a state between two answers, so that it can go on later without hearing everything again. A replay
of the same labels comes to the same state, only more slowly: it saves time and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from functools import partial
from typing import Protocol

from replical.classes.base import Label
from replical.classes.grading import Said, loss_of
from replical.classes.losses import Losses
from replical.core.randomness import SharedRandomness
from replical.errors import BadLabel, BudgetSpent, PlanMismatch, ReplicalError, ValueOutOfRange
from replical.learners.catalogue import LEARNERS
from replical.learners.plan import MASSES, STOP, Condition, Plan
from replical.learners.result import Result, Round, Standing
from replical.pools.pool import AnyPool, Pool
from replical.pools.query import Answers, KnownLabels, Labels, Query
from replical.pools.version_space import VersionSpace

Conversation = Generator[Query, Answers, Result]


class Learner(Protocol):
    """Anything that learns by conversation."""

    @property
    def plan(self) -> Plan:
        """Its numbers."""
        ...

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Ask, listen, return."""
        ...


def learn(learner: Learner, pool: AnyPool, labels: Labels, shared: SharedRandomness) -> Result:
    """Run `learner` on one lab's pool with one source of labels.

    Parameters
    ----------
    learner
        What `learner_for` made of a plan, or anything else that learns by conversation.
    pool
        The lab's items.
    labels
        Who answers: `KnownLabels`, the labels of a `Population`, or anything with a method `answer`.
    shared
        The published randomness.

    Returns
    -------
    result
        The answer, what it cost and what was proven.

    Raises
    ------
    ValueOutOfRange
        If the shared randomness does not come from a published text.
    BadLabel
        If there is not one label for each item, or an answer does not fit its query.
    PlanMismatch
        If the plan was not made for this pool, or its labels may be wrong and rows with one label stand for several items.
    BudgetSpent, PoolExhausted, EmptyVersionSpace
        If the run cannot go on: too few labels allowed, too few items, or labels that contradict the setting.

    Examples
    --------
    >>> from replical import CAL, Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool(5000, lab)
    >>> cal = CAL(plan("cal", C, epsilon=.05, delta=.05, pool="finite"))
    >>> result = learn(cal, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, float(world.error(result.hypothesis)) <= .05
    (7, True)
    """
    if not isinstance(shared, SharedRandomness):
        raise ValueOutOfRange(f"the shared randomness must come from a published text, got {type(shared).__name__}")
    if isinstance(labels, KnownLabels):
        if len(labels) != len(pool.items):
            raise BadLabel(f"{len(labels)} labels were given for {len(pool.items)} items: one label an item is needed")
        check_copies(learner.plan, pool)
    course = Course(learner, pool, shared)
    while course.query is not None:
        course.tell(labels.answer(course.query))
    return course.result()


class Course:
    """A conversation under way: what is asked now, and the books about what was asked before.

    `query` is what has to be labelled next, None when the run has ended; `asked` counts labels asked so far, those of
    `query` included, and `judged` scores where outputs are scored.
    """

    def __init__(self, learner: Learner, pool: AnyPool, shared: SharedRandomness) -> None:
        learner.plan.check(pool)
        loss = loss_of(pool.C)
        self._plan, self._labels = learner.plan, (len(pool.C.labels), None if loss is None else loss.unit)
        self._conversation = learner.run(pool, shared)
        self._rounds: list[Round] = []
        self._result: Result | None = None
        self.asked = self.judged = 0
        self.query: Query | None = None
        self._advance(None)

    @property
    def latest(self) -> Round | None:
        """The last exchange."""
        return self._rounds[-1] if self._rounds else None

    @property
    def standing(self) -> Standing | None:
        """What is proven at this moment, and how the rest of the run may go; None where nobody can say."""
        return None if self.query is None or self.query.standing is None else self.query.standing()

    def tell(self, answers: Answers) -> None:
        """Answer the present query."""
        if self.query is None:
            raise BadLabel("the run has ended: nothing is asked")
        self._advance(answers.check(self.query, *self._labels))

    def result(self) -> Result:
        """The result, with the books."""
        if self._result is None:
            raise BadLabel("the run has not ended: labels are missing")
        return replace(self._result, labels=self.asked, rounds=tuple(self._rounds))

    @property
    def rounds(self) -> tuple[Round, ...]:
        """What was asked so far, exchange by exchange."""
        return tuple(self._rounds)

    def _advance(self, answers: Answers | None) -> None:
        try:
            self.query = next(self._conversation) if answers is None else self._conversation.send(answers)
        except StopIteration as stop:
            self.query, self._result = None, stop.value
            return
        self._rounds.append(_round(self.query))
        self.asked, self.judged = self.asked + self.query.total, self.judged + self.query.judgements
        _check_budget(self._plan, self.asked)


def _check_budget(plan: Plan, asked: int) -> None:
    if plan.max_labels is not None and asked > plan.max_labels:
        raise BudgetSpent(
            f"the next labels would make {asked} in all, more than max_labels = {plan.max_labels}: raise the budget or give "
            "smaller sizes"
        )


def _round(query: Query) -> Round:
    return Round(disagreement=query.disagreement, survivors=query.survivors, drawn=query.total, scanned=query.scanned)


class AskTell:
    """A run that you drive: read `open`, `tell` its labels, and repeat until `open` is empty.

    Parameters
    ----------
    learner
        Who asks, e.g. ``CAL(plan(..))``.
    pool
        This lab's unlabelled items.
    shared
        The published randomness.

    Raises
    ------
    PlanMismatch
        If the learner's plan was not made for this pool, or rows with one label stand for several items where labels
        may be wrong.

    Examples
    --------
    >>> from replical import AskTell, CAL, Pool, PrivateRandomness, SharedRandomness, Thresholds, plan
    >>> C = Thresholds(50)
    >>> pool = Pool(C, [i % 49 for i in range(500)], PrivateRandomness.simulated("doctest"))
    >>> run = AskTell(CAL(plan("cal", C, epsilon=.1, delta=.1, pool="finite")), pool, SharedRandomness("published"))
    >>> while run.open:
    ...     run.tell({row: int(row % 49 >= 20) for row in run.open})
    >>> run.result.labels, C.describe(run.result.hypothesis)
    (8, '1 if x >= 19 else 0')
    """

    def __init__(self, learner: Learner, pool: Pool, shared: SharedRandomness) -> None:
        check_copies(learner.plan, pool)
        self._begin: Callable[[], Course] = partial(Course, learner, pool, shared)
        self._course, self._pool = self._begin(), pool
        losses = getattr(learner.plan, "losses", None)  # nobody's label is what candidates say that abstain
        self._allowed = pool.C.labels[: losses.labels] if isinstance(losses, Losses) else pool.C.labels
        self._codes: dict[int, Said] = {}

    @property
    def open(self) -> list[int]:
        """Rows of the pool to label now, each once; none when the run has ended."""
        query = self._course.query
        return [] if query is None else [row for row in dict.fromkeys(query.items.tolist()) if row not in self._codes]

    def tell(self, labels: Mapping[int, Label]) -> None:
        """Give `labels` of some of the open rows, by row; where the run cannot go on with them, none of them is kept.

        Raises
        ------
        BadLabel
            If a row is not open, or a label is not in the label set.
        EmptyVersionSpace, PoolExhausted, BudgetSpent
            If the learner cannot go on with these labels.
        """
        wanted = set(self.open)
        for row in labels:
            if row not in wanted:
                raise BadLabel(f"row {row} is not asked for now")
        before = dict(self._codes)
        self._codes |= {row: self._code(row, label) for row, label in labels.items()}
        try:
            self._advance()
        except ReplicalError:
            self._codes, self._course = before, self._begin()
            self._advance()
            raise

    def _code(self, row: int, label: Label) -> Said:
        if (loss := loss_of(self._pool.C)) is not None:
            return loss.read(label, f"the answer for row {row}")
        if isinstance(label, bool) or label not in self._allowed:
            raise BadLabel(f"{label!r} for row {row} is none of {list(self._allowed)!r}")
        return self._allowed.index(label)

    def _advance(self) -> None:
        while (query := self._course.query) is not None and not self.open:
            said = [self._codes[row] for row in query.items.tolist()]
            self._course.tell(Answers.of(query, said, self._pool.C, self._pool.items))

    @property
    def result(self) -> Result:
        """What the run returned; `BadLabel` is raised while labels are missing."""
        return self._course.result()


def stopped(V: VersionSpace, plan: Plan, pool: AnyPool, shared: SharedRandomness) -> Result:
    """The first of V in the shared order, where the loop should have ended because Δ(V) is what the plan asks for."""
    h = V.first(shared, plan.prior)
    conditions = (*plan.conditions, stop_condition(V, plan, held=V.mass <= plan.stop_mass), masses_condition(pool))
    return Result(hypothesis=h, unrounded=h, V=V, conditions=conditions)


def stop_condition(V: VersionSpace, plan: Plan, *, held: bool) -> Condition:
    """Did the loop end because Δ(V) is small, and not at its cap or budget?"""
    return Condition(name=STOP, value=float(V.mass), bound=float(plan.stop_mass), held=held)


def masses_condition(pool: AnyPool) -> Condition:
    """Where Δ is measured on a finite pool, "error at most ε" is about that pool, not about its distribution."""
    return Condition(name=MASSES, value=float(pool.exact), bound=1.0, held=pool.exact)


def check_plan(plan: Plan, kind: type[Plan], learner: str) -> None:
    """Refuse a plan that was made for another learner."""
    if not isinstance(plan, kind):
        raise PlanMismatch(f"{learner} was given a plan for {getattr(plan, 'learner', plan)!r}")


def check_base(base: Learner, plan: Plan, learner: str) -> None:
    """Refuse a learner inside another that follows other numbers than those its outer one's proof is about."""
    if base.plan != plan.base:
        inner = plan.base.learner if plan.base is not None else None
        raise PlanMismatch(
            f"{learner} proves its promise for a base with plan.base (a plan for {inner!r}), and was given another plan for "
            f"{base.plan.learner!r}: learner_for(plan) makes the right one"
        )


def check_copies(plan: Plan, pool: AnyPool) -> None:
    """Refuse one label for a row that stands for several items, where labels may be wrong: it would be heard as several.

    Where some hypothesis makes no error a second label of an item tells nothing new, and does no harm.
    """
    record = LEARNERS.get(plan.learner)
    if pool.most_copies > 1 and (record is None or record.setting != "realizable"):
        raise PlanMismatch(
            f"a row of the pool stands for {pool.most_copies} items and has one label, which {plan.learner} would hear as "
            f"{pool.most_copies} answers: give each item a row and a label of its own, without weights"
        )

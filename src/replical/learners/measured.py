"""A learner, and after its answer the answer's own error, measured on items that the run has not looked at.

What a run of Handicap asks lies where candidates differ, so the error itself cannot be known from it. Whatever the answer
is, the next items of the scan are fresh draws: asked wherever they lie, they give an interval that holds at any time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from replical.bounds.betting import mean_interval, share_interval
from replical.classes.grading import Gold, Scores
from replical.core.randomness import SharedRandomness
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.learners.base import Conversation, Learner
from replical.learners.plan import Plan
from replical.learners.result import AnswerError, Result
from replical.pools.groups import SINGLE
from replical.pools.pool import AnyPool
from replical.pools.query import Query


@dataclass(frozen=True)
class Measured:
    """Run a learner, then measure how often its answer errs.

    Parameters
    ----------
    learner
        A learner that looks at its pool once, item by item: `Handicap`.
    items
        Labels to ask for after the answer is known, beyond any budget.

    Raises
    ------
    PlanMismatch
        If the learner looks at the whole pool, so that no item is fresh.
    ValueOutOfRange
        If `items` is no whole number of at least 1.

    Examples
    --------
    >>> from replical import Handicap, Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(50)
    >>> world, lab = Population(C, target=20, noise=.1), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool(5000, lab)
    >>> handicap = Handicap(plan("handicap", C, epsilon=.1, delta=.05, rho=.1, pool="finite"))
    >>> result = learn(Measured(handicap, 100), pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> found = result.answer_error
    >>> found.of, found.estimate, found.low, found.high
    ('error', 0.15, 0.057936, 0.291748)
    """

    learner: Learner
    items: int

    def __post_init__(self) -> None:
        if getattr(self.learner.plan, "groups", SINGLE) != SINGLE or getattr(self.learner.plan, "table", False):
            raise PlanMismatch(
                "items of groups, or of a table that is the population, are no fresh draws to measure on: leave out "
                "measure-error"
            )
        losses = getattr(self.learner.plan, "losses", None)
        if isinstance(losses, Gold) and losses.name == "duel":
            raise PlanMismatch(
                "a duel compares two outputs, and one alone has no loss to measure: leave out measure-error"
            )
        if not self.learner.plan.measurable:
            raise PlanMismatch(
                f"{self.learner.plan.learner} looks at the whole pool, so no item is left to measure the error on: measure "
                "it with handicap, or on a pool of its own"
            )
        if isinstance(self.items, bool) or not isinstance(self.items, int | np.integer) or self.items < 1:
            raise ValueOutOfRange(
                f"the error is measured with at least 1 label, got {self.items!r}: give a number like 100"
            )

    @property
    def plan(self) -> Plan:
        """The learner's, with a budget that leaves room for the items measured on."""
        plan = self.learner.plan
        return plan if plan.max_labels is None else replace(plan, max_labels=plan.max_labels + self.items)

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Let the learner run on `pool` with the `shared` string, then ask about fresh items, a batch at a time.

        Returns
        -------
        conversation
            It ends with the learner's result, with `measured` if the pool held any fresh item.
        """
        plan = self.learner.plan
        result: Result = yield from self.learner.run(pool, shared)
        scanned, h = result.items_scanned, result.hypothesis
        assert scanned is not None, "who can be measured says where the fresh items begin"
        assert h is not None, "and always has an answer"
        items, skipped = pool.unscanned(scanned, self.items)
        losses: Any = getattr(plan, "losses", None)
        at_once = int(getattr(plan, "batch", 1))
        lost = list[Fraction]()
        for start in range(0, len(items), at_once):
            batch = items[start : start + at_once]
            said = result.survivors.predictions.codes(h, batch)
            answers = yield Query(
                items=batch,
                counts=np.ones(len(batch), dtype=np.int64),
                scanned=len(batch),
                disagreement=(0, result.survivors.total),  # nobody is compared any more
                survivors=1,
                outputs=tuple((code,) for code in said.tolist()) if isinstance(losses, Scores) else (),
            )
            labels = np.argmax(answers.counts, axis=1)
            if answers.losses is not None:
                lost += [Fraction(int(row[code]), losses.unit) for row, code in zip(answers.losses, said, strict=True)]
            elif losses is None:
                lost += [Fraction(int(wrong)) for wrong in said != labels]
            else:
                pairs = zip(labels.tolist(), said.tolist(), strict=True)
                lost += [Fraction(int(losses.row(label)[code]), losses.unit) for label, code in pairs]
        if len(items) == 0:
            return result
        level = float(plan["delta"])
        total = sum(lost, Fraction(0))
        low, high = share_interval(int(total), len(items), level) if losses is None else mean_interval(lost, level)
        return replace(
            result,
            measured=AnswerError(
                estimate=round(float(total / len(items)), 6),
                low=low,
                high=high,
                level=level,
                of="error" if losses is None else "loss",
                labels=len(items),
                skipped=skipped,
            ),
        )

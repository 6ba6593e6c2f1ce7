"""Ask and tell, in memory: for people who bring their own interface and keep their own books."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from replical.classes.base import Label
from replical.core.randomness import SharedRandomness
from replical.core.words import count
from replical.errors import BadLabel, ReplicalError
from replical.learners.base import Course, Learner, check_copies
from replical.learners.result import Result
from replical.pools.pool import Pool
from replical.pools.query import Answers


class AskTell:
    """A run that waits: look at `open`, tell labels, until it is empty.

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
        self._course, self._labels = self._begin(), pool.C.labels
        losses = getattr(learner.plan, "losses", None)  # nobody's label is what candidates say that abstain
        self._allowed = self._labels if losses is None else self._labels[: losses.labels]
        self._codes: dict[int, int] = {}

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
        for row, label in labels.items():
            if row not in wanted:
                raise BadLabel(f"row {row} is not asked for now")
            if isinstance(label, bool) or label not in self._allowed:
                raise BadLabel(f"{label!r} for row {row} is none of {list(self._allowed)!r}")
        before = dict(self._codes)
        self._codes |= {row: self._labels.index(label) for row, label in labels.items()}
        try:
            self._go_on()
        except ReplicalError:
            self._codes, self._course = before, self._begin()
            self._go_on()
            raise

    def _go_on(self) -> None:
        while (query := self._course.query) is not None and not self.open:
            codes = np.array([self._codes[row] for row in query.items.tolist()], dtype=np.uint16)
            self._course.tell(Answers.unanimous(query, codes, len(self._labels)))

    @property
    def result(self) -> Result:
        """What the run returned; `BadLabel` is raised while labels are missing."""
        return self._course.ended()

    def _repr_html_(self) -> Any:
        if self._course.query is None:
            return self.result._repr_html_()
        return f"<p>{count(len(self._codes), 'label')} told, {len(self.open)} open.</p>"

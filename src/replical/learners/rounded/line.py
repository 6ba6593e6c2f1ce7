"""Rounded CAL on a line when every label is known beforehand: the same run, without a conversation.

On a line V is an interval of cuts, and an item is asked if and only if it lies between the outermost survivors: a run is a
loop over integers, and a version space is made only where the certificate may stop. Audits run pairs this way; the
learners' own files are the reference (tests/laws/learners/test_line.py compares whole results).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from replical.classes.base import Codes, Indices
from replical.classes.predictions.line import LinePredictions
from replical.core.randomness import SharedRandomness
from replical.learners.base import Learner, Shrinkage
from replical.learners.paper.cal import CAL
from replical.learners.result import Result, Round
from replical.learners.rounded.learner import Rounded
from replical.learners.rounded.plan import RoundedPlan
from replical.learners.rounded.proof import Centre, Looks, Proof, YardstickProof
from replical.pools.pool import AnyPool, Pool
from replical.pools.query import Answers
from replical.pools.version_space import VersionSpace

_FIRST_LOOK = 64  # items looked at first; doubled every time, because disputed ones get rarer


def along_a_line(learner: Learner, pool: AnyPool, truth: Codes | None, shared: SharedRandomness) -> Result | None:
    """The result of `learn`, or None where this is no such run; `truth` is the label of each item, if it has just one."""
    if truth is None or not isinstance(learner, Rounded) or not isinstance(pool, Pool):
        return None
    base, line = learner.base, pool.predictions
    if not isinstance(base, CAL) or not isinstance(line, LinePredictions) or not pool.whole:
        return None
    if base.plan.query != "scan" or base.plan.rounds_most is not None or base.plan.max_labels is not None:
        return None
    learner.plan.check(pool)
    pool = pool.first(learner.plan.items)
    below = _below(line, pool.weights)
    proof, measured = _proof(learner.plan, pool, below)
    run = _Run(pool, line, truth, below, proof, measured)
    result = learner.conclude(proof, run.to_the_end(), shared)
    return replace(result, labels=len(run.rounds), rounds=tuple(run.rounds))


def _below(line: LinePredictions, weights: Indices) -> Indices:
    """Items up to each cut; whole numbers below 2**53 are exact in doubles."""
    return np.cumsum(np.bincount(line.positions, weights=weights, minlength=line.size)).astype(np.int64)[: line.size]


def _proof(plan: RoundedPlan, pool: Pool, below: Indices) -> tuple[Looks, Indices]:
    """A lab's proof, and the items up to each cut that it measures on."""
    if plan.yardstick is None:
        return Proof(plan, pool, _MiddleCut(pool.version_space(), below)), below
    whole = plan.yardstick.version_space()
    assert isinstance(whole.predictions, LinePredictions), "the class is the pool's"
    measured = _below(whole.predictions, plan.yardstick.weights)
    return YardstickProof(plan, pool, _MiddleCut(whole, measured)), measured


class _MiddleCut(Centre):
    """The majority vote of neighbouring cuts is itself a cut, the middle one; of two, the higher."""

    def __init__(self, whole: VersionSpace, below: Indices) -> None:
        super().__init__(whole)
        self._below = below

    def radius(self, V: VersionSpace) -> int:
        """κ in items: the distance to the outermost survivor on either side."""
        middle = self._below[_middle(V)]
        return int(max(middle - self._below[V.indices[0]], self._below[V.indices[-1]] - middle))

    def distances(self, V: VersionSpace) -> Indices:
        """Two cuts differ on the items between them."""
        distances: Indices = np.abs(self._below - self._below[_middle(V)])
        return distances


def _middle(V: VersionSpace) -> int:
    return int(V.indices[0] + V.indices[-1] + 1) // 2


class _Run:
    """Where a run is: survivors are the cuts from `first` to `last`."""

    def __init__(
        self, pool: Pool, line: LinePredictions, truth: Codes, below: Indices, proof: Looks, measured: Indices
    ) -> None:
        self._order, self._positions, self._truth, self._proof = pool.order, line.positions, truth, proof
        self._below, self._measured, self._whole = below, measured, pool.version_space()
        self._first, self._last = 0, self._whole.size - 1
        self.rounds: list[Round] = []
        self._asked: list[int] = []
        self._V: VersionSpace | None = None  # as the certificate last saw it

    def to_the_end(self) -> Shrinkage:
        """Ask what is disputed, in private order, until the certificate or the pool ends it."""
        at, look, passed = 0, _FIRST_LOOK, 0
        while at < len(self._order) and self._first < self._last:
            ahead = self._positions[self._order[at : at + look]]
            for place in ((self._first < ahead) & (ahead <= self._last)).nonzero()[0].tolist():
                position = int(ahead[place])
                if not self._first < position <= self._last:  # settled since
                    continue
                if self._stops():
                    return self._shrunk(passed)
                self._ask(int(self._order[at + place]), position, scanned=at + place + 1 - passed)
                passed = at + place + 1
            at, look = at + len(ahead), 2 * look
        self._stops()
        return self._shrunk(passed)

    def _disputed(self) -> int:
        return int(self._below[self._last] - self._below[self._first])

    def _stops(self) -> bool:
        measured = self._measured
        if not self._proof.worth(
            self._last - self._first + 1, lambda: int(measured[self._last] - measured[self._first]) // 2
        ):
            return False
        self._V = self._survivors()
        return self._proof.look(self._V)

    def _survivors(self) -> VersionSpace:
        if self._V is not None and self._V.size == self._last - self._first + 1:
            return self._V
        cuts = self._whole.indices
        return self._whole.keep((cuts >= self._first) & (cuts <= self._last))

    def _ask(self, item: int, position: int, *, scanned: int) -> None:
        self.rounds.append(
            Round(
                disagreement=(self._disputed(), self._whole.total),
                survivors=self._last - self._first + 1,
                drawn=1,
                scanned=scanned,
            )
        )
        self._asked.append(item)
        if self._truth[item]:
            self._last = position - 1
        else:
            self._first = position

    def _shrunk(self, scanned: int) -> Shrinkage:
        items = np.array(self._asked, dtype=np.int64)
        counts = np.zeros((len(items), 2), dtype=np.int64)
        counts[np.arange(len(items)), self._truth[items]] = 1
        return Shrinkage(V=self._survivors(), answers=(Answers(items=items, counts=counts),), scanned=scanned)

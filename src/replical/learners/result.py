"""What a run returns: the answer, what it cost, and what was found besides."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass
from replical.core.exact import up
from replical.learners.display import Trace, html_table, picture_of
from replical.learners.findings import (
    AnswerError,
    Boosting,
    Confirmation,
    Enclosing,
    Proven,
    Rounding,
    Settling,
    Verdict,
)
from replical.plans.base import Condition
from replical.pools.cone import Cone
from replical.pools.version_space import VersionSpace

STOP = "disagreement mass at the stop is what the plan asks for"


@dataclass(frozen=True, kw_only=True)
class Round:
    """One exchange: the state of V when it asked, and how much it asked for.

    Attributes
    ----------
    disagreement
        Δ(V), the mass of DIS(V), as [count, total].
    survivors
        Hypotheses in V.
    drawn
        Labels asked for.
    scanned
        Unlabelled items looked at to find them.
    """

    disagreement: tuple[int, int]
    survivors: int
    drawn: int
    scanned: int


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Result:
    """What a run returns.

    Attributes
    ----------
    hypothesis
        Index of the chosen hypothesis; None where boosting found no heavy hitter.
    unrounded
        What the run would have returned without its replicable last step.
    V
        The version space at the end.
    conditions
        What the guarantee needs, and whether it held.
    labels
        How many labels were asked for; kept by `learn`.
    rounds
        The exchanges in which they were asked for; kept by `learn`.
    rounding
        What the lab proved about its own replicability, where the learner does that.
    boosting
        How many runs it took and how often the winner won, where the learner is boosted.
    settling
        Whether the answer is proven to be the ideal one, where the learner asks that.
    enclosing
        Whether what is left lies in one cell of a shared lattice, where the learner asks that.
    confirmation
        Whether the answer holds, where one was to be confirmed.
    verdict
        What is proven or missing, in words, where the learner proves something.
    measured
        The answer's own error, where it was measured on fresh items.
    ball
        The set the shared order chose from, where that is not V.

    Examples
    --------
    >>> from replical import CAL, KnownLabels, Pool, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
    >>> C, X = Thresholds(50), [i % 49 for i in range(500)]
    >>> pool = Pool(C, X, PrivateRandomness.simulated("doctest"))
    >>> cal = CAL(plan("cal", C, epsilon=.1, delta=.1, pool="finite"))
    >>> result = learn(cal, pool, KnownLabels(C, [int(x >= 20) for x in X]), SharedRandomness("published"))
    >>> result
    Result(hypothesis=19, labels=8)
    >>> result.described(C), result.labels, result.V.size, result.stopped
    ('1 if x >= 19 else 0', 8, 6, True)
    >>> [f"{each.name}: {each.held}" for each in result.conditions][-1]
    'disagreement mass is known, so the error bound speaks of the distribution: False'
    """

    hypothesis: int | None
    unrounded: int
    V: VersionSpace | Cone
    conditions: tuple[Condition, ...]
    labels: int = 0
    rounds: tuple[Round, ...] = ()
    rounding: Rounding | None = None
    boosting: Boosting | None = None
    settling: Settling | None = None
    enclosing: Enclosing | None = None
    confirmation: Confirmation | None = None
    verdict: Verdict | None = None
    measured: AnswerError | None = None
    ball: NDArray[np.int64] | None = None

    @property
    def answer_error(self) -> AnswerError | None:
        """How often the answer errs: measured, or as far as the proof tells; None where nothing is known."""
        each = self.settling
        if self.measured is not None or each is None or each.excess_upper is None:
            return self.measured
        level = min(1.0, 2 * each.beta)
        return AnswerError(estimate=each.excess, low=0.0, high=each.excess_upper, level=level, of="excess", labels=0)

    @property
    def looked_at(self) -> int | None:
        """Items of the private order that were looked at, those to measure the error included; None for all."""
        if self.settling is None or self.ball is not None:  # distances are measured on all of them
            return None
        more = 0 if self.measured is None else self.measured.labels + self.measured.skipped
        return self.settling.scanned + more

    @property
    def chosen_from(self) -> NDArray[np.int64]:
        """The set the shared order chose from."""
        return self.survivors.indices if self.ball is None else self.ball

    @property
    def survivors(self) -> VersionSpace:
        """V, where the class is a list."""
        assert isinstance(self.V, VersionSpace), "only asked where the class is a list"
        return self.V

    def described(self, C: HypothesisClass) -> str:
        """The answer in words, as the class `C` describes it."""
        return "no heavy hitter" if self.hypothesis is None else C.describe(self.hypothesis)

    def trace(self) -> Trace:
        """How disagreement and survivors shrank, label by label."""
        asked = list(accumulate((each.drawn for each in self.rounds), initial=0))
        masses = [each.disagreement[0] / each.disagreement[1] for each in self.rounds]
        sizes = [each.survivors for each in self.rounds]
        return Trace(labels=asked, masses=[*masses, float(self.V.mass)], survivors=[*sizes, self.V.size])

    def __repr__(self) -> str:
        told: dict[str, object] = {"hypothesis": self.hypothesis, "labels": self.labels}
        if self.proven is not None:
            told |= {"certified": self.proven.certified, "rho_proven": self.proven.rho_proven}
        return f"Result({', '.join(f'{name}={value}' for name, value in told.items())})"

    def _repr_html_(self) -> str:
        rows: dict[str, object] = {
            "hypothesis": "none: no heavy hitter" if self.hypothesis is None else self.hypothesis,
            "labels": self.labels,
            "survivors": self.V.size,
            "rounds": len(self.rounds),
        }
        if self.proven is not None and self.proven.rho_proven is not None:
            rows["certified"] = "yes" if self.proven.certified else "no"
            rows["rho proven"] = up(self.proven.rho_proven, 4)
        for condition in self.conditions:
            if not condition.held:
                rows[f"not held: {condition.name}"] = f"{condition.value:g} (bound {condition.bound:g})"
        return html_table(rows)

    def plot(self) -> Any:
        """A picture of how disagreement and survivors shrank, label by label: a figure of matplotlib's.

        Raises
        ------
        MissingExtra
            If matplotlib is not installed.
        """
        return picture_of(self.trace())

    @property
    def proven(self) -> Proven | None:
        """What the lab has proven of its own replicability; None where the learner does not do that."""
        if self.rounding is not None:
            each = self.rounding
            return Proven(
                certified=each.certified,
                labels_sufficient=each.labels_sufficient,
                rho_proven=each.rho_proven,
                rho_predicted=each.rho_predicted,
            )
        if self.enclosing is not None:
            found = self.enclosing
            return Proven(
                certified=found.certified,
                labels_sufficient=found.certified,
                rho_proven=found.rho_proven,
                rho_predicted=found.rho_predicted,
            )
        if self.settling is None:
            return None
        certified = self.settling.certified
        return Proven(
            certified=certified,
            labels_sufficient=certified,
            rho_proven=self.settling.rho_proven,
            rho_predicted=None,
        )

    @property
    def stopped(self) -> bool:
        """Did the run end by its own stop test, and not at a cap or budget?"""
        if self.proven is not None:
            return self.proven.certified
        return self.hypothesis is not None and all(each.held for each in self.conditions if each.name == STOP)

    @property
    def sound(self) -> bool:
        """Did every condition of the guarantee hold?"""
        return all(condition.held for condition in self.conditions)

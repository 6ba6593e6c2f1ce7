"""What a run returns: the answer, what it cost, and what it has found besides.

Besides: what the lab has proven, how the answer came about, how often it errs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from itertools import accumulate
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from replical.bounds.ranks import agreement_bound
from replical.classes.base import HypothesisClass
from replical.classes.prior import Prior
from replical.core.exact import round_up
from replical.errors import MissingExtra
from replical.learners.plan import Condition
from replical.pools.version_space import VersionSpace

Outcome = Literal["confirmed", "refuted", "undecided"]
STOP = "disagreement mass at the stop is what the plan asks for"


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
    proof
        What is proven, where the learner proves something.
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
    >>> result.describe(C), result.labels, result.V.size, result.stopped
    ('1 if x >= 19 else 0', 8, 6, True)
    >>> [f"{each.name}: {each.held}" for each in result.conditions][-1]
    'disagreement mass is known, so the error bound speaks of the distribution: False'
    """

    hypothesis: int | None
    unrounded: int
    V: Survivors
    conditions: tuple[Condition, ...]
    labels: int = 0
    rounds: tuple[Round, ...] = ()
    rounding: Rounding | None = None
    boosting: Boosting | None = None
    settling: Settling | None = None
    enclosing: Enclosing | None = None
    confirmation: Confirmation | None = None
    proof: Proof | None = None
    verdict: Verdict | None = None
    measured: AnswerError | None = None
    ball: NDArray[np.int64] | None = None

    @property
    def answer_error(self) -> AnswerError | None:
        """How often the answer errs: measured, or as far as the proof tells; None where nothing is known."""
        each = self.proof or self.settling
        if self.measured is not None or each is None or each.excess_upper is None:
            return self.measured
        level = min(1.0, 2 * each.beta)
        return AnswerError(estimate=each.excess, low=0.0, high=each.excess_upper, level=level, of="excess", labels=0)

    @property
    def items_scanned(self) -> int | None:
        """Items of the private order that were looked at, those to measure the error included; None for all."""
        each = self.proof or self.settling
        if each is None or self.ball is not None:  # distances are measured on all of them
            return None
        more = 0 if self.measured is None else self.measured.labels + self.measured.skipped
        return each.scanned + more

    @property
    def choices(self) -> NDArray[np.int64]:
        """The set the shared order chose from."""
        return self.survivors.indices if self.ball is None else self.ball

    @property
    def survivors(self) -> VersionSpace:
        """V, where the class is a list."""
        assert isinstance(self.V, VersionSpace), "only asked where the class is a list"
        return self.V

    def describe(self, C: HypothesisClass) -> str:
        """The answer in words, as the class `C` describes it."""
        return "no heavy hitter" if self.hypothesis is None else C.describe(self.hypothesis)

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
        if self.proven is not None:
            rows["certified"] = "yes" if self.proven.certified else "no"
            rows["rho proven"] = round_up(self.proven.rho_proven, 4)
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
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise MissingExtra("figures need matplotlib: install it with pip install 'replical[plot]'") from error
        asked = list(accumulate((each.drawn for each in self.rounds), initial=0))
        masses = [each.disagreement[0] / each.disagreement[1] for each in self.rounds]
        sizes = [each.survivors for each in self.rounds]
        figure = Figure(figsize=(6, 3.2), layout="constrained")
        left = figure.add_subplot()
        left.plot(asked, [*masses, float(self.V.mass)], color="#009E73", label="disagreement Δ(V)")
        left.set(xlabel="labels asked", ylabel="disagreement Δ(V)", ylim=(0, None))
        right = left.twinx()
        right.semilogy(asked, [*sizes, self.V.size], color="#D55E00", linestyle="--", label="survivors")
        right.set_ylabel("survivors")
        figure.legend(loc="upper right", bbox_to_anchor=(0.85, 0.95), frameon=False, fontsize=8)
        return figure

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
        proof = self.proof or self.settling
        if proof is None:
            return None
        return Proven(
            certified=proof.certified,
            labels_sufficient=proof.certified,
            rho_proven=proof.rho_proven,
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


class Proof(Protocol):
    """What a run ends with that others can check."""

    @property
    def certified(self) -> bool:
        """Is as much proven as the protocol asks for?"""
        ...

    @property
    def rho_proven(self) -> float:
        """Two labs both prove this much and differ with at most this probability."""
        ...

    @property
    def beta(self) -> float:
        """The level of each lab that the protocol asks for."""
        ...

    @property
    def scanned(self) -> int:
        """Items of the private order that were looked at."""
        ...

    @property
    def excess(self) -> float:
        """An estimate of how much more often than the best the answer errs."""
        ...

    @property
    def excess_upper(self) -> float | None:
        """A bound on it at the level 2β; None where nothing is proven of it."""
        ...

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What the guarantee needs, and whether it held."""
        ...

    @property
    def verdict(self) -> Verdict:
        """Proven or not, in words."""
        ...


class Survivors(Protocol):
    """Who is left: a version space, or what stands for it where the class is no list."""

    @property
    def size(self) -> int:
        """How many."""
        ...

    @property
    def mass(self) -> Fraction:
        """Δ, on how much they disagree."""
        ...


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


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Is it proven, and if not, why not and what would help: in words.

    Attributes
    ----------
    certified
        Is as much proven as the protocol asks for?
    why
        What is missing; empty if nothing is.
    helps
        What would help; empty if nothing is missing.
    """

    certified: bool
    why: str = ""
    helps: str = ""


@dataclass(frozen=True, kw_only=True)
class AnswerError:
    """How often the answer errs, or errs more than the best: an estimate, and an interval that holds at a level.

    Attributes
    ----------
    estimate
        Best guess.
    low
        The interval begins here,
    high
        and ends here.
    level
        How often the interval misses, at most.
    of
        ``"error"``, or ``"excess"`` above the error of the best in the class.
    labels
        Labels asked for it alone, after the answer was known.
    skipped
        Items passed over for them because nobody could label them; the error is that of the others.
    """

    estimate: float
    low: float
    high: float
    level: float
    of: str
    labels: int
    skipped: int = 0


@dataclass(frozen=True, kw_only=True)
class Proven:
    """What a lab has proven of its own replicability, whichever way it did that.

    Attributes
    ----------
    certified
        Is it as much as the protocol asks for?
    labels_sufficient
        Are more labels not needed?
    rho_proven
        Two labs both prove this much *and* differ with at most this probability.
    rho_predicted
        An estimate of how often they differ, not a bound; None where there is none.
    """

    certified: bool
    labels_sufficient: bool
    rho_proven: float
    rho_predicted: float | None


@dataclass(frozen=True, kw_only=True)
class Settling:
    """What a lab knows at the end of a run of Settled.

    Attributes
    ----------
    certified
        Is the answer proven to be the ideal one? Then its excess error is at most `v`.
    doubt
        The smallest level at which it would have been: β if certified, 1 if nothing is known.
    beta
        The level asked for; `levels` are its parts, lost to rivals and to candidates before the ideal answer.
    v
        The shared threshold on the excess error.
    place
        The answer's place in the shared order, the first is 0.
    asked
        Labels asked for.
    scanned
        Items looked at.
    labs
        K, how many labs the protocol is for.
    excess
        An estimate of the answer's excess error, not a bound.
    excess_upper
        A bound on it at the level 2β, at most `v`; None where the answer is not certified.
    agreement_estimate
        An estimate of how often another lab with such a pool has the same answer, not a bound.
    labels_left
        An estimate of how many more labels a proof takes; None where nothing is missing, or nobody can say.
    items_left
        An estimate of how many more items they are found among.
    """

    certified: bool
    doubt: float
    beta: float
    levels: tuple[float, float]
    v: Fraction
    place: int
    asked: int
    scanned: int
    labs: int
    excess: float
    excess_upper: float | None
    agreement_estimate: float
    labels_left: int | None
    items_left: int | None

    @property
    def rho_proven(self) -> float:
        """Each of K labs is off the ideal answer at its own level: so often two of them differ, at most."""
        return min(1.0, self.labs * self.doubt)


@dataclass(frozen=True, kw_only=True, eq=False)
class Rounding:
    """What a lab knows about its own replicability at the end of a run; each field means one thing only.

    Attributes
    ----------
    rho_proven
        Two labs both prove this much *and* differ with at most this probability.
    labels_sufficient
        More labels are not needed: on a large enough pool the bound would be at most ρ.
    rho_predicted
        An estimate of how often two labs with such pools differ, not a bound. None where the order is strict, and
        where survivors are so far apart that nothing can be said: the slack is a or more.
    certified
        rho_proven ≤ ρ; where distances are measured on the lab's own items, also that the error bound holds.
    kappa
        Slack: items on which a survivor may differ from the centre.
    kappa_most
        The largest slack with which the error bound is proven; negative if there is none. None with a yardstick, where
        the answer itself is judged.
    accurate
        Does the error bound hold?
    accuracy
        What that is judged by, and what it may be at most: the slack or, with a yardstick, on how many of the lab's own
        items the answer differs from a survivor; both as shares of them.
    supports
        Where uncertified: the ρ this pool could prove with all the labels in the world, and
    pool_needed
        about how many items would do for the ρ asked for.
    scores
        Items on which each hypothesis of the class differs from the centre.
    range
        The interval [a, b] of the shared threshold, as fractions of the items.
    items
        How many items the lab rounded on.
    spent
        Was the budget of labels used up?
    fixed
        With this string every certified lab returns this answer, as sure as no lab loses the best hypothesis. Only ever
        known with a yardstick.
    """

    rho_proven: float
    labels_sufficient: bool
    rho_predicted: float | None
    certified: bool
    kappa: int
    kappa_most: int | None
    accurate: bool
    accuracy: tuple[float, float]
    supports: float | None
    pool_needed: int | None
    scores: NDArray[np.int64]
    range: tuple[float, float]
    items: int
    spent: bool
    fixed: bool = False

    def difference(self, other: Rounding, prior: Prior) -> float:
        """How often this lab and `other` differ, over the shared threshold and an order with this `prior`."""
        if self.items == other.items:
            a, b = (end * self.items for end in self.range)
            return agreement_bound(self.scores, other.scores, (a, b), prior).exact
        return agreement_bound(self.scores / self.items, other.scores / other.items, self.range, prior).exact

    @property
    def far_apart(self) -> bool:
        """Is the slack so large that how often labs differ cannot be predicted?"""
        return self.kappa >= self.range[0] * self.items

    def figures(self) -> dict[str, float | int | bool | None]:
        """Everything but the scores, for an answer in JSON."""
        names = (
            "rho_proven",
            "labels_sufficient",
            "rho_predicted",
            "certified",
            "accurate",
            "kappa",
            "kappa_most",
            "items",
        )
        return {name: getattr(self, name) for name in (*names, "supports", "pool_needed")}


@dataclass(frozen=True, kw_only=True)
class Enclosing:
    """What a lab knows at the end of a run of Lattice.

    Attributes
    ----------
    enclosed
        Do all directions that contradict no label lie in one cell? Then every lab of which that is true has this cell.
    certified
        Is rho_proven at most ρ, and the answer's error proven to be at most ε?
    rho_proven
        Two labs both prove this much *and* differ with at most this probability; 0 where enclosed.
    rho_predicted
        An estimate of how often two labs with such labels differ, not a bound.
    crossings
        With what probability the walls of a fresh lattice run through the directions that are left, at most.
    cell
        The answer, one whole number an axis of the lattice.
    accurate
        Is the error proven to be at most ε?
    axes
        Between which numbers of cells the directions that are left lie along each axis, rounded outwards; None where
        nothing bounds them, or labels may be wrong.
    wrong, open
        Items on which the answer surely errs, and those of which that cannot be known; None where labels may be wrong.
    """

    enclosed: bool
    certified: bool
    rho_proven: float
    rho_predicted: float
    crossings: float
    cell: tuple[int, ...]
    accurate: bool
    axes: tuple[tuple[float, float], ...] | None = None
    wrong: int | None = None
    open: int | None = None


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """Does an answer hold on a lab's data: does it err at most a margin more than the best?

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


@dataclass(frozen=True, kw_only=True)
class Boosting:
    """How a boosted learner came to its answer.

    Attributes
    ----------
    runs
        Runs made in all.
    strings
        Strings tried.
    frequency
        How often the winner won with the last string; None where no string had a frequent winner.
    """

    runs: int
    strings: int
    frequency: Fraction | None


def html_table(rows: Mapping[str, object]) -> str:
    """Names and values as a table.

    Examples
    --------
    >>> html_table({"labels": 7})
    '<table><tr><th>labels</th><td>7</td></tr></table>'
    """
    cells = "".join(
        f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in rows.items()
    )
    return f"<table>{cells}</table>"

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

from replical.classes.base import HypothesisClass
from replical.core.exact import round_up
from replical.errors import MissingExtra
from replical.learners.plan import STOP, Condition
from replical.pools.version_space import VersionSpace

Outcome = Literal["confirmed", "refuted", "undecided"]


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
    boosting
        How many runs it took and how often the winner won, where the learner is boosted.
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
    boosting: Boosting | None = None
    enclosing: Enclosing | None = None
    confirmation: Confirmation | None = None
    proof: Proof | None = None
    verdict: Verdict | None = None
    measured: AnswerError | None = None

    @property
    def answer_error(self) -> AnswerError | None:
        """How often the answer errs: measured, or as far as the proof tells; None where nothing is known."""
        each = self.proof
        if self.measured is not None or each is None or each.excess_upper is None:
            return self.measured
        level = min(1.0, 2 * each.beta)
        return AnswerError(estimate=each.excess, low=0.0, high=each.excess_upper, level=level, of="excess", labels=0)

    @property
    def items_scanned(self) -> int | None:
        """Items of the private order that were looked at, those to measure the error included; None for all."""
        if self.proof is None:
            return None
        more = 0 if self.measured is None else self.measured.labels + self.measured.skipped
        return self.proof.scanned + more

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
        if self.enclosing is not None:
            found = self.enclosing
            return Proven(
                certified=found.certified,
                labels_sufficient=found.certified,
                rho_proven=found.rho_proven,
                rho_predicted=found.rho_predicted,
            )
        if self.proof is None:
            return None
        return Proven(
            certified=self.proof.certified,
            labels_sufficient=self.proof.certified,
            rho_proven=self.proof.rho_proven,
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

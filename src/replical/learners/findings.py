"""What a run has found besides its answer: what the lab has proven, how the answer came about, how often it errs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from replical.bounds.ranks import agreement_bound
from replical.classes.prior import Prior

Outcome = Literal["confirmed", "refuted", "undecided"]


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Rounding:
    """What a lab knows about its own replicability at the end of a run; each field means one thing only.

    Attributes
    ----------
    rho_proven
        Two labs both prove this much *and* differ with at most this probability. None where the finish has no such proof.
    labels_sufficient
        More labels are not needed: on a large enough pool the bound would be at most ρ.
    rho_predicted
        An estimate of how often two labs with such pools differ, not a bound. None where the order is strict, where the
        finish has no proof, and where survivors are so far apart that nothing can be said: the slack is a or more.
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

    rho_proven: float | None
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
class Proven:
    """What a lab has proven of its own replicability, whichever way it did that.

    Attributes
    ----------
    certified
        Is it as much as the protocol asks for?
    labels_sufficient
        Are more labels not needed?
    rho_proven
        Two labs both prove this much *and* differ with at most this probability; None where the finish has no proof.
    rho_predicted
        An estimate of how often they differ, not a bound; None where there is none.
    """

    certified: bool
    labels_sufficient: bool
    rho_proven: float | None
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

"""What a run returns: the answer, what it cost, and what it has found besides.

Besides: what the lab has proven, how the answer came about, how often it errs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass
from replical.core.text import plural, two_figures
from replical.learners.plan import STOP, Condition
from replical.pools.version_space import VersionSpace


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
    proof
        What is proven, where the learner proves something.
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
    proof: Proof | None = None
    measured: AnswerError | None = None

    @property
    def conclusion(self) -> int | str | None:
        """What the run came to: its answer, or the outcome of its proof where it had an answer to begin with."""
        outcome = None if self.proof is None else self.proof.outcome
        return self.hypothesis if outcome is None else outcome

    @property
    def verdict(self) -> Verdict | None:
        """What is proven or missing, in words, where the learner proves something."""
        return None if self.proof is None else self.proof.verdict

    @property
    def answer_error(self) -> AnswerError | None:
        """How often the answer errs: measured, or as far as the proof tells; None where nothing is known."""
        return self.measured if self.measured is not None or self.proof is None else self.proof.answer_error

    @property
    def items_scanned(self) -> int | None:
        """Items of the private order that were looked at, those to measure the error included; None for all."""
        if self.proof is None or self.proof.scanned is None:
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
        fields: dict[str, object] = {"hypothesis": self.hypothesis, "labels": self.labels}
        if self.proof is not None:
            fields |= {"certified": self.proof.certified, "rho_proven": self.proof.rho_proven}
        return f"Result({', '.join(f'{name}={value}' for name, value in fields.items())})"

    @property
    def stopped(self) -> bool:
        """Did the run end by its own stop test, and not at a cap or budget?"""
        if self.proof is not None:
            return self.proof.certified
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
    def outcome(self) -> str | None:
        """What was found of an answer that was there before; None where the run was to find one."""
        ...

    @property
    def scanned(self) -> int | None:
        """Items of the private order that were looked at; None where it may have been any."""
        ...

    @property
    def answer_error(self) -> AnswerError | None:
        """How often the answer errs, as far as that is proven."""
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
        ``"error"``, ``"loss"`` in costliest errors, or ``"excess"`` above the error of the best in the class.
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


# ---- how runs may end: items and labels that played runs took; estimates, never bounds ----


Floats = NDArray[np.float64]


SPREAD = 1.3  # what is not played adds so much to a range on either side (benchmarks/advice.py)


@dataclass(frozen=True)
class Span:
    """A range that should hold four times in five, with the median inside it.

    Attributes
    ----------
    low, median, high
        A tenth, a half and nine tenths of what was played.
    known
        How many of the three are known; where a play was broken off before, that is where.

    Examples
    --------
    >>> Span(230.4, 351.0, 519.0).of("label"), Span(230.4, 2000, 9000, known=2).of("item")
    ('about 350 labels (230 to 520)', 'about 2,000 items (230 to more than 9,000)')
    >>> Span(230.4, 9000, 9000, known=1).of("item"), Span(9000, 9000, 9000, known=0).of("more item")
    ('230 to more than 9,000 items', 'more than 9,000 more items')
    """

    low: float
    median: float
    high: float
    known: int = 3

    def of(self, one: str, more: str | None = None) -> str:
        """So many things, to two figures: `one`, or `more`, which is `one` with an s if left out."""
        low, median, high = (f"{two_figures(end):,}" for end in (self.low, self.median, self.high))
        things = plural(self.median, one, more)
        if self.known == 0:
            return f"more than {low} {things}"
        if self.known == 1:
            return f"{low} to more than {high} {things}"
        return f"about {median} {things} ({low} to {'' if self.known == 3 else 'more than '}{high})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcomes:
    """Where played runs ended, one entry a run.

    Attributes
    ----------
    items, labels
        What it took.
    proven
        Did it end with a proof? The others ended with their items, or were played no further.

    Examples
    --------
    >>> items, labels, proven = np.array([100., 300, 900]), np.array([9., 20, 50]), np.array([True, True, False])
    >>> ends = Outcomes(items=items, labels=labels, proven=proven)
    >>> ends.chance(), ends.chance(items=200), round(ends.chance(labels=20), 2)
    (0.6666666666666666, 0.3333333333333333, 0.67)
    """

    items: Floats
    labels: Floats
    proven: NDArray[np.bool_]

    def chance(self, *, items: float = inf, labels: float = inf) -> float:
        """How many of them are proven with so many."""
        return float(np.mean(self.proven & (self.items <= items) & (self.labels <= labels)))

    def span(self, what: str, *, to_proof: bool = True) -> Span:
        """Of the ``items`` or ``labels`` that it takes: to a proof, or to the end of a run."""
        values: Floats = getattr(self, what)
        order = np.lexsort((values, ~self.proven if to_proof else np.zeros(len(values))))
        places = [order[ceil(share * len(values)) - 1] for share in (0.1, 0.5, 0.9)]
        known = int(self.proven[places].sum()) if to_proof else 3
        low, median, high = values[places].tolist()
        return Span(low / SPREAD, median, high * (SPREAD if known == 3 else 1.0), known)


class Standing(NamedTuple):
    """What a run can say of itself at this moment."""

    rest: Outcomes | None  # how it may go on; None where one is left
    first: int | None  # of a public order; None without one
    tolerance: float | None  # within so much of the best it is proven to be
    behind: bool  # is there none, or has it left the survivors?

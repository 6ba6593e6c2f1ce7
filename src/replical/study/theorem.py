"""Theorems 1 and 2 at their own sizes: pairs of labs, what is claimed beside what is measured.

On a known distribution 10^17 labels cost no more than ten, because draws enter through multinomial counts. Sizes can be
divided until the promise breaks, and the quantities of the proof of replicability (bad thresholds, intruders, expelled)
are measured beside what it allows. Reference: the proofs of Lemmas 2 and 4; docs/claims/replical.md, replica2.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, floor, fsum, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.core.exact import clopper_pearson
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.errors import EmptyVersionSpace, ValueOutOfRange
from replical.learners.base import Learner
from replical.learners.plan import grid_position
from replical.learners.planning import learner_for
from replical.learners.result import Result
from replical.worlds.audit import Audit, Pair, columns, figures, run_pair, summarise
from replical.worlds.experiment import Experiment, Setup, prepare
from replical.worlds.labs import controls, fewest_errors, pair_string
from replical.worlds.world import Population

Places = NDArray[np.int64]
_CONTROLLED = 20  # pairs that are run with controls


@dataclass(frozen=True, kw_only=True)
class Theorem:
    """What the paper says."""

    number: int
    learner: str
    name: str
    says: str
    labels: str  # O(..)
    noise: float  # of the world it is tried in


THEOREMS = {
    1: Theorem(
        number=1,
        learner="replical",
        name="RepliCAL (Algorithm 3)",
        says="Let C be any finite class, and let some hypothesis in it make no error. Two labs with data of their own and "
        "one random string return the identical hypothesis with probability at least 1-ρ. It errs at most ε with "
        "probability at least 1-δ, after at most N = O(log 1/ε) rounds.",
        labels="Θ log(1/ε) · (log²|C| log(log(1/ε)/ρ) log⁴(1/ε) + ρ⁴ log(|C| log(1/ε)/δ)) / ρ⁴",
        noise=0.0,
    ),
    2: Theorem(
        number=2,
        learner="replica2",
        name="ReplicA² (Algorithm 4)",
        says="Let C be any finite class, whose best hypothesis errs ν. Two labs with data of their own and one random "
        "string return the identical hypothesis with probability at least 1-ρ. It errs at most ν+ε with probability at "
        "least 1-δ, after at most N = O(log 1/(Θν)) rounds.",
        labels="Θ² (log(1/(Θν)) + ν²/ε²) · (log(|C|/δ) + log²|C| log(1/ρ) log⁴(1/(Θν)) / ρ⁴)",
        noise=0.05,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Anatomy:
    """What the proof counts in one pair of labs; shares are of |I_[i-1]|, those below the interval I_i that was drawn.

    Attributes
    ----------
    bad
        The share of all thresholds that are bad.
    drawn_bad
        Is the one that the string drew?
    intruders, expelled
        Hypotheses above the interval that a lab kept, and below it that it lost: the share, lab by lab.
    inside
        Hypotheses in the interval itself: the share.
    jaccard
        Jaccard distance of the last version spaces.
    """

    bad: float
    drawn_bad: bool
    intruders: tuple[float, float]
    expelled: tuple[float, float]
    inside: float
    jaccard: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Claims, measured.

    Attributes
    ----------
    audit
        How often labs agreed, with controls, and what it cost.
    differ_high
        Where the exact 95% interval of how often they differ ends.
    rounds
        The most rounds of any lab.
    anatomies
        Pair by pair, on demand.
    """

    audit: Audit
    differ_high: float
    rounds: int
    anatomies: tuple[Anatomy, ...]


@dataclass(frozen=True, kw_only=True)
class Step:
    """The same labs with all sizes divided by one number.

    Attributes
    ----------
    divisor
        That number.
    labels
        What a lab asked for, mean.
    differ, jaccard
        How often labs differ, and E[J]: nearly the same probability, with less noise.
    fewest_errors_differ
        How often labs differ that return what errs least on as many labels.
    above
        Share of labs whose error is above ε.
    intruders, expelled
        Means of `Anatomy`.
    """

    divisor: float
    labels: float
    differ: float
    jaccard: float
    fewest_errors_differ: float
    above: float
    intruders: float
    expelled: float


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A theorem, a world that is known exactly, and the sizes of the proof.

    Examples
    --------
    >>> trial = Trial.of(THEOREMS[1], "thresholds:2000", seed="s", epsilon=.2, delta=.05, rho=.1)
    >>> found = trial.measure(10)
    >>> found.audit.agreements, found.audit.labels_mean > 1e15, found.rounds <= trial.plan.rounds_most
    (10, True, True)
    """

    theorem: Theorem
    ready: Setup
    rho: float
    delta: float
    seed: str

    @classmethod
    def of(cls, theorem: Theorem, class_spec: str, *, seed: str, rho: float, delta: float, **numbers: Any) -> Trial:
        """Make class, world and plan; noise is a rate, and ν is that rate."""
        numbers["noise"] = str(theorem.noise if numbers.get("noise") is None else numbers["noise"])
        experiment = Experiment(
            class_spec=class_spec,
            learner=theorem.learner,
            pool_size="exact",
            plan="paper",
            rho=rho,
            delta=delta,
            **numbers,
        )
        ready = prepare(experiment, seed=seed)
        if len(ready.world.C.labels) != 2:
            raise ValueOutOfRange("a theorem is tried with two labels")
        return cls(theorem=theorem, ready=ready, rho=rho, delta=delta, seed=seed)

    @property
    def plan(self) -> Any:
        """The sizes of the proof."""
        return self.ready.learner.plan

    @property
    def rho_drawn(self) -> float:
        """ρ', with which the proof draws its threshold: ρ/N, or ρ/(2(N+1))."""
        rounds: int = self.plan.rounds_most
        return self.rho / (rounds if self.theorem.number == 1 else 2 * (rounds + 1))

    def measure(self, pairs: int, *, dissect: bool = False) -> Measured:
        """Run pairs of labs at the sizes of the proof, the first of them with controls."""
        done, rounds, anatomies = [], 0, []
        for number in range(pairs):
            population, labs = run_pair(self.ready.learner, self.ready.world, self.seed, number)
            one, two = labs[0].result, labs[1].result
            under = None
            if number < _CONTROLLED:
                under = controls(self.ready.learner, population, "exact", self.seed, number, (one, two))
            done.append(summarise(number, population, labs, under))
            rounds = max(rounds, *(self._rounds(result) for result in (one, two)))
            if dissect:
                anatomies.append(self.dissect(population, number, (one, two), done[-1].jaccard_distance))
        audit = figures(columns(done, self.plan.epsilon))
        high = clopper_pearson(audit.pairs - audit.agreements, audit.pairs)[1]
        return Measured(audit=audit, differ_high=high, rounds=rounds, anatomies=tuple(anatomies))

    def _rounds(self, result: Result) -> int:
        """Rounds of the loop: exchanges made while Δ was large."""
        return sum(Fraction(*each.disagreement) >= self.plan.stop_mass for each in result.rounds)

    def divide(self, pairs: int, *, first: float = 9.0) -> Iterator[Step]:
        """Divide the sizes of the proof by 10^`first`, then by √10 more, and more, until labs differ more often than ρ."""
        power = first
        while True:
            made = self.smaller(Fraction(10**power))
            step = self._step(learner_for(made), 10**power, pairs)
            yield step
            if step.jaccard >= self.rho or made.k == 1:
                return
            power += 0.5

    def smaller(self, divisor: Fraction) -> Any:
        """The plan with its sample sizes divided; the last sample of Theorem 2 is a multiple of Δ², which is divided."""
        sizes = ("k_loop", "k_final", "final_scale")
        numbers = (
            replace(
                each, value=each.value / divisor if each.name == "final_scale" else max(1, floor(each.value / divisor))
            )
            if each.name in sizes
            else each
            for each in self.plan.numbers
        )
        return replace(self.plan, numbers=tuple(numbers))

    def _step(self, learner: Learner, divisor: float, pairs: int) -> Step:
        world, done, anatomies, best = self.ready.world, list[Pair](), list[Anatomy](), 0
        for number in range(pairs):
            try:
                population, labs = run_pair(learner, world, self.seed, number)
            except EmptyVersionSpace:  # a lab without an answer
                continue
            done.append(summarise(number, population, labs))
            results = labs[0].result, labs[1].result
            anatomies.append(self.dissect(population, number, results, done[-1].jaccard_distance))
            names = (self.seed, number, "A"), (self.seed, number, "B")
            one, two = (
                fewest_errors(population, "exact", result.labels, SharedRandomness(f"{name}"), name)
                for result, name in zip(results, names, strict=True)
            )
            best += one == two
        empty = pairs - len(done)
        errors = [error for pair in done for error in pair.excess_errors]
        return Step(
            divisor=divisor,
            labels=sum(sum(pair.labels) for pair in done) / max(1, 2 * len(done)),
            differ=1 - sum(pair.agree for pair in done) / pairs,
            jaccard=(fsum(pair.jaccard_distance for pair in done) + empty) / pairs,
            fewest_errors_differ=1 - best / pairs,
            above=(sum(error > self.plan.epsilon for error in errors) + 2 * empty) / (2 * pairs),
            intruders=fsum(share for each in anatomies for share in each.intruders) / max(1, 2 * len(done)),
            expelled=fsum(share for each in anatomies for share in each.expelled) / max(1, 2 * len(done)),
        )

    def dissect(self, population: Population, number: int, results: tuple[Result, Result], jaccard: float) -> Anatomy:
        """What the proof counts in the pair with this number, whose labs had these results."""
        m, shared = self.plan.integer("m"), SharedRandomness(pair_string(self.seed, number))
        drawn = grid_position(shared, m)
        i, places = floor(m * drawn), self.places(population)
        bad, below = bad_thresholds(places, m, self.rho_drawn), max(1, int(np.count_nonzero(places < i)))
        kept = [places[result.survivors.indices] for result in results]
        intruders = [int(np.count_nonzero(each > i)) / below for each in kept]
        expelled = [max(0.0, 1 - int(np.count_nonzero(each < i)) / below) for each in kept]
        return Anatomy(
            bad=len(bad) / m,
            drawn_bad=i in bad,
            intruders=(intruders[0], intruders[1]),
            expelled=(expelled[0], expelled[1]),
            inside=int(np.count_nonzero(places == i)) / below,
            jaccard=jaccard,
        )

    def places(self, population: Population) -> Places:
        """In which interval of the proof the excess error of each hypothesis lies; below 0 before the first of Theorem 2."""
        pool = population.pool("exact", PrivateRandomness.simulated("places"))
        apart = pool.version_space().distances(population.target) / int(population.weights.sum())
        noise, plan = self.ready.world.noise, self.plan
        low, high = Fraction(0), plan.epsilon * plan["v_max"] if self.theorem.number == 1 else plan["excess_high"]
        if self.theorem.number == 2:
            low = plan["excess_low"]
        found = np.floor(((1 - 2 * noise) * apart - float(low)) / (float(high - low) / plan.integer("m")))
        places: Places = found.astype(np.int64)
        return places


def bad_thresholds(places: Places, m: int, rho: float) -> set[int]:
    """Which of m thresholds are bad: too many in their interval, or soon after it; the first counts as bad.

    Examples
    --------
    >>> sorted(bad_thresholds(np.array([0] * 9 + [4] * 30 + [7]), m=10, rho=1.))  # 30 is above 9e, and 1 below 39/30
    [0, 3, 4]
    """
    bad = {0}
    where, sizes = np.unique(places[places >= 0], return_counts=True)
    ordered = np.sort(places)
    for place, size in zip(where.tolist(), sizes.tolist(), strict=True):
        reach = floor(log(size))  # no interval further below can be bad because of this one
        if place - reach >= m:
            break
        for i in range(max(0, place - reach), min(place, m - 1) + 1):
            below = int(np.searchsorted(ordered, i))
            if (size > rho / 30 * below) if i == place else (size >= exp(place - i) * below):
                bad.add(i)
    return bad


def crossing(steps: list[Step], rho: float) -> tuple[float, float]:
    """By how much sizes may be divided until E[J] reaches ρ, and the labels left: between two steps, by logarithms."""
    last = steps[-1]
    if len(steps) == 1 or last.jaccard < rho:
        return last.divisor, last.labels
    before = steps[-2]
    low, high = log(max(before.jaccard, 1e-6)), log(last.jaccard)
    part = (log(rho) - low) / (high - low)
    return (
        before.divisor * (last.divisor / before.divisor) ** part,
        before.labels * (last.labels / before.labels) ** part,
    )

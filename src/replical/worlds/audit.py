"""The figures of an audit, from the columns of its pairs: how often labs agreed, and at what price.

Audits: many pairs of labs, one string a pair. How often do they agree, and at what price?

The two labs of a pair share the world (class, population, target) and the pair's published string, nothing else:
each has its own private randomness for its pool, its draws and its labels. Every pair is computed from the audit's
seed and its own number alone, so the figures do not depend on how many workers there are or which pairs ran before.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import fsum
from typing import Any

import numpy as np

from replical.bounds.ranks import agreement_bound
from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import clopper_pearson
from replical.core.parallel import Workers, cores, ordered_map
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.errors import ReplicalError, ValueOutOfRange
from replical.learners.base import Learner, learn
from replical.learners.result import Proven, Result, Rounding
from replical.learners.rounded.line import along_a_line
from replical.worlds.world import Population, World

COUNTED = 0.2  # share of pairs that must differ before the last step: otherwise labs agree anyway and nothing is shown

# Columns of a table of pairs: name and kind, one row a pair, `_a` and `_b` for its two labs.
_OF_PAIR = (("pair", "int64"), ("target", "int64"), ("agree", "bool"), ("same_function", "bool"), ("jaccard", "double"))
_OF_LAB = (
    ("hypothesis", "int64"), ("unrounded", "int64"), ("survivors", "int64"), ("labels", "double"),
    ("excess_error", "double"), ("over_epsilon", "bool"), ("stopped_short", "bool"), ("labels_sufficient", "bool"),
    ("certified", "bool"), ("rho_proven", "double"), ("rho_predicted", "double"),
)  # fmt: skip
COLUMNS = _OF_PAIR + tuple((f"{name}_{lab}", kind) for name, kind in _OF_LAB for lab in "ab")

Columns = dict[str, list[Any]]


@dataclass(frozen=True, kw_only=True)
class Group:
    """All labs with one string.

    Attributes
    ----------
    hypotheses
        What the labs returned; None for no answer.
    certified
        Which of them were certified; None where the learner does not do that.
    rho_proven
        What they proved.
    jaccard_distance
        1 - |∩|/|∪| of their balls around the centre, averaged over the shared threshold; None where labs do not round.
    """

    hypotheses: tuple[int | None, ...]
    certified: tuple[bool, ...] | None
    rho_proven: tuple[float | None, ...]
    jaccard_distance: float | None

    @property
    def pairs_differ(self) -> float:
        """The share of pairs of labs whose answers differ, or that have none."""
        pairs = list(combinations(self.hypotheses, 2))
        return sum(one is None or one != two for one, two in pairs) / len(pairs)

    @property
    def certified_differ(self) -> bool | None:
        """Do two certified labs differ? That is what is promised to be rare."""
        if self.certified is None:
            return None
        return len({h for h, sure in zip(self.hypotheses, self.certified, strict=True) if sure}) > 1


@dataclass(frozen=True, kw_only=True)
class Groups:
    """The figures of an audit of groups of labs.

    Attributes
    ----------
    groups, labs
        Groups, and labs in each.
    all_agree, all_agree_low, all_agree_high
        The share of groups whose labs all returned the identical hypothesis, and its exact (Clopper-Pearson) interval at
        95%.
    pairs_differ
        The share of pairs of labs that differ, mean over groups.
    certified_differ
        The share of groups in which two certified labs differ; None where the learner certifies nothing.
    jaccard_distance
        Mean `Group.jaccard_distance`: how often the labs would not all agree, over every threshold and order.
    rho_proven
        Mean over all labs of what they proved about it.
    """

    groups: int
    labs: int
    all_agree: float
    all_agree_low: float
    all_agree_high: float
    pairs_differ: float
    certified_differ: float | None
    jaccard_distance: float | None
    rho_proven: float | None


def together(pairs: Sequence[Pair]) -> Groups:
    """The figures of the groups that these pairs are the first labs of."""
    groups = [pair.group for pair in pairs if pair.group is not None]
    agree = sum(group.pairs_differ == 0 for group in groups)
    low, high = clopper_pearson(agree, len(groups))
    return Groups(
        groups=len(groups),
        labs=len(groups[0].hypotheses),
        all_agree=agree / len(groups),
        all_agree_low=low,
        all_agree_high=high,
        pairs_differ=fsum(group.pairs_differ for group in groups) / len(groups),
        certified_differ=mean([group.certified_differ for group in groups]),
        jaccard_distance=mean([group.jaccard_distance for group in groups]),
        rho_proven=mean([rho for group in groups for rho in group.rho_proven]),
    )


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two labs with one string; small enough to travel between processes. Pairs of values are lab A's and lab B's.

    Attributes
    ----------
    number
        Which pair of the audit this is.
    target
        The hypothesis that gave the labels.
    hypotheses
        What the labs returned; None for no answer.
    unrounded
        What they would have returned without the replicable last step.
    same_function
        Do the two answers say the same in every cell that has mass?
    jaccard_distance
        1 - |V1∩V2|/|V1∪V2|, of the version spaces at the end; where labs round, of their balls around the centre,
        averaged over the shared threshold.
    survivors
        Sizes of the version spaces at the end.
    labels
        Labels asked for.
    excess_errors
        Errors of the answers above ν, the smallest of the class.
    stopped_short
        Did the run end other than by its own stop test: at a cap, its budget or the pool's end, or uncertified?
    proofs
        What the labs proved of themselves; None where the learner does not do that.
    group
        All labs with this string, the two of the pair first.
    """

    number: int
    target: int
    hypotheses: tuple[int | None, int | None]
    unrounded: tuple[int, int]
    same_function: bool
    jaccard_distance: float
    survivors: tuple[int, int]
    labels: tuple[int, int]
    excess_errors: tuple[Fraction, Fraction]
    stopped_short: tuple[bool, bool]
    proofs: tuple[Proven, Proven] | None = None
    group: Group | None = None

    @property
    def agree(self) -> bool:
        """Did both labs return the identical hypothesis?"""
        return self.hypotheses[0] is not None and self.hypotheses[0] == self.hypotheses[1]


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The figures of an audit.

    What labs proved and estimated (`labels_sufficient_fraction` to `rho_predicted`) is None where the learner does not
    round.

    Attributes
    ----------
    pairs, agreements
        Pairs of labs, and how many of them returned the identical hypothesis.
    agreement, agreement_low, agreement_high
        The share of pairs that agree, and its exact (Clopper-Pearson) interval at 95%.
    function_agreement
        The share of pairs whose answers say the same everywhere, identical or not.
    expected_jaccard
        Mean `Pair.jaccard_distance`.
    survivors_mean
        Hypotheses that a lab had left at the end.
    base_agreement
        The share of pairs that would agree without the replicable last step.
    labels_mean, labels_max
        Labels a lab asked for: mean and most.
    excess_error_mean, excess_error_max
        Error of a lab's answer above the smallest of the class: mean and largest.
    excess_over_epsilon
        Labs whose excess error is above ε.
    labels_sufficient_fraction
        The share of labs that needed no more labels, only perhaps a larger pool.
    certified_fraction
        The share of labs that ended certified.
    rho_proven, rho_predicted
        Means over labs of what they proved, and estimated, about how often two labs differ.
    cap_reached
        Labs whose run ended other than by its own stop test.
    """

    pairs: int
    agreements: int
    agreement: float
    agreement_low: float
    agreement_high: float
    function_agreement: float
    expected_jaccard: float
    survivors_mean: float
    base_agreement: float
    labels_mean: float
    labels_max: int
    excess_error_mean: float
    excess_error_max: float
    excess_over_epsilon: int
    labels_sufficient_fraction: float | None
    certified_fraction: float | None
    rho_proven: float | None
    rho_predicted: float | None
    cap_reached: int


def columns(pairs: Sequence[Pair], epsilon: Fraction) -> Columns:
    """Pairs as columns."""
    table: Columns = {name: [] for name, _ in COLUMNS}
    for pair in pairs:
        table["pair"].append(pair.number)
        table["target"].append(pair.target)
        table["agree"].append(pair.agree)
        table["same_function"].append(pair.same_function)
        table["jaccard"].append(pair.jaccard_distance)
        for lab, letter in enumerate("ab"):
            for name, value in _of_lab(pair, lab, epsilon).items():
                table[f"{name}_{letter}"].append(value)
    return table


def _of_lab(pair: Pair, lab: int, epsilon: Fraction) -> dict[str, Any]:
    proof = None if pair.proofs is None else pair.proofs[lab]
    return {
        "hypothesis": pair.hypotheses[lab],
        "unrounded": pair.unrounded[lab],
        "survivors": pair.survivors[lab],
        "labels": pair.labels[lab],
        "excess_error": float(pair.excess_errors[lab]),
        "over_epsilon": pair.excess_errors[lab] > epsilon,
        "stopped_short": pair.stopped_short[lab],
        "labels_sufficient": None if proof is None else proof.labels_sufficient,
        "certified": None if proof is None else proof.certified,
        "rho_proven": None if proof is None else proof.rho_proven,
        "rho_predicted": None if proof is None else proof.rho_predicted,
    }


def figures(rows: Columns) -> Audit:
    """The figures of an audit; sums are exact, so that the order of the pairs does not matter."""
    pairs, agreements = len(rows["pair"]), sum(rows["agree"])
    low, high = clopper_pearson(agreements, pairs)
    labs = {name: rows[f"{name}_a"] + rows[f"{name}_b"] for name, _ in _OF_LAB}
    unrounded = zip(rows["unrounded_a"], rows["unrounded_b"], strict=True)
    return Audit(
        pairs=pairs,
        agreements=agreements,
        agreement=agreements / pairs,
        agreement_low=low,
        agreement_high=high,
        function_agreement=sum(rows["same_function"]) / pairs,
        expected_jaccard=fsum(rows["jaccard"]) / pairs,
        survivors_mean=sum(labs["survivors"]) / (2 * pairs),
        base_agreement=sum(one == two for one, two in unrounded) / pairs,
        labels_mean=_sum(labs["labels"]) / (2 * pairs),
        labels_max=max(labs["labels"]),
        excess_error_mean=fsum(labs["excess_error"]) / (2 * pairs),
        excess_error_max=max(labs["excess_error"]),
        excess_over_epsilon=sum(labs["over_epsilon"]),
        labels_sufficient_fraction=mean(labs["labels_sufficient"]),
        certified_fraction=mean(labs["certified"]),
        rho_proven=mean(labs["rho_proven"]),
        rho_predicted=mean(labs["rho_predicted"]),
        cap_reached=sum(labs["stopped_short"]),
    )


def _sum(values: Sequence[Any]) -> Any:
    """Whole numbers of any size, or doubles."""
    return sum(values) if all(isinstance(value, int) for value in values) else fsum(values)


def mean(values: Sequence[float | None]) -> float | None:
    """Of those that are there; None if none is.

    Examples
    --------
    >>> mean([1, None, 2]), mean([None])
    (1.5, None)
    """
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None


Progress = Callable[[int, int], None]

_NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # of the first labs of a group; the others have numbers


@dataclass(frozen=True, kw_only=True)
class Lab:
    """One lab's run.

    Attributes
    ----------
    result
        What the run returned.
    excess_error
        Error of its answer above ν, the smallest of the class; no answer counts as always wrong.
    """

    result: Result
    excess_error: Fraction


def run_pair(learner: Learner, world: World, seed: str, number: int) -> tuple[Population, tuple[Lab, Lab]]:
    """Run both labs of one pair in full.

    Parameters
    ----------
    learner, world
        What both labs run, and where.
    seed, number
        The audit's seed, and which pair this is: they determine everything.

    Returns
    -------
    population, labs
        The world with this pair's target, and both runs.
    """
    population, (first, second) = run_group(learner, world, seed, number, 2)
    return population, (first, second)


def run_group(learner: Learner, world: World, seed: str, number: int, labs: int) -> tuple[Population, tuple[Lab, ...]]:
    """Run all labs of one group in full; the first two are those of the pair with this number.

    Parameters
    ----------
    learner, world, seed, number
        As for `run_pair`.
    labs
        How many labs share the string.

    Returns
    -------
    population, labs
        The world with this group's target, and all runs.
    """
    target = PrivateRandomness.simulated(seed, number, "world").generator().integers(len(world.C))
    population = world.population(int(target))
    shared = SharedRandomness(pair_string(seed, number))
    return population, tuple(
        run_lab(learner, population, world.pool_size, shared, (seed, number, _NAMES[lab] if lab < 26 else lab))
        for lab in range(labs)
    )


def pair_string(seed: str, number: int) -> str:
    """The string that the two labs of pair `number` share, in an audit with this `seed`."""
    return f"{seed} / pair {number}"


def run_lab(
    learner: Learner,
    population: Population,
    pool_size: int | str,
    shared: SharedRandomness,
    name: tuple[str | int, ...],
) -> Lab:
    """One lab: its own pool, its own draws, its own labels.

    Parameters
    ----------
    learner
        What it runs.
    population, pool_size
        What its pool is drawn from, and how large it is.
    shared
        The published randomness.
    name
        The lab's name, from which its private randomness is made.

    Returns
    -------
    lab
        Its result and the error of its answer.
    """
    private = PrivateRandomness.simulated(*name)
    pool = population.pool(pool_size, private)
    labels = population.labels(pool, private)
    result = along_a_line(learner, pool, labels.truth, shared) or learn(learner, pool, labels, shared)
    error = Fraction(1) if result.hypothesis is None else population.error(result.hypothesis)  # no answer is no use
    return Lab(result=result, excess_error=error - population.nu)


def summarise(number: int, population: Population, labs: tuple[Lab, ...], prior: Prior = UNIFORM) -> Pair:
    """Keep the figures of pair `number` and its `labs` in this `population`, drop the version spaces.

    The `prior` is that of the learner: it weighs the Jaccard distance of balls. Of more than two labs the first two are the
    pair, and all are its group.
    """
    one, two = (lab.result for lab in labs[:2])
    return Pair(
        number=number,
        target=population.target,
        hypotheses=(one.hypothesis, two.hypothesis),
        unrounded=(one.unrounded, two.unrounded),
        same_function=_same_function(population, one.hypothesis, two.hypothesis),
        jaccard_distance=_distance(one, two, prior),
        survivors=(one.V.size, two.V.size),
        labels=(one.labels, two.labels),
        excess_errors=(labs[0].excess_error, labs[1].excess_error),
        stopped_short=(not one.stopped, not two.stopped),
        proofs=None if one.proven is None or two.proven is None else (one.proven, two.proven),
        group=_group([lab.result for lab in labs], prior),
    )


def _group(results: Sequence[Result], prior: Prior) -> Group:
    """What all labs of a group have in common."""
    proven = [result.proven for result in results if result.proven is not None]
    balls = [each for result in results if (each := result.rounding) is not None and each.rho_proven is not None]
    return Group(
        hypotheses=tuple(result.hypothesis for result in results),
        certified=tuple(each.certified for each in proven) if proven else None,
        rho_proven=tuple(each.rho_proven for each in proven),
        jaccard_distance=_of_all(balls, prior) if balls else None,
    )


def _of_all(balls: Sequence[Rounding], prior: Prior) -> float:
    """A hypothesis is in every ball from its largest score on, and in some ball from its smallest on."""
    scores = np.stack([each.scores / each.items for each in balls])
    return agreement_bound(scores.min(axis=0), scores.max(axis=0), balls[0].range, prior).exact


def _same_function(population: Population, one: int | None, two: int | None) -> bool:
    if one is None or two is None:
        return False
    weighted = population.weights > 0
    return np.array_equal(population.codes(one)[weighted], population.codes(two)[weighted])


def _distance(one: Result, two: Result, prior: Prior) -> float:
    """Jaccard distance of what the shared order chooses from; of balls, the mean over the shared threshold."""
    if one.rounding is not None and two.rounding is not None and one.rounding.rho_proven is not None:
        return one.rounding.difference(two.rounding, prior)
    common = len(np.intersect1d(one.survivors.indices, two.survivors.indices, assume_unique=True))
    return 1 - common / (one.V.size + two.V.size - common)


def run_pairs(
    learner: Learner, world: World, *, seed: str, pairs: int, workers: int | Workers | None = None, labs: int = 2
) -> Generator[Pair, None, None]:
    """All pairs in order, or all groups of more `labs`.

    Parameters
    ----------
    learner, world, seed, pairs
        As for `audit`.
    workers
        Processes; every core if left out. Or others, e.g. a cluster (`replical.core.parallel`).
    labs
        Labs that share each string; the first two are the pair.

    Returns
    -------
    pairs
        One after the other, as they are ready.

    Raises
    ------
    ValueOutOfRange
        If there is not at least one pair and one worker, or the seed is no text.
    WorkerLost
        If a worker process died; of a cluster, one after the other.
    """
    if isinstance(pairs, bool) or not isinstance(pairs, int | np.integer) or pairs < 1:
        raise ValueOutOfRange(f"an audit needs at least 1 pair, got {pairs!r}")
    if not isinstance(seed, str):
        raise ValueOutOfRange(f"the seed of an audit is a text, got {type(seed).__name__}")
    if workers is None:
        workers = cores()
    if isinstance(workers, Workers):
        world = world.light()
    elif workers < 1:
        raise ValueOutOfRange(f"an audit needs at least 1 worker, got {workers}")
    task = _PairTask(learner=learner, world=world, seed=seed, labs=labs)
    yield from ordered_map(task, range(pairs), workers, "pair" if labs == 2 else "group")


@dataclass(frozen=True, kw_only=True)
class _PairTask:
    learner: Learner
    world: World
    seed: str
    labs: int

    def __call__(self, number: int) -> Pair:
        try:
            population, labs = run_group(self.learner, self.world, self.seed, number, self.labs)
            return summarise(number, population, labs, self.learner.plan.prior)
        except ReplicalError as error:
            raise type(error)(f"pair {number}: {error}") from error


def audit(
    learner: Learner,
    world: World,
    *,
    seed: str,
    pairs: int = 200,
    workers: int | Workers | None = 1,
    progress: Progress | None = None,
) -> Audit:
    """Run `pairs` pairs of labs and report how often they return the identical hypothesis.

    Parameters
    ----------
    learner
        The learner both labs run.
    world
        Class, population and pool size.
    seed
        Any text; the same text gives the same figures.
    pairs
        How many pairs.
    workers
        Processes; None takes every core. Or others, e.g. a cluster (`replical.core.parallel`).
    progress
        Called with (pairs done, pairs in all).

    Returns
    -------
    figures
        How often labs agree, with an interval, and what it cost them.

    Raises
    ------
    ValueOutOfRange
        If there is not at least one pair and one worker, or the seed is no text.
    ReplicalError
        Whatever a run raises; the message begins with the number of the pair.
    WorkerLost
        If a worker process died.

    Examples
    --------
    >>> from replical import CAL, Thresholds, World, audit, plan
    >>> C = Thresholds(100_000)
    >>> cal = CAL(plan("cal", C, epsilon=.05, delta=.05, pool="finite"))
    >>> figures = audit(cal, World(C=C, pool_size=1000), seed="doctest", pairs=20)
    >>> figures.agreement
    0.6
    """
    return audit_groups(learner, world, seed=seed, groups=pairs, labs=2, workers=workers, progress=progress)[0]


def audit_groups(
    learner: Learner,
    world: World,
    *,
    seed: str,
    groups: int,
    labs: int,
    workers: int | Workers | None = 1,
    progress: Progress | None = None,
) -> tuple[Audit, Groups]:
    """Run groups of labs, one string a group: how often do all of them return the identical hypothesis?

    Parameters
    ----------
    learner, world, seed, workers, progress
        As for `audit`.
    groups
        How many groups.
    labs
        Labs in each.

    Returns
    -------
    pairs, together
        The figures of `audit` for the first two labs of every group, and those of the whole groups.

    Raises
    ------
    ValueOutOfRange
        As `audit` does.

    Examples
    --------
    >>> from replical import Thresholds, World, learner_for, plan
    >>> C = Thresholds(1000)
    >>> p = plan("rounded-cal", C, epsilon=.2, delta=.05, rho=.1, pool="finite", items=50_000, labs=5)
    >>> pairs, together = audit_groups(learner_for(p), World(C=C, pool_size=50_000), seed="s", groups=10, labs=5)
    >>> together.all_agree, together.certified_differ, round(together.jaccard_distance, 3)
    (0.9, 0.1, 0.036)
    """
    done: list[Pair] = []
    with closing(run_pairs(learner, world, seed=seed, pairs=groups, workers=workers, labs=labs)) as running:
        for pair in running:
            done.append(pair)
            if progress is not None:
                progress(len(done), groups)
    return figures(columns(done, learner.plan.epsilon)), together(done)

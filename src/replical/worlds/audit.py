"""Audits: many pairs of labs, one string a pair. How often do they agree, and at what price?

The two labs of a pair share the world (class, population, target) and the pair's published string, nothing else:
each has its own private randomness for its pool, its draws and its labels. Every pair is computed from the audit's
seed and its own number alone, so the figures do not depend on how many workers there are or which pairs ran before.
The first pairs are run again as controls, with less in common (`replical.worlds.labs`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import fsum, sqrt
from typing import Any, NamedTuple

import numpy as np

from replical.core.exact import clopper_pearson
from replical.core.parallel import Workers, cores, ordered_map
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.errors import ReplicalError, ValueOutOfRange
from replical.learners.base import Learner
from replical.learners.result import Result
from replical.worlds.labs import CONTROLLED, Controls, Lab, controls, is_controlled, pair_string, run_lab
from replical.worlds.world import Population, World

Progress = Callable[[int, int], None]
COUNTED = 0.2  # share of pairs that must differ in a control: otherwise labs agree anyway, and nothing is shown
_NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # of the first labs of a group; the others have numbers


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
) -> tuple[Audit, GroupAudit]:
    """Run groups of labs, one string a group: how often do all of them return the identical hypothesis?

    Examples
    --------
    >>> from replical import Thresholds, World, learner_for, plan
    >>> C = Thresholds(1000)
    >>> p = plan("handicap", C, epsilon=.2, delta=.05, rho=.1, nu=0, pool="finite", labs=5)
    >>> pairs, found = audit_groups(learner_for(p), World(C=C, pool_size=5_000), seed="s", groups=10, labs=5)
    >>> found.all_agree, found.certified_differ
    (1.0, 0.0)
    """
    done: list[Pair] = []
    with closing(run_pairs(learner, world, seed=seed, pairs=groups, workers=workers, labs=labs)) as running:
        for pair in running:
            done.append(pair)
            if progress is not None:
                progress(len(done), groups)
    return figures(columns(done, learner.plan.epsilon)), group_figures(done)


def run_pairs(
    learner: Learner, world: World, *, seed: str, pairs: int, workers: int | Workers | None = None, labs: int = 2
) -> Generator[Pair, None, None]:
    """All pairs in order, or all groups of more `labs`."""
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
    task = partial(named_pair, learner, world, seed, labs)
    yield from ordered_map(task, range(pairs), workers, "pair" if labs == 2 else "group")


def named_pair(learner: Learner, world: World, seed: str, labs: int, number: int) -> Pair:
    """Run the pair in any process; an error says which one it was."""
    try:
        return controlled_pair(learner, world, seed, number, labs)
    except ReplicalError as error:
        raise type(error)(f"pair {number}: {error}") from error


def controlled_pair(learner: Learner, world: World, seed: str, number: int, labs: int = 2) -> Pair:
    """A pair or group, and its controls if it is one of the first and its learner promises anything."""
    population, ran = run_group(learner, world, seed, number, labs)
    if number >= CONTROLLED or not is_controlled(learner):
        return summarise(number, population, ran)
    results = ran[0].result, ran[1].result
    return summarise(number, population, ran, controls(learner, population, world.pool_size, seed, number, results))


def run_pair(learner: Learner, world: World, seed: str, number: int) -> tuple[Population, tuple[Lab, Lab]]:
    """Run both labs of one pair in full."""
    population, (first, second) = run_group(learner, world, seed, number, 2)
    return population, (first, second)


def run_group(learner: Learner, world: World, seed: str, number: int, labs: int) -> tuple[Population, tuple[Lab, ...]]:
    """Run all labs of one group in full; the first two are those of the pair with this number."""
    target = PrivateRandomness.simulated(seed, number, "world").generator().integers(len(world.C))
    population = world.population(int(target))
    shared = SharedRandomness(pair_string(seed, number))
    return population, tuple(
        run_lab(learner, population, world.pool_size, shared, (seed, number, _NAMES[lab] if lab < 26 else lab))
        for lab in range(labs)
    )


def summarise(number: int, population: Population, labs: tuple[Lab, ...], under: Controls | None = None) -> Pair:
    """Keep the figures of pair `number` and its `labs` in this `population`, drop the version spaces.

    Of more than two labs the first two are the pair, and all are its group; `under` controls it did so.
    """
    one, two = (lab.result for lab in labs[:2])
    proven = [Proven(each.certified, each.rho_proven) for each in (one.proof, two.proof) if each is not None]
    return Pair(
        number=number,
        target=population.target,
        hypotheses=(one.hypothesis, two.hypothesis),
        same_function=_same_function(population, one.hypothesis, two.hypothesis),
        jaccard_distance=_distance(one, two),
        survivors=(one.V.size, two.V.size),
        labels=(one.labels, two.labels),
        excess_errors=(labs[0].excess_error, labs[1].excess_error),
        stopped_short=(not one.stopped, not two.stopped),
        proofs=(proven[0], proven[1]) if len(proven) == 2 else None,
        group=_group([lab.result for lab in labs]),
        controls=under,
    )


def _same_function(population: Population, one: int | None, two: int | None) -> bool:
    if one is None or two is None:
        return False
    weighted = population.weights > 0
    return np.array_equal(population.codes(one)[weighted], population.codes(two)[weighted])


def _distance(one: Result, two: Result) -> float:
    """Jaccard distance of the survivors."""
    common = len(np.intersect1d(one.survivors.indices, two.survivors.indices, assume_unique=True))
    return 1 - common / (one.V.size + two.V.size - common)


def _group(results: Sequence[Result]) -> LabGroup:
    """What all labs of a group have in common."""
    proven = [result.proof for result in results if result.proof is not None]
    return LabGroup(
        hypotheses=tuple(result.hypothesis for result in results),
        certified=tuple(each.certified for each in proven) if proven else None,
        rho_proven=tuple(each.rho_proven for each in proven),
    )


class Proven(NamedTuple):
    """What one lab of a pair has proven; its whole proof is much larger."""

    certified: bool
    rho_proven: float


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
    same_function
        Do the two answers say the same in every cell that has mass?
    jaccard_distance
        1 - |V1∩V2|/|V1∪V2|, of the version spaces at the end.
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
    controls
        Whether they agree with less in common; None where that was not tried.
    """

    number: int
    target: int
    hypotheses: tuple[int | None, int | None]
    same_function: bool
    jaccard_distance: float
    survivors: tuple[int, int]
    labels: tuple[int, int]
    excess_errors: tuple[Fraction, Fraction]
    stopped_short: tuple[bool, bool]
    proofs: tuple[Proven, Proven] | None = None
    group: LabGroup | None = None
    controls: Controls | None = None

    @property
    def agree(self) -> bool:
        """Did both labs return the identical hypothesis?"""
        return self.hypotheses[0] is not None and self.hypotheses[0] == self.hypotheses[1]


@dataclass(frozen=True, kw_only=True)
class LabGroup:
    """All labs with one string."""

    hypotheses: tuple[int | None, ...]  # None for no answer
    certified: tuple[bool, ...] | None  # None where the learner certifies nothing
    rho_proven: tuple[float, ...]

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
class Audit:
    """What an audit found: how often labs agreed and erred, and what its controls did.

    What labs proved (`certified_fraction` and `rho_proven`) is None where the learner does not certify, what controls found
    where none was run, and what a part of the string does where the learner does not use it.

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
    controls
        How many pairs were run with controls too.
    own_string
        The share of them that agree if each lab has a string of its own.
    own_threshold, own_order
        The same if only the threshold, or only the order, is the lab's own.
    fewest_errors
        The share that agree if each lab returns what errs least on as many labels, without a common string.
    labels_mean, labels_max
        Labels a lab asked for: mean and most.
    excess_error_mean, excess_error_max
        Error of a lab's answer above the smallest of the class: mean and largest.
    excess_over_epsilon
        Labs whose excess error is above ε.
    certified_fraction
        The share of labs that ended certified.
    rho_proven
        Mean over labs of what they proved about how often two labs differ.
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
    controls: int
    own_string: float | None
    own_threshold: float | None
    own_order: float | None
    fewest_errors: float | None
    labels_mean: float
    labels_max: int
    excess_error_mean: float
    excess_error_max: float
    excess_over_epsilon: int
    certified_fraction: float | None
    rho_proven: float | None
    cap_reached: int

    @property
    def vacuous(self) -> bool | None:
        """Do labs agree whatever they do, so that it shows nothing?"""
        return is_vacuous(self.own_string, self.fewest_errors)

    @property
    def global_stability(self) -> tuple[float, float] | None:
        """An interval, 95%, for how often a lab's most frequent answer comes if nothing is shared; a mean over targets.

        If answers come with probabilities p, two labs agree with probability Σp², and Σp² ≤ max p ≤ √Σp².
        """
        if self.own_string is None:
            return None
        low, high = clopper_pearson(round(self.own_string * self.controls), self.controls)
        return low, sqrt(high)


def is_vacuous(own_string: float | None, fewest_errors: float | None) -> bool | None:
    """Do labs agree without a common string too, and those that return what errs least? None where nobody has looked.

    Examples
    --------
    >>> is_vacuous(0.05, 1.0), is_vacuous(0.9, 1.0), is_vacuous(None, None)
    (False, True, None)
    """
    if own_string is None or fewest_errors is None:
        return None
    return min(own_string, fewest_errors) > 1 - COUNTED


@dataclass(frozen=True, kw_only=True)
class GroupAudit:
    """The figures of an audit of groups of labs."""

    groups: int
    labs: int  # in each
    all_agree: float  # share of groups whose labs all returned the identical hypothesis
    all_agree_low: float  # exact (Clopper-Pearson) interval at 95%
    all_agree_high: float
    pairs_differ: float  # share of pairs of labs, mean over groups
    certified_differ: float | None  # share of groups in which two certified labs differ; None where nobody is certified
    rho_proven: float | None  # mean over all labs of what they proved about it


CONTROLS = tuple(Controls.__dataclass_fields__)
# Columns of a table of pairs: name and kind, one row a pair, `_a` and `_b` for its two labs.
_PAIR_COLUMNS = (
    ("pair", "int64"),
    ("target", "int64"),
    ("agree", "bool"),
    ("same_function", "bool"),
    ("jaccard", "double"),
    *((name, "bool") for name in CONTROLS),
)
_LAB_COLUMNS = (
    ("hypothesis", "int64"), ("survivors", "int64"), ("labels", "double"),
    ("excess_error", "double"), ("over_epsilon", "bool"), ("stopped_short", "bool"),
    ("certified", "bool"), ("rho_proven", "double"),
)  # fmt: skip


COLUMNS = _PAIR_COLUMNS + tuple((f"{name}_{lab}", kind) for name, kind in _LAB_COLUMNS for lab in "ab")
Columns = dict[str, list[Any]]


def columns(pairs: Sequence[Pair], epsilon: Fraction) -> Columns:
    """Pairs as columns."""
    table: Columns = {name: [] for name, _ in COLUMNS}
    for pair in pairs:
        table["pair"].append(pair.number)
        table["target"].append(pair.target)
        table["agree"].append(pair.agree)
        table["same_function"].append(pair.same_function)
        table["jaccard"].append(pair.jaccard_distance)
        for name in CONTROLS:
            table[name].append(None if pair.controls is None else getattr(pair.controls, name))
        for lab, letter in enumerate("ab"):
            for name, value in _lab_row(pair, lab, epsilon).items():
                table[f"{name}_{letter}"].append(value)
    return table


def _lab_row(pair: Pair, lab: int, epsilon: Fraction) -> dict[str, Any]:
    proof = None if pair.proofs is None else pair.proofs[lab]
    return {
        "hypothesis": pair.hypotheses[lab],
        "survivors": pair.survivors[lab],
        "labels": pair.labels[lab],
        "excess_error": float(pair.excess_errors[lab]),
        "over_epsilon": pair.excess_errors[lab] > epsilon,
        "stopped_short": pair.stopped_short[lab],
        "certified": None if proof is None else proof.certified,
        "rho_proven": None if proof is None else proof.rho_proven,
    }


def figures(rows: Columns) -> Audit:
    """The figures of an audit; sums are exact, so that the order of the pairs does not matter."""
    pairs, agreements = len(rows["pair"]), sum(rows["agree"])
    low, high = clopper_pearson(agreements, pairs)
    labs = {name: rows[f"{name}_a"] + rows[f"{name}_b"] for name, _ in _LAB_COLUMNS}
    return Audit(
        pairs=pairs,
        agreements=agreements,
        agreement=agreements / pairs,
        agreement_low=low,
        agreement_high=high,
        function_agreement=sum(rows["same_function"]) / pairs,
        expected_jaccard=fsum(rows["jaccard"]) / pairs,
        survivors_mean=sum(labs["survivors"]) / (2 * pairs),
        controls=sum(agree is not None for agree in rows["own_string"]),
        **{name: mean(rows[name]) for name in CONTROLS},
        labels_mean=_sum(labs["labels"]) / (2 * pairs),
        labels_max=max(labs["labels"]),
        excess_error_mean=fsum(labs["excess_error"]) / (2 * pairs),
        excess_error_max=max(labs["excess_error"]),
        excess_over_epsilon=sum(labs["over_epsilon"]),
        certified_fraction=mean(labs["certified"]),
        rho_proven=mean(labs["rho_proven"]),
        cap_reached=sum(labs["stopped_short"]),
    )


def group_figures(pairs: Sequence[Pair]) -> GroupAudit:
    """The figures of the groups that these pairs are the first labs of."""
    groups = [pair.group for pair in pairs if pair.group is not None]
    agree = sum(group.pairs_differ == 0 for group in groups)
    low, high = clopper_pearson(agree, len(groups))
    return GroupAudit(
        groups=len(groups),
        labs=len(groups[0].hypotheses),
        all_agree=agree / len(groups),
        all_agree_low=low,
        all_agree_high=high,
        pairs_differ=fsum(group.pairs_differ for group in groups) / len(groups),
        certified_differ=mean([group.certified_differ for group in groups]),
        rho_proven=mean([rho for group in groups for rho in group.rho_proven]),
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

"""Audits: many pairs of labs, one string a pair. How often do they agree, and at what price?

The two labs of a pair share the world (class, population, target) and the pair's published string, nothing else:
each has its own private randomness for its pool, its draws and its labels. Every pair is computed from the audit's
seed and its own number alone, so the figures do not depend on how many workers there are or which pairs ran before.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from replical.bounds.ranks import agreement_bound
from replical.classes.prior import UNIFORM, Prior
from replical.core.in_order import in_order
from replical.core.parallel import cores, in_processes
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.core.workers import Workers
from replical.errors import ReplicalError, ValueOutOfRange
from replical.learners.base import Learner, learn
from replical.learners.fast.line import along_a_line
from replical.learners.findings import Rounding
from replical.learners.result import Result
from replical.worlds.figures import Audit, Group, Groups, Pair, columns, figures, together
from replical.worlds.population import Population
from replical.worlds.shift import tilted
from replical.worlds.world import World

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
    own, shared = tilted(population, world.shift), SharedRandomness(pair_string(seed, number))
    return population, tuple(
        run_lab(learner, own.of(lab), world.pool_size, shared, (seed, number, _NAMES[lab] if lab < 26 else lab))
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
    common = len(np.intersect1d(one.V.indices, two.V.indices, assume_unique=True))
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
        Processes; every core if left out. Or others, e.g. a cluster (`replical.core.workers`).
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
    if isinstance(workers, Workers):
        task = _PairTask(learner=learner, world=world.light(), seed=seed, labs=labs)
        yield from in_order(task, pairs, workers, "pair" if labs == 2 else "group")
        return
    if workers is not None and workers < 1:
        raise ValueOutOfRange(f"an audit needs at least 1 worker, got {workers}")
    count = min(pairs, workers or cores())
    task = _PairTask(learner=learner, world=world, seed=seed, labs=labs)
    if count == 1:
        yield from map(task, range(pairs))
        return
    yield from in_processes(task, pairs, count)


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
        Processes; None takes every core. Or others, e.g. a cluster (`replical.core.workers`).
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

"""Two labs and one string in a supposed world: what they ask for, and whether they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np

from replical.classes.prior import UNIFORM
from replical.core.randomness import SharedRandomness
from replical.learners.base import learn
from replical.learners.fast.line import along_a_line
from replical.learners.for_plan import learner_for
from replical.learners.result import Result
from replical.plans.base import Plan
from replical.plans.catalogue import find
from replical.pools.pool import Pool
from replical.worlds.supposed import SupposedWorld

ONE_BY_ONE = 2  # worlds in which labs run with the batch of their plan
_BATCHES = 32  # batches of the shortest of these runs, afterwards


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What two labs did.

    Attributes
    ----------
    best
        The best hypothesis of their world.
    labels
        What each asked for.
    difference, uniform
        How often they differ, over the shared choice where that is known, otherwise 0 or 1; the same without the prior,
        None where nothing is rounded by distance.
    certified
        The share of them that ended certified; None where the learner proves nothing.
    prior_log, uniform_log
        As in `replical.Prediction`.
    """

    best: int
    difference: float
    uniform: float | None
    labels: tuple[int, int]
    certified: float | None
    prior_log: float | None
    uniform_log: float | None


def run_both(chosen: Plan, world: SupposedWorld, U: int, number: int) -> Pair:
    """Two labs, each with `U` items of a world, and string `number`."""
    shared, active = SharedRandomness(f"forecast / pair {number}"), learner_for(chosen)
    results = []
    for name in "AB":
        private = world.private.derived(name)
        pool = world.population.pool(U, private)
        assert isinstance(pool, Pool), "it has a size"
        labels = world.answers(pool, private)
        truth = getattr(labels, "truth", None)
        results.append(along_a_line(active, pool, truth, shared) or learn(active, pool, labels, shared))
    return _compare(results[0], results[1], chosen, world.best)


def _compare(one: Result, two: Result, chosen: Plan, best: int) -> Pair:
    first, second, prior = one.rounding, two.rounding, chosen.prior
    by_ball = first is not None and second is not None and chosen.choice == "ball"
    found = Pair(
        best=best,
        difference=float(one.hypothesis != two.hypothesis or one.hypothesis is None),
        uniform=None,
        labels=(one.labels, two.labels),
        certified=None if one.proven is None or two.proven is None else (one.stopped + two.stopped) / 2,
        prior_log=None,
        uniform_log=None,
    )
    if not by_ball:
        return found
    assert first is not None, "it rounds"
    assert second is not None, "it rounds"
    uniform = first.difference(second, UNIFORM)
    near = first.scores <= first.range[0] * first.items
    share = float(prior.masses(len(near))[near].sum()) if prior.kind == "weights" else float(near.mean())
    return replace(
        found,
        difference=uniform if prior is UNIFORM else first.difference(second, prior),
        uniform=uniform,
        prior_log=1 + log(1 / max(share, 1e-300)),
        uniform_log=1 + log(1 / max(float(near.mean()), 1e-300)),
    )


def larger_batch(learner: str, options: Mapping[str, Any], pairs: Sequence[Pair]) -> dict[str, int]:
    """The batch of pairs to come, once the first have run, if it differs from what `options` of the plan say."""
    if len(pairs) != ONE_BY_ONE or not find(learner).uses("batch"):
        return {}
    published = int(options.get("batch") or 1)
    batch = quick_batch(published, [count for pair in pairs for count in pair.labels])
    return {"batch": batch} if batch != published else {}


def quick_batch(published: int, labels: Sequence[int]) -> int:
    """The batch of simulated runs after some that took so many `labels`: where they are many, larger than is published.

    That saves time. It is a thirty-second of the shortest run at most, and so is what a lab then asks too much.
    """
    return max(published, min(labels) // _BATCHES)


def mean_or_none(values: Sequence[float | None]) -> float | None:
    """The mean, if every value is known."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None

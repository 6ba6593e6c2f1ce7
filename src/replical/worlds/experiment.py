"""An experiment in words: a class spec, a learner id and numbers become a learner and the world it is tried in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass, Items
from replical.classes.catalogue import parse
from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import fraction
from replical.errors import BadSpec, ValueOutOfRange
from replical.learners.base import Learner
from replical.learners.catalogue import Record, find
from replical.learners.parameters import OPTIONS as PLAN_OPTIONS
from replical.learners.plan import Condition
from replical.learners.planning import learner_for, plan
from replical.pools.yardstick import Yardstick
from replical.worlds.theta import theta as disagreement_coefficient
from replical.worlds.world import BoundaryNoise, World, parse_noise

# What an experiment may say beside its task; items are the whole pool of each lab.
OPTIONS = tuple(name for name in PLAN_OPTIONS if name != "items")
_EACH_TARGET = 2000  # hypotheses up to which the best error is found for every target


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is tried.

    Attributes
    ----------
    class_spec
        E.g. ``thresholds:1000``.
    learner, epsilon, delta, rho
        A learner id and its public numbers, as in `replical.plan`.
    pool_size
        Items in each lab's pool, or ``"exact"``.
    noise
        A rate, or ``boundary:RATE,RADIUS``.
    theta, nu
        Left out: the exact disagreement coefficient of the population, and its best error (of noise near a boundary the
        largest over all targets), where the learner needs them.
    plan
        ``"paper"`` or ``"tight"``.
    options
        Other parameters of `replical.plan` (`OPTIONS`).
    yardstick
        ``"cells"``: labs that round measure distances on every cell of the world, not on their own items.
    table_digest
        Of the file that the class spec names, where it must be this very one.
    """

    class_spec: str
    learner: str
    epsilon: float
    pool_size: int | str
    delta: float = 0.05
    rho: float = 0.1
    noise: str = "0"
    theta: float | None = None
    nu: float | None = None
    plan: str = "tight"
    options: Mapping[str, Any] = field(default_factory=dict)
    yardstick: str | None = None
    table_digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A learner and its world.

    Attributes
    ----------
    learner, world
        What is run, and where.
    theta, nu
        The public numbers the learner was planned with; None where it needs none.
    theta_source, nu_source
        Where they came from.
    broken
        What the learner's claim needs and does not find: in its plan, or in this world.
    """

    learner: Learner
    world: World
    theta: float | None
    theta_source: str | None
    nu: float | None
    nu_source: str | None
    broken: tuple[Condition, ...]


def prepare(
    experiment: Experiment,
    *,
    seed: str,
    prior: Prior = UNIFORM,
    law: NDArray[np.float64] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Ready:
    """Make the class, the world and the plan.

    Parameters
    ----------
    experiment
        What is tried.
    seed
        The text a net of half-spaces is drawn from.
    prior
        How the shared order prefers hypotheses.
    law
        Probabilities of the labels, one row a cell, instead of a target and noise.
    progress
        Called with (centres done, centres in all) while Θ is computed.

    Returns
    -------
    ready
        A learner and its world.

    Raises
    ------
    BadSpec
        If class, learner or noise are written in a way nobody understands.
    ValueOutOfRange
        If a number lies where it means nothing, or a law is none.

    Examples
    --------
    >>> ready = prepare(Experiment(class_spec="thresholds:100", learner="replical", epsilon=.1, pool_size="exact"), seed="s")
    >>> ready.theta, ready.theta_source
    (2.0, 'exact maximum over centres on the population')
    """
    C, cells = parse(experiment.class_spec, seed=seed, digest=experiment.table_digest)
    noise = parse_noise(experiment.noise)
    if law is not None and noise != 0:
        raise ValueOutOfRange(
            f"a law says how labels are drawn, noise included: leave out the noise {experiment.noise}"
        )
    world = World(C=C, cells=cells, noise=noise, law=law, pool_size=checked_size(experiment.pool_size))
    world.population(0)  # refuses noise that makes no sense before it is used for anything
    record, theta, nu = find(experiment.learner), experiment.theta, experiment.nu
    theta_source, nu_source = None if theta is None else "given", None if nu is None else "given"
    if theta is None and record.uses("theta"):
        theta = disagreement_coefficient(C, world.population(0), progress=progress).value
        theta_source = "exact maximum over centres on the population"
    best, best_source = _best_error(world)
    if nu is None and record.uses("nu"):
        nu, nu_source = best, best_source
    items = world.pool_size if isinstance(world.pool_size, int) else None
    learner_plan = plan(
        experiment.learner,
        C,
        epsilon=experiment.epsilon,
        delta=experiment.delta,
        rho=experiment.rho,
        theta=theta,
        nu=nu,
        name=experiment.plan,
        pool="exact" if items is None else "finite",
        items=items if record.uses("items") else None,
        prior=prior,
        yardstick=yardstick_of(experiment.yardstick, C, cells),
        **experiment.options,
    )
    return Ready(
        learner=learner_for(learner_plan),
        world=world,
        theta=theta,
        theta_source=theta_source,
        nu=nu,
        nu_source=nu_source,
        broken=tuple(each for each in (*learner_plan.conditions, *_of_world(record, nu, best)) if not each.held),
    )


def yardstick_of(source: str | None, C: HypothesisClass, cells: Items) -> Yardstick | None:
    """What labs without a protocol measure distances on: ``"cells"``, or their own items where `source` is None.

    Raises
    ------
    BadSpec
        For any other word.
    """
    if source is None:
        return None
    if source != "cells":
        raise BadSpec(
            f"without a protocol a yardstick is 'cells', every cell of the population once, got {source!r:.40}"
        )
    return Yardstick.cells(C, cells)


def _best_error(world: World) -> tuple[float, str]:
    """ν, an upper bound on the error of the best hypothesis whatever the target, and how it is known."""
    if world.law is not None:
        return _not_below(world.population().nu), "the best error under the law"
    if not isinstance(world.noise, BoundaryNoise):
        return float(world.noise), "the noise rate"
    if len(world.C) > _EACH_TARGET:
        return float(world.noise.rate), "the noise rate, an upper bound: there are too many targets to look at each"
    largest = max(world.population(target).nu for target in range(len(world.C)))
    return _not_below(largest), "the largest best error over all targets"


def _not_below(x: Fraction) -> float:
    near = float(x)
    return near if fraction(near) >= x else nextafter(near, inf)


def _of_world(record: Record, nu: float | None, best: float) -> tuple[Condition, ...]:
    """What a claim supposes of the labels."""
    conditions = []
    if record.setting == "realizable":
        conditions.append(Condition(name="some hypothesis makes no error", value=best, bound=0.0, held=best == 0))
    if nu is not None:
        name = "nu is at least the error of the best hypothesis"
        conditions.append(Condition(name=name, value=best, bound=nu, held=best <= nu))
    return tuple(conditions)


def checked_size(size: int | str) -> int | str:
    """Check `size`, a number of items or 'exact'; numbers may come as text.

    Raises
    ------
    ValueOutOfRange
        If it is neither, or no number from 1 to 10¹² - 1.
    """
    if size == "exact":
        return size
    text = str(size)
    if isinstance(size, bool) or not (text.isascii() and text.isdigit() and len(text) <= 12) or int(text) < 1:
        raise ValueOutOfRange(f"a pool size is a whole number from 1 to 10**12 - 1 or 'exact', got {size!r:.40}")
    return int(text)

"""An experiment in words: a class spec, a learner id and numbers become a learner and the world it is tried in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replical.classes.catalogue import known_theta, parse
from replical.classes.prior import UNIFORM, Prior
from replical.errors import ValueOutOfRange
from replical.learners.base import Learner
from replical.learners.catalogue import Record, find
from replical.learners.plan import Condition
from replical.learners.planning import learner_for, plan
from replical.worlds.theta import theta as disagreement_coefficient
from replical.worlds.world import World, parse_noise

_EACH_CENTRE = 2000  # and up to which a theta that is given is compared with the world's own


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is tried."""

    class_spec: str  # e.g. thresholds:1000
    learner: str
    epsilon: float
    pool_size: int | str  # items in each lab's pool, or "exact"
    delta: float = 0.05
    rho: float = 0.1
    noise: str = "0"
    theta: float | None = None  # the exact one of the population if left out and needed
    nu: float | None = None  # the best error of the world if left out and needed
    plan: str = "tight"
    options: Mapping[str, Any] = field(
        default_factory=dict, hash=False
    )  # other parameters of `replical.plan` (`OPTIONS`)
    table_digest: str | None = None  # of the file that the class spec names, where it must be this very one


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A learner and its world."""

    learner: Learner
    world: World
    theta: float | None  # as planned with; None where the learner needs none
    theta_source: str | None
    nu: float | None
    nu_source: str | None
    broken: tuple[Condition, ...]  # what the learner's claim needs and does not find, in its plan or in this world


def prepare(
    experiment: Experiment, *, seed: str, prior: Prior = UNIFORM, progress: Callable[[int, int], None] | None = None
) -> Setup:
    """Make the class, the world and the plan.

    Examples
    --------
    >>> ready = prepare(Experiment(class_spec="thresholds:100", learner="replical", epsilon=.1, pool_size="exact"), seed="s")
    >>> ready.theta, ready.theta_source
    (2.0, 'exact maximum over centres on the population')
    """
    C, cells = parse(experiment.class_spec, seed=seed, digest=experiment.table_digest)
    noise = parse_noise(experiment.noise)
    world = World(C=C, cells=cells, noise=noise, pool_size=parse_pool_size(experiment.pool_size))
    world.population(0)  # refuses noise that makes no sense before it is used for anything
    record, theta, nu = find(experiment.learner), experiment.theta, experiment.nu
    theta_source, nu_source = None if theta is None else "given", None if nu is None else "given"
    coefficient = known_theta(experiment.class_spec)  # of the world: a plan may be given a larger one
    if record.uses("theta") and (theta is None or (coefficient is None and len(C) <= _EACH_CENTRE)):
        coefficient = disagreement_coefficient(C, world.population(0), progress=progress).value
    if record.uses("theta") and theta is None:
        theta, theta_source = coefficient, "exact maximum over centres on the population"
    elif record.uses("theta") and coefficient is None:
        theta_source = "given, and not compared with the population's own: there are too many hypotheses"
    if nu is None and record.best_error(noise) is not None:
        nu, nu_source = noise, "the noise rate"
    learner_plan = plan(
        experiment.learner,
        C,
        epsilon=experiment.epsilon,
        delta=experiment.delta,
        rho=experiment.rho,
        theta=theta,
        nu=nu,
        name=experiment.plan,
        pool="finite" if isinstance(world.pool_size, int) else "exact",
        prior=prior,
        **experiment.options,
    )
    return Setup(
        learner=learner_for(learner_plan),
        world=world,
        theta=theta,
        theta_source=theta_source,
        nu=nu,
        nu_source=nu_source,
        broken=tuple(
            each
            for each in (*learner_plan.conditions, *_world_conditions(record, nu, noise, theta, coefficient))
            if not each.held
        ),
    )


def _world_conditions(
    record: Record, nu: float | None, best: float, theta: float | None, coefficient: float | None
) -> tuple[Condition, ...]:
    """What a claim supposes of the labels and of the items."""
    conditions = []
    if record.setting == "realizable":
        conditions.append(Condition(name="some hypothesis makes no error", value=best, bound=0.0, held=best == 0))
    if nu is not None:
        name = "nu is at least the error of the best hypothesis"
        conditions.append(Condition(name=name, value=best, bound=nu, held=best <= nu))
    if record.uses("theta") and theta is not None and coefficient is not None:
        name = "theta is at least the disagreement coefficient"
        conditions.append(Condition(name=name, value=coefficient, bound=theta, held=coefficient <= theta))
    return tuple(conditions)


def parse_pool_size(size: int | str) -> int | str:
    """Check `size`, a number of items or 'exact'; numbers may come as text."""
    if size == "exact":
        return size
    text = str(size)
    if isinstance(size, bool) or not (text.isascii() and text.isdigit() and len(text) <= 12) or int(text) < 1:
        raise ValueOutOfRange(f"a pool size is a whole number from 1 to 10**12 - 1 or 'exact', got {size!r:.40}")
    return int(text)

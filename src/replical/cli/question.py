"""What ``replical plan`` is asked about: a protocol, or a class and public numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from replical.classes.base import HypothesisClass, Items
from replical.classes.prior import Prior
from replical.cli.inputs import SIMULATED
from replical.cli.output import progress, reading
from replical.errors import BadUsage
from replical.lab.protocol import Protocol
from replical.lab.tables import read_pool
from replical.plans.catalogue import find
from replical.plans.costs import Setting
from replical.plans.plan import plan
from replical.plans.rounded import RoundedPlan
from replical.pools.pool import Pool
from replical.pools.yardstick import Yardstick
from replical.worlds.experiment import yardstick_of
from replical.worlds.theta import theta as disagreement_coefficient
from replical.worlds.world import World

_SMALL = 2000  # hypotheses up to which the disagreement coefficient takes seconds
_SOME = 5000  # items of a pool it is computed on


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked about: a protocol, or a class and public numbers.

    Attributes
    ----------
    title
        What it is called.
    C, cells, pool
        The class, the items of its standard population, the lab's own items.
    setting, theta_source
        The public numbers, and where Θ came from.
    only, learner
        The learner whose bills are wanted, all if none; the learner whose agreement is forecast.
    prior, options
        How the shared order prefers hypotheses; the other keywords of `replical.plan`, as they were given.
    nu
        The error of the best hypothesis, where somebody said it.
    together
        Labs that a protocol's numbers are for, where they depend on it.
    measured
        The learner's plan, where distances are measured on a yardstick.
    published
        Which of the learner's plans a protocol names; None where there is no protocol.
    """

    title: str
    C: HypothesisClass
    cells: Items | None = None
    pool: Pool | None = None
    setting: Setting
    theta_source: str | None = None
    only: str | None = None
    learner: str
    prior: Prior
    options: Mapping[str, Any]
    nu: float | None = None
    together: int | None = None
    measured: RoundedPlan | None = None
    published: str | None = None

    @property
    def yardstick(self) -> Yardstick | None:
        """What distances are measured on; None for every lab's own items."""
        return None if self.measured is None else self.measured.yardstick


def about_protocol(file: Path, pool: Path | None, id_column: str, *, theta: float | None, nu: float | None) -> Question:
    """What a protocol says, and what it leaves open."""
    protocol = Protocol.read(file)
    items: Pool | None = None
    if pool is not None:
        with reading(pool) as update:
            items = read_pool(pool, protocol.recipe, id_column=id_column, progress=update).pool(SIMULATED)
    rounded = protocol.plan if isinstance(protocol.plan, RoundedPlan) else None
    return Question(
        title=protocol.title or file.name,
        C=protocol.recipe.C,
        pool=items,
        setting=protocol.setting(theta=theta, nu=nu),
        learner=protocol.plan.learner,
        prior=protocol.prior,
        options=protocol.options,
        nu=protocol.given("nu") if protocol.given("nu") is not None else nu,
        together=protocol.labs_most,
        measured=None if rounded is None or rounded.yardstick is None else rounded,
        published=protocol.plan.name,
    )


def about_class(
    spec: str,
    C: HypothesisClass,
    cells: Items,
    *,
    pool: Pool | None,
    setting: Setting,
    shift: float | None,
    only: str | None,
    prior: Prior,
    options: Mapping[str, Any],
    yardstick: str | None,
) -> Question:
    """What somebody says of a class; what is None among `options` was not said."""
    learner = only or "rounded-a2"
    record = find(learner)
    if shift is not None and not record.uses("shift"):
        raise BadUsage(f"{learner} knows no shift: leave it out, or name rounded-cal or rounded-a2")
    labs = setting.labs if setting.labs > 2 and record.uses("labs") else None
    said = {**options, "labs": labs, "shift": shift}
    question = Question(
        title=spec,
        C=C,
        cells=cells,
        pool=pool,
        setting=setting,
        only=only,
        learner=learner,
        prior=prior,
        options={name: value for name, value in said.items() if value is not None},
        nu=setting.nu,
    )
    if yardstick is None:
        return question
    return replace(question, measured=_measured(question, yardstick_of(yardstick, C, cells)))


def _measured(question: Question, yardstick: Yardstick | None) -> RoundedPlan:
    """The plan of a learner that measures on a yardstick; one that does not is refused."""
    setting = question.setting
    made = plan(
        question.learner,
        question.C,
        epsilon=setting.epsilon,
        delta=setting.delta,
        rho=setting.rho,
        pool="finite",
        prior=question.prior,
        yardstick=yardstick,
        **question.options,
    )
    assert isinstance(made, RoundedPlan), "nobody else measures on a yardstick"
    return made


def with_theta(question: Question) -> Question:
    """Θ as given, or on the population of an audit or on some of the pool, where that is quickly known."""
    if question.setting.theta is not None:
        return replace(question, theta_source="given")
    C, cells, pool = question.C, question.cells, question.pool
    items = cells if cells is not None else None if pool is None else pool.items[:_SOME]
    if len(C) > _SMALL or items is None:
        return question
    with progress("disagreement coefficient") as update:
        coefficient = disagreement_coefficient(
            C, World(C=C, cells=items, pool_size="exact").population(0), progress=update
        )
    on = "the population of an audit" if cells is not None else f"{len(items)} items of the pool"
    setting = replace(question.setting, theta=coefficient.value)
    return replace(question, setting=setting, theta_source=f"exact maximum over centres on {on}")


def inputs(question: Question, labs: int, noise: str | None) -> dict[str, Any]:
    """The question as JSON tells it."""
    setting = question.setting
    return {
        "class": question.title,
        "learner": question.only,
        "epsilon": setting.epsilon,
        "delta": setting.delta,
        "rho": setting.rho,
        "theta": setting.theta,
        "theta_source": question.theta_source,
        "nu": setting.nu,
        "labs": labs,
        "shift": question.setting.shift,
        "noise": noise,
        "items": question.options.get("items"),
        "kappa": question.options.get("kappa"),
        "max_labels": question.options.get("max_labels"),
        "prior": question.prior.kind,
    }

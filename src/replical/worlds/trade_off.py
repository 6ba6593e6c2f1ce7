"""What another protocol would cost in the same supposed worlds: another ε, range, order or budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from replical.classes.base import HypothesisClass
from replical.classes.prior import UNIFORM, Prior
from replical.classes.table import PredictionTable
from replical.errors import ReplicalError
from replical.plans.base import Plan
from replical.plans.catalogue import Record
from replical.plans.plan import plan
from replical.pools.pool import Pool
from replical.worlds.pair import Pair, larger_batch, mean_or_none, run_both
from replical.worlds.supposed import SupposedWorld, order_from

_PUBLIC = 100  # labelled public items that an order is supposed to be made from
_CHANGED = (0.15, 0.1)  # a change is worth a row from this share of labels, or this much of a probability, on


@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """What another protocol would cost, in the same worlds.

    Attributes
    ----------
    change
        What is different, in words; "as published" where nothing is.
    epsilon, labels_median, certified, differ
        Its ε, the median labels per lab, the share of labs certified (None where the learner proves nothing), how often two
        labs differ.
    """

    change: str
    epsilon: float
    labels_median: float
    certified: float | None
    differ: float


@dataclass(frozen=True, kw_only=True)
class Change:
    """Another protocol: what is different, in words and as keywords of `plan`; or an order from public items."""

    words: str
    options: Mapping[str, Any]
    public: int = 0


def changes(C: HypothesisClass, record: Record, options: Mapping[str, Any]) -> Iterator[Change]:
    """ε, the range of v, and the order."""
    epsilon = float(options["epsilon"])
    for factor in (0.5, 2.0):
        if epsilon * factor < 0.5:
            scaled = {key: options[key] * factor for key in ("a", "b", "kappa") if options.get(key) is not None}
            yield Change(words=f"epsilon = {epsilon * factor:g}", options={"epsilon": epsilon * factor, **scaled})
    if record.uses("a") and not record.rounds and options.get("a") is None and options.get("b") is None:
        yield Change(words=f"a = {epsilon / 2:g}", options={"a": epsilon / 2})
    if options.get("prior", UNIFORM).kind != "uniform":
        yield Change(words="random order", options={"prior": UNIFORM})
    elif record.replicable and isinstance(C, PredictionTable):
        yield Change(words=f"order from {_PUBLIC} public labels", options={}, public=_PUBLIC)


def half_of_the_budget(options: Mapping[str, Any], base: TradeOff) -> Change:
    """Half of what is usually asked for where there is no budget."""
    most = max(int((options.get("max_labels") or base.labels_median) / 2), int(options.get("batch") or 1))
    return Change(words=f"max_labels = {most}", options={"max_labels": most})


def row_of(
    change: Change,
    learner: str,
    options: Mapping[str, Any],
    worlds: Sequence[SupposedWorld],
    U: int,
    tick: Callable[[], None],
) -> TradeOff | None:
    """What a change does to a plan (`learner`, `options`), labs with `U` items; None where no run can be made of it."""
    pairs: list[Pair] = []
    changed = {**options, **change.options}
    try:
        chosen = plan(learner, worlds[0].population.C, pool="finite", **changed)
        for number, world in enumerate(worlds):
            new: dict[str, Any] = larger_batch(learner, changed, pairs)
            if change.public:
                new["prior"] = _public_order(world, change.public)
            if new:
                changed |= new
                chosen = plan(learner, world.population.C, pool="finite", **changed)
            pairs.append(run_both(chosen, world, U, number))
            tick()
    except ReplicalError:
        return None
    return summary(change.words, chosen, pairs)


def _public_order(world: SupposedWorld, count: int) -> Prior:
    """The order that so many labelled items of this world would make."""
    private = world.private.derived("public")
    pool = world.population.pool(count, private)
    assert isinstance(pool, Pool), "it has a size"
    return order_from(pool, world.answers(pool, private))


def summary(words: str, chosen: Plan, pairs: Sequence[Pair]) -> TradeOff:
    """A row, of the pairs of labs that ran a plan."""
    return TradeOff(
        change=words,
        epsilon=float(chosen.epsilon),
        labels_median=float(np.median([count for pair in pairs for count in pair.labels])),
        certified=mean_or_none([pair.certified for pair in pairs]),
        differ=float(np.mean([pair.difference for pair in pairs])),
    )


def differs(row: TradeOff, base: TradeOff) -> bool:
    """Does a change change anything that so few worlds can show?"""
    labels, share = _CHANGED
    return (
        abs(row.labels_median - base.labels_median) > labels * base.labels_median
        or abs((row.certified or 0.0) - (base.certified or 0.0)) >= share
        or abs(row.differ - base.differ) >= share
    )

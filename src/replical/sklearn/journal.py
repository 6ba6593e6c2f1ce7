"""A fit whose labels are kept: the run of a lab, on rows in place of a table, with the journal that every lab has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import splitext
from typing import Any

import numpy as np

from replical.classes.base import Items
from replical.classes.losses import Losses
from replical.classes.recipe import Recipe
from replical.classes.table import PredictionTable
from replical.lab.ordering import Ordering, asked_of
from replical.lab.pool import LabPool, pool_fingerprint
from replical.lab.protocol import Protocol
from replical.lab.run import run
from replical.lab.schema import SCHEMA
from replical.lab.sessions.session import Session
from replical.learners.base import Learner
from replical.learners.handicap.order import Inquiry
from replical.learners.plan import Plan
from replical.learners.result import Result
from replical.sklearn.base import SKIPPED, RowCodes, log_progress


@dataclass(frozen=True)
class FitProtocol(Protocol):
    """What a fit and its journal agree on: a protocol whose class and plan are at hand."""

    recipe: Recipe
    plan: Plan


@dataclass(frozen=True)
class FitOrdering(Ordering):
    """What public rows that are asked about and their journal agree on."""

    recipe: Recipe


def ask_and_keep(
    journal: str | PathLike[str], learner: Learner, C: PredictionTable, items: Items, labels: RowCodes, seed: str
) -> Result:
    """Let a learner ask until it has an answer; each label is in the `journal` before the next is asked for."""
    losses = getattr(learner.plan, "losses", None)
    pool = _pool(C, items, losses)

    def label_of(row: str) -> int | None:
        code = int(labels(np.array([int(row)]))[0])
        return None if code == SKIPPED else code

    def tell(session: Session) -> None:
        if session.course.latest is not None:
            log_progress(len(session.ledger.labels), session.course.latest.survivors)

    protocol = FitProtocol(_content(pool.recipe, seed, _about(learner.plan, losses)), pool.recipe, learner.plan)
    return run(protocol, pool, label_of, fspath(journal), private=True, progress=tell).result


def order_and_keep(
    journal: str | PathLike[str],
    C: PredictionTable,
    rows: Items,
    losses: Losses | None,
    label_of: Callable[[int], int | None],
) -> Inquiry:
    """Ask about public rows; each label is in a file beside the `journal` before the next is asked for."""
    pool, (stem, kind) = _pool(C, rows, losses), splitext(fspath(journal))
    costs = {"name": "order", "costs": _costs(losses)}
    protocol = FitOrdering(_content(pool.recipe, "public order", costs), pool.ids, pool.recipe)
    where = f"{stem}.public{kind}"
    ledger = run(protocol, pool, lambda row: label_of(int(row)), where, private=True).session.ledger
    return asked_of(pool, {**ledger.labels, **dict.fromkeys(ledger.skipped)}, where)


def _pool(C: PredictionTable, items: Items, losses: Losses | None) -> LabPool:
    """Rows as the items of a lab, with their numbers as ids."""
    recipe = Recipe(C=C, columns=C.candidates, to_items=C.items, predicts=True, losses=losses)
    ids = tuple(map(str, range(len(items))))
    found = pool_fingerprint(ids, items, lambda done: None)
    return LabPool(recipe=recipe, ids=ids, items=items, fingerprint=found, rows=np.arange(len(items), dtype=np.int64))


def _content(recipe: Recipe, seed: str, learner: dict[str, Any]) -> dict[str, Any]:
    """What would stand in the file of a protocol."""
    about = {"class": {"kind": "table", "candidates": list(recipe.columns)}, "labels": {"values": list(recipe.answers)}}
    return {"schema": SCHEMA, "seed": seed, **about, "learner": learner}


def _about(plan: Plan, losses: Losses | None) -> dict[str, Any]:
    """Whatever a fit depends on beside rows, text and candidates: a journal of another fit is refused."""
    numbers = {number.name: str(number.value) for number in plan.numbers}
    about = {"name": plan.learner, "epsilon": str(plan.epsilon), "max_labels": plan.max_labels, "numbers": numbers}
    order = [] if plan.prior.places is None else plan.prior.places.argsort().tolist()
    return about | {"order": order, "costs": _costs(losses)}


def _costs(losses: Losses | None) -> list[list[Any]]:
    return [] if losses is None else [*map(list, losses.costs)]

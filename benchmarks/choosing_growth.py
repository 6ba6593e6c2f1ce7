"""Pools that grow four times by half, for benchmarks/choosing.py --growth: the old order kept, or a new one each time.

A lab without a proof adds items and goes on. With the old order kept, new items come behind the old ones, as the library
does it, and the level holds for all its attempts together. A lab that starts again in a new order each time, labels known
already for nothing, has five chances at its level: this is the mutant, which nobody should do.

Handicaps are from a public order, from the string, or, in the hardest case, those that tie the best model with the worst one
that errs less than ε more: this one is the ideal answer by one unit of 2⁻⁴⁰, so every certificate of the best is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from choosing import EPSILON, GROWN, NUMBERS, Labs, ModelSet
from choosing_tables import markdown, share

from replical import Handicaps, PrivateRandomness, learn, learner_for, plan
from replical.classes.prior import UNIFORM
from replical.learners.handicap.handicaps import UNIT
from replical.pools.pool import Pool
from replical.pools.query import Answers, Labels, Query

SIZES = GROWN[500]
WAYS = {"public": "public order", "random": "exponentials", "tie": "those that tie the best with the worst within ε"}
ORDERS = {"kept": "the old order kept", "new": "a new order each time"}


class Counted:
    """Labels, with the items that were asked."""

    def __init__(self, labels: Labels, items: set[int]) -> None:
        self._labels, self._items = labels, items

    def answer(self, query: Query) -> Answers:
        self._items.update(query.items.tolist())
        return self._labels.answer(query)


@dataclass(frozen=True)
class Growing:
    """Two labs of each way that choose from one set and grow; called with a string's number."""

    models: ModelSet

    @cached_property
    def _all(self) -> Labs:
        return Labs(self.models, SIZES[-1])

    @cached_property
    def _tied(self) -> Labs:
        errors, most = self.models.errors, self.models.errors.min() + EPSILON * len(self.models.truth)
        two = [int(errors.argmin()), int(np.where(errors < most, errors, -1).argmax())]
        names = tuple(self.models.candidates[h] for h in two)
        return Labs(replace(self.models, candidates=names, predictions=self.models.predictions[:, two]), SIZES[-1])

    def __call__(self, string: int) -> list[dict[str, Any]]:
        return [self.lab(way, order, string, name) for way in WAYS for order in ORDERS for name in "AB"]

    def lab(self, way: str, order: str, string: int, name: str) -> dict[str, Any]:
        """One lab: in which stage it is certified, if it is, whether with another answer than the ideal one; its labels."""
        labs = self._tied if way == "tie" else self._all
        shared, population, options = labs.shared(string), labs.population, dict(NUMBERS)
        if way == "tie":
            errors = labs.models.errors
            gap = int(errors[1] - errors[0]) * UNIT // len(labs.models.truth) + 1
            options["handicaps"] = Handicaps.of(population.C, [gap / UNIT, 0.0])
        prior = labs.public_order(string) if way == "public" else UNIFORM
        made = plan("handicap", population.C, pool="finite", prior=prior, **options)
        ideal, private = labs.ideal(made, shared), PrivateRandomness.simulated(*labs.private(string, name))
        asked: set[int] = set()
        for stage, pool in enumerate(_stages(population.pool(SIZES[-1], private), private, order)):
            labels = Counted(population.labels(pool, private), asked)
            found = learn(learner_for(made), pool, labels, shared)
            if found.proof.certified:
                return {
                    "way": way,
                    "order": order,
                    "stage": stage,
                    "wrong": found.hypothesis != ideal,
                    "labels": len(asked),
                }
        return {"way": way, "order": order, "stage": None, "wrong": False, "labels": len(asked)}


def _stages(pool: Pool, private: PrivateRandomness, order: str) -> Iterator[Pool]:
    """The pool before and after each growth."""
    items, ids, said = pool.items[pool.order], pool.ids[pool.order], pool.predictions.take(pool.order)
    for stage, size in enumerate(SIZES):
        places = np.arange(size)
        if order == "new":
            places = private.generator("again", stage).permutation(size)
        yield Pool.in_order(pool.C, items, ids, places, said, SIZES[:stage] if order == "kept" else ())


def summary(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row a way and order, of all sets."""
    return [
        {
            "handicaps": WAYS[way],
            "order": ORDERS[order],
            "items": SIZES,
            "labs": len(some),
            "certified": [
                sum(run["stage"] is not None and run["stage"] <= stage for run in some) for stage in range(len(SIZES))
            ],
            "wrong": sum(run["wrong"] for run in some),
            "labels_mean": sum(run["labels"] for run in some) / len(some),
        }
        for way in WAYS
        for order in ORDERS
        for some in [[run for run in runs if (run["way"], run["order"]) == (way, order)]]
    ]


def table(rows: list[dict[str, Any]]) -> str:
    """One line a row: labs certified by items in their pools, and how many of all labs have a wrong certificate."""
    columns = ("handicaps", "pools", "labs", *(f"{size:,} items" for size in SIZES), "wrong", "labels, mean")
    return markdown(
        columns,
        (
            [
                row["handicaps"],
                row["order"],
                f"{row['labs']:,}",
                *(share(count, row["labs"]) for count in row["certified"]),
                f"{row['wrong']} ({100 * row['wrong'] / row['labs']:.1f}%)",
                f"{row['labels_mean']:.0f}",
            ]
            for row in rows
        ),
    )

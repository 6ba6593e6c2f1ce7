"""A public labelled sample: what an order of preference is made from, and what no lab may scan.

The order is fixed with the protocol, so nothing about it may depend on the items that a lab scans: they would choose
their own order. It is made from labels alone. What unlabelled items would suggest, the candidate that most others agree
with, is a bad first choice: the consensus of weak models is their common mistake (docs/how-to/publish-a-protocol.md).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.predictions.base import predictions_of
from replical.classes.prior import Prior
from replical.classes.recipe import Recipe
from replical.core.randomness import SharedRandomness
from replical.core.text import plural
from replical.errors import BadProtocol, BadTable
from replical.lab.columns import name_of, names_of
from replical.lab.model_columns import TRUTH
from replical.lab.pool import LabPool, is_sharded
from replical.lab.protocol import Protocol
from replical.lab.same_items import same_items
from replical.lab.tables import read_labels, read_pool
from replical.learners.handicap.handicaps import Handicaps

FEW = 50  # fewer items make a rough order


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicSample:
    """Labelled items that no lab scans."""

    items: LabPool  # what the candidates say about them, with their ids
    labels: NDArray[np.int64]  # their label codes, in the order of the items
    column: str  # where in the table the labels stand

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def errors(self) -> NDArray[np.int64]:
        """How often each hypothesis errs on them; or what it loses, in whole parts of the costliest error."""
        C, everything = self.items.recipe.C, np.arange(len(self), dtype=np.int64)
        if (losses := self.items.recipe.losses) is not None:
            hypotheses, lost = np.arange(len(C), dtype=np.int64), np.zeros(len(C), dtype=np.int64)
            for item, label in enumerate(self.labels.tolist()):
                lost += losses.table[label][C.codes(self.items.items[item : item + 1], hypotheses)[:, 0]]
            return lost
        counts = np.zeros((len(self), len(C.labels)), dtype=np.int64)
        counts[everything, self.labels] = 1
        return predictions_of(C, self.items.items).errors(everything, counts, np.arange(len(C), dtype=np.int64))

    @property
    def prior(self) -> Prior:
        """The strict order: fewest errors first, ties by name."""
        return Prior.by_errors(self.items.recipe.C, self.errors)

    @property
    def section(self) -> dict[str, Any]:
        """What a protocol says of it: the order, and the sample it was made from."""
        places = self.prior.places
        assert places is not None, "an order by errors is strict"
        return {
            "order": places.argsort().tolist(),
            "public": self.items.fingerprint,
            "public_items": len(self),
            "public_column": self.column,
        }


def read_public(source: Any, column: str, recipe: Recipe) -> PublicSample:
    """A public labelled sample.

    Examples
    --------
    >>> from replical.classes.catalogue import recipe
    >>> models = recipe({"kind": "table", "candidates": [{"name": "a"}, {"name": "b"}]}, ("no", "yes"), "seed")
    >>> table = {"id": [1, 2], "label": ["no", "yes"], "a": ["yes", "yes"], "b": ["no", "yes"]}
    >>> sample = read_public(table, "label", models)
    >>> sample.errors.tolist(), sample.section["order"]
    ([1, 0], [1, 0])
    """
    name = name_of(source)
    if recipe.models and column in recipe.columns:
        raise BadTable(f"{column!r} is a candidate, not the labels of {name}: name the column that holds the labels")
    items = read_pool(source, recipe)
    codes = read_labels(source, column, recipe.answers)
    unlabelled = [each for each in items.ids if each not in codes]
    if unlabelled:
        raise BadTable(
            f"{name} has no label for the item {unlabelled[0]!r} in the column {column!r}: label it, and keep its row, so "
            "that no lab scans an item that was looked at"
        )
    labels = np.array([codes[each] for each in items.ids], dtype=np.int64)
    return PublicSample(items=items, labels=labels, column=column)


def check_apart(protocol: Protocol, source: Any, lab: LabPool) -> None:
    """Refuse a pool that holds items of the public sample, or a table that is not that sample.

    Examples
    --------
    >>> from replical import Protocol, read_pool
    >>> said = {"schema": "replical.protocol/1", "seed": "s", "labels": {"values": ["no", "yes"]},
    ...     "class": {"kind": "table", "candidates": [{"name": "a"}, {"name": "b"}]},
    ...     "learner": {"name": "handicap", "epsilon": .1, "delta": .1, "rho": .1}}
    >>> table = {"id": [1, 2], "label": ["no", "yes"], "a": ["yes", "yes"], "b": ["no", "yes"]}
    >>> said["handicap"] = {"from": "order"} | read_public(table, "label", Protocol.of(said).recipe).section
    >>> protocol = Protocol.of(said)
    >>> try:
    ...     check_apart(protocol, table, read_pool({"id": [2, 3], "a": ["no", "no"], "b": ["yes", "no"]}, protocol.recipe))
    ... except BadTable as error:
    ...     print(str(error)[:47])
    1 of 2 items of the pool is in the public table
    """
    sample, name = check_made(protocol, source), name_of(source)
    both = set(sample.ids) & set(lab.ids)
    if both:
        raise BadTable(
            f"{len(both)} of {len(lab)} items of the pool {plural(len(both), 'is', 'are')} in the public table {name}, "
            f"e.g. {min(both)!r:.60}: take those rows out of the pool, the order must not depend on items that a lab scans"
        )


def check_features(
    recipe: Recipe, source: Any, pool: Any, *, id_column: str = "id", without: Collection[str] = ()
) -> None:
    """Refuse a table of a lab with items of a public one, under whatever ids, as far as their features tell items apart.

    Features are all columns that both have, but for ids, labels, what models predict, and those named in `without`.

    Examples
    --------
    >>> from replical.classes.catalogue import recipe
    >>> models = recipe({"kind": "table", "candidates": [{"name": "a"}, {"name": "b"}]}, ("no", "yes"), "seed")
    >>> try:
    ...     check_features(models, {"id": [1, 2], "text": ["one", "two"]}, {"id": [7, 8], "text": ["two", "three"]})
    ... except BadTable as error:
    ...     print(str(error)[:61])
    1 of the rows of the dict is in the public table the dict too
    """
    if is_sharded(pool):  # which have predictions alone
        return
    labels = {name for name in names_of(source) if name.lower() in TRUTH}
    predicted = recipe.columns if recipe.models else ()
    found = same_items(
        source, pool, ids=("id", id_column), without={*labels, *predicted, *without}, exactly=not recipe.models
    )
    if found is not None:
        columns = ", ".join(found.columns)
        raise BadTable(
            f"{found.rows:,} of the rows of {name_of(pool)} {plural(found.rows, 'is', 'are')} in the public table "
            f"{name_of(source)} too, by {columns}: the item {found.pool_id!r:.60} is {found.public_id!r:.60} there; leave "
            f"{plural(found.rows, 'that row', 'those rows')} out of the pool, or use another public table"
        )


def check_made(protocol: Protocol, source: Any) -> LabPool:
    """The items of the public table that the protocol's order or cover was made from; refuse another table or order."""
    name = name_of(source)
    if protocol.public is None:
        raise BadProtocol(
            f"the protocol's order was not made from a public table, so there is nothing to check {name} against: leave it "
            "out, or publish an order that is made from it (replical init --public)"
        )
    sample = read_pool(source, protocol.recipe)
    if sample.fingerprint != protocol.public:
        raise BadProtocol(
            f"{name} is not the public table of the protocol: its fingerprint is {sample.fingerprint[:23]}, the protocol "
            f"says {protocol.public[:23]}; give the table that was published with it"
        )
    section = protocol.preference
    if section.get("from") == "cover":
        _check_cover(protocol, sample, name)
    elif read_public(source, section["public_column"], protocol.recipe).section["order"] != section["order"]:
        raise BadProtocol(
            f"the protocol's order is not the one that {name} makes (fewest errors first, ties by name): it was changed, so "
            "ask whoever published it"
        )
    return sample


def cover_section(items: LabPool, shared: SharedRandomness, radius: float) -> dict[str, Any]:
    """What a protocol says of a cover of its class on public unlabelled items."""
    members = Handicaps.cover(items.recipe.C, items.items, radius=radius, shared=shared).values
    assert members is not None, "a cover has members"
    return {
        "from": "cover",
        "members": members.tolist(),
        "radius": radius,
        "public": items.fingerprint,
        "public_items": len(items),
    }


def _check_cover(protocol: Protocol, items: LabPool, name: str) -> None:
    section = protocol.preference
    if cover_section(items, protocol.shared, section["radius"])["members"] != section["members"]:
        raise BadProtocol(
            f"the protocol's cover is not the one that {name} makes with its string: it was changed, so ask whoever "
            "published it"
        )

"""A public labelled sample: what an order of preference is made from, and what no lab may scan.

The order is fixed with the protocol, so nothing about it may depend on the items that a lab scans: they would choose
their own order. Every row of the public table was looked at, labelled or not, so no row of it may be in a pool. How an
order is made from a table that is not labelled is said in `replical.lab.ordering`.

Items of one table that are in another too are found by what stands in their columns, whatever they are called there. Only
columns that tell items apart can show it: where rows are alike by chance, nothing is said. Rows are hashed, a few columns of
a block at a time, so that a million of them take seconds and some dozen megabytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replical.classes.grading import loss_of
from replical.classes.losses import Losses
from replical.classes.predictions.base import predictions_of
from replical.classes.prior import Prior
from replical.classes.recipe import Recipe
from replical.core.randomness import SharedRandomness
from replical.core.text import plural
from replical.errors import BadProtocol, BadTable, ReplicalError
from replical.lab.columns import ColumnBlock, ids_of, name_of, names_of, open_table, values_of
from replical.lab.model_columns import TRUTH
from replical.lab.ordering import section_again
from replical.lab.pool import LabPool
from replical.lab.protocol import Protocol
from replical.lab.tables import read_groups, read_labels, read_pool
from replical.learners.handicap.handicaps import Handicaps

FEW = 50  # fewer items make a rough order


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicSample:
    """Labelled items that no lab scans."""

    items: LabPool  # what the candidates say about them, with their ids
    labels: list[Any]  # their label codes, or gold answers, in the order of the items
    column: str  # where in the table the labels stand

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def errors(self) -> NDArray[np.int64]:
        """How often each hypothesis errs on them; or what it loses, in whole parts of the costliest error."""
        C, everything = self.items.recipe.C, np.arange(len(self), dtype=np.int64)
        if (losses := self.items.recipe.losses) is not None:
            hypotheses, lost = np.arange(len(C), dtype=np.int64), np.zeros(len(C), dtype=np.int64)
            outputs = getattr(self.items.items, "outputs", ())
            for item, said in enumerate(self.labels):
                row = losses.row(said) if isinstance(losses, Losses) else losses.row(said, outputs[item])
                lost += np.asarray(row)[C.codes(self.items.items[item : item + 1], hypotheses)[:, 0]]
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
    codes = read_labels(source, column, loss_of(recipe.C) or recipe.answers)
    unlabelled = [each for each in items.ids if each not in codes]
    if unlabelled:
        raise BadTable(
            f"{name} has no label for the item {unlabelled[0]!r} in the column {column!r}: label it, and keep its row, so "
            "that no lab scans an item that was looked at; where most have none, replical data order asks for a hundred"
        )
    return PublicSample(items=items, labels=[codes[each] for each in items.ids], column=column)


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
    group = protocol.recipe.group
    groups = read_groups(source, group) if group is not None and group in names_of(source) else {}
    if shared := set(groups.values()) & set(lab.groups):
        raise BadTable(
            f"the group {min(shared)!r:.60} has items in the pool and in the public table {name}: take its rows out of the "
            "pool, the order must not depend on groups that a lab scans"
        )
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


def check_ids(items: LabPool, name: str, source: Any, *, id_column: str = "id") -> None:
    """Refuse a table of a lab that has ids of public `items`, those of the table called `name`.

    Examples
    --------
    >>> from replical.classes.catalogue import recipe
    >>> models = recipe({"kind": "table", "candidates": [{"name": "a"}, {"name": "b"}]}, ("no", "yes"), "seed")
    >>> public = read_pool({"id": [1, 2], "a": ["no", "no"], "b": ["no", "yes"]}, models)
    >>> try:
    ...     check_ids(public, "public.csv", {"id": [2, 3]})
    ... except BadTable as error:
    ...     print(str(error)[:54])
    1 of the rows of the dict is in the public table publi
    """
    known, both, at = set(items.ids), list[str](), 0
    with open_table(source, (id_column,), texts=(id_column,)) as table:
        for block in table.blocks([id_column]):
            found = ids_of(block.columns[id_column], id_column, name_of(source), at)
            both, at = both + [each for each in found if each in known], at + len(found)
    if both:
        raise BadTable(
            f"{len(both):,} of the rows of {name_of(source)} {plural(len(both), 'is', 'are')} in the public table {name} "
            f"too, e.g. {both[0]!r:.60}: every row of that table was looked at, asked or not, so no lab may scan it"
        )


def check_made(protocol: Protocol, source: Any) -> LabPool:
    """The items of the public table that the protocol's order or cover was made from; refuse another table or order."""
    name = name_of(source)
    if protocol.public is None:
        raise BadProtocol(
            f"the protocol's order was not made from a public table, so there is nothing to check {name} against: leave it "
            "out, or publish an order that is made from it (replical init --public)"
        )
    sample = read_pool(source, replace(protocol.recipe, group=None))
    if sample.fingerprint != protocol.public:
        raise BadProtocol(
            f"{name} is not the public table of the protocol: its fingerprint is {sample.fingerprint[:23]}, the protocol "
            f"says {protocol.public[:23]}; give the table that was published with it"
        )
    section, what = protocol.preference, "order"
    if section.get("from") == "cover":
        what, how = "cover", " with its string"
        found = cover_section(sample, protocol.shared, section["radius"])
    elif "made" in section:
        how = " with the answers it lists"
        try:
            found = section_again(section, sample, name)
        except ReplicalError as error:
            raise BadProtocol(f"the protocol's order is not one of {name}: {error}") from error
    else:
        how = " (fewest errors first, ties by name)"
        found = read_public(source, section["public_column"], protocol.recipe).section
    if any(found.get(key) != section.get(key) for key in ("members", "order", "asked", "answers")):
        raise BadProtocol(
            f"the protocol's {what} is not the one that {name} makes{how}: it was changed, so ask whoever published it"
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


# ---- items that are in both tables ----

_COLUMNS = 4  # that are compared: those of most values
_READ = 256  # columns that are looked at
_OWN = 0.99  # of the rows of a pool are different where columns tell items apart
_NUMBER = "0123456789+-. "  # how a number may begin


class SameItems(NamedTuple):
    """Rows of a pool that are in a public table too: how many, by which columns, and the ids of one of them in both."""

    rows: int
    columns: list[str]
    pool_id: str
    public_id: str


def same_items(
    public: Any, pool: Any, *, ids: tuple[str, str], without: Collection[str] = (), exactly: bool = False
) -> SameItems | None:
    """The rows of a `pool` that are also in a `public` table; None where there are none, or columns cannot tell.

    Parameters
    ----------
    public, pool
        Two tables.
    ids
        The columns of ids in each.
    without
        Columns that say nothing of what an item is: labels, what models predict.
    exactly
        Must all rows of the pool differ in the columns that are compared? Otherwise a few may be alike.

    Examples
    --------
    >>> public = {"id": ["p1", "p2"], "age": [40, 71], "text": ["one", "two"]}
    >>> same_items(public, {"id": [1, 2, 3], "age": [40, 71, 71], "text": ["a", "two", "b"]}, ids=("id", "id"))
    SameItems(rows=1, columns=['age', 'text'], pool_id='2', public_id='p2')
    """
    columns = _columns(public, {*ids, *without}, _shared(public, pool))
    if not columns:
        return None
    ours, theirs = _rows(public, columns), _rows(pool, columns)
    if len(np.unique(ours)) < len(ours) or len(np.unique(theirs)) < (1.0 if exactly else _OWN) * len(theirs):
        return None
    if not len(both := np.flatnonzero(np.isin(theirs, ours))):
        return None
    place = int(np.flatnonzero(ours == theirs[both[0]])[0])
    return SameItems(len(both), columns, _id(pool, ids[1], int(both[0])), _id(public, ids[0], place))


def _shared(public: Any, pool: Any) -> list[str]:
    """Columns that both have, once each."""
    ours, theirs = (Counter(names_of(source)) for source in (public, pool))
    return [name for name, times in ours.items() if times == theirs[name] == 1]


def _columns(public: Any, without: Collection[str], shared: Sequence[str]) -> list[str]:
    """Those of the most values in the public table, in its order; a number that only counts rows is none of them."""
    wanted = [name for name in shared if name not in without][:_READ]
    found: dict[str, list[Any]] = {name: [] for name in wanted}
    if wanted:
        for block in _blocks(public, wanted):
            for name, column in block.columns.items():
                found[name] += _cells(column, name, public)
    values = {name: len(set(cells)) for name, cells in found.items() if not _counts_rows(cells)}
    telling = [name for name in values if values[name] > 1]
    most = sorted(telling, key=lambda name: -values[name])[:_COLUMNS]
    return [name for name in telling if name in most]


def _counts_rows(cells: Sequence[Any]) -> bool:
    whole = all(isinstance(cell, float) and cell.is_integer() for cell in cells)
    return whole and all(after - before == 1 for before, after in pairwise(cells))


def _rows(source: Any, columns: Sequence[str]) -> NDArray[np.int64]:
    """One number a row, alike where all columns are."""
    parts = [np.zeros(0, dtype=np.int64)]
    for block in _blocks(source, columns):
        rows = zip(*(_cells(block.columns[name], name, source) for name in columns), strict=True)
        parts.append(np.fromiter(map(hash, rows), dtype=np.int64, count=block.rows))
    return np.concatenate(parts)


def _blocks(source: Any, columns: Sequence[str]) -> Iterator[ColumnBlock]:
    """All of a CSV file is read as texts: its types would be guessed from its first rows."""
    texts = columns if name_of(source).endswith(".csv") else ()
    with open_table(source, columns, texts=texts) as table:
        yield from table.blocks(columns, together=True)


def _cells(column: Any, name: str, source: Any) -> list[Any]:
    return [_cell(value) for value in values_of(column, name, name_of(source))]


def _cell(value: Any) -> Any:
    """What is alike wherever it stands: a number however it is written, all else as it is written."""
    if value is None or value == "" or value != value:  # noqa: PLR0124 - NaN
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return str(value)
    if isinstance(value, str) and value[0] not in _NUMBER:
        return value
    try:
        return float(value)
    except (ValueError, OverflowError):
        return value


def _id(source: Any, id_column: str, row: int) -> str:
    """The id in a row of a table."""
    with open_table(source, [id_column], texts=[id_column]) as table:
        for block in table.blocks([id_column]):
            if row < block.start + block.rows:
                column = block.columns[id_column].slice(row - block.start, 1)
                return ids_of(column, id_column, name_of(source), row)[0]
    raise AssertionError("the row was there a moment ago")

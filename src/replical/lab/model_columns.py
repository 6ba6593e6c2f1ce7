"""Which columns of a table are models, and what labels they give: read from what stands in them.

A model's column holds the label it gives to every item. So it has few different values, and shares them with the other
models. Whoever knows better names the models or the labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from replical.classes.base import Label
from replical.errors import BadTable
from replical.lab.columns import Block, name_of, opened
from replical.lab.model_groups import Finder, texts_of
from replical.lab.seen import DECIMALS, SCORES, TRUTHS, Seen

MOST = 100  # different labels that a model may give, unless somebody says what they are
# Usual names of the column with the right answers.
TRUTH = ("label", "labels", "truth", "ground_truth", "gold", "target", "y", "y_true", "true_label", "class", "outcome")

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class ModelColumns:
    """What a table holds.

    Attributes
    ----------
    rows
        How many items.
    models
        Its columns that are models, in the order of the table.
    values
        The labels, in their public order: numbers by size, texts by alphabet, or as they were given.
    truth
        The column with the right answers, where there is one.
    others
        Columns that are left alone.
    never
        Labels that models give, and no right answer of the table is.
    """

    rows: int
    models: tuple[str, ...]
    values: tuple[Label, ...]
    truth: str | None
    others: tuple[str, ...]
    never: tuple[Label, ...] = ()


def model_columns(
    source: Any,
    *,
    id_column: str = "id",
    truth: str | None = None,
    values: Sequence[Label] | None = None,
    models: Sequence[str] | None = None,
    without: Sequence[str] = (),
    progress: Progress | None = None,
) -> ModelColumns:
    """Find the models in a table.

    Parameters
    ----------
    source
        A Parquet, CSV or Arrow file, a data frame, or a mapping of names to arrays.
    id_column
        The column with the ids of the items.
    truth
        The column with the right answers; left out, the one with a usual name (`TRUTH`), if there is one.
    values
        The labels; left out, whatever the models and the right answers say.
    models
        The columns that are models; left out, the largest group of columns that share values.
    without
        Columns that are no models, whatever they hold.
    progress
        Is told how many columns have been read, and how many there are.

    Returns
    -------
    found
        Models, labels, and what is left alone.

    Raises
    ------
    BadTable
        If there are fewer than two models, or it cannot be told which columns they are.
    BadLabel
        If the models do not give the labels they should.

    Examples
    --------
    >>> table = {"id": [1, 2], "m1": ["no", "yes"], "m2": ["no", "no"], "age": [40, 71], "label": ["no", None]}
    >>> found = model_columns(table)
    >>> found.models, found.values, found.truth, found.others
    (('m1', 'm2'), ('no', 'yes'), 'label', ('age',))
    """
    with opened(source, [*([truth] if truth else []), *(models or ()), *without]) as table:
        names = list(dict.fromkeys(table.names))
    if id_column not in names:
        raise BadTable(_without_ids(name_of(source), id_column, names))
    left = (*(models or ()), *without)
    usual = next((name for name in names if name.lower() in TRUTH and name not in (*left, id_column)), None)
    wanted = [name for name in names if name != id_column and name not in without]
    if models is not None:
        wanted = [name for name in wanted if name in (*models, truth or usual)]
    seen, rows = _read(source, wanted, max(MOST, len(values or ())), progress)
    if wanted and not rows:
        raise BadTable(f"{name_of(source)} holds no items: write one row per item")
    if truth is None and usual is not None and seen[usual].why in ("", TRUTHS, DECIMALS):  # others are features
        truth = usual
    found = Finder(name_of(source), seen, truth, values)
    chosen = found.named(models) if models is not None else found.group()
    labels = found.labels(chosen)
    others = [name for name in names if name not in (*chosen, truth, id_column)]
    right = texts_of(seen[truth].values or ()) if truth in seen else set[str]()
    return ModelColumns(
        rows=rows,
        models=tuple(chosen),
        values=labels,
        truth=truth,
        others=tuple(others),
        never=tuple(label for label in labels if right and str(label) not in right),
    )


def score_columns(source: Any, *, id_column: str = "id", progress: Progress | None = None) -> list[str]:
    """The columns of a table that hold scores, numbers from 0 to 1.

    Raises
    ------
    BadTable
        If there are none.

    Examples
    --------
    >>> score_columns({"id": [1, 2], "a": [0.2, 0.9], "b": [0.4, 0.6], "age": [40.5, 71.0], "label": ["no", "yes"]})
    ['a', 'b']
    """
    with opened(source, [id_column]) as table:
        names = [name for name in dict.fromkeys(table.names) if name != id_column]
    seen, _ = _read(source, names, MOST, progress)
    found = [name for name in names if seen[name].why == SCORES]
    if not found:
        raise BadTable(
            f"{name_of(source)} has no column of scores from 0 to 1 that cuts could be for: leave out --cuts"
        )
    return found


def _without_ids(table: str, id_column: str, names: Sequence[str]) -> str:
    mark = next((each for each in ";\t|" if len(names) == 1 and each in names[0]), None)
    if mark is not None:
        return f"{table} has one column only, {names[0]!r:.60}: its values are parted by {mark!r}, write commas instead"
    few = f"{', '.join(names[:8])}{' and more' if len(names) > 8 else ''}"
    again = f"replical init --pool {table} --id COLUMN"
    return f"{table} has no column {id_column!r} with the ids of its items; it has {few}: {again}"


def _read(source: Any, wanted: Sequence[str], most: int, progress: Progress | None) -> tuple[dict[str, Seen], int]:
    """What stands in each column, and how many rows there are."""
    seen, rows, done = {name: Seen() for name in wanted}, 0, 0
    with opened(source, wanted, categories=wanted) as table:
        for block in table.blocks(wanted):
            rows = max(rows, block.start + block.rows)
            _add(seen, block, most)
            done += block.rows * len(block.columns)
            if progress is not None and table.rows:
                progress(done, table.rows * len(wanted))
    for each in seen.values():
        each.look_again()
    return seen, rows


def _add(seen: dict[str, Seen], block: Block, most: int) -> None:
    for name, column in block.columns.items():
        seen[name].add(column, most)

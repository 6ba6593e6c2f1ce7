"""Which columns of a table are models, and what labels they give: read from what stands in them.

A model's column holds the label it gives to every item. So it has few different values, and shares them with the other
models: the models are the largest group of columns that share values. Whoever knows better names the models or the labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import isnan
from typing import Any

from replical.classes.base import Label
from replical.core.text import count
from replical.errors import BadLabel, BadTable
from replical.lab.columns import BlockIds, codes_of, is_floating, is_integer, name_of, open_table
from replical.lab.pool import Progress

MOST = 100  # different labels that a model may give, unless somebody says what they are
# Usual names of the column with the right answers.
TRUTH = ("label", "labels", "truth", "ground_truth", "gold", "target", "y", "y_true", "true_label", "class", "outcome")
# What are no labels.
SCORES, TRUTHS, DECIMALS, NUMBERS = "scores", "true and false", "numbers with a decimal point", "numbers of all sizes"
WRITE = {  # what to write instead
    SCORES: "write one column per model, with the label it gives to every item",
    TRUTHS: "write 0 and 1 instead, or words",
    NUMBERS: "write one column per model, with the label it gives to every item",
    DECIMALS: "write whole numbers instead, 1 and not 1.0",
}


@dataclass(frozen=True, kw_only=True)
class ModelColumns:
    """What a table holds."""

    rows: int  # how many items
    models: tuple[str, ...]  # its columns that are models, in the order of the table
    # the labels, in their public order: numbers by size, texts by alphabet, or as they were given
    values: tuple[Label, ...]
    truth: str | None  # the column with the right answers, where there is one
    others: tuple[str, ...]  # columns that are left alone
    shown: tuple[str, ...] = ()  # those of them that say nothing of models: no scores, and none that was to be left out
    never: tuple[Label, ...] = ()  # labels that models give, and no right answer of the table is


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

    Examples
    --------
    >>> table = {"id": [1, 2], "m1": ["no", "yes"], "m2": ["no", "no"], "age": [40, 71], "label": ["no", None]}
    >>> found = model_columns(table)
    >>> found.models, found.values, found.truth, found.others
    (('m1', 'm2'), ('no', 'yes'), 'label', ('age',))
    """
    with open_table(source, [*([truth] if truth else []), *(models or ()), *without]) as table:
        names = list(dict.fromkeys(table.names))
    if id_column not in names:
        raise BadTable(_without_ids(name_of(source), id_column, names))
    left = (*(models or ()), *without)
    usual = next((name for name in names if name.lower() in TRUTH and name not in (*left, id_column)), None)
    wanted = [name for name in names if name != id_column and name not in without]
    if models is not None:
        wanted = [name for name in wanted if name in (*models, truth or usual)]
    summaries, rows = _read(source, wanted, max(MOST, len(values or ())), progress)
    if wanted and not rows:
        raise BadTable(f"{name_of(source)} holds no items: write one row per item")
    if truth is None and usual is not None and summaries[usual].why in ("", TRUTHS, DECIMALS):  # others are features
        truth = usual
    found = Finder(name_of(source), summaries, truth, values)
    chosen = found.check_models(models) if models is not None else found.group()
    labels = found.labels(chosen)
    others = [name for name in names if name not in (*chosen, truth, id_column)]
    right = texts_of(summaries[truth].values or ()) if truth in summaries else set[str]()
    return ModelColumns(
        rows=rows,
        models=tuple(chosen),
        values=labels,
        truth=truth,
        others=tuple(others),
        shown=tuple(name for name in others if name in summaries and summaries[name].why != SCORES),
        never=tuple(label for label in labels if right and str(label) not in right),
    )


def models_alike(source: Any, models: Sequence[str], values: Sequence[Label]) -> list[list[str]]:
    """Models of a table that give the same label to every item, in groups.

    Examples
    --------
    >>> table = {"id": [1, 2], "m1": ["no", "yes"], "m2": ["no", "no"], "m3": ["no", "yes"]}
    >>> models_alike(table, ["m1", "m2", "m3"], ("no", "yes"))
    [['m1', 'm3']]
    """
    name, said = name_of(source), {model: blake2b(digest_size=16) for model in models}
    with open_table(source, models, categories=models) as table:
        for block in table.blocks(models):
            ids = BlockIds([""] * block.rows, 0, name)
            for model, column in block.columns.items():
                said[model].update(codes_of(column, model, tuple(values), ids).tobytes())
    groups: dict[bytes, list[str]] = {}
    for model in models:
        groups.setdefault(said[model].digest(), []).append(model)
    return [group for group in groups.values() if len(group) > 1]


def score_columns(source: Any, *, id_column: str = "id", progress: Progress | None = None) -> list[str]:
    """The columns of a table that hold scores, numbers from 0 to 1.

    Examples
    --------
    >>> score_columns({"id": [1, 2], "a": [0.2, 0.9], "b": [0.4, 0.6], "age": [40.5, 71.0], "label": ["no", "yes"]})
    ['a', 'b']
    """
    with open_table(source, [id_column]) as table:
        names = [name for name in dict.fromkeys(table.names) if name != id_column]
    summaries, _ = _read(source, names, MOST, progress)
    found = [name for name in names if summaries[name].why == SCORES]
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


def _read(
    source: Any, wanted: Sequence[str], most: int, progress: Progress | None
) -> tuple[dict[str, ColumnSummary], int]:
    """What stands in each column, and how many rows there are."""
    summaries, rows, done = {name: ColumnSummary() for name in wanted}, 0, 0
    with open_table(source, wanted, categories=wanted) as table:
        for block in table.blocks(wanted):
            rows = max(rows, block.start + block.rows)
            for name, column in block.columns.items():
                summaries[name].add(column, most)
            done += block.rows * len(block.columns)
            if progress is not None and table.rows:
                progress(done, table.rows * len(wanted))
    for each in summaries.values():
        each.look_again()
    return summaries, rows


class Finder:
    """Tells models from other columns, and says why it cannot."""

    def __init__(
        self, table: str, summaries: dict[str, ColumnSummary], truth: str | None, values: Sequence[Label] | None
    ) -> None:
        self._table, self._summaries, self._truth = table, summaries, truth
        self._values = None if values is None else tuple(values)

    def check_models(self, models: Sequence[str]) -> list[str]:
        """The `models` that somebody named, if they are such."""
        for name in models:
            if self._summaries[name].values is None:
                raise BadTable(
                    f"{self._table}: the column {name!r} holds {self._summaries[name].why}, not the labels of a model"
                )
        return self._check(list(models))

    def group(self) -> list[str]:
        """The largest group of columns that share labels, known ones where there are such."""
        columns, known = self._columns(), self._known_labels()
        groups = [(texts, names) for texts, names in _groups(columns) if not known or texts & known]
        groups.sort(key=lambda group: -len(group[1]))
        if len(groups) > 1 and len(groups[0][1]) == len(groups[1][1]) > 1:
            one, two = (f"{', '.join(names[:3])}{' ..' if len(names) > 3 else ''}" for _, names in groups[:2])
            raise BadTable(
                f"{self._table}: the models may be the columns {one} or the columns {two}: name their labels with "
                "--label-values, or the others with --leave-out"
            )
        shared, names = groups[0] if groups else (set[str](), [])
        return self._check([name for name, texts in columns.items() if texts <= shared or name in names])

    def _columns(self) -> dict[str, set[str]]:
        """What may be models."""
        return {
            name: texts_of(each.values) for name, each in self._summaries.items() if each.values and name != self._truth
        }

    def _known_labels(self) -> set[str]:
        """The labels that are known whatever the models say."""
        if self._values is not None:
            return set(map(str, self._values))
        truth = self._summaries.get(self._truth or "")
        return texts_of(truth.values) if truth is not None and truth.values else set()

    def _check(self, models: list[str]) -> list[str]:
        if len(models) < 2:
            raise BadTable(self._too_few(models))
        for name in models:
            if empty := self._summaries[name].empty:
                raise BadTable(
                    f"{self._table}: the model {name!r} says nothing about {count(empty, 'item')}: fill in every one, "
                    f"leave it out with --leave-out {name}, or, if it holds the right answers, say --label-column {name}"
                )
        return models

    def _too_few(self, models: list[str]) -> str:
        """Why there is nothing to choose, and what to do about it."""
        again = f"replical init --pool {self._table}"
        if models:
            return f"{self._table} has one model only, {models[0]!r}: add a column for every other model, then {again}"
        groups = _groups(self._columns())
        if groups and (known := self._known_labels()):
            said, names = max(groups, key=lambda group: len(group[1]))
            return (
                f"no column of {self._table} is a model with the labels {', '.join(sorted(known)[:6])}; {names[0]!r} says "
                f"{', '.join(sorted(said)[:6])}: write models and right answers with the same labels, then {again}"
            )
        odd = next(((name, each.why) for name, each in self._summaries.items() if each.why in WRITE), None)
        hint, write = (f" ({odd[0]!r} holds {odd[1]})", WRITE[odd[1]]) if odd else ("", WRITE[SCORES])
        new = f"; or cut scores at public places: replical init --candidates {self._table} --cuts 0.5"
        cut = new if odd and odd[1] == SCORES else ""
        return f"{self._table} has no column that looks like a model{hint}: {write}, then {again}{cut}"

    def labels(self, models: Sequence[str]) -> tuple[Label, ...]:
        """The labels of these `models`, as a protocol lists them."""
        if self._truth in self._summaries and (why := self._summaries[self._truth].why):
            raise BadLabel(
                f"{self._table}: the column {self._truth!r} with the right answers holds {why}, and models give other "
                f"labels: {WRITE.get(why, 'write the right labels')}, or name another with --label-column"
            )
        if self._values is not None:
            for name in models:
                if strange := sorted(texts_of(self._summaries[name].values or ()) - set(map(str, self._values))):
                    raise BadLabel(
                        f"{self._table}: the model {name!r} says {strange[0]!r}, which is none of {list(self._values)!r}: "
                        f"name every label with --label-values, or leave the column out with --leave-out {name}"
                    )
            return self._values
        texts = self._known_labels().union(*(texts_of(self._summaries[name].values or ()) for name in models))
        if len(texts) < 2:
            raise BadLabel(
                f"{self._table}: every model says {next(iter(texts))!r} about every item: name all labels with "
                f"replical init --pool {self._table} --label-values"
            )
        return public_order(texts)


_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")


def public_order(texts: Iterable[str]) -> tuple[Label, ...]:
    """Labels in an order that everybody finds: whole numbers by size, texts by alphabet.

    Examples
    --------
    >>> public_order({"10", "9"}), public_order({"b", "9"})
    ((9, 10), ('9', 'b'))
    """
    words = sorted(texts)
    if all(map(_WHOLE.fullmatch, words)):
        return tuple(sorted(map(int, words)))
    return tuple(words)


def texts_of(values: Iterable[Label]) -> set[str]:
    """Labels as they are written: a file of texts may spell numbers."""
    return {str(value).strip() if isinstance(value, int) else value for value in values}


def _groups(columns: dict[str, set[str]]) -> list[tuple[set[str], list[str]]]:
    """Groups of columns with all their values: one joins where it shares at least a quarter of them."""
    groups: list[tuple[set[str], list[str]]] = []
    for name, texts in columns.items():
        joined, apart = (texts, [name]), []
        for known, group in groups:
            if 4 * len(known & texts) >= len(known | texts):
                joined = joined[0] | known, group + joined[1]
            else:
                apart.append((known, group))
        groups = [*apart, joined]
    return groups


_SOME = 10_000  # rows that show what numbers a column holds
_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?")


@dataclass
class ColumnSummary:
    """What a column holds; `values` is None where they cannot be labels, and `why` says why not."""

    values: set[Label] | None = field(default_factory=set)
    empty: int = 0
    why: str = ""

    def add(self, column: Any, most: int) -> None:
        """Look at more rows of it, in which there may be so many different labels."""
        if self.values is None:
            return
        if why := _other_kind(column.type) or _float_kind(column):
            self.values, self.why = None, why
            return
        self.empty += column.null_count
        different = column.unique().to_pylist()
        if "" in different:
            self.empty += sum(value == "" for value in column.to_pylist())
        self.values |= {value for value in different if value is not None and value != ""}
        if len(self.values) > most:
            self.why = _number_kind(self.values) or f"more than {most} different values"
            self.values = None

    def look_again(self) -> None:
        """A CSV file spells numbers: those that are not whole are scores."""
        if why := _number_kind(self.values or ()):
            self.values, self.why = None, why


def _number_kind(values: Any) -> str:
    """What numbers these texts spell that are no labels; nothing where they spell something else."""
    words = [value for value in values if isinstance(value, str)]
    if not all(map(_NUMBER.fullmatch, words)) or not any(set(word) & set(".eE") for word in words):
        return ""
    return _kind(list(map(float, words)))


def _kind(numbers: list[float]) -> str:
    if numbers and all(number.is_integer() for number in numbers):
        return DECIMALS
    return SCORES if all(0 <= number <= 1 for number in numbers) else NUMBERS


def _other_kind(kind: Any) -> str:
    inner = kind.value_type if str(kind).startswith("dictionary<") else kind
    if str(inner) in ("string", "large_string", "string_view") or is_integer(inner) or is_floating(inner):
        return ""
    return TRUTHS if str(inner) == "bool" else f"values of type {inner}"


def _float_kind(column: Any) -> str:
    if not is_floating(column.type):
        return ""
    some = column.slice(0, _SOME).unique().to_pylist()
    return _kind([float(value) for value in some if value is not None and not isnan(value)])

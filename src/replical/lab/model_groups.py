"""Which columns that hold labels are models: the largest group that shares them; and what to do where there is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from replical.classes.base import Label
from replical.core.words import count
from replical.errors import BadLabel, BadTable
from replical.lab.seen import SCORES, WRITE, Seen

_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")


class Finder:
    """Tells models from other columns, and says why it cannot."""

    def __init__(self, table: str, seen: dict[str, Seen], truth: str | None, values: Sequence[Label] | None) -> None:
        self._table, self._seen, self._truth = table, seen, truth
        self._values = None if values is None else tuple(values)

    def named(self, models: Sequence[str]) -> list[str]:
        """The `models` that somebody named, if they are such."""
        for name in models:
            if self._seen[name].values is None:
                raise BadTable(
                    f"{self._table}: the column {name!r} holds {self._seen[name].why}, not the labels of a model"
                )
        return self._checked(list(models))

    def group(self) -> list[str]:
        """The largest group of columns that share labels, known ones where there are such."""
        columns, known = self._columns(), self._known()
        groups = [(texts, names) for texts, names in _sharing(columns) if not known or texts & known]
        groups.sort(key=lambda group: -len(group[1]))
        if len(groups) > 1 and len(groups[0][1]) == len(groups[1][1]) > 1:
            one, two = (f"{', '.join(names[:3])}{' ..' if len(names) > 3 else ''}" for _, names in groups[:2])
            raise BadTable(
                f"{self._table}: the models may be the columns {one} or the columns {two}: name their labels with "
                "--label-values, or the others with --leave-out"
            )
        shared, names = groups[0] if groups else (set[str](), [])
        return self._checked([name for name, texts in columns.items() if texts <= shared or name in names])

    def _columns(self) -> dict[str, set[str]]:
        """What may be models."""
        return {name: texts_of(each.values) for name, each in self._seen.items() if each.values and name != self._truth}

    def _known(self) -> set[str]:
        """The labels that are known whatever the models say."""
        if self._values is not None:
            return set(map(str, self._values))
        truth = self._seen.get(self._truth or "")
        return texts_of(truth.values) if truth is not None and truth.values else set()

    def _checked(self, models: list[str]) -> list[str]:
        if len(models) < 2:
            raise BadTable(self._too_few(models))
        for name in models:
            if empty := self._seen[name].empty:
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
        groups = _sharing(self._columns())
        if groups and (known := self._known()):
            said, names = max(groups, key=lambda group: len(group[1]))
            return (
                f"no column of {self._table} is a model with the labels {', '.join(sorted(known)[:6])}; {names[0]!r} says "
                f"{', '.join(sorted(said)[:6])}: write models and right answers with the same labels, then {again}"
            )
        odd = next(((name, each.why) for name, each in self._seen.items() if each.why in WRITE), None)
        hint, write = (f" ({odd[0]!r} holds {odd[1]})", WRITE[odd[1]]) if odd else ("", WRITE[SCORES])
        new = f"; or cut scores at public places: replical protocol new --candidates {self._table} --cuts 0.5"
        cut = new if odd and odd[1] == SCORES else ""
        return f"{self._table} has no column that looks like a model{hint}: {write}, then {again}{cut}"

    def labels(self, models: Sequence[str]) -> tuple[Label, ...]:
        """The labels of these `models`, as a protocol lists them."""
        if self._truth in self._seen and (why := self._seen[self._truth].why):
            raise BadLabel(
                f"{self._table}: the column {self._truth!r} with the right answers holds {why}, and models give other "
                f"labels: {WRITE.get(why, 'write the right labels')}, or name another with --label-column"
            )
        if self._values is not None:
            for name in models:
                if strange := sorted(texts_of(self._seen[name].values or ()) - set(map(str, self._values))):
                    raise BadLabel(
                        f"{self._table}: the model {name!r} says {strange[0]!r}, which is none of {list(self._values)!r}: "
                        f"name every label with --label-values, or leave the column out with --leave-out {name}"
                    )
            return self._values
        texts = self._known().union(*(texts_of(self._seen[name].values or ()) for name in models))
        if len(texts) < 2:
            raise BadLabel(
                f"{self._table}: every model says {next(iter(texts))!r} about every item: name all labels with "
                f"replical init --pool {self._table} --label-values"
            )
        return in_public_order(texts)


def in_public_order(texts: Iterable[str]) -> tuple[Label, ...]:
    """Labels in an order that everybody finds: whole numbers by size, texts by alphabet.

    Examples
    --------
    >>> in_public_order({"10", "9"}), in_public_order({"b", "9"})
    ((9, 10), ('9', 'b'))
    """
    words = sorted(texts)
    if all(map(_WHOLE.fullmatch, words)):
        return tuple(sorted(map(int, words)))
    return tuple(words)


def texts_of(values: Iterable[Label]) -> set[str]:
    """Labels as they are written: a file of texts may spell numbers."""
    return {str(value).strip() if isinstance(value, int) else value for value in values}


def _sharing(columns: dict[str, set[str]]) -> list[tuple[set[str], list[str]]]:
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

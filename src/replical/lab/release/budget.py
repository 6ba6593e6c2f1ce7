"""How much privacy was spent: a TOML file with a total, and one line a release.

A release is drawn, charged and written into this file in one step, before anything else is written. Whoever asks for the
same release again is given the answer that was drawn, for nothing: two draws would tell more than one.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from replical.core.exact import fraction
from replical.core.files import decode, read_bytes, write_whole
from replical.core.toml import toml_lines
from replical.errors import BadBudget

SCHEMA = "replical.budget/1"
_KEYS = ("schema", "total", "spent", "releases")
NOBODY = -1  # in place of an index
_MOST = 1e9  # of an epsilon: no privacy is left long before, and sums stay numbers


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One release: of which protocol, how it was made, and the index that came out (-1 for nobody).

    `nobody` is the votes that "nobody" was given, 0 where it was no choice.
    """

    protocol: str
    epsilon: float
    nobody: int
    sampler: str
    answer: int


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What may be spent in all, and what was."""

    total: float
    releases: tuple[Entry, ...] = ()

    @property
    def spent(self) -> Fraction:
        """The sum over releases: they add up, whatever they are about."""
        return sum((fraction(each.epsilon) for each in self.releases), Fraction(0))

    def found(self, protocol: str) -> Entry | None:
        """The release of a protocol, where there was one."""
        return next((each for each in self.releases if each.protocol == protocol), None)

    def check(self, epsilon: float) -> None:
        """Refuse to spend more than there is."""
        left = fraction(self.total) - self.spent
        if fraction(epsilon) > left:
            raise BadBudget(
                f"epsilon {epsilon:g} is more than the budget's rest, {float(left):g} of {self.total:g}: nothing is released"
            )

    def with_entry(self, entry: Entry) -> Budget:
        """One release more."""
        return Budget(total=self.total, releases=(*self.releases, entry))

    def toml(self) -> str:
        """The file."""
        content = {"schema": SCHEMA, "total": self.total, "spent": float(self.spent)}
        return "\n".join(toml_lines(content | {"releases": [asdict(each) for each in self.releases]})) + "\n"


def read(path: Path) -> Budget:
    """Read a budget; a file with a line ``total = 2.0`` begins one."""
    if not path.exists():
        raise BadBudget(
            f"there is no budget {path}: write a file with one line, total = 2.0, the epsilon you may spend"
        )
    text = decode(read_bytes(path, what="the budget", refuse=BadBudget), path, what="the budget", refuse=BadBudget)
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadBudget(f"{path} is not a TOML file: {error}") from error
    for key in content:
        if key not in _KEYS:
            raise BadBudget(f"{path}: a budget has no key {key!r}; it has {', '.join(_KEYS)}")
    if content.get("schema", SCHEMA) != SCHEMA:
        raise BadBudget(f"{path}: schema must be {SCHEMA!r}, got {content['schema']!r:.40}")
    if not _is_epsilon(content.get("total")):
        raise BadBudget(
            f"{path}: total must be a number above 0 and at most {_MOST:g}, got {content.get('total')!r:.40}"
        )
    budget = Budget(total=content["total"], releases=tuple(_entries(path, content.get("releases", []))))
    if content.get("spent", 0.0) != float(budget.spent):
        raise BadBudget(
            f"{path} is damaged: it says spent = {content.get('spent')!r:.40}, its releases add up to another"
        )
    return budget


def _entries(path: Path, listed: Any) -> Iterator[Entry]:
    if not isinstance(listed, list):
        raise BadBudget(f"{path} is damaged: releases must be a list")
    for each in listed:
        if not isinstance(each, Mapping) or set(each) != set(Entry.__annotations__) or not _is_entry(each):
            raise BadBudget(f"{path} is damaged: a release has {', '.join(Entry.__annotations__)}, got {each!r:.60}")
        yield Entry(**each)


def _is_entry(each: Mapping[str, Any]) -> bool:
    texts = all(isinstance(each[key], str) for key in ("protocol", "sampler"))
    counts = all(isinstance(each[key], int) and not isinstance(each[key], bool) for key in ("nobody", "answer"))
    return texts and counts and _is_epsilon(each["epsilon"])


def _is_epsilon(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _MOST


@contextmanager
def spending(path: Path) -> Iterator[Budget]:
    """The budget, for one who spends at a time: two at once would both see what only one may have."""
    read(path)  # refuses what is none before anything is made beside it
    lock = path.with_name(path.name + ".lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        raise BadBudget(f"another release spends from {path}; if none is running, delete {lock}") from None
    except OSError as error:
        raise BadBudget(f"cannot write beside the budget {path}: {error.strerror or error}") from error
    try:
        yield read(path)
    finally:
        lock.unlink(missing_ok=True)


def write(budget: Budget, path: Path) -> None:
    """Write whole: what is spent is on the disk before it is published."""
    write_whole(path, budget.toml(), what="the budget", refuse=BadBudget)

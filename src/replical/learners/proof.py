"""What a run proves, and how others check it: the one interface between learners that prove something and certificates.

A family is the module that a learner's record names. It has

- ``Part``, the keys of the part of a certificate that is its own, and ``part_of(proof)``, which writes it;
- ``conditions(claim)``, the learner's own conditions, computed again;
- ``tests(claim)``, what the file alone shows, and ``beliefs(claim)``, what only labels show.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from replical.core.randomness import SharedRandomness
from replical.learners.plan import Condition, Plan

Test = Callable[[], str | None]  # what is wrong, in a sentence, or nothing


@dataclass(frozen=True, kw_only=True, eq=False)
class Claim:
    """What a certificate says, with what everybody knows.

    Attributes
    ----------
    body
        Everything that is digested.
    plan, shared
        What follows from its protocol.
    read_survivors
        Reads numbers of the hypotheses that are left, ascending; may raise where a file does not name them.
    rounds
        The rounds that chose the answer, without those that measured its error.
    """

    body: Mapping[str, Any]
    plan: Plan
    shared: SharedRandomness
    read_survivors: Callable[[], NDArray[np.int64]]
    rounds: Sequence[Mapping[str, Any]]

    @cached_property
    def survivors(self) -> NDArray[np.int64]:
        """Numbers of the hypotheses that are left, ascending."""
        return self.read_survivors()

    @property
    def part(self) -> Mapping[str, Any]:
        """The part that is the family's own."""
        found: Mapping[str, Any] = self.body["proof"]
        return found


class Belief:
    """Something that only labels show: its name, and the fields of the body that are believed until then."""

    def __init__(self, name: str, *fields: str) -> None:
        self.name, self.fields = name, fields


class Family(Protocol):
    """What a module has that writes and checks the proofs of a learner."""

    Part: type

    def part_of(self, proof: Any) -> Mapping[str, Any]:
        """What a run knows, as it is written."""
        ...

    def conditions(self, claim: Claim) -> tuple[Condition, ...]:
        """The learner's own conditions, computed again."""
        ...

    def tests(self, claim: Claim) -> Iterator[tuple[str, Test]]:
        """What the file alone shows."""
        ...

    def beliefs(self, claim: Claim) -> Iterator[Belief]:
        """What only labels show."""
        ...


def same(claim: Any, result: Any) -> str | None:
    """Nothing if both are written alike, else how they differ."""
    if json.dumps(claim, sort_keys=True) == json.dumps(result, sort_keys=True):  # 1 is neither 1.0 nor true here
        return None
    apart = [*_differences("", claim, result)] or [_difference(claim, result)]
    more = f"; and {len(apart) - _LISTED} more" if len(apart) > _LISTED else ""
    return "; ".join(apart[:_LISTED]) + more


_LISTED = 3  # differences that are named


def _differences(where: str, claim: Any, result: Any) -> Iterator[str]:
    """What differs, each with its place; of what has parts the parts that differ, where they are the same parts."""
    if json.dumps(claim, sort_keys=True) == json.dumps(result, sort_keys=True):
        return
    if isinstance(claim, Mapping) and isinstance(result, Mapping):
        for key in [*claim, *(key for key in result if key not in claim)]:
            yield from _differences(_path(where, str(key)), claim.get(key), result.get(key))
    elif isinstance(claim, list | tuple) and isinstance(result, list | tuple) and len(claim) == len(result) > 1:
        for number, (mine, theirs) in enumerate(zip(claim, result, strict=True), 1):
            name = mine.get("name", "") if isinstance(mine, Mapping) else ""
            yield from _differences(_path(where, repr(name) if name else f"number {number}"), mine, theirs)
    else:
        yield f"{where}{': ' if where else ''}{_difference(claim, result)}"


def _difference(claim: Any, result: Any) -> str:
    return f"the certificate says {_short(claim)}, recomputed {_short(result)}"


def _path(where: str, part: str) -> str:
    return f"{where}, {part}" if where else part


_WORDS = {None: "nothing", True: "yes", False: "no"}


def _short(value: Any) -> str:
    text = _WORDS[value] if value is None or isinstance(value, bool) else str(value)
    most = 19 if text.startswith("sha256:") else 60
    return text if len(text) <= most else f"{text[:most]}.."


def is_number(value: Any) -> bool:
    """A number, and not true or false."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """A whole number of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_share(value: Any) -> bool:
    """A number from 0 to 1 as it is written, with at most six digits."""
    return is_number(value) and 0 <= value <= 1 and round(value, 6) == value

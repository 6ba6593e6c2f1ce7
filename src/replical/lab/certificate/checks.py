"""What checking a certificate comes to: what was checked, what could not be and why, and what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from replical.errors import ReplicalError

Status = Literal["checked", "not checkable", "failed"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that a certificate says.

    Attributes
    ----------
    name
        What has to be so.
    status
        It was checked and is so, it cannot be checked with what was given, or it was checked and is not so.
    detail
        What is wrong, or why it cannot be checked; empty if all is well.
    needs
        What would show it: ``"pool"``, ``"journal"``, ``"yardstick"``, ..; empty if it was checked, or no file can show it.
    fields
        Which fields of the body are believed until then; a field stands for all that is inside it.
    """

    name: str
    status: Status
    detail: str = ""
    needs: str = ""
    fields: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Was nothing wrong found?"""
        return self.status != "failed"

    def told(self) -> dict[str, Any]:
        """For an answer in JSON."""
        told = {"name": self.name, "status": self.status, "ok": self.ok, "detail": self.detail}
        return told if self.status != "not checkable" else told | {"needs": self.needs, "fields": list(self.fields)}


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What was checked, how deeply, what could not be checked, and whether all that was held."""

    level: str
    checks: tuple[Check, ...]

    @property
    def valid(self) -> bool:
        """Did every check hold?"""
        return not self.failed

    @property
    def checked(self) -> tuple[Check, ...]:
        """What was found to be so."""
        return self._of("checked")

    @property
    def unchecked(self) -> tuple[Check, ...]:
        """What could not be checked with what was given."""
        return self._of("not checkable")

    @property
    def failed(self) -> tuple[Check, ...]:
        """What was found to be wrong."""
        return self._of("failed")

    def adding(self, *checks: Check) -> Verification:
        """The same with more `checks`; one of a name that could not be checked before stands in its place."""
        names = {check.name for check in checks}
        kept = (check for check in self.checks if check.status != "not checkable" or check.name not in names)
        return replace(self, checks=(*kept, *checks))

    def _of(self, status: Status) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == status)


class Checks:
    """Collects checks; whatever goes wrong inside one is that check's failure, not a crash."""

    def __init__(self) -> None:
        self.done: list[Check] = []

    @property
    def all_hold(self) -> bool:
        """Has every check so far held?"""
        return all(check.ok for check in self.done)

    def __call__(self, name: str, test: Callable[[], str | None]) -> bool:
        """Make one check; the test returns what is wrong, or nothing. Did it hold?"""
        try:
            detail = test()
        except ReplicalError as error:
            detail = str(error)
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            RecursionError,
            MemoryError,
        ) as error:
            detail = f"damaged ({type(error).__name__}: {error})"
        self.done.append(Check(name=name, status="checked" if detail is None else "failed", detail=detail or ""))
        return detail is None

    def found(self, level: str) -> Verification:
        """What they come to, at this depth."""
        return Verification(level=level, checks=tuple(self.done))


def same(claim: Any, result: Any) -> str | None:
    """Nothing if both are written alike, else how they differ."""
    if json.dumps(claim, sort_keys=True) == json.dumps(result, sort_keys=True):  # 1 is neither 1.0 nor true here
        return None
    apart = [*_apart("", claim, result)] or [_says(claim, result)]
    more = f"; and {len(apart) - _LISTED} more" if len(apart) > _LISTED else ""
    return "; ".join(apart[:_LISTED]) + more


_LISTED = 3  # differences that are named


def _apart(where: str, claim: Any, result: Any) -> Iterator[str]:
    """What differs, each with its place; of what has parts the parts that differ, where they are the same parts."""
    if json.dumps(claim, sort_keys=True) == json.dumps(result, sort_keys=True):
        return
    if isinstance(claim, Mapping) and isinstance(result, Mapping):
        for key in [*claim, *(key for key in result if key not in claim)]:
            yield from _apart(_inside(where, str(key)), claim.get(key), result.get(key))
    elif isinstance(claim, list | tuple) and isinstance(result, list | tuple) and len(claim) == len(result) > 1:
        for number, (mine, theirs) in enumerate(zip(claim, result, strict=True), 1):
            name = mine.get("name", "") if isinstance(mine, Mapping) else ""
            yield from _apart(_inside(where, repr(name) if name else f"number {number}"), mine, theirs)
    else:
        yield f"{where}{': ' if where else ''}{_says(claim, result)}"


def _says(claim: Any, result: Any) -> str:
    return f"the certificate says {_short(claim)}, recomputed {_short(result)}"


def _inside(where: str, part: str) -> str:
    return f"{where}, {part}" if where else part


_CALLED = {None: "nothing", True: "yes", False: "no"}


def _short(value: Any) -> str:
    text = _CALLED[value] if value is None or isinstance(value, bool) else str(value)
    most = 19 if text.startswith("sha256:") else 60
    return text if len(text) <= most else f"{text[:most]}.."


def is_number(value: Any) -> bool:
    """A number, and not true or false."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """A whole number of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0

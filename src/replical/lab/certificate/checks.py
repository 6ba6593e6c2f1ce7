"""What checking a certificate comes to: one check after the other, each with what it found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from replical.errors import ReplicalError


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was checked."""

    name: str
    ok: bool
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What was checked, how deeply, and whether all of it held."""

    level: str
    checks: tuple[Check, ...]

    @property
    def valid(self) -> bool:
        """Did every check hold?"""
        return all(check.ok for check in self.checks)


class Checks:
    """Collects checks; whatever goes wrong inside one is that check's failure, not a crash."""

    def __init__(self) -> None:
        self.done: list[Check] = []

    def __call__(self, name: str, test: Callable[[], str | None]) -> None:
        """Make one check; the test returns what is wrong, or nothing."""
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
        self.done.append(Check(name=name, ok=detail is None, detail=detail or ""))


def same(claim: Any, result: Any) -> str | None:
    """Nothing if both are written alike, else how they differ."""
    if json.dumps(claim, sort_keys=True) == json.dumps(result, sort_keys=True):  # 1 is neither 1.0 nor true here
        return None
    return f"the certificate says {_short(claim)}, recomputed {_short(result)}"


def _short(value: Any) -> str:
    text = str(value)
    most = 19 if text.startswith("sha256:") else 60
    return text if len(text) <= most else f"{text[:most]}.."


def is_number(value: Any) -> bool:
    """A number, and not true or false."""
    return isinstance(value, int | float) and not isinstance(value, bool)

"""Losses of a user's own: functions that an installed package names in the entry point group ``replical.losses``.

Such a function takes a normal output and a normal answer, texts both, and returns a number from 0 to 1, on the grid of the
protocol. Its attribute ``normal``, if it has one, makes the normal form, a text, of an output or an answer; it raises
ValueError for what is none. The protocol has the hash of the file it stands in, which is compared before the file is run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

from replical.classes.comparisons import Kind, native, plain
from replical.core.canonical import digest_of
from replical.core.exact import fraction
from replical.errors import BadProtocol

GROUP = "replical.losses"
_FAILS = (Exception, SystemExit)  # whatever a function of somebody's does in place of an answer


def source_of(name: str) -> str | None:
    """The hash of the file in which the loss of this name stands; None if none is installed."""
    found = _entry(name)
    return None if found is None else _hash(found)


def _entry(name: str) -> EntryPoint | None:
    return next(iter(entry_points(group=GROUP, name=name)), None)


def _hash(entry: EntryPoint) -> str:
    """Of the file, which is looked for package by package: to import these would run them."""
    try:
        first, *names = accumulate(entry.module.split("."), "{}.{}".format)
        spec = find_spec(first)
        for name in names:
            spec = PathFinder.find_spec(name, (spec and spec.submodule_search_locations) or [])
        return digest_of(Path(str(spec and spec.origin)).read_bytes())
    except (ImportError, OSError, ValueError) as error:
        raise BadProtocol(f"the loss {entry.name!r} names the module {entry.module!r}, which cannot be read") from error


@lru_cache
def own_kind(name: str, source: str, unit: int) -> Kind:
    """The function with this name and `source`, checked at every call: its losses are parts of 1/`unit`."""
    entry = _entry(name)
    if entry is None:
        raise BadProtocol(f"the loss {name!r} is no loss of replical: install the package that has it, as {GROUP} says")
    if (found := _hash(entry)) != source:
        raise BadProtocol(
            f"the loss {name!r} that is installed has the source {found}, and the protocol says {source}: "
            "install that one"
        )
    try:
        function = entry.load()
    except _FAILS as error:
        raise BadProtocol(f"the loss {name!r} cannot be loaded: {_reason(error)}") from error
    if not callable(function):
        raise BadProtocol(f"the loss {name!r} is no function of an output and an answer")

    def cost(output: str, answer: str, numbers: Mapping[str, Fraction]) -> Fraction:
        what = f"the loss {name!r} of {output!r:.60} at {answer!r:.60}"
        first, again = (_check_loss(_call(function, name, output, answer), what, unit) for _ in range(2))
        if first != again:
            raise BadProtocol(
                f"{what} is {float(first):g} and then {float(again):g}: make it a function of these two alone"
            )
        return first

    return Kind(normal=_normal(function, name), cost=cost, words=f"the loss {name!r}", unit=unit)


def _normal(function: Any, name: str) -> Callable[[Any], str]:
    make = getattr(function, "normal", plain)

    def normal(value: Any) -> str:
        try:
            found = make(value)
            again = make(found) if isinstance(found, str) else found
        except ValueError:
            raise
        except _FAILS as error:
            raise BadProtocol(
                f"the normal form of the loss {name!r} fails for {value!r:.60}: {_reason(error)}"
            ) from error
        if not isinstance(found, str):
            raise BadProtocol(
                f"the normal form of the loss {name!r} is {found!r:.40} for {value!r:.60}, and should be a text"
            )
        if again != found:
            raise BadProtocol(
                f"the normal form of the loss {name!r} makes {again!r:.40} of {found!r:.40}, its form of {value!r:.60}: it "
                "should leave what is normal as it is"
            )
        return found

    return normal


def _call(function: Any, name: str, output: str, answer: str) -> Any:
    try:
        return native(function(output, answer))
    except _FAILS as error:
        raise BadProtocol(f"the loss {name!r} fails for {output!r:.60} at {answer!r:.60}: {_reason(error)}") from error


def _check_loss(value: Any, what: str, unit: int) -> Fraction:
    """A loss from 0 to 1 on the grid."""
    number = isinstance(value, int | float | Fraction) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not 0 <= value <= 1:
        raise BadProtocol(f"{what} is {value!r:.40}, and should be a number from 0 to 1")
    exact = fraction(value)
    if (exact * unit).denominator != 1:
        raise BadProtocol(
            f"{what} is {value!r:.40}, which is no part of 1/{unit}: round it, or give the protocol a finer grid"
        )
    return exact


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')[:80]}"

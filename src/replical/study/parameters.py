"""What a cell of a study can be told: the names of its parameters, and one spelling of every value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replical.errors import BadStudy
from replical.plans.catalogue import find
from replical.plans.parameters import PARAMETERS as PLAN_PARAMETERS
from replical.worlds.experiment import OPTIONS, checked_size
from replical.worlds.noise import parse_noise

STANDARD: dict[str, Any] = {"delta": 0.05, "rho": 0.1, "noise": 0.0, "plan": "tight"}
NEEDED = ("class", "learner", "epsilon", "pool_size")
PARAMETERS = (*NEEDED, *STANDARD, "theta", "nu", *OPTIONS, "yardstick")
_WORDS = {"plan": ("tight", "paper"), "yardstick": ("cells", "none")}


def plain(name: str, value: Any) -> Any:
    """Check a value; one spelling each: 1 and 1.0 are one epsilon, 0 and "0" one noise."""
    if is_text(name):
        return _text(name, value)
    if name == "noise" and isinstance(value, str) and ":" in value:
        parse_noise(value)
        return value
    if name == "pool_size":
        try:
            return checked_size(value)
        except (ValueError, RecursionError):
            raise BadStudy(
                f"a pool size is a whole number from 1 to 10**12 - 1 or 'exact', got {short(value)}"
            ) from None
    return _number(name, value)


def is_text(name: str) -> bool:
    """Are the values of this parameter texts?"""
    return name in ("class", "learner", *_WORDS) or (name in PLAN_PARAMETERS and PLAN_PARAMETERS[name].kind == "word")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadStudy(f"{name} must be a text, got {short(value)}")
    known = PLAN_PARAMETERS[name].words if name in PLAN_PARAMETERS else _WORDS.get(name, (value,))
    if value not in known:
        raise BadStudy(f"unknown {name} {short(value)}; it is one of {', '.join(known)}")
    return value


def _number(name: str, value: Any) -> Any:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        number = None
    if number is None:
        raise BadStudy(f"{name} must be a number, got {short(value)}")
    if name == "noise":
        if not 0 <= number < 1:
            raise BadStudy(f"{name} must be in [0, 1), got {number:g}")
        return number + 0.0  # no minus zero
    known = PLAN_PARAMETERS[name]
    if known.kind == "count":
        whole = value if isinstance(value, int) else int(number) if number.is_integer() else 0
        if whole < 1:
            raise BadStudy(f"{name} must be a whole number of at least {max(1, int(known.low))}, got {short(value)}")
        return whole
    number = known.check(number)
    return int(number) if name == "theta" and number.is_integer() else number


def matters(name: str, chosen: Mapping[str, Any]) -> bool:
    """Does the learner know this parameter? To measure on no yardstick is what all do where nothing is said."""
    if name == "yardstick":
        return bool(chosen[name] != "none" and find(chosen["learner"]).rounds)
    if name not in PLAN_PARAMETERS:
        return True
    needs = PLAN_PARAMETERS[name].needs
    if needs is not None and chosen.get(needs[0]) != needs[1]:
        return False
    return find(chosen["learner"]).uses(name, chosen["plan"])


def short(value: Any) -> str:
    """A value for a sentence, however long or deep it is."""
    try:
        return f"{value!r:.40}"
    except (ValueError, RecursionError):  # Python writes out neither huge numbers nor endless nesting
        return f"one of kind {type(value).__name__!r} that is too large"

"""What a cell of a study can be told: the names of its parameters, and one spelling of every value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replical.core.exact import at_least, in_open
from replical.errors import BadStudy
from replical.plans.plan import nu_of, uses
from replical.plans.rounded import FINISHES
from replical.worlds.experiment import OPTIONS, checked_size
from replical.worlds.noise import parse_noise

STANDARD: dict[str, Any] = {"delta": 0.05, "rho": 0.1, "noise": 0.0, "plan": "tight"}
NEEDED = ("class", "learner", "epsilon", "pool_size")
PARAMETERS = (*NEEDED, *STANDARD, "theta", "nu", *OPTIONS)
_KNOWN_TO_SOME = ("rho", "theta", "nu", *OPTIONS[:-1])  # max_labels is understood by everyone
_WORDS = {"plan": ("tight", "paper"), "query": ("scan", "halving"), "finish": FINISHES, "stop": ("mass", "rstat")}
_TEXTS = ("class", "learner", *_WORDS)
_SHARES = ("epsilon", "delta", "rho", "kappa", "a", "b", "stop_delta")  # between 0 and 1
_COUNTS = ("k_loop", "k_final", "batch", "strings", "runs", "max_labels")


def plain(name: str, value: Any) -> Any:
    """Check a value; one spelling each: 1 and 1.0 are one epsilon, 0 and "0" one noise."""
    if name in _TEXTS:
        if not isinstance(value, str):
            raise BadStudy(f"{name} must be a text, got {short(value)}")
        if value not in _WORDS.get(name, (value,)):
            raise BadStudy(f"unknown {name} {short(value)}; it is one of {', '.join(_WORDS[name])}")
        return value
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
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        number = None
    if number is None:
        raise BadStudy(f"{name} must be a number, got {short(value)}")
    if name in _COUNTS:
        whole = value if isinstance(value, int) else int(number) if number.is_integer() else 0
        if whole < 1:
            raise BadStudy(f"{name} must be a whole number of at least 1, got {short(value)}")
        return whole
    return _within(name, number)


def _within(name: str, number: float) -> float:
    if name in _SHARES:
        return in_open(name, number, 0, 1)
    if name == "T":
        return in_open(name, number, 0, 0.5)
    if name == "nu":
        return nu_of(number)
    if name == "theta":
        at_least(name, number, 1)
        return int(number) if number.is_integer() else number
    if not 0 <= number < 1:
        raise BadStudy(f"{name} must be in [0, 1), got {number:g}")
    return number + 0.0  # no minus zero


def matters(name: str, chosen: Mapping[str, Any]) -> bool:
    """Does the learner know this parameter?"""
    if name == "T":
        return (chosen["learner"], chosen["plan"]) == ("replical", "paper")
    if name == "stop_delta" and chosen.get("stop") != "rstat":
        return False
    return name not in _KNOWN_TO_SOME or uses(chosen["learner"], name)


def short(value: Any) -> str:
    """A value for a sentence, however long or deep it is."""
    try:
        return f"{value!r:.40}"
    except (ValueError, RecursionError):  # Python writes out neither huge numbers nor endless nesting
        return f"one of kind {type(value).__name__!r} that is too large"

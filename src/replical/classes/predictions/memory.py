"""Refuse a structured class that cannot fit into memory before any time is spent on it."""

from __future__ import annotations

from replical.classes.base import HypothesisClass
from replical.classes.boxes import Boxes
from replical.classes.intervals import Intervals
from replical.classes.stumps import Stumps
from replical.classes.thresholds import Thresholds
from replical.core import memory

_EACH = 128  # bytes of a run for each hypothesis of a structured class (at its peak: 45 with CAL, 105 with A²)


def check_memory(C: HypothesisClass, items: int = 0) -> None:
    """Refuse a structured class that is too large for a run; `items` are those of a pool.

    Raises
    ------
    ValueOutOfRange
        If hypotheses and items need more than 16 GiB, or more than is free.

    Examples
    --------
    >>> check_memory(Intervals(100_000))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    replical.errors.ValueOutOfRange: 5000050001 hypotheses need 596.1 GiB, ...: at most ... hypotheses fit
    """
    if not isinstance(C, Thresholds | Stumps | Intervals | Boxes):
        return
    each = 2 * C.dimensions if isinstance(C, Stumps) else 8

    def remedy(most: int) -> str:
        left = most - each * items
        return f"at most {left // _EACH} hypotheses fit" if left >= _EACH else f"at most {most // each} items fit"

    what = f"{len(C)} hypotheses" + (f" on {items} items" if items else "")
    memory.check(_EACH * len(C) + each * items, what, remedy)

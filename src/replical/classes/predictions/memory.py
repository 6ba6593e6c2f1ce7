"""Refuse what cannot fit into memory before any time is spent on it."""

from __future__ import annotations

from replical.classes.base import HypothesisClass
from replical.classes.boxes import Boxes
from replical.classes.intervals import Intervals
from replical.classes.stumps import Stumps
from replical.classes.thresholds import Thresholds
from replical.errors import ValueOutOfRange

_MOST_BYTES = 2**34  # 16 GiB, as for packed predictions
_EACH = 128  # bytes of a run for each hypothesis of a structured class (at its peak: 45 with CAL, 105 with A²)


def check_memory(C: HypothesisClass, items: int = 0) -> None:
    """Refuse a structured class that is too large for a run; `items` are those of a pool.

    Raises
    ------
    ValueOutOfRange
        If hypotheses and items need more than 16 GiB.

    Examples
    --------
    >>> check_memory(Intervals(100_000))
    Traceback (most recent call last):
        ...
    replical.errors.ValueOutOfRange: 5000050001 hypotheses need 596.1 GiB, more than 16: at most 134217728 hypotheses fit
    """
    if not isinstance(C, Thresholds | Stumps | Intervals | Boxes):
        return
    each = 2 * C.dimensions if isinstance(C, Stumps) else 8
    left = _MOST_BYTES - each * items
    if _EACH * len(C) > left:
        remedy = f"at most {left // _EACH} hypotheses fit" if left > 0 else f"at most {_MOST_BYTES // each} items fit"
        needed = (_EACH * len(C) + each * items) / 2**30
        what = f"{len(C)} hypotheses" + (f" on {items} items" if items else "")
        raise ValueOutOfRange(f"{what} need {needed:.1f} GiB, more than {_MOST_BYTES // 2**30}: {remedy}")

"""When a cell of a study has enough pairs."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

from replical.core.binomial import clopper_pearson
from replical.errors import BadStudy
from replical.study.parameters import short

USUAL = {"pairs": 200}
_MOST_PAIRS = 10**9


@dataclass(frozen=True, kw_only=True)
class Enough:
    """When a cell has enough pairs: at a fixed number, or when the 95% interval of agreement is narrow enough.

    The width is looked at after each whole batch and nothing else is, least of all where the interval lies.
    """

    pairs: int | None = None
    half_width: float | None = None
    batch: int = 100
    max_pairs: int = 4000

    def wanted(self, agreements: int, pairs: int) -> int:
        """How many pairs to have after this many, of which so many agree; the same number if they are enough.

        Examples
        --------
        >>> Enough(half_width=.02, batch=100).wanted(97, 100), Enough(half_width=.02, batch=100).wanted(300, 300)
        (200, 300)
        """
        if self.pairs is not None:
            return self.pairs
        if pairs and self._narrow(agreements, pairs):
            return pairs
        return min((pairs // self.batch + 1) * self.batch, self.max_pairs)

    def expected(self, agreements: int, pairs: int) -> int:
        """How many pairs it will come to if they go on like this; with none to go by, as if every other one agreed.

        Examples
        --------
        >>> Enough(half_width=.02, batch=100).expected(97, 100), Enough(half_width=.02, batch=100).expected(0, 0)
        (400, 2500)
        """
        if self.pairs is not None or (pairs and self._narrow(agreements, pairs)):
            return self.pairs or pairs
        share = agreements / pairs if pairs else 0.5
        low, high = pairs // self.batch + 1, ceil(self.max_pairs / self.batch)
        while low < high:
            batches = (low + high) // 2
            if self._narrow(round(share * batches * self.batch), batches * self.batch):
                high = batches
            else:
                low = batches + 1
        return min(low * self.batch, self.max_pairs)

    def _narrow(self, agreements: int, pairs: int) -> bool:
        low, high = clopper_pearson(agreements, pairs)
        return (high - low) / 2 <= (self.half_width or 0.0)


def enough_of(section: Any) -> Enough:
    """Check what a file says."""
    if not isinstance(section, dict):
        raise BadStudy(f"stop must be a table such as {{ pairs = 400 }}, got {short(section)}")
    for key, value in section.items():
        if key not in ("pairs", "half_width", "batch", "max_pairs"):
            raise BadStudy(f"stop has no key {key!r:.40}; it has pairs, or half_width, batch and max_pairs")
        if key == "half_width":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 0.5:
                raise BadStudy(f"half_width must be between 0 and 0.5, got {short(value)}")
        elif isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_PAIRS:
            raise BadStudy(f"{key} of stop must be a whole number from 1 to {_MOST_PAIRS}, got {short(value)}")
    if ("pairs" in section) == ("half_width" in section) or ("pairs" in section and len(section) > 1):
        raise BadStudy("stop has either pairs, or half_width with batch and max_pairs")
    stop = Enough(**section)
    if stop.batch > stop.max_pairs:
        raise BadStudy(f"batch of stop must be at most max_pairs = {stop.max_pairs}, got {stop.batch}")
    return stop

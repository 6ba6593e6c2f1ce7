"""How runs may end: items and labels that played runs took, with ranges and chances. Estimates, never bounds."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replical.core.text import plural, two_figures

Floats = NDArray[np.float64]


SPREAD = 1.3  # what is not played adds so much to a range on either side (benchmarks/advice.py)


@dataclass(frozen=True)
class Span:
    """A range that should hold four times in five, with the median inside it.

    Attributes
    ----------
    low, median, high
        A tenth, a half and nine tenths of what was played.
    known
        How many of the three are known; where a play was broken off before, that is where.

    Examples
    --------
    >>> Span(230.4, 351.0, 519.0).of("label"), Span(230.4, 2000, 9000, known=2).of("item")
    ('about 350 labels (230 to 520)', 'about 2,000 items (230 to more than 9,000)')
    >>> Span(230.4, 9000, 9000, known=1).of("item"), Span(9000, 9000, 9000, known=0).of("more item")
    ('230 to more than 9,000 items', 'more than 9,000 more items')
    """

    low: float
    median: float
    high: float
    known: int = 3

    def of(self, one: str, more: str | None = None) -> str:
        """So many things, to two figures: `one`, or `more`, which is `one` with an s if left out."""
        low, median, high = (f"{two_figures(end):,}" for end in (self.low, self.median, self.high))
        things = plural(self.median, one, more)
        if self.known == 0:
            return f"more than {low} {things}"
        if self.known == 1:
            return f"{low} to more than {high} {things}"
        return f"about {median} {things} ({low} to {'' if self.known == 3 else 'more than '}{high})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcomes:
    """Where played runs ended, one entry a run.

    Attributes
    ----------
    items, labels
        What it took.
    proven
        Did it end with a proof? The others ended with their items, or were played no further.

    Examples
    --------
    >>> items, labels, proven = np.array([100., 300, 900]), np.array([9., 20, 50]), np.array([True, True, False])
    >>> ends = Outcomes(items=items, labels=labels, proven=proven)
    >>> ends.chance(), ends.chance(items=200), round(ends.chance(labels=20), 2)
    (0.6666666666666666, 0.3333333333333333, 0.67)
    """

    items: Floats
    labels: Floats
    proven: NDArray[np.bool_]

    def chance(self, *, items: float = inf, labels: float = inf) -> float:
        """How many of them are proven with so many."""
        return float(np.mean(self.proven & (self.items <= items) & (self.labels <= labels)))

    def span(self, what: str, *, to_proof: bool = True) -> Span:
        """Of the ``items`` or ``labels`` that it takes: to a proof, or to the end of a run."""
        values: Floats = getattr(self, what)
        order = np.lexsort((values, ~self.proven if to_proof else np.zeros(len(values))))
        places = [order[ceil(share * len(values)) - 1] for share in (0.1, 0.5, 0.9)]
        known = int(self.proven[places].sum()) if to_proof else 3
        low, median, high = values[places].tolist()
        return Span(low / SPREAD, median, high * (SPREAD if known == 3 else 1.0), known)


class Standing(NamedTuple):
    """What a run can say of itself at this moment."""

    rest: Outcomes | None  # how it may go on; None where one is left
    first: int | None  # of a public order; None without one
    tolerance: float | None  # within so much of the best it is proven to be
    behind: bool  # is there none, or has it left the survivors?

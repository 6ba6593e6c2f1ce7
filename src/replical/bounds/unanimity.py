"""What it says about the next lab that all labs of a list agree. Claim: docs/claims/unanimity.md.

Given the string, labs are independent and alike: each has the answer f with probability p_f. The list, and so the number
m of labs on it, is fixed before any of them runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from replical.errors import ValueOutOfRange


@dataclass(frozen=True, kw_only=True)
class Unanimity:
    """All labs of a list agree.

    Attributes
    ----------
    labs
        How many the list names, m.
    split
        The probability that they all agree and yet the next one differs is at most this.
    differs, level
        That the next one differs with probability at most `differs`, given the string, is wrong with probability at most
        `level`.
    """

    labs: int
    split: float
    differs: float
    level: float


def unanimity(m: int, level: float = 0.05) -> Unanimity:
    """What follows if all of `m` listed labs agree.

    Σ p_f^m(1-p_f) ≤ max x^(m-1)(1-x), which is at x = (m-1)/m; and Σ p_f^m over p_f ≤ 1-x is at most (1-x)^(m-1).

    Examples
    --------
    >>> found = unanimity(10)
    >>> round(found.split, 4), round(found.differs, 3)
    (0.0387, 0.283)
    """
    if m < 2:
        raise ValueOutOfRange(f"labs that agree are at least 2, got {m}")
    split = float(Fraction(m - 1, m) ** (m - 1) / m)
    return Unanimity(labs=m, split=split, differs=float(1 - level ** (1 / (m - 1))), level=level)

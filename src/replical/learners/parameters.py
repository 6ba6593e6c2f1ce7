"""Parameters: ε, δ, ρ and all others, one record each, which Python, protocols, studies and the command line read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from replical.core.exact import check_at_least, check_between, decimal
from replical.errors import BadSpec, ValueOutOfRange

Kind = Literal["share", "number", "count", "word"]
Value = Decimal | int | str


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter.

    Attributes
    ----------
    name
        As it is spelled in Python, protocols, studies and, with dashes, on the command line.
    kind
        A ``share`` lies strictly between `low` and `high`, a ``number`` is `low` or more and below `high`, a ``count`` is a
        whole number from 1 or from `low` on, a ``word`` is one of `words`, or any where there are none.
    default
        What a plan is made with where nothing is given.
    required
        Can no plan do without it?
    """

    name: str
    kind: Kind
    help: str
    low: float = 0
    high: float = 1
    words: tuple[str, ...] = ()
    default: Value | None = None
    required: bool = False

    def check(self, value: Any) -> Any:
        """The value, if it is one this parameter can have."""
        if self.kind == "word":
            if self.words and value not in self.words:
                raise BadSpec(f"unknown {self.name} {value!r}; it is one of {', '.join(self.words)}")
            return value
        if self.kind == "count":
            least = max(1, int(self.low))
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ValueOutOfRange(f"{self.name} must be a whole number of at least {least}, got {value!r}")
            return int(value)
        if self.kind == "share":
            return check_between(self.name, value, self.low, self.high)
        if self.high == float("inf"):
            return check_at_least(self.name, value, self.low)
        if not self.low <= value < self.high:
            raise ValueOutOfRange(f"{self.name} must be in [{self.low:g}, {self.high:g}), got {value:g}")
        return value

    def exact(self, value: Any) -> Any:
        """The value as plans compute with it: numbers as the decimals they print as; the default if none is given."""
        if value is None and not self.required:
            return self.default
        checked = self.check(value)
        return decimal(checked) if self.kind in ("share", "number") else checked


_ALL = (
    Parameter(name="epsilon", kind="share", required=True, help="target error, above the best where labels are noisy"),
    Parameter(name="delta", kind="share", required=True, help="failure probability of the error bound"),
    Parameter(name="rho", kind="share", help="how often two labs may differ", default=Decimal("0.5")),
    Parameter(
        name="theta",
        kind="number",
        low=1,
        high=float("inf"),
        help="disagreement coefficient of the class",
        default=Decimal(1),
    ),
    Parameter(
        name="nu", kind="number", high=0.5, help="upper bound on the error of the best hypothesis", default=Decimal(0)
    ),
    Parameter(
        name="T",
        kind="share",
        high=0.5,
        help="threshold range T/theta of the paper's RepliCAL (1/8)",
        default=Decimal("0.125"),
    ),
    Parameter(name="k_loop", kind="count", help="your own number of labels per round"),
    Parameter(name="k_final", kind="count", help="your own size of the last sample"),
    Parameter(name="batch", kind="count", help="items that are open at once (1)", default=1),
    Parameter(name="a", kind="share", help="start of the range of handicap's shared threshold"),
    Parameter(name="b", kind="share", help="end of the range of handicap's shared threshold"),
    Parameter(name="shortlist", kind="count", low=2, help="only the first so many of handicap's order are candidates"),
    Parameter(name="strings", kind="count", help="your own number of strings for boosting"),
    Parameter(name="runs", kind="count", help="your own number of runs with each string"),
    Parameter(name="labs", kind="count", help="how many labs are to agree (2)", low=2, default=2),
    Parameter(name="max_labels", kind="count", help="budget of labels per lab"),
)
PARAMETERS: Mapping[str, Parameter] = {each.name: each for each in _ALL}

EVERYWHERE = ("epsilon", "delta", "max_labels")  # parameters that every learner knows
TASK = ("epsilon", "delta", "rho", "theta", "nu")  # what is asked for; the others say how it is done
OPTIONS = tuple(name for name in PARAMETERS if name not in TASK)

"""Losses other than errors: public weights of the labels, and a price for whoever abstains.

A wrong prediction costs the weight of the true label, and abstaining its price, whatever the label is. Weights are scaled
so that the largest is 1: every loss lies in [0, 1], and its unit is the costliest error. Claim: docs/claims/handicap.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from numbers import Real
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Label
from replical.core.exact import fraction
from replical.errors import BadLabel, BadProtocol

Costs = NDArray[np.int64]

_LARGEST = float_info.max
_FINEST = 10**6  # parts of the costliest error in which losses are counted


@dataclass(frozen=True)
class Losses:
    """What each prediction costs at each label, in whole parts of the costliest error.

    Attributes
    ----------
    costs
        For each label code what every prediction code costs; where candidates may abstain, that is the last of these.
    unit
        So many parts are the costliest error.
    abstains
        May candidates abstain?

    Examples
    --------
    >>> losses = Losses.of(("no", "yes"), weights={"no": 1, "yes": 4}, abstain="unsure", price=0.2)
    >>> losses.costs, losses.unit
    (((0, 5, 4), (20, 0, 4)), 20)
    >>> losses.differences
    (0, 20, -20, 1, -1, 4, -4, 5, -5, 16, -16)
    """

    costs: tuple[tuple[int, ...], ...]
    unit: int
    abstains: bool

    @classmethod
    def of(
        cls,
        labels: Sequence[Label],
        *,
        weights: Mapping[Any, float] | None = None,
        abstain: Label | None = None,
        price: float | None = None,
    ) -> Losses | None:
        """The losses that a protocol says.

        Parameters
        ----------
        labels
            What labs may say.
        weights
            What a wrong prediction costs where the true label is this one; each 1 if left out.
        abstain, price
            What a candidate says that abstains, and what that costs, as a share of the costliest error.

        Returns
        -------
        losses
            What every prediction costs; None where errors are all alike.

        Raises
        ------
        BadProtocol
            For weights that are not positive and finite, or not of these labels; for a price that is not a number from 0 to
            1, or stands alone; for an abstention that is a label.
        """
        scaled = _scale(labels, weights)
        if (abstain is None) != (price is None):
            raise BadProtocol(
                "candidates that abstain have a word for it and its price: give abstain and price, or neither"
            )
        if abstain is None and len(set(scaled)) == 1:
            return None
        rows = [[weight * (said != true) for said in range(len(labels))] for true, weight in enumerate(scaled)]
        if abstain is not None:
            _check_abstain(labels, abstain)
            rows = [[*row, fraction(_price(price))] for row in rows]
        unit = lcm(*(cost.denominator for row in rows for cost in map(fraction, row)))
        if unit > _FINEST:
            raise BadProtocol(
                f"weights and price come to losses in parts finer than 1/{_FINEST:,} of the costliest error: round them"
            )
        return cls(tuple(tuple(int(cost * unit) for cost in row) for row in rows), unit, abstain is not None)

    @property
    def labels(self) -> int:
        """How many labels labs may say."""
        return len(self.costs)

    def words(self, labels: Sequence[Label]) -> str:
        """What is counted instead of errors, for people, where these are the `labels`.

        Examples
        --------
        >>> print(Losses.of((0, 1), weights={0: 1, 1: 4}).words((0, 1)))
        Losses instead of errors, 1 is the costliest error: a wrong answer costs 0.25 where the label is 0, 1 where it is 1.
        """
        costs = [max(row[: self.labels]) / self.unit for row in self.costs]
        each = [f"{cost:.4g} where it is {label!r}" for label, cost in zip(labels, costs, strict=True)]
        each = each if len(set(costs)) > 1 else [f"{costs[0]:.4g}"]
        wrong = f"a wrong answer costs {', '.join(each)}".replace("where it is", "where the label is", 1)
        price = f"; to abstain costs {self.costs[0][-1] / self.unit:.4g}" if self.abstains else ""
        return f"Losses instead of errors, 1 is the costliest error: {wrong}{price}."

    def row(self, label: int) -> Costs:
        """What each prediction costs at the `label` of this code.

        Raises
        ------
        BadLabel
            If it is the one that candidates say to abstain.
        """
        if label >= self.labels:
            raise BadLabel("a label is what candidates say that abstain, and nobody's label ever is that")
        costs: Costs = self.table[label]
        return costs

    @cached_property
    def table(self) -> Costs:
        """`costs` as an array; a row for each label."""
        return np.array(self.costs, dtype=np.int64)

    @cached_property
    def differences(self) -> tuple[int, ...]:
        """By how much two predictions may differ in loss: 0, plus and minus the costliest error, then others in pairs."""
        apart = {abs(one - two) for row in self.costs for one in row for two in row} - {0, self.unit}
        return (0, self.unit, -self.unit, *(sign * each for each in sorted(apart) for sign in (1, -1)))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _scale(labels: Sequence[Label], weights: Mapping[Any, float] | None) -> list[Any]:
    if weights is None:
        return [fraction(1)] * len(labels)
    if not isinstance(weights, Mapping):
        raise BadProtocol(f"weights of labels are written weights = {{ {labels[0]} = 1, .. }}, got {weights!r:.60}")
    named = {str(label): label for label in labels}
    if len(named) < len(labels):
        raise BadProtocol(f"weights name labels, and two of {list(labels)!r:.60} are written alike")
    for name, weight in weights.items():
        if str(name) not in named:
            raise BadProtocol(f"there is a weight of {name!r:.60}, which is none of the labels {list(labels)!r}")
        if not _is_number(weight) or not 0 < weight <= _LARGEST:
            raise BadProtocol(f"the weight of {name!r:.60} must be a finite number above 0, got {weight!r:.40}")
    if len({str(name) for name in weights}) < len(weights):
        raise BadProtocol(f"a label has two weights, as a number and as a text, in {dict(weights)!r:.80}")
    if missing := [name for name in named if name not in {str(each) for each in weights}]:
        raise BadProtocol(f"the label {missing[0]!r} has no weight: give every label one")
    exact = {
        str(name): fraction(weight if isinstance(weight, int) else float(weight)) for name, weight in weights.items()
    }
    return [exact[str(label)] / max(exact.values()) for label in labels]


def _check_abstain(labels: Sequence[Label], abstain: Any) -> None:
    if isinstance(abstain, bool) or not isinstance(abstain, str | int) or abstain in ("", "?"):
        raise BadProtocol(f"abstain must be a text or a whole number, and neither '' nor '?', got {abstain!r:.40}")
    if str(abstain) in map(str, labels):  # a table of texts may spell numbers
        raise BadProtocol(
            f"{abstain!r} is a label, so it cannot be what candidates say that abstain: take another word"
        )


def _price(price: Any) -> float:
    if not _is_number(price) or not 0 <= price <= 1:
        raise BadProtocol(f"the price of abstaining must be a number from 0 to 1, got {price!r:.40}")
    return float(price)

"""What a plan costs in labels, and in which sense: the parts that bills are made of. Derivations: docs/claims/bills.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log2
from typing import Literal

from replical.bounds.scanning import scanning
from replical.classes.base import class_size
from replical.plans.parameters import PARAMETERS


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public numbers a bill depends on.

    Attributes
    ----------
    n
        Hypotheses in the class.
    epsilon, delta, rho, theta, nu
        As in `replical.plan`; no `nu` means that labels are noiseless.
    labs, shift
        As in `replical.plan`, for the learners that know them.
    """

    n: int
    epsilon: float
    delta: float
    rho: float
    theta: float | None = None
    nu: float | None = None
    labs: int = 2
    shift: float = 0.0

    def __post_init__(self) -> None:
        class_size("the number of hypotheses", self.n)
        for name in ("epsilon", "delta", "rho", "theta", "nu", "labs", "shift"):
            if getattr(self, name) is not None:
                PARAMETERS[name].check(getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a plan asks for.

    Attributes
    ----------
    labels, kind
        How many labels, and in which sense: the ``"most"`` a run can ask for, a theorem's bound on the ``"expected"``
        number, or an ``"estimate"``.
    rounds, labels_per_round, labels_final
        What they are made of, where the learner works in rounds.
    unlabelled
        Items to look at, where that can be said.
    note
        What a reader has to know.
    """

    labels: int
    kind: Literal["most", "expected", "estimate"]
    rounds: int | None = None
    labels_per_round: int | None = None
    labels_final: int | None = None
    unlabelled: int | None = None
    note: str = ""


def by_scanning(setting: Setting, items: int) -> int:
    """Labels that CAL over so many items asks in the mean, at most (Theorem R1)."""
    return min(ceil(scanning(setting.n, setting.theta or 1.0, items)), items)


def by_halving(setting: Setting, telling: float, until: Fraction) -> int:
    """A² until Δ is at most this: halvings, times labels; at least one in 2Θ tells whoever has to go from the best."""
    return ceil(log2(1 / until) * 2 * (setting.theta or 1.0) * telling)

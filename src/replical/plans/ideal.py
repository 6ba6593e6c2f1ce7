"""What plans have in common whose learners prove that they found the ideal answer. Claims: docs/claims/settled*.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from replical.core.exact import fraction
from replical.core.randomness import SharedRandomness
from replical.plans.base import Number, Plan, Task


@dataclass(frozen=True, kw_only=True)
class IdealPlan(Plan):
    """Find the ideal answer, a constant of the distribution and the string, and prove that it is found."""

    @property
    def labels_most(self) -> int | None:
        """Only the pool and the budget limit it."""
        return self.max_labels

    def threshold(self, shared: SharedRandomness) -> Fraction:
        """The shared threshold v, uniform on [a, b]."""
        return self["a"] + (self["b"] - self["a"]) * Fraction(shared.uniform("threshold"))


def beta(task: Task) -> Fraction:
    """How often a lab may be certified and wrong."""
    return min(fraction(task.delta), fraction(task.rho) / task.labs)


def ideal(task: Task, measure: str) -> tuple[Number, ...]:
    """What makes an answer the ideal one, by a `measure`, and how sure of it a lab is to be."""
    a, b = task.excess_range(Fraction(3, 4))
    range_of = "the range of the shared threshold v" + (" on distances" if measure == "distance" else "")
    return (
        Number(name="a", value=a, source=f"start of {range_of}; .75b if not given"),
        Number(name="b", value=b, source="its end; ε if not given"),
        Number(name="rho", value=fraction(task.rho), source="given"),
        Number(name="delta", value=fraction(task.delta), source="given"),
        Number(
            name="labs", value=task.labs, source="K labs that may differ with probability ρ at most; 2 if not given"
        ),
        Number(
            name="beta", value=beta(task), source="min(δ, ρ/K): a lab is certified and its answer is not the ideal one"
        ),
    )


def parts(task: Task, **shares: tuple[Fraction, str]) -> tuple[Number, ...]:
    """The ways in which that may happen: the share of β that each has."""
    return tuple(Number(name=name, value=share * beta(task), source=source) for name, (share, source) in shares.items())

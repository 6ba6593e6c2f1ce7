"""The plan of Lattice: when its proof is good enough. Claim: docs/claims/lattice.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log2
from typing import Any

import numpy as np

from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import check_between, clopper_pearson, fraction
from replical.errors import BadSpec, PlanMismatch, ValueOutOfRange
from replical.lattice.linear import Linear
from replical.learners.parameters import PARAMETERS
from replical.learners.plan import Choice, Number, Plan, Task
from replical.pools.pool import AnyPool

WRONG = 0.1  # share of wrong labels that a fit supposes where nobody says


@dataclass(frozen=True, kw_only=True)
class LatticePlan(Plan):
    """Ask near the boundary until the version space lies in one cell of the shared lattice."""

    class_fingerprint: str

    @property
    def labs(self) -> int:
        """K, how many labs the promise is for."""
        return self.integer("labs")

    @property
    def checks(self) -> int:
        """Labels asked to find out whether the classes can be separated at all."""
        return self.integer("checks")

    @property
    def noisy(self) -> bool:
        """Are labels taken to be wrong from the start?"""
        return bool(self["noisy"])

    def noisy_labels(self, items: int) -> int:
        """Labels in all, where labels may be wrong."""
        planned = self.integer("noisy_labels") if self.max_labels is None else self.max_labels
        return min(planned, items)

    def labels_about(self, C: Linear) -> int:
        """About how many labels a run asks for where items look alike from every side: an estimate, no bound.

        A label near the middle takes away a bit of what is left; d coordinates are to be known to 1/d of a cell, so that no
        wall is near. Where labels may be wrong, the plan spends what it has.
        """
        if self.noisy:
            return self.integer("noisy_labels") if self.max_labels is None else self.max_labels
        about = self.checks + ceil(C.d * log2(2 * C.d / C.step))
        return about if self.max_labels is None else min(about, self.max_labels)

    @property
    def rho(self) -> Fraction:
        """How often any two of the labs may differ."""
        return self["rho"]

    def under(self, prior: Prior, max_labels: int | None) -> LatticePlan:
        """The same plan with a budget of `max_labels`; nothing is preferred where nothing is listed, so no `prior` fits.

        Raises
        ------
        BadSpec
            If a prior prefers anybody.
        ValueOutOfRange
            If the budget leaves no label beside the checks.
        """
        if prior.kind != "uniform":
            raise BadSpec("a lattice is no list, and a prior prefers hypotheses of a list: leave the prior out")
        if max_labels is not None and max_labels <= self.checks and not self.noisy:
            raise ValueOutOfRange(
                f"max_labels must be above the {self.checks} labels that check the answer, got {max_labels}: raise the "
                "budget"
            )
        return super().under(prior, max_labels)

    def rho_proven(self, crossings: float) -> float:
        """What a lab proves that stopped at a time which does not look at the lattice: each of K labs may be off."""
        return min(1.0, self.labs * crossings)

    def error_at_most(self, wrong: int, items: int) -> float:
        """A bound on the answer's error at the level δ, if it errs on at most so many of these items."""
        high = clopper_pearson(wrong, items, 1 - 2 * float(self["delta"]))[1]
        return min(1.0, ceil(high * 10**6) / 10**6)  # as it is told

    @property
    def labels_most(self) -> int | None:
        """The budget."""
        return self.max_labels

    @property
    def choice(self) -> Choice:
        """Nobody is chosen from a list."""
        return "labels"

    def check(self, pool: AnyPool) -> None:
        """Refuse a `pool` of other items than those of this lattice."""
        if not isinstance(pool.C, Linear) or pool.C.fingerprint != self.class_fingerprint:
            raise PlanMismatch("the plan is for a lattice, and the pool's class is another one")


def lattice(task: Task) -> LatticePlan:
    """As `replical.plan` asks for it; labels are taken to be wrong from the start exactly when ν is above 0."""
    assert isinstance(task.C, Linear), "checked by whoever asks"
    return lattice_plan(
        task.C,
        epsilon=task.epsilon,
        delta=task.delta,
        rho=task.rho,
        labs=task.labs,
        noisy=task.nu > 0,
        wrong=task.nu or WRONG,
    )


def lattice_plan(
    C: Linear,
    *,
    epsilon: Any,
    delta: Any,
    rho: Any,
    labs: Any = 2,
    checks: Any = 20,
    noisy: bool = False,
    wrong: Any = WRONG,
    max_labels: Any = None,
) -> LatticePlan:
    """Make the plan of a run that looks for a half-space.

    Parameters
    ----------
    C
        The lattice.
    epsilon, delta
        The error to be proven, and how often that proof may fail.
    rho, labs
        How often any two of so many labs may differ.
    checks
        Labels of items, half of them near the boundary and half at random, asked in the end, on which all directions that
        are left must be right: whether some half-space makes no error cannot be seen from the labels before. If one
        is wrong, or `noisy` says so from the start, nothing is proven, and a direction is fitted that supposes the share
        `wrong` of labels to be wrong.
    noisy
        Take labels to be wrong from the start.
    wrong
        The share of wrong labels that a fit supposes.
    max_labels
        Budget, the checks included. Where labels may be wrong it is spent, and is 25 labels per coordinate if left out.

    Returns
    -------
    plan
        What `Lattice` takes.

    Raises
    ------
    ValueOutOfRange
        For a number out of its range, and a budget that leaves no label beside the checks.

    Examples
    --------
    >>> made = lattice_plan(Linear(2, step=.1, seed="published"), epsilon=.1, delta=.05, rho=.1)
    >>> made.labs, made.rho_proven(.02), round(made.error_at_most(10, 1000), 4)
    (2, 0.04, 0.0169)
    """
    if isinstance(checks, bool) or not isinstance(checks, int | np.integer) or checks < 0:
        raise ValueOutOfRange(f"checks must be a whole number of at least 0, got {checks!r}")
    numbers = (
        Number(name="delta", value=fraction(check_between("delta", delta, 0, 0.5)), source="given"),
        Number(name="rho", value=fraction(check_between("rho", rho, 0, 1)), source="given"),
        Number(name="labs", value=PARAMETERS["labs"].check(labs), source="K, how many labs shall agree"),
        Number(name="checks", value=int(checks), source="labels that test whether a half-space makes no error"),
        Number(name="noisy", value=int(noisy), source="given: are labels taken to be wrong from the start?"),
        Number(
            name="wrong", value=fraction(check_between("wrong", wrong, 0, 0.5)), source="share of wrong labels in a fit"
        ),
        Number(
            name="noisy_labels", value=25 * C.d, source="25 a coordinate: about where labs agree at 5% wrong labels"
        ),
    )
    budget = None if max_labels is None else PARAMETERS["max_labels"].check(max_labels)
    plan = LatticePlan(
        learner="lattice",
        name="tight",
        n=0,
        epsilon=fraction(check_between("epsilon", epsilon, 0, 1)),
        numbers=numbers,
        class_fingerprint=C.fingerprint,
    )
    return plan.under(UNIFORM, budget)

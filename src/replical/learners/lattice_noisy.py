"""Lattice where labels may be wrong: the same rounding, and nothing proven.

    θ <- the direction that fits the labels of a few random items
    repeat:
      the items nearest to its plane, some at a time, and their labels;  θ <- the direction that fits all labels
    until the labels planned for are spent
    return θ's cell

No lab can know from its labels how far the best direction is, for every law of items and labels. How often labs differ is
predicted from Fisher's information, as if the model of the fit were true. How wrong that prediction is was measured.
Reference: ours, docs/claims/lattice.md.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from replical.bounds.direction import deviations, fitted
from replical.classes.linear import Floats, Linear
from replical.learners.findings import Enclosing, Verdict
from replical.learners.result import Result
from replical.plans.base import Condition
from replical.plans.lattice import LatticePlan
from replical.pools.cone import Cone
from replical.pools.query import Answers, Indices, Query

SEPARABLE = "some half-space makes no error"
CONTRADICTED = Condition(name=SEPARABLE, value=0.0, bound=1.0, held=False)


@dataclass
class Heard:
    """Labels heard so far, in the order in which they came."""

    items: list[int] = field(default_factory=list)
    ones: list[bool] = field(default_factory=list)

    def hear(self, answers: Answers) -> None:
        """Take in answers to one label an item."""
        self.items += answers.items.tolist()
        self.ones += (answers.counts.argmax(axis=1) == 1).tolist()


def fit_noisy(plan: LatticePlan, V: Cone, order: Indices, heard: Heard) -> Generator[Query, Answers, Result]:
    """Go on from the labels `heard`, items in the private `order`, and return what a fit makes of all of them."""
    C, rows = V.C, V.rows * np.sqrt(V.C.d)
    theta, most = np.zeros(C.d), plan.noisy_labels(len(order))
    usable = order[(rows[order] != 0).any(axis=1)]
    first = usable[~np.isin(usable, heard.items)].tolist()
    first = first[: max(0, min(plan.noisy_start(C.d), most) - len(heard.items))]
    if first:
        heard.hear((yield _ask(np.array(first, dtype=np.int64), V)))
    while True:
        fit = fitted(rows[heard.items], np.array(heard.ones), float(plan["wrong"]), theta)
        theta = fit.theta
        left = min(most - len(heard.items), plan.noisy_batch(len(heard.items)))
        fresh = usable[~np.isin(usable, heard.items)]
        if left <= 0 or len(fresh) == 0:
            off = deviations(rows[heard.items], np.array(heard.ones), fit.direction, C.rotation)
            return _result(plan, V, C.number(C.cell(fit.direction)), differ_by(C, off))
        nearest = np.argsort(np.abs(rows[fresh] @ theta), kind="stable")[:left]
        heard.hear((yield _ask(fresh[nearest], V)))


def _ask(items: Indices, V: Cone) -> Query:
    total = len(V.rows)
    return Query(
        items=items,
        counts=np.ones(len(items), dtype=np.int64),
        scanned=len(items),
        disagreement=(total, total),
        survivors=V.C.size,
    )


def _result(plan: LatticePlan, V: Cone, h: int, predicted: float) -> Result:
    enclosing = Enclosing(
        enclosed=False,
        certified=False,
        rho_proven=1.0,
        rho_predicted=predicted,
        crossings=1.0,
        cell=V.C.cell_of(h),
        accurate=False,
    )
    return Result(
        hypothesis=h,
        unrounded=h,
        V=V,
        conditions=(*plan.conditions, CONTRADICTED),
        enclosing=enclosing,
        verdict=noisy_verdict(plan),
    )


def noisy_verdict(plan: LatticePlan) -> Verdict:
    """Why nothing is proven, in words."""
    told = "labels are taken to be wrong now and then" if plan.noisy else "labels contradict every half-space"
    return Verdict(
        certified=False,
        why=f"{told}, and where labels may be wrong nothing is proven for all half-spaces",
        helps="choose among a finite list of models instead (learner settled); what labs would do here is predicted",
    )


def differ_by(C: Linear, off: Floats) -> float:
    """An estimate of how often two labs differ whose directions have these standard deviations along the axes.

    Along an axis they lie apart by 2σ/√π on the average, and a wall lies between them with that probability, in cells; the
    shifts of the axes do not depend on each other.
    """
    walls = np.minimum(1.0, 2 / np.sqrt(np.pi) * off / C.step)
    return float(1 - np.prod(1 - walls))

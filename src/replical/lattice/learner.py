"""Lattice: half-spaces without a list, where some half-space makes no error.

    V <- all directions
    repeat:
      an item whose plane cuts V near its middle, and its label
      V <- V without the directions that the answer contradicts
    until V lies in one cell of the shared lattice, and that cell's half-space errs little
    the labels of some items of which V is sure, half of them near the boundary, half at random: is V right about them?
    return the cell

Claim: the best direction is in V, so whoever stops this way returns its cell: all such labs return the identical half-space,
surely, with any string. A lab whose V still touches several cells returns that of its middle; a wall crosses V with
probability Σ widths/s over the string, at most.

If V is wrong about one of them, labels may be wrong (`fit_noisy`): the same rounding, and nothing proven.

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
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from replical.classes.base import Indices
from replical.core.randomness import SharedRandomness
from replical.errors import PlanMismatch
from replical.lattice.cones import Cone, axes_of, cells_of, crossings_of, differ_estimate
from replical.lattice.direction import deviations, fit_direction
from replical.lattice.linear import Floats, Linear
from replical.lattice.plan import LatticePlan
from replical.learners.base import Conversation, check_plan
from replical.learners.plan import Condition
from replical.learners.result import AnswerError, Result, Verdict
from replical.pools.pool import AnyPool
from replical.pools.query import Answers, Query

ENCLOSED = "all directions that contradict no label lie in one cell of the lattice"
ACCURATE = "the answer's error is proven"
SEPARABLE = "some half-space makes no error"
CONTRADICTED = Condition(name=SEPARABLE, value=0.0, bound=1.0, held=False)


@dataclass(frozen=True)
class Lattice:
    """Learn a half-space that another lab, with other items and the same string, learns too.

    Parameters
    ----------
    plan
        ``lattice_plan(C, epsilon=.., delta=.., rho=..)``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import KnownLabels, Pool, PrivateRandomness, SharedRandomness, learn
    >>> from replical.lattice.linear import step_for
    >>> from replical.lattice.plan import lattice_plan
    >>> C, string = Linear(3, step=step_for(.05, 3), seed="published"), SharedRandomness("published")
    >>> learner = Lattice(lattice_plan(C, epsilon=.05, delta=.05, rho=.1))
    >>> def lab(name):
    ...     X = np.random.default_rng(name).normal(size=(20_000, 3))
    ...     y = KnownLabels(C, (X @ [.6, .64, .48] >= 0).astype(int))
    ...     return learn(learner, Pool(C, X, PrivateRandomness.simulated("doctest", name)), y, string)
    >>> one, two = lab(1), lab(2)
    >>> one.describe(C), one.hypothesis == two.hypothesis, one.labels, two.labels, one.proof.rho_proven
    ('1 if 0.628 x0 + 0.601 x1 + 0.483 x2 >= 0 else 0', True, 34, 33, 0.0)
    """

    plan: LatticePlan

    def __post_init__(self) -> None:
        check_plan(self.plan, LatticePlan, "Lattice")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Look for a half-space on `pool`, with the lattice of the `shared` string.

        Returns
        -------
        conversation
            It returns a result whose `hypothesis` is the number of a cell, and `unrounded` too; `V` the cone of directions
            that contradict no label; `conditions` whether it lies in one cell and whether the error is proven.

        Raises
        ------
        PlanMismatch
            If the lattice was drawn from another string.
        """
        C, plan = pool.C, self.plan
        assert isinstance(C, Linear), "checked by the plan"
        if shared.seed != C.seed:
            raise PlanMismatch("the lattice was drawn from another string than the one that is shared")
        order = _askable(pool)
        V, record = Cone(C, pool.items, order), LabelRecord()
        if not plan.noisy:
            most = None if plan.max_labels is None else plan.max_labels - plan.checks
            while not (V.look() and self._accurate(V, pool)) and len(record.items) != most:
                if (item := V.next()) is None:
                    break
                record.add((yield _about(item, V, pool)))
                V.tell(item, record.ones[-1])
            if (yield from self._separable(V, pool, order, record)):
                return self._result(V, pool)
        return (yield from fit_noisy(plan, V, order, record))

    def _accurate(self, V: Cone, pool: AnyPool) -> bool:
        """Is the answer's error proven, or can no further label change that?"""
        wrong, open_ = _errors(V, pool)
        proven = self.plan.error_at_most(wrong + open_, len(pool.items)) <= self.plan.epsilon
        return proven or self.plan.error_at_most(wrong, len(pool.items)) > self.plan.epsilon

    def _separable(
        self, V: Cone, pool: AnyPool, order: Indices, record: LabelRecord
    ) -> Generator[Query, Answers, bool]:
        """Are items about which V is of one opinion what V says? The labels that made V cannot tell."""
        V.measure()
        sure, says = order[V.certain()[order] & ~np.isin(order, record.items)], V.says()
        near = sure[np.argsort(V.distances(sure), kind="stable")][: self.plan.checks // 2]
        rest = sure[~np.isin(sure, near)][: self.plan.checks - len(near)]
        for item in np.concatenate([near, rest]).tolist():
            record.add((yield _about(item, V, pool)))
            if record.ones[-1] != says[item]:
                return False
        return True

    def _result(self, V: Cone, pool: AnyPool) -> Result:
        plan, enclosed, reach = self.plan, V.look(), V.measure()
        C, h = V.C, int(V.indices[0])
        axes = None if reach is None else axes_of(C, reach)
        crossed = 1.0 if axes is None else crossings_of(axes)
        rho = 0.0 if enclosed else plan.rho_proven(crossed)
        wrong, open_ = _errors(V, pool)
        items = len(pool.items)
        high = plan.error_at_most(wrong + open_, items)
        error = AnswerError(
            estimate=(wrong + open_ / 2) / items, low=0.0, high=high, level=float(plan["delta"]), of="error", labels=0
        )
        accurate = high <= plan.epsilon
        proof = LatticeProof(
            enclosed=enclosed,
            certified=rho <= plan.rho and accurate,
            rho_proven=rho,
            rho_predicted=0.0 if enclosed else differ_estimate(V),
            crossings=crossed,
            cell=C.cell_of(h),
            axes=axes,
            wrong=wrong,
            open=open_,
            answer_error=error,
        )
        return Result(
            hypothesis=h,
            unrounded=h,
            V=V,
            conditions=(
                *plan.conditions,
                *own_conditions(plan, C.size if axes is None else cells_of(axes), high, enclosed=enclosed),
            ),
            proof=replace(proof, verdict=verdict_of(plan, proof)),
        )


@dataclass(frozen=True, kw_only=True)
class LatticeProof:
    """What a lab knows at the end of a run of Lattice.

    Attributes
    ----------
    enclosed
        Do all directions that contradict no label lie in one cell? Then every lab of which that is true has this cell.
    certified
        Is rho_proven at most ρ, and the answer's error proven to be at most ε?
    rho_proven
        Two labs both prove this much *and* differ with at most this probability; 0 where enclosed.
    rho_predicted
        An estimate of how often two labs with such labels differ, not a bound.
    crossings
        With what probability the walls of a fresh lattice run through the directions that are left, at most.
    cell
        The answer, one whole number an axis of the lattice.
    axes
        Between which numbers of cells the directions that are left lie along each axis, rounded outwards; None where
        nothing bounds them, or labels may be wrong.
    wrong, open
        Items on which the answer surely errs, and those of which that cannot be known; None where labels may be wrong.
    answer_error
        A bound on how often the answer errs; None where nothing is proven of it.
    verdict
        In words.
    """

    enclosed: bool
    certified: bool
    rho_proven: float
    rho_predicted: float
    crossings: float
    cell: tuple[int, ...]
    axes: tuple[tuple[float, float], ...] | None = None
    wrong: int | None = None
    open: int | None = None
    answer_error: AnswerError | None = None
    verdict: Verdict = field(default_factory=lambda: Verdict(certified=False))

    @property
    def outcome(self) -> None:
        """The run was to find an answer."""
        return None

    @property
    def scanned(self) -> None:
        """Any item may have been looked at."""
        return None


@dataclass
class LabelRecord:
    """Labels heard so far, in the order in which they came."""

    items: list[int] = field(default_factory=list)
    ones: list[bool] = field(default_factory=list)

    def add(self, answers: Answers) -> None:
        """Take in answers to one label an item."""
        self.items += answers.items.tolist()
        self.ones += (answers.counts.argmax(axis=1) == 1).tolist()


def _askable(pool: AnyPool) -> Indices:
    """The private order, without what nobody can label."""
    order = pool.tail(Fraction(1))
    return order[~np.isin(order, pool.unasked)]


def _about(item: int, V: Cone, pool: AnyPool) -> Query:
    one = np.array([1], dtype=np.int64)
    disputed = (len(pool.items) if V.extent is None else int((~V.certain()).sum()), len(pool.items))
    return Query(items=item * one, counts=one, scanned=1, disagreement=disputed, survivors=V.size)


def _errors(V: Cone, pool: AnyPool) -> tuple[int, int]:
    """Items on which the cell's half-space is surely wrong, and those of which it cannot be known."""
    certain = V.certain()
    says = V.C.codes(pool.items, [int(V.indices[0])])[0].astype(np.bool_)
    wrong = certain & (says != V.says())
    return int(wrong.sum()), int((~certain).sum())


def own_conditions(plan: LatticePlan, cells: int, high: float, *, enclosed: bool) -> tuple[Condition, ...]:
    """Is all that is left in one of so many cells, and is the error, `high` at most, small enough?"""
    many = float(min(cells, 10**300))  # a double holds no more
    return (
        Condition(name=ENCLOSED, value=many, bound=1.0, held=enclosed),
        Condition(name=ACCURATE, value=high, bound=float(plan.epsilon), held=high <= plan.epsilon),
    )


def verdict_of(plan: LatticePlan, found: LatticeProof) -> Verdict:
    """What is proven or missing, in words."""
    if found.certified:
        return Verdict(certified=True)
    if found.rho_proven > plan.rho:
        if found.axes is None:
            return Verdict(
                certified=False,
                why="nothing bounds the directions that are left: some features are constant, repeated or depend on each "
                "other, some are many times as large as others, or there are fewer labels than features",
                helps="leave out such features, scale them by public constants, take fewer directions from public rows, or "
                "more labels",
            )
        if found.crossings >= 1:
            return Verdict(
                certified=False,
                why="the labels leave directions in many cells of the lattice",
                helps="more labels, more items near the boundary, fewer features, or a coarser lattice (a larger epsilon); "
                "features of about one size",
            )
        return Verdict(
            certified=False,
            why="a wall of the lattice runs through the directions that are left",
            helps="more items near the boundary or a larger budget; for most other strings these labels would do",
        )
    return Verdict(
        certified=False,
        why="the answer is the one that other labs have, but its error is not proven to be at most epsilon",
        helps="a larger epsilon, with a lattice of the same step",
    )


# ---- labels that may be wrong ----


def fit_noisy(plan: LatticePlan, V: Cone, order: Indices, record: LabelRecord) -> Generator[Query, Answers, Result]:
    """Go on from the labels in `record`, items in the private `order`, and return what a fit makes of all of them."""
    C, rows = V.C, V.rows * np.sqrt(V.C.d)
    theta, most = np.zeros(C.d), plan.noisy_labels(len(order))
    usable = order[(rows[order] != 0).any(axis=1)]
    first = usable[~np.isin(usable, record.items)].tolist()
    first = first[: max(0, min(5 * C.d, most) - len(record.items))]
    if first:
        record.add((yield _ask(np.array(first, dtype=np.int64), V)))
    while True:
        fit = fit_direction(rows[record.items], np.array(record.ones), float(plan["wrong"]), theta)
        theta = fit.theta
        left = min(most - len(record.items), max(1, len(record.items) // 20))
        fresh = usable[~np.isin(usable, record.items)]
        if left <= 0 or len(fresh) == 0:
            off = deviations(rows[record.items], np.array(record.ones), fit.direction, C.rotation)
            return _result(plan, V, C.number(C.cell(fit.direction)), differ_by(C, off))
        nearest = np.argsort(np.abs(rows[fresh] @ theta), kind="stable")[:left]
        record.add((yield _ask(fresh[nearest], V)))


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
    proof = LatticeProof(
        enclosed=False,
        certified=False,
        rho_proven=1.0,
        rho_predicted=predicted,
        crossings=1.0,
        cell=V.C.cell_of(h),
        verdict=noisy_verdict(plan),
    )
    return Result(hypothesis=h, unrounded=h, V=V, conditions=(*plan.conditions, CONTRADICTED), proof=proof)


def noisy_verdict(plan: LatticePlan) -> Verdict:
    """Why nothing is proven, in words."""
    reason = "labels are taken to be wrong now and then" if plan.noisy else "labels contradict every half-space"
    return Verdict(
        certified=False,
        why=f"{reason}, and where labels may be wrong nothing is proven for all half-spaces",
        helps="choose among a finite list of models instead (learner handicap); what labs would do here is predicted",
    )


def differ_by(C: Linear, off: Floats) -> float:
    """An estimate of how often two labs differ whose directions have these standard deviations along the axes.

    Along an axis they lie apart by 2σ/√π on the average, and a wall lies between them with that probability, in cells; the
    shifts of the axes do not depend on each other.
    """
    walls = np.minimum(1.0, 2 / np.sqrt(np.pi) * off / C.step)
    return float(1 - np.prod(1 - walls))

"""Many runs of one learner with one string on a known distribution, side by side.

A run of these learners is decided by its version space and what it draws next, so runs with equal version spaces share
everything but their draws: thousands of runs become a few multinomial tables. The learners' own files are the
reference; here each is written once more, for a flock of runs. Runs have the same distribution as one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.core.randomness import SharedRandomness
from replical.errors import EmptyVersionSpace
from replical.learners.paper.replica2 import ReplicA2Plan
from replical.learners.paper.replicable_erm import ReplicableERMPlan
from replical.learners.paper.replical import RepliCALPlan
from replical.learners.plan import Plan
from replical.pools.pool import AnyPool, ExactPool
from replical.pools.query import Answers, Indices, Query
from replical.pools.version_space import VersionSpace

Sizes = NDArray[np.int64]
Errors = NDArray[np.int64]
Masks = NDArray[np.bool_]
_EXACT = 2**52  # sums of counts below this are exact in doubles
_TABLE = 2**22  # entries of a table of draws
_SUM = 2**62  # labels of one query are added up in 63 bits


def fits(plan: Plan, pool: AnyPool) -> bool:
    """Can runs of this plan be made in bulk on this pool?"""
    return isinstance(pool, ExactPool) and plan.learner in FORMS and FORMS[plan.learner][1](plan) < _EXACT


def in_bulk(
    plan: Plan, pool: ExactPool, shared: SharedRandomness, runs: int, name: tuple[str | int, ...]
) -> Generator[Query, Answers, Counter[int]]:
    """How often each hypothesis is the answer of a run; `EmptyVersionSpace` if no run keeps anybody."""
    generator, broken = pool.generator(*name), None
    wins: Counter[int] = Counter()
    run, largest = FORMS[plan.learner]
    most = max(1, min(_TABLE // max(len(pool.items), plan.n), _SUM // largest(plan)))
    for begin in range(0, runs, most):
        flock = Flock(generator, pool.weights, [Group(pool.version_space(), min(most, runs - begin))])
        try:
            flock = yield from run(plan, flock, shared)
        except EmptyVersionSpace as error:  # nobody in any run of this table
            broken = error
            continue
        for group in flock.groups:
            wins[group.V.first(shared, plan.prior)] += group.runs
    if not wins and broken is not None:
        raise broken
    return wins


@dataclass(frozen=True)
class Group:
    """Runs that share a version space."""

    V: VersionSpace
    runs: int


class Flock:
    """All runs, grouped by version space."""

    def __init__(self, generator: np.random.Generator, weights: Sizes, groups: list[Group]) -> None:
        self._generator, self._weights, self.groups = generator, weights, groups

    def inside(self, V: VersionSpace, count: int, runs: int) -> Sizes:
        """How many of `count` draws fall into DIS(V), in each of the runs."""
        return self._generator.binomial(count, float(V.mass), size=runs)

    def filter(
        self, sizes: Callable[[Group], Sizes], stays: Callable[[VersionSpace, Errors], Masks], *, anywhere: bool = False
    ) -> Generator[Query, Answers, Flock]:
        """Draw so many labels in every run, inside DIS(V) or anywhere, and keep who stays."""
        tables = []
        for group in self.groups:
            region = np.flatnonzero(self._weights) if anywhere else group.V.disputed
            region = region[self._weights[region] > 0]
            wanted = sizes(group) if len(region) else np.zeros(group.runs, dtype=np.int64)
            tables.append((group, region, wanted, self._table(region, wanted)))
        where = [np.nonzero(table) for *_, table in tables]
        query = _query(tables, where)
        counts = (yield query).counts if query.total else np.zeros((0, 1), dtype=np.int64)
        groups: dict[bytes, Group] = {}
        at = 0
        for (group, region, wanted, table), (run, cell) in zip(tables, where, strict=True):
            rows, at = counts[at : at + len(run)], at + len(run)
            masks = np.ones((group.runs, group.V.size), dtype=np.bool_)
            asked = np.flatnonzero(wanted)
            if len(asked):
                errors = _errors(group.V, region, table.shape, run, cell, rows)
                masks[asked] = stays(group.V, errors[asked])
            for mask, runs in _distinct(masks):
                if not mask.any():  # a run that keeps nobody wins for nobody
                    continue
                V = group.V.keep(mask)
                key = V.indices.tobytes()
                groups[key] = Group(V, runs + (groups[key].runs if key in groups else 0))
        if not groups:
            widest = self.groups[0].V
            widest.keep(np.zeros(widest.size, dtype=np.bool_))  # nobody in any run: the error that says what is broken
        return Flock(self._generator, self._weights, list(groups.values()))

    def _table(self, region: Indices, wanted: Sizes) -> Sizes:
        if not wanted.any():
            return np.zeros((len(wanted), len(region)), dtype=np.int64)
        weights = self._weights[region]
        return self._generator.multinomial(wanted, weights / weights.sum())


def _query(tables: list[Any], where: list[Any]) -> Query:
    """One query for all runs: a row for every cell that a run drew."""
    widest = max((group for group, *_ in tables), key=lambda group: group.V.disagreement_weight).V
    return Query(
        items=np.concatenate([region[cell] for (_, region, *_), (_, cell) in zip(tables, where, strict=True)]),
        counts=np.concatenate([table[place] for (*_, table), place in zip(tables, where, strict=True)]),
        scanned=sum(int(wanted.sum()) for _, _, wanted, _ in tables),
        disagreement=(widest.disagreement_weight, widest.total),
        survivors=widest.size,
    )


def _errors(V: VersionSpace, region: Indices, shape: tuple[int, int], run: Indices, cell: Indices, rows: Any) -> Errors:
    """Errors of every survivor (column) in every run (row)."""
    says = np.stack([V.predictions.codes(int(h), region) for h in V.indices], axis=1)
    errors = np.zeros((shape[0], V.size))
    for label in range(rows.shape[1]):
        answered = np.zeros(shape)
        answered[run, cell] = rows[:, label]
        errors += answered @ (says != label)
    return errors.astype(np.int64)


def _distinct(masks: Masks) -> list[tuple[NDArray[np.bool_], int]]:
    packed = np.packbits(masks, axis=1)
    _, first, runs = np.unique(packed, axis=0, return_index=True, return_counts=True)
    return [(masks[row], int(count)) for row, count in zip(first, runs, strict=True)]


def replical(plan: RepliCALPlan, flock: Flock, shared: SharedRandomness) -> Generator[Query, Answers, Flock]:
    """RepliCAL."""
    v = plan.threshold(shared)
    for _ in range(plan.rounds_most):
        flock = yield from flock.filter(
            lambda group: _each(group, plan.k if group.V.mass >= plan.stop_mass else 0),
            lambda V, errors: errors <= plan.loop_most(v),
        )

    def final(group: Group) -> Sizes:
        k, most = plan.integer("k_final"), plan.final_most(group.V.mass, v)
        drawn = flock.inside(group.V, k, group.runs) if plan.final_scans else _each(group, k)
        return np.where(drawn > most, drawn, 0)

    return (yield from flock.filter(final, lambda V, errors: errors <= plan.final_most(V.mass, v)))


def replica2(plan: ReplicA2Plan, flock: Flock, shared: SharedRandomness) -> Generator[Query, Answers, Flock]:
    """ReplicA²."""
    position = plan.position(shared)
    for _ in range(plan.rounds_most):
        flock = yield from flock.filter(
            lambda group: _each(group, plan.k if group.V.mass >= plan.stop_mass else 0),
            lambda V, errors: errors <= plan.loop_most(V.mass, plan.k, position),
        )

    def final(group: Group) -> Sizes:
        size = plan.final_size(group.V.mass)
        return flock.inside(group.V, size, group.runs) if plan.final_scans else _each(group, size)

    return (
        yield from flock.filter(
            final, lambda V, errors: errors <= plan.final_most(V.mass, position, 0) + errors.min(axis=1, keepdims=True)
        )
    )


def replicable_erm(plan: ReplicableERMPlan, flock: Flock, shared: SharedRandomness) -> Generator[Query, Answers, Flock]:
    """The passive replicable learner."""
    return (
        yield from flock.filter(
            lambda group: _each(group, plan.k),
            lambda V, errors: errors <= plan.most(shared, 0) + bool(plan["nu"]) * errors.min(axis=1, keepdims=True),
            anywhere=True,
        )
    )


def _each(group: Group, k: int) -> Sizes:
    return np.full(group.runs, k, dtype=np.int64)


# How runs of a learner are made as a flock, and the largest sample of one step.
Form = tuple[Callable[[Any, Flock, SharedRandomness], Generator[Query, Answers, Flock]], Callable[[Any], int]]
FORMS: dict[str, Form] = {
    "replical": (replical, lambda plan: max(plan.k, plan.integer("k_final"))),
    "replica2": (replica2, lambda plan: max(plan.k, plan.final_size(Fraction(1)))),
    "replicable-erm": (replicable_erm, lambda plan: plan.k),
}

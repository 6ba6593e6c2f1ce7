"""Adding items until a run is certified keeps the promise of Handicap; a new order each time breaks it (docs/claims/handicap.md)."""

from dataclasses import replace
from itertools import count, pairwise

import numpy as np
import pytest

from replical import (
    Handicaps,
    KnownLabels,
    PredictionTable,
    PrivateRandomness,
    SharedRandomness,
    learn,
    learner_for,
    plan,
)
from replical.classes.recipe import Recipe
from replical.lab.pool import LabPool, Part
from support.sequential import Promise

BETA, RUNS = 0.2, 200
SIZES = [20, 30, 45, 68, 101, 152, 228, 342, 513]  # of the pool, each time the run has ended without a proof


def grown(C, wrong, sizes):
    """A pool with these rows that came in parts."""
    parts = tuple(Part(end - start, f"part {end}") for start, end in pairwise((0, *sizes)))
    return LabPool(
        recipe=Recipe(C=C, columns=(), to_items=lambda columns: columns),
        ids=tuple(f"{item:06d}" for item in range(sizes[-1])),
        items=wrong[: sizes[-1]].astype(int),
        fingerprint="all of it",
        rows=np.arange(sizes[-1]),
        parts=parts,
    )


def certified_ties(seed, order):
    """Labs in whose population two candidates are tied: is one of them certified, sooner or later, in this `order`?"""
    C = PredictionTable(["one", "other"])
    made = plan("handicap", C, epsilon=BETA, delta=BETA, rho=2 * BETA, pool="finite", handicaps=Handicaps.zero())
    learner = learner_for(made)
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        wrong = private.generator("errors").random((SIZES[-1], 2)) < 0.3
        yield any(
            learn(
                learner,
                order(grown(C, wrong, SIZES[:times]), private, times),
                KnownLabels(C, np.zeros(size, dtype=int)),
                SharedRandomness("growth"),
            ).proof.certified
            for times, size in enumerate(SIZES, 1)
        )


def goes_on(lab, private, times):
    """Part by part: the run goes on."""
    return lab.pool(private)


def begins_again(lab, private, times):
    """All items in a new order: the run begins again."""
    return replace(lab, parts=()).pool(private.derived(f"again {times}"))


def broken(order, alarm, request, record_property):
    promise = Promise(2 * BETA, RUNS, alarm)
    for certified in certified_ties(request.node.name, order):
        if not promise.open:
            break
        promise.hear(certified)
    record_property("power", promise.told("labs certify one of two that are tied"))
    return promise.broken


@pytest.mark.claim("handicap")
def test_again_until_certified_keeps_the_promise(alarm, request, record_property):
    assert not broken(goes_on, alarm, request, record_property)


@pytest.mark.claim("handicap")
@pytest.mark.mutant
def test_a_new_order_each_time_is_noticed(alarm, request, record_property):
    assert broken(begins_again, alarm, request, record_property)

"""Settled over CAL: what it refuses, what it infers, what it says where its assumption is broken."""

import numpy as np
import pytest

from replical import (
    KnownLabels,
    Measured,
    Pool,
    Population,
    PredictionTable,
    PrivateRandomness,
    SharedRandomness,
    Thresholds,
    learn,
    learner_for,
    plan,
)
from replical.errors import EmptyVersionSpace, PlanMismatch

SHARED, PRIVATE = SharedRandomness("settled"), PrivateRandomness.simulated("settled-cal")


def made(C, learner="settled-cal", **options):
    return learner_for(plan(learner, C, **({"epsilon": 0.1, "delta": 0.05, "rho": 0.1, "pool": "finite"} | options)))


def test_a_known_distribution_is_refused():
    C = Thresholds(50)
    world = Population(C, target=20)
    pool = world.pool("exact", PRIVATE)
    with pytest.raises(PlanMismatch, match="^settled-cal infers labels, so on a known .* give a pool size instead"):
        learn(made(C, pool="exact", max_labels=50), pool, world.labels(pool, PRIVATE), SHARED)


def test_labels_that_nobody_fits_are_an_error_that_names_the_assumption():
    C = Thresholds(200)
    world = Population(C, target=70, noise=0.2)
    pool = world.pool(5000, PRIVATE)
    with pytest.raises(EmptyVersionSpace, match="in the realizable setting that some hypothesis makes no error"):
        learn(made(C, batch=8), pool, world.labels(pool, PRIVATE), SHARED)


def test_the_same_is_proven_with_a_few_labels():
    """The same purses and charges as Settled's: the answer and the items are the same where both are certified."""
    C = Thresholds(200)
    world = Population(C, target=120)
    pool = world.pool(20_000, PRIVATE)
    asked, inferred = (
        learn(made(C, learner), pool, world.labels(pool, PRIVATE), SHARED) for learner in ("settled", "settled-cal")
    )
    assert inferred.settling.certified
    assert asked.settling.certified
    assert inferred.hypothesis == asked.hypothesis
    assert inferred.labels < 20 < asked.labels


def test_two_copies_of_the_truth_are_told_apart_by_nobody():
    """V says the same everywhere from the first: nothing is asked, the first in the order is proven."""
    C = PredictionTable(["one", "two"])
    x = np.repeat(np.random.default_rng(1).integers(2, size=(500, 1)), 2, axis=1)
    result = learn(made(C), Pool(C, x, PRIVATE), KnownLabels(C, x[:, 0]), SHARED)
    assert (result.settling.certified, result.labels) == (True, 0)


def test_its_error_can_be_measured():
    C = Thresholds(200)
    world = Population(C, target=120)
    pool = world.pool(20_000, PRIVATE)
    plain, measured = (
        learn(learner, pool, world.labels(pool, PRIVATE), SHARED) for learner in (made(C), Measured(made(C), 40))
    )
    assert (measured.hypothesis, measured.settling) == (plain.hypothesis, plain.settling)
    assert (measured.answer_error.of, measured.answer_error.labels) == ("error", 40)

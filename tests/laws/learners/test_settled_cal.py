"""Settled over CAL against a second implementation in plain fractions, and with everyone alone."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import (
    KnownLabels,
    Pool,
    PredictionTable,
    PrivateRandomness,
    SharedRandomness,
    Thresholds,
    learn,
    learner_for,
    plan,
)
from replical.errors import EmptyVersionSpace
from replical.learners.settled.candidates import Everyone
from support import reference


def table(n, U, rates, generator):
    """Candidates that err at these rates, independently of each other: the class, items, predictions and the truth."""
    truth = generator.integers(3, size=U)
    wrong = generator.random((n, U)) < np.resize(rates, (n, 1))
    codes = np.where(wrong, (truth + 1) % 3, truth)
    return PredictionTable([f"m{h}" for h in range(n)], labels=(0, 1, 2)), codes.T, codes, truth


def line(n, U, rates, generator):
    """Cuts on a line, the truth one of them; a rate above 0 makes labels noisy."""
    C, x = Thresholds(n), generator.integers(-1, n + 1, size=U)
    truth = (x >= generator.integers(n)) ^ (generator.random(U) < max(rates))
    return C, x, C.predict(x), truth.astype(int)


def ended(learner, pool, labels, shared):
    """Every figure of a result, or None where nobody is consistent."""
    try:
        result = learn(learner, pool, labels, shared)
    except EmptyVersionSpace:
        return None
    return (
        result.hypothesis,
        result.settling.certified,
        result.labels,
        result.settling.scanned,
        result.settling,
        result.rounds,
        result.V.indices.tolist(),
    )


@pytest.mark.claim("settled_cal")
@pytest.mark.parametrize(
    ("make", "rates"),
    [(table, [0.1, 0.0, 0.02, 0.4]), (table, [0.05, 0.3]), (line, [0.0]), (line, [0.1])],
    ids=["table", "table without a right one", "line", "noisy line"],
)
@given(
    n=st.integers(1, 7), U=st.integers(1, 300), seed=st.integers(0, 2**32),
    ends=st.sampled_from([(0.3, 0.3), (0.1, 0.2), (0.6, 0.9)]), batch=st.sampled_from([1, 3]),
    most=st.sampled_from([None, 6]), unasked=st.sampled_from([0.0, 0.2]),
)  # fmt: skip
@settings(max_examples=15)
def test_it_is_its_twin(make, rates, n, U, seed, ends, batch, most, unasked):
    generator = np.random.default_rng(seed)
    C, x, codes, truth = make(n, U, rates, generator)
    made = plan(
        "settled-cal", C, epsilon=ends[1], delta=0.1, rho=0.4, a=ends[0], b=ends[1], batch=batch, max_labels=most,
        pool="finite",
    )  # fmt: skip
    skipped, shared = np.flatnonzero(generator.random(U) < unasked), SharedRandomness(f"twin {seed}")
    pool = Pool(C, x, PrivateRandomness.simulated("twin", seed)).without(skipped)
    order = sorted(range(n), key=lambda h: (shared.word("order", index=h), h))
    twin = reference.settled(
        codes, order, pool.order.tolist(), truth, made.threshold(shared), delta_A=made["delta_A"],
        delta_I=made["delta_I"], batch=batch, most=most, infers=True, unasked=set(skipped.tolist()),
    )  # fmt: skip
    found = ended(learner_for(made), pool, KnownLabels(C, truth), shared)
    assert (None if found is None else found[:4]) == twin


@pytest.mark.claim("settled_cal")
@settings(max_examples=20)
@given(
    n=st.sampled_from([1, 2, 3, 8, 40, 300]), U=st.integers(1, 600), seed=st.integers(0, 2**32),
    ends=st.sampled_from([(0.3, 0.3), (0.1, 0.2), (0.04, 0.05)]), batch=st.sampled_from([1, 3]),
    unasked=st.sampled_from([0.0, 0.2]),
)  # fmt: skip
def test_groups_on_a_line_change_nothing(n, U, seed, ends, batch, unasked):
    generator = np.random.default_rng(seed)
    C, x, _, truth = line(n, U, [0.0], generator)
    made = plan("settled-cal", C, epsilon=ends[1], delta=0.1, rho=0.4, a=ends[0], b=ends[1], batch=batch, pool="finite")
    pool = Pool(C, x, PrivateRandomness.simulated("groups", seed)).without(
        np.flatnonzero(generator.random(U) < unasked)
    )
    run = (learner_for(made), pool, KnownLabels(C, truth), SharedRandomness(f"groups {seed}"))
    with patch("replical.learners.settled.candidates.Line", lambda whole, order, *_: Everyone(whole, order)):
        alone = ended(*run)
    assert ended(*run) == alone

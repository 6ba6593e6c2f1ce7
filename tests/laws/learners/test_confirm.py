"""Confirm against a second implementation in plain fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from replical import KnownLabels, Pool, PredictionTable, PrivateRandomness, SharedRandomness, Thresholds, confirm, learn
from replical.learners.handicap.confirm import Confirm, confirm_plan
from support import reference
from support.predictions import tables


@st.composite
def claims(draw):
    """Candidates of which one is a copy of another, an answer, and items that nobody can label."""
    labels, codes, truth, seed = draw(tables())
    generator = np.random.default_rng([seed, 1])
    skipped = np.flatnonzero(generator.random(len(truth)) < draw(st.sampled_from([0.0, 0.1, 0.6])))
    return draw(st.integers(0, len(codes) - 1)), labels, codes, truth, seed, skipped


@pytest.mark.claim("confirm")
@given(
    claims(), st.sampled_from([0.02, 0.1, 0.9]), st.sampled_from([0.3, 0.05]), st.sampled_from([1, 3]),
    st.sampled_from([None, 25]),
)  # fmt: skip
@settings(max_examples=80)
def test_it_is_its_twin(claim, margin, level, batch, most):
    h, labels, codes, truth, seed, skipped = claim
    C = PredictionTable([f"m{i}" for i in range(len(codes))], labels=labels)
    pool = Pool(C, np.array(labels)[codes].T, PrivateRandomness.simulated("twin", seed)).without(skipped)
    known = KnownLabels(C, np.array(labels)[truth])
    found = confirm(h, pool, known, margin=margin, level=level, batch=batch, max_labels=most)
    twin = reference.confirm(
        codes, h, pool.order.tolist(), truth, Fraction(str(margin)), Fraction(str(level)), batch=batch, most=most,
        skipped=set(skipped.tolist()),
    )  # fmt: skip
    event(found.outcome)
    assert (found.outcome, found.against, found.asked, found.scanned, found.unlabelled) == twin


@pytest.mark.claim("confirm")
@given(
    st.integers(2, 60), st.sampled_from([12, 300]), st.integers(0, 2**32), st.sampled_from([0.05, 0.2, 0.6]),
    st.sampled_from([1, 4]),
)  # fmt: skip
@settings(max_examples=80)
def test_a_class_without_a_matrix_is_its_table(n, items, seed, margin, batch):
    """On few items many thresholds say the same, and one of them bets for all."""
    generator, C = np.random.default_rng(seed), Thresholds(n)
    x = generator.integers(n - 1, size=items)
    labels = ((x >= generator.integers(n)) ^ (generator.random(items) < 0.1)).astype(int)
    private, h = PrivateRandomness.simulated("line", seed), seed % n
    table = PredictionTable([str(each) for each in range(n)])
    codes = C.codes(C.items(x), np.arange(n)).T
    found, same = (
        learn(
            Confirm(plan=confirm_plan(n, margin=margin, level=0.05, batch=batch), h=h),
            Pool(each, rows, private),
            KnownLabels(each, labels),
            SharedRandomness("nothing"),
        )
        for each, rows in ((C, x), (table, codes))
    )
    assert found.proof == same.proof
    assert found.rounds == same.rounds
    assert found.survivors.indices.tolist() == same.survivors.indices.tolist()

"""Handicap on a table that is the whole population, against its twin; what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import (
    Groups,
    Handicaps,
    KnownLabels,
    Pool,
    PredictionTable,
    PrivateRandomness,
    SharedRandomness,
    learn,
    learner_for,
    plan,
)
from replical.errors import BadSpec
from support import reference
from support.predictions import losing_by, preferring, run_beside_twin, tables


@pytest.mark.claim("handicap")
@given(
    tables(), st.sampled_from([0.3, 0.1, 0.02]), st.sampled_from(["order", "zero", "string"]),
    st.sampled_from(["errors", "weights", "distances"]), st.sampled_from([None, 7]),
)  # fmt: skip
@settings(max_examples=60)
def test_on_a_table_it_is_its_twin(run, epsilon, source, losing, most):
    labels, codes, truth, seed = run
    C, losses, said, known, cost = losing_by(losing, labels, codes, truth)
    options = {"order": {"prior": preferring(C, ordered=True)}, "string": {}}
    options["zero"] = {"handicaps": Handicaps.of(C, [0.0] * len(codes))}
    made = plan(
        "handicap", C, epsilon=epsilon, delta=0.1, rho=0.4, pool="finite", table=True, max_labels=most,
        losses=losses, **options[source],
    )  # fmt: skip
    pool = Pool(C, said, PrivateRandomness.simulated("twin", seed))
    result, largest = run_beside_twin(
        made, pool, known(pool), codes, truth, seed, reference.handicap_on_a_table, most=most, cost=cost
    )
    others = [1 / float(largest[g]) for g in result.survivors.indices.tolist() if g != result.hypothesis]
    assert result.proof.doubt == pytest.approx(min(1, max(others, default=0.1)), abs=2e-6)
    assert (result.proof.tolerance, result.proof.counts, result.proof.ahead) == (None, None, None)


def test_a_small_margin_is_proven_at_the_end_of_the_table():
    """Two errors in 300 rows; independent draws would not show that."""
    C, wrong = PredictionTable(["good", "bad"]), np.zeros((300, 2), dtype=int)
    wrong[:30, 0] = wrong[30:62, 1] = 1
    pool = Pool(C, wrong, PrivateRandomness.simulated("margin"))
    options = {
        "epsilon": 0.05, "delta": 0.05, "rho": 0.1, "pool": "finite", "handicaps": Handicaps.of(C, [0.0, 0.0]),
    }  # fmt: skip
    labels, shared = KnownLabels(C, np.zeros(300, dtype=int)), SharedRandomness("margin")
    results = [
        learn(learner_for(plan("handicap", C, table=table, **options)), pool, labels, shared) for table in (True, False)
    ]
    assert [result.proof.certified for result in results] == [True, False]
    assert results[0].hypothesis == 0
    assert results[0].proof.excess_upper == 0.0


def test_what_a_table_is_not_for_is_refused():
    C = PredictionTable(["a", "b"])
    task = {"epsilon": 0.1, "delta": 0.1, "rho": 0.2, "pool": "finite", "table": True}
    for learner, options in (
        ("cal", {}),
        *(("handicap", each) for each in ({"nu": 0}, {"batch": 2}, {"groups": Groups(2)})),
    ):
        with pytest.raises(
            BadSpec, match="a table that is the population is for handicap alone, without nu, batch and groups"
        ):
            plan(learner, C, **task, **options)

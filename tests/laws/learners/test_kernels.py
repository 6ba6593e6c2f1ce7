"""A run is the same to the bit on every back end."""

import numpy as np
import pytest

from replical import KnownLabels, Pool, PredictionTable, PrivateRandomness, SharedRandomness, learn, plan
from replical.core.kernels import backend
from replical.learners.planning import learner_for

N, U = 130, 600
NUMBERS = {"epsilon": 0.1, "delta": 0.1, "pool": "finite"}
LEARNERS = {
    "cal": NUMBERS,
    "a2": NUMBERS,
    "handicap": NUMBERS | {"rho": 0.2},
    "handicap without errors": NUMBERS | {"rho": 0.2, "nu": 0.0},
}


def facts(learner, labels):
    """Everything a run says, from a table in which one candidate makes no error."""
    generator = np.random.default_rng(3)
    truth = generator.integers(labels, size=U)
    wrong = generator.random((U, N)) < generator.choice([0.01, 0.1, 0.3, 0.5], size=N)
    wrong[:, 17] = False
    C = PredictionTable([f"c{i}" for i in range(N)], labels=tuple(range(labels)))
    pool = Pool(
        C, np.where(wrong, (truth[:, None] + 1) % labels, truth[:, None]), PrivateRandomness.simulated("kernels")
    )
    result = learn(
        learner_for(plan(learner.split()[0], C, **LEARNERS[learner])),
        pool,
        KnownLabels(C, truth),
        SharedRandomness("kernels"),
    )
    return (
        (result.hypothesis, result.unrounded, result.labels, result.rounds, result.conditions),
        result.V.indices.tolist(),
        result.V.disagreement.tolist(),
        repr(result.proof),
    )


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_run_is_the_same_on_all_back_ends(learner, labels):
    with backend.using("numpy"):
        expected = facts(learner, labels)
    others = {"numba": backend.trouble(), "torch": backend.torch_trouble()}
    for name in (name for name, why in others.items() if why is None):
        with backend.using(name):
            assert facts(learner, labels) == expected
    if None not in others.values():
        pytest.skip(f"neither numba nor PyTorch can be used: {others}")

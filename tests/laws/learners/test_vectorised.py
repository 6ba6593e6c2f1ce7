"""The library against Rounded(CAL) as plain NumPy, on the same pools and strings."""

import numpy as np
import pytest

from replical import PrivateRandomness, SharedRandomness, Thresholds, World, plan
from replical.learners.planning import learner_for
from replical.worlds.audit import pair_string, run_pair
from support.vectorised import lab

N, ITEMS, PAIRS = 200, 20_000, 8
PUBLIC = {"epsilon": 0.1, "delta": 0.05, "rho": 0.1}


@pytest.mark.slow
def test_same_answers_where_both_stop_at_the_same_label():
    C, seed = Thresholds(N), "vectorised"
    made = plan("rounded-cal", C, pool="finite", items=ITEMS, **PUBLIC)
    world, together = World(C=C, pool_size=ITEMS), 0
    for number in range(PAIRS):
        population, labs = run_pair(learner_for(made), world, seed, number)
        shared = SharedRandomness(pair_string(seed, number))
        rank = shared.ranks("order", indices=np.arange(N))
        for name, found in zip("AB", labs, strict=True):
            pool = population.pool(ITEMS, PrivateRandomness.simulated(seed, number, name))
            drawn = pool.scan().anywhere(pool.version_space(), ITEMS).items
            answer, asked = lab(
                drawn, population.target, n=N, threshold=made.threshold(shared, ITEMS), rank=rank, **PUBLIC
            )
            assert asked <= found.result.labels
            if asked == found.result.labels:
                together += 1
                assert answer == found.result.hypothesis
    assert together >= PAIRS  # of twice as many labs: it is a check, not an excuse

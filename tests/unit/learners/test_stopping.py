"""The stop test looks at fresh items (docs/claims/subroutines.md)."""

import numpy as np
import pytest

from replical import Pool, PrivateRandomness, ReplicA2, RepliCAL, SharedRandomness, Thresholds, learn, plan
from replical.errors import PoolExhausted
from support.runs import Overheard

SHARED = SharedRandomness("published")


def small(learner, more=0):
    """A finite pool just large enough for a first stop test and `more` items."""
    C = Thresholds(40)
    made = plan(
        learner,
        C,
        epsilon=0.4 if learner == "replical" else 0.05,  # the loops run from mass .4 on
        delta=0.9,
        rho=0.9,
        theta=1.0,
        nu=0.0 if learner == "replica2" else None,
        stop="rstat",
        pool="finite",
        k_loop=30,
        k_final=200,
    )
    size = made.integer("stop_items") + made.measuring + more
    x = np.random.default_rng(3).integers(39, size=size)
    private = PrivateRandomness.simulated("stop test")
    kind = RepliCAL if learner == "replical" else ReplicA2
    order = private.permutation(size)
    return kind(made), Pool(C, x, private), Overheard(C, (x >= 20).astype(int)), order


@pytest.mark.parametrize("learner", ["replical", "replica2"])
def test_the_stop_test_looks_at_fresh_items_and_asks_for_none(learner):
    """Everything is disputed at first, so the test says yes; the first labels come from the items behind it."""
    chosen, pool, labels, order = small(learner, more=400_000)
    learn(chosen, pool, labels, SHARED)
    behind = order[chosen.plan.integer("stop_items") :]
    assert labels.asked[0].tolist() == behind[:30].tolist()
    asked = np.concatenate(labels.asked)
    assert len(np.unique(asked)) == len(asked)


@pytest.mark.parametrize("learner", ["replical", "replica2"])
def test_a_pool_too_small_for_the_stop_test_says_so(learner):
    chosen, pool, labels, _ = small(learner, more=-1)
    tested = chosen.plan.integer("stop_items")
    said = f"{tested} fresh items are needed" if learner == "replical" else f"at least {tested + 200:,} items"
    with pytest.raises(PoolExhausted, match=said):
        learn(chosen, pool, labels, SHARED)

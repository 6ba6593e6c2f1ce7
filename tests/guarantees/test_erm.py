"""ERM keeps its error bound, and fails it with too few labels (docs/claims/erm.md)."""

import pytest

from replical import ERM, Population, PrivateRandomness, SharedRandomness, Star, learn, plan
from replical.core.binomial import rejects_at

RUNS, DELTA = 2000, 0.05


def results(learner, world, seed, runs=RUNS):
    for number in range(runs):
        private = PrivateRandomness.simulated(seed, number)
        pool = world.pool("exact", private)
        yield learn(learner, pool, world.labels(pool, private), SharedRandomness(f"{seed} {number}"))


def rival_world():
    """19 leaves, each wrong on a cell of mass just above ε: the union bound is nearly tight."""
    C = Star(19)
    return C, Population(C, target=0), 1 / 19 - 1e-4


@pytest.mark.parametrize("name", ["paper", "tight"])
@pytest.mark.parametrize("starve", [1, 3])
def test_erm(name, starve, alarm, request):
    """With a third of the labels the bound breaks; with all of them it holds."""
    C, world, epsilon = rival_world()
    made = plan("erm", C, epsilon=epsilon, delta=DELTA, name=name)
    learner = ERM(plan("erm", C, epsilon=epsilon, delta=DELTA, name=name, k_final=made.k // starve))
    bad = sum(world.error(result.hypothesis) > made.epsilon for result in results(learner, world, request.node.name))
    assert (bad >= rejects_at(RUNS, DELTA, alarm)) == (starve > 1)

"""ERM keeps its error bound, and fails it with too few labels (docs/claims/erm.md)."""

import pytest

from replical import ERM, Population, Star, plan
from support.runs import results
from support.sequential import Promise

RUNS, DELTA = 2000, 0.05


def rival_world():
    """19 leaves, each wrong on a cell of mass just above ε: the union bound is nearly tight."""
    C = Star(19)
    return C, Population(C, target=0), 1 / 19 - 1e-4


@pytest.mark.claim("erm")
@pytest.mark.mutant
@pytest.mark.parametrize("name", ["paper", "tight"])
@pytest.mark.parametrize("starve", [1, 3])
def test_erm(name, starve, alarm, request, record_property):
    """With a third of the labels the bound breaks; with all of them it holds."""
    C, world, epsilon = rival_world()
    made = plan("erm", C, epsilon=epsilon, delta=DELTA, name=name)
    learner = ERM(plan("erm", C, epsilon=epsilon, delta=DELTA, name=name, k_final=made.k // starve))
    accurate, runs = Promise(DELTA, RUNS, alarm), results(learner, world, request.node.name)
    while accurate.open:
        accurate.hear(world.error(next(runs).hypothesis) > made.epsilon)
    record_property("power", accurate.told("runs err"))
    assert accurate.broken == (starve > 1)

"""CAL halves in time and keeps its error bound, and fails with too few labels (docs/claims/cal.md)."""

import pytest

from replical import CAL, Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
from replical.core.binomial import rejects_at

RUNS, DELTA = 2000, 0.05


def results(learner, world, seed, runs=RUNS):
    for number in range(runs):
        private = PrivateRandomness.simulated(seed, number)
        pool = world.pool("exact", private)
        yield learn(learner, pool, world.labels(pool, private), SharedRandomness(f"{seed} {number}"))


@pytest.mark.parametrize("name", ["paper", "tight"])
@pytest.mark.parametrize("starve", [False, True])
def test_cal_halves_in_time(name, starve, alarm, request):
    """N rounds suffice with probability 1-δ; with one label a round they do not."""
    C = Thresholds(3000)
    learner = CAL(plan("cal-rounds", C, epsilon=0.02, delta=DELTA, theta=2.0, name=name, k_loop=1 if starve else None))
    world = Population(C, target=1000)
    late = sum(not result.stopped for result in results(learner, world, request.node.name))
    assert (late >= rejects_at(RUNS, DELTA, alarm)) == starve


@pytest.mark.parametrize("learner", ["cal", "cal-rounds"])
def test_cal_is_never_wrong_by_more_than_epsilon_when_it_stops_itself(learner, request):
    C = Thresholds(3000)
    world = Population(C, target=77)
    cal = CAL(plan(learner, C, epsilon=0.02, delta=DELTA, theta=2.0))
    for result in results(cal, world, request.node.name, runs=200):
        if result.stopped:
            assert max(world.error(int(h)) for h in result.V.indices[[0, -1]]) <= cal.plan.epsilon

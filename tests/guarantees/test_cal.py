"""CAL halves in time and keeps its error bound, and fails with too few labels (docs/claims/cal.md)."""

from itertools import islice

import pytest

from replical import CAL, Population, Thresholds, plan
from support.runs import results
from support.sequential import Promise

RUNS, DELTA = 2000, 0.05


@pytest.mark.claim("cal")
@pytest.mark.mutant
@pytest.mark.parametrize("name", ["paper", "tight"])
@pytest.mark.parametrize("starve", [False, True])
def test_cal_halves_in_time(name, starve, alarm, request, record_property):
    """N rounds suffice with probability 1-δ; with one label per round they do not."""
    C = Thresholds(3000)
    learner = CAL(plan("cal-rounds", C, epsilon=0.02, delta=DELTA, theta=2.0, name=name, k_loop=1 if starve else None))
    in_time, runs = Promise(DELTA, RUNS, alarm), results(learner, Population(C, target=1000), request.node.name)
    while in_time.open:
        result = next(runs)
        assert result.stopped or len(result.rounds) == learner.plan.rounds_most
        in_time.hear(not result.stopped)
    record_property("power", in_time.told("runs are late"))
    assert in_time.broken == starve


@pytest.mark.claim("cal")
@pytest.mark.parametrize("learner", ["cal", "cal-rounds"])
def test_cal_is_never_wrong_by_more_than_epsilon_when_it_stops_itself(learner, request):
    C = Thresholds(3000)
    world = Population(C, target=77)
    cal = CAL(plan(learner, C, epsilon=0.02, delta=DELTA, theta=2.0))
    for result in islice(results(cal, world, request.node.name), 200):
        if result.stopped:
            assert max(world.error(int(h)) for h in result.V.indices[[0, -1]]) <= cal.plan.epsilon

"""The disagreement coefficient: known answers, pools, bad input (docs/claims/theta.md)."""

import pytest

from replical import Intervals, Population, PrivateRandomness, Star, Thresholds, theta
from replical.errors import ValueOutOfRange


@pytest.mark.claim("theta")
@pytest.mark.parametrize(
    ("C", "value"), [(Thresholds(1000), 2), (Star(64), 64), (Star(1), 1), (Thresholds(1), 1), (Intervals(40), 40)]
)
def test_known_answers(C, value):
    found = theta(C, Population(C, target=0))
    assert found.value == value
    assert found.sampling_error == 0


def test_a_pool_states_its_sampling_error():
    C = Thresholds(50)
    pool = Population(C, target=0).pool(2000, PrivateRandomness.simulated("p"))
    assert 0 < theta(C, pool).sampling_error < 0.1


@pytest.mark.parametrize("arguments", [{"r0": 1.0}, {"r0": -0.1}, {"r0": float("nan")}, {"centre": 5}, {"centre": -1}])
def test_bad_input(arguments):
    C = Thresholds(5)
    with pytest.raises(ValueOutOfRange):
        theta(C, Population(C, target=0), **arguments)

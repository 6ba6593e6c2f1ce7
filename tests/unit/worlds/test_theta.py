"""The disagreement coefficient: known answers, pools, bad input (docs/claims/theta.md)."""

import pytest

from replical import Intervals, Pool, Population, PrivateRandomness, Star, Thresholds, ball, curve, theta, theta_bound
from replical.core import memory
from replical.errors import ValueOutOfRange


@pytest.mark.claim("theta")
@pytest.mark.parametrize(
    ("C", "value"), [(Thresholds(1000), 2), (Star(64), 64), (Star(1), 1), (Thresholds(1), 1), (Intervals(40), 40)]
)
def test_known_answers(C, value):
    found = theta(C, Population(C, target=0))
    assert found.value == value
    assert not isinstance(C, Star) or theta(C, Population(C, target=0), centre=0).value == value
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


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda C, over: ball(C, over, 5, 0.1), "the centre must be one of the 5 hypotheses, got 5"),
        (lambda C, over: ball(C, over, 0, 1.5), "a radius must be in [0, 1], got 1.5"),
        (lambda C, over: ball(C, over, 0, float("nan")), "a radius must be in [0, 1], got nan"),
        (lambda C, over: curve(C, over, -1), "the centre must be one of the 5 hypotheses, got -1"),
        (lambda C, over: curve(Star(4), over, 0), "made for another class"),
        (lambda C, over: theta_bound(C, over, r0=1), "r0 must be in [0, 1), got 1"),
        (lambda C, over: theta_bound(C, over, confidence=1), "confidence must be in (0, 1)"),
        (lambda C, over: theta_bound(C, over, centre=7), "the centre must be one of the 5 hypotheses, got 7"),
    ],
)
def test_bad_balls(call, sentence):
    C = Thresholds(5)
    with pytest.raises(ValueOutOfRange) as refused:
        call(C, Pool(C, [1, 2, 3], PrivateRandomness.simulated("p")))
    assert sentence in str(refused.value)


def test_what_does_not_fit_is_refused(monkeypatch):
    """Predictions themselves fit; rows of hypotheses, laid out, do not."""
    C = Star(1000)
    monkeypatch.setattr(memory, "free", lambda: 130_000)
    with pytest.raises(ValueOutOfRange, match="distances of 1001 hypotheses on 1000 items need 0.2 MiB, and 0.1 MiB"):
        theta(C, Population(C, target=0))


def test_progress_counts_centres():
    C, seen = Intervals(12), []
    theta(C, Population(C, target=0), r0=0.3, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (len(C), len(C))


def test_the_bound_of_a_line_is_two_whatever_the_pool_and_of_one_hypothesis_one():
    for n, value in ((1, 1), (2, 1), (3, 2), (50, 2)):
        C = Thresholds(n)
        assert theta_bound(C, Pool(C, [0], PrivateRandomness.simulated("p"))).value == value


def test_more_items_and_larger_radii_sharpen_the_bound():
    C = Intervals(10)
    world, lab = Population(C, target=0), PrivateRandomness.simulated("p")
    bounds = [theta_bound(C, world.pool(items, lab)).value for items in (30, 300, 3000)]
    assert bounds[0] > bounds[1] > bounds[2] >= theta(C, world).value == 10
    assert theta_bound(C, world.pool(3000, lab), r0=0.5).value == 2
    assert theta_bound(C, world.pool(3000, lab), centre=30).value < bounds[2]

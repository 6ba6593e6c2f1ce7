"""Noise: by a law, and what is refused."""

import pytest

from replical import Population, Star, Thresholds
from replical.errors import ReplicalError
from replical.worlds.world import parse_noise


def test_a_law_can_write_down_any_world():
    """Two hypotheses that differ on one cell whose label is biased by γ: the better one is known exactly."""
    C = Star(1)
    for gamma, best in ((0.01, 0), (-0.01, 1)):
        world = Population(C, law=[[0.5 + gamma, 0.5 - gamma]])
        assert world.target == best
        assert float(world.nu) == pytest.approx(0.49)
        assert float(world.error(1 - best)) == pytest.approx(0.51)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Population(Thresholds(3), target=0, noise=0.6), "noise must be in"),
        (lambda: Population(Thresholds(3), target=0, noise=-0.1), "noise must be in"),
        (lambda: Population(Thresholds(3), law=[[0.5, 0.5]]), "2 rows of 2"),
        (lambda: Population(Thresholds(3), law=[[0.5, 0.6]] * 2), "add up to 1"),
        (lambda: Population(Thresholds(3), law=[[1.5, -0.5]] * 2), "probabilities"),
        (lambda: Population(Thresholds(3)), "either a target or a law"),
        (lambda: parse_noise("boundary:1"), "malformed noise 'boundary:1'"),
        (lambda: parse_noise("lots"), "malformed noise 'lots'"),
    ],
)  # fmt: skip
def test_bad_noise(make, message):
    with pytest.raises(ReplicalError, match=message):
        make()

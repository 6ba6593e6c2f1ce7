"""Noise: near the boundary, by a law, and what is refused."""

import numpy as np
import pytest

from replical import (
    BoundaryNoise,
    Boxes,
    HalfSpaces,
    Population,
    PrivateRandomness,
    SharedRandomness,
    Star,
    Stumps,
    Thresholds,
)
from replical.errors import ReplicalError
from replical.worlds.world import parse_noise

LAB, SHARED = PrivateRandomness.simulated("lab"), SharedRandomness("published")


# --- noise ------------------------------------------------------------------------------------------------------------


def test_boundary_noise_flips_only_near_the_boundary():
    C = Thresholds(101)
    world = Population(C, target=50, noise=BoundaryNoise(rate=0.3, radius=0.1))
    assert world.nu == world.error(50)
    assert float(world.nu) == pytest.approx(0.3 * 20 / 100)
    pool = world.pool("exact", LAB)
    query = pool.scan().anywhere(pool.version_space(), 10**6)
    answers = world.labels(pool, LAB).answer(query)
    truth = world.codes(50)[query.items]
    wrong = answers.counts[np.arange(len(truth)), 1 - truth]
    far = np.abs(query.items + 0.5 - 50) > 10
    assert wrong[far].sum() == 0
    assert wrong[~far].sum() / query.counts[~far].sum() == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("C", [Stumps(2, 5), Boxes(2, 4), HalfSpaces(2, 10, seed="x")])
def test_margins_change_sides_where_predictions_do(C):
    """Walking along a line, the margin falls to (nearly) zero exactly where the prediction changes."""
    X = np.stack([np.linspace(0.001, 0.999, 4001), np.full(4001, 0.43)], axis=1)
    for h in range(len(C)):
        codes, margin = C.codes(X, np.array([h]))[0], C.margin(X, h)
        for change in np.flatnonzero(np.diff(codes)):
            assert margin[change] < 0.001


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
        (lambda: Population(Star(2), target=0, noise=BoundaryNoise(rate=0.1, radius=0.1)), "Star has no decision boundary"),
        (lambda: Population(Thresholds(3), target=0, noise=BoundaryNoise(rate=0.6, radius=0.1)), "noise must be in"),
        (lambda: Population(Thresholds(3), target=0, noise=BoundaryNoise(rate=0.1, radius=0)), "radius"),
        (lambda: Population(Thresholds(3), law=[[0.5, 0.5]]), "2 rows of 2"),
        (lambda: Population(Thresholds(3), law=[[0.5, 0.6]] * 2), "add up to 1"),
        (lambda: Population(Thresholds(3), law=[[1.5, -0.5]] * 2), "probabilities"),
        (lambda: Population(Thresholds(3)), "either a target or a law"),
        (lambda: parse_noise("boundary:1"), "malformed noise 'boundary:1'"),
        (lambda: parse_noise("lots"), "malformed noise 'lots'"),
        (lambda: parse_noise("foo:1,2"), "malformed noise"),
    ],
)  # fmt: skip
def test_bad_noise(make, message):
    with pytest.raises(ReplicalError, match=message):
        make()

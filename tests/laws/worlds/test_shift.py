"""Populations that are tilted against each other stay within the shift, and keep their target."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import Population, PrivateRandomness, Thresholds, World
from replical.errors import ValueOutOfRange
from replical.worlds.world import tilted


@st.composite
def worlds(draw):
    n = draw(st.integers(2, 40))
    weights = draw(st.lists(st.integers(0, 1000), min_size=n - 1, max_size=n - 1).filter(any))
    noise = draw(st.sampled_from([0.0, 0.2]))
    return Population(Thresholds(n), target=draw(st.integers(0, n - 1)), weights=weights, noise=noise)


@pytest.mark.claim("many_labs")
@settings(max_examples=60)
@given(worlds(), st.sampled_from([1e-9, 0.001, 0.02, 0.1, 0.5, 0.999]))
def test_every_density_is_within_the_shift(world, shift):
    """Exactly, in fractions; then every distance is too."""
    total = int(world.weights.sum())
    two = tilted(world, shift)
    for each in (two.one, two.other):
        assert each.target == world.target
        assert min(map(each.error, range(len(world.C)))) == each.error(world.target)
        part = int(each.weights.sum())
        for before, after in zip(world.weights.tolist(), each.weights.tolist(), strict=True):
            assert abs(Fraction(after, part) - Fraction(before, total)) <= Fraction(shift) * Fraction(before, total)
    assert (two.of(0), two.of(3)) == (two.one, two.other)


def test_distances_near_the_target_are_as_far_apart_as_the_shift_allows():
    world = Population(Thresholds(1001), target=500)
    two = tilted(world, 0.1)
    for h in (430, 560, 640):
        apart = float(two.one.error(h) / world.error(h)), float(two.other.error(h) / world.error(h))
        assert apart == pytest.approx((1.1, 0.9), abs=1e-6)


def test_no_shift_is_one_population():
    world = Population(Thresholds(10), target=3)
    assert tilted(world, 0).one is tilted(world, 0).other is world


def test_what_cannot_be_tilted_is_refused():
    with pytest.raises(ValueOutOfRange, match="give noise instead of the law, or no shift"):
        World(C=Thresholds(3), law=np.full((2, 2), 0.5), shift=0.1)
    heavy = Population(Thresholds(3), target=1, weights=[2**40, 2**40])
    with pytest.raises(ValueOutOfRange, match="cannot be tilted: give smaller weights"):
        tilted(heavy, 0.1)


def test_pools_come_from_the_tilted_population():
    world = Population(Thresholds(1001), target=500)
    heavier = tilted(world, 0.5).one
    pool = heavier.pool(100_000, PrivateRandomness.simulated("tilted"))
    apart = int(pool.version_space().distances(500)[600])
    assert apart / 100_000 == pytest.approx(0.15, abs=0.01)  # a tenth of the cells

"""The packaged worlds."""

import numpy as np
import pytest

from replical.worlds.datasets import NAMES, real_world


@pytest.mark.parametrize("name", NAMES)
def test_packaged_candidates_are_distinct_and_better_than_guessing(name):
    world = real_world(name, 100)
    population = world.population()
    errors = [float(population.error(h)) for h in range(len(world.C))]
    assert len(world.C) >= 100
    assert min(errors) == float(population.nu) <= 0.02
    assert np.median(errors) < 0.2
    assert len({tuple(column) for column in world.cells.T}) == len(world.C)

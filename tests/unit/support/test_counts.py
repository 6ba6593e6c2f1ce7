"""Pools by counts have the law of pools of items."""

import numpy as np
import pytest

from replical import PrivateRandomness, Thresholds
from replical.pools.pool import Pool
from support.counts import CountedPopulation

C, WEIGHTS, RUNS, K, M, MEASURING = Thresholds(6), [1, 3, 2, 1, 5], 600, 20, 60, 50


def seen(pool, survivors):
    """Measured mass, items scanned for K disputed ones, and what was asked of the next M, cell by cell."""
    pool = pool.reserve(MEASURING)
    V, scan = pool.version_space(), pool.scan()
    V = V.keep(np.isin(V.indices, survivors))
    first, last = scan.draw(V, K), scan.among(V, M)
    asked = [np.bincount(query.items, query.counts, minlength=5) for query in (first, last)]
    return [float(V.mass), first.scanned, *asked[0], *asked[1]]


def test_three_kinds_of_numbers(alarm):
    world = CountedPopulation(C, target=2, weights=WEIGHTS)
    counted, real = [], []
    for number in range(RUNS):
        private = PrivateRandomness.simulated("counts", number)
        counted.append(seen(world.pool("any", private), [1, 2, 4]))
        items = private.generator("items").choice(5, p=np.array(WEIGHTS) / 12, size=1_000)
        real.append(seen(Pool.in_order(C, world.cells, np.arange(5), items, world.predictions), [1, 2, 4]))
    one, two = np.array(counted), np.array(real)
    spread = np.sqrt((one.var(axis=0) + two.var(axis=0)) / RUNS) + 1e-12
    assert np.abs((one.mean(axis=0) - two.mean(axis=0)) / spread).max() < 6.2  # 12 comparisons, twice: below 2e-8
    assert one.std(axis=0) == pytest.approx(two.std(axis=0), rel=0.25, abs=1e-9)  # six standard deviations and more
    assert alarm > 4e-8

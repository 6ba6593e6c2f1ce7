"""Populations: exact draws of any size, exact errors, noise at its rate."""

from fractions import Fraction

import numpy as np
import pytest

from replical import Population, PrivateRandomness, Thresholds
from replical.errors import ValueOutOfRange
from support.worlds import random_table

LAB = PrivateRandomness.simulated("lab")


@pytest.mark.parametrize("k", [1, 10, 10**17, 2**62, 2**62 + 1, 10**20])
def test_exact_draws_of_any_size_add_up_and_stay_in_the_region(k):
    C = Thresholds(40)
    pool = Population(C, target=3).pool("exact", LAB)
    V = pool.version_space()
    V = V.keep((V.indices >= 10) & (V.indices <= 20))
    for query in (pool.scan().draw(V, k), pool.scan().anywhere(V, k)):
        assert query.total == k
        assert isinstance(query.total, int)
    assert set(pool.scan().draw(V, k).items) <= set(V.disputed)
    inside = pool.scan().among(V, k).total
    assert abs(inside - k * V.mass) <= 10 * (k * 0.25) ** 0.5 + 1


def test_exact_sizes_beyond_what_can_be_simulated_are_refused():
    pool = Population(Thresholds(4), target=0).pool("exact", LAB)
    with pytest.raises(ValueOutOfRange, match=r"2\*\*68"):
        pool.scan().draw(pool.version_space(), 10**30)


def test_population_error_is_exact_with_noise():
    C = Thresholds(11)
    assert Population(C, target=4, noise=0.1).error(4) == Fraction(1, 10)
    assert Population(C, target=4, noise=0.1).error(7) == Fraction(3, 10) * Fraction(9, 10) + Fraction(
        7, 10
    ) * Fraction(1, 10)
    table, cells = random_table(5, 40, labels=("a", "b", "c"), duplicates=False)
    world = Population(table, target=2, cells=cells, noise=0.3)
    differ = Fraction(int((cells[:, 1] != cells[:, 2]).sum()), 40)
    assert world.error(1) == differ * (1 - Fraction(3, 20)) + (1 - differ) * Fraction(3, 10)
    assert world.nu == min(world.error(h) for h in range(5)) == Fraction(3, 10)


@pytest.mark.parametrize("k", [4000, 2**64])
def test_noisy_labels_have_the_population_s_frequencies(k):
    C, cells = random_table(4, 20, labels=("a", "b", "c"), duplicates=False)
    world = Population(C, target=1, cells=cells, noise=0.3)
    pool = world.pool("exact", LAB)
    query = pool.scan().anywhere(pool.version_space(), k)
    answers = world.labels(pool, LAB).answer(query).check(query, 3)
    truth = cells[query.items, 1]
    right = sum(int(answers.counts[row, code]) for row, code in enumerate(truth))
    assert abs(right / k - 0.7) < 6 * (0.21 / min(k, 10**9)) ** 0.5  # six standard deviations


@pytest.mark.parametrize(("k", "draws"), [(3 * 10**5, 3000), (10**17, 3000), (2**60, 1000), (10**20, 40)])
def test_exact_draws_have_multinomial_variance(k, draws):
    """Counts over unequal cells, one of them without mass: mean and variance within six standard errors."""
    C = Thresholds(6)
    weights = np.array([1, 5, 0, 2, 8])
    pool = Population(C, target=0, weights=weights).pool("exact", LAB)
    V, scan, p = pool.version_space(), pool.scan(), weights / weights.sum()
    deviations = np.zeros((draws, 5))
    for i in range(draws):
        query = scan.draw(V, k)
        counts = np.zeros(5, dtype=object)
        counts[query.items] = query.counts
        assert counts[2] == 0
        exact = [int(w) * k for w in weights]
        deviations[i] = [
            (16 * int(c) - e) / 16 / (k * max(q * (1 - q), 1e-9)) ** 0.5
            for c, e, q in zip(counts, exact, p, strict=True)
        ]
    kept = deviations[:, weights > 0]
    assert (abs(kept.mean(axis=0)) < 6 / draws**0.5).all()
    assert (abs(kept.var(axis=0) - 1) < 6 * (2 / draws) ** 0.5).all()
    assert abs(kept).max() < 7

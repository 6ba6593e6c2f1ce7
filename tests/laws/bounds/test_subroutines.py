"""rSTAT and rHeavyHitters against their definitions (docs/claims/subroutines.md)."""

from fractions import Fraction
from math import exp, floor, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import SharedRandomness
from replical.bounds.subroutines import HeavyHitters, Statistic, rstat
from support import reference
from support.boosting import rheavyhitters

hundredths = st.integers(1, 99).map(lambda i: i / 100)


def exact(x):
    return Fraction(repr(x))


def uniform(seed, *name):
    """The shared number in [0, 1) of a name, from the frozen definition."""
    return Fraction(reference.shared_word(seed, name, 0) >> 11, 2**53)


def is_least(size, wanted):
    """`size` is the least integer from `wanted` on; `wanted` was computed in doubles."""
    return wanted * (1 - 1e-12) <= size < wanted * (1 + 1e-12) + 1


# --- sizes: not the formulas once more, but what the proofs ask of them -----------------------------------------------
rho_above_twice_delta = st.integers(1, 99).flatmap(
    lambda i: st.tuples(st.just(i / 100), st.integers(1, 5 * i - 1).map(lambda j: j / 1000))
)
v_and_epsilon = st.integers(1, 49).flatmap(
    lambda j: st.tuples(st.integers(j + 1, 100 - j).map(lambda i: i / 100), st.just(j / 100))
)


@pytest.mark.claim("subroutines")
@given(hundredths, rho_above_twice_delta)
def test_rstat_s_cells_and_sample_split_tolerance_and_replicability(tau, rest):
    rho, delta = rest
    made = Statistic.of(tau=tau, rho=rho, delta=delta)
    sampling = exact(tau) - made.alpha / 2  # what rounding leaves of the tolerance
    assert 2 * sampling / made.alpha == exact(rho) - 2 * exact(delta)  # a shared border between two means
    assert is_least(made.samples, log(2 / delta) / (2 * float(sampling) ** 2))  # Hoeffding: 2exp(-2sτ'²) ≤ δ


@pytest.mark.claim("subroutines")
@given(hundredths, v_and_epsilon)
def test_heavy_hitters_miss_nobody_and_count_well(rho, ends):
    """Not the formula once more: what is missed, miscounted and near the threshold, for two labs and for one."""
    v, epsilon = ends
    made, low = HeavyHitters.of(rho=rho, v=v, epsilon=epsilon), exact(v) - exact(epsilon)
    assert is_least(made.candidates, log(6 / (rho * float(low))) / float(low))
    heavy = max(count for count in range(1, 200) if count * low <= 1)  # so many values of probability v-ε at most
    eta = rho * epsilon / (2 * heavy + 1)
    missed = heavy * (1 - float(low)) ** made.candidates  # a lab
    miscounted = 2 * made.candidates * exp(-2 * made.counted * eta**2)  # a lab
    near = heavy * eta / epsilon + eta / (2 * epsilon)
    assert 2 * missed + 2 * miscounted + near < 0.96 * rho
    assert missed + miscounted + eta / epsilon < 0.6 * rho
    assert is_least(made.counted, log(32 * made.candidates / rho) / (2 * eta**2))


# --- rounding ---------------------------------------------------------------------------------------------------------
fractions = st.fractions(0, 1, max_denominator=10**6)
texts = st.text(max_size=5)


@given(fractions, fractions, texts, hundredths, hundredths)
def test_rounding(one, two, seed, tau, rho):
    made = Statistic.of(tau=tau, rho=rho, delta=rho / 4)
    offset = made.alpha * uniform(seed, "q", 3)
    rounded = [made.round(mean, SharedRandomness(seed), "q", 3) for mean in (one, two)]
    cells = [floor((mean - offset) / made.alpha) for mean in (one, two)]
    for mean, answer, cell in zip((one, two), rounded, cells, strict=True):
        assert 0 <= answer <= 1
        middle = offset + (2 * cell + 1) * made.alpha / 2
        assert abs(middle - mean) <= made.alpha / 2
        assert answer == sorted((Fraction(0), middle, Fraction(1)))[1]
        assert abs(answer - mean) <= made.alpha / 2  # clipping moves towards every mean in [0, 1]
        assert answer == made.round(mean, SharedRandomness(seed), "q", 3)
    if cells[0] == cells[1]:
        assert rounded[0] == rounded[1]
    elif all(0 < answer < 1 for answer in rounded):
        assert rounded[0] != rounded[1]


@given(st.integers(0, 10**6), texts)
def test_rstat_is_the_rounded_mean_of_fresh_values(number, seed):
    """Values in 64ths, so that their sum is exact; drawn in two pieces, so that a piece lost would show."""
    task = {"tau": 0.3, "rho": 0.8, "delta": 0.3}
    generator, drawn = np.random.default_rng(number), []

    def sampler(count):
        drawn.append(generator.integers(65, size=count))
        return drawn[-1] / 64

    answer = rstat(sampler, SharedRandomness(seed), **task, name=("mine", 1))
    made = Statistic.of(**task)
    assert sum(map(len, drawn)) == made.samples
    mean = Fraction(int(np.concatenate(drawn).sum()), 64 * made.samples)
    assert answer == float(made.round(mean, SharedRandomness(seed), "mine", 1))


@settings(max_examples=20)
@given(st.integers(0, 10**6), texts, st.sampled_from([(0.7, 0.3), (0.5, 0.1), (0.6, 0.35)]))
def test_heavy_hitters_against_brute_force(number, seed, ends):
    v, epsilon = ends
    rho, generator, drawn = 0.9, np.random.default_rng(number), []
    p = generator.dirichlet([2, 1, 1, 0.2])

    def sampler(count):  # the counts decide, not the order within a piece
        drawn.extend([generator.multinomial(count, p)])
        return np.repeat(np.arange(-1, 3), drawn[-1])

    found = rheavyhitters(sampler, SharedRandomness(seed), rho=rho, v=v, epsilon=epsilon)
    made = HeavyHitters.of(rho=rho, v=v, epsilon=epsilon)
    first, counted = drawn[0], sum(drawn[1:])
    assert (first.sum(), counted.sum()) == (made.candidates, made.counted)
    threshold = exact(v) - exact(epsilon) + 2 * exact(epsilon) * uniform(seed, "heavy hitters")
    frequencies = {value - 1: Fraction(int(counted[value]), made.counted) for value in range(4) if first[value]}
    assert found == sorted(value for value, frequency in frequencies.items() if frequency >= threshold)

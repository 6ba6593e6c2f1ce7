"""The stop test against brute force (docs/claims/subroutines.md)."""

from collections import Counter
from fractions import Fraction
from math import floor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replical import Pool, PrivateRandomness, SharedRandomness, Thresholds, plan
from replical.subroutines import Statistic
from support import reference


def uniform(seed, *name):
    """The shared number in [0, 1) of a name, from the frozen definition."""
    return Fraction(reference.shared_word(seed, name, 0) >> 11, 2**53)


texts = st.text(max_size=5)


@given(st.integers(0, 10**6), st.integers(1, 25), texts)
def test_the_stop_test_against_brute_force(number, width, seed):
    """Count the next items of the private order that lie in DIS(V), round the fraction, compare with the bound."""
    C, samples = Thresholds(40), 500
    x = np.random.default_rng(number).integers(39, size=2 * samples)
    private = PrivateRandomness.simulated("brute", number)
    pool, order = Pool(C, x, private), private.permutation(2 * samples)
    V = pool.version_space()
    V = V.keep((V.indices >= 5) & (V.indices <= 5 + width))
    made = plan("replical", C, epsilon=0.4, delta=0.5, rho=0.5, theta=1.0, stop="rstat")
    test = type(made.stop_test)(
        statistic=Statistic(alpha=made.stop_test.statistic.alpha, samples=samples),
        bound=made.stop_test.bound,
        tolerance=made.stop_test.tolerance,
    )
    scan = pool.scan()
    for round_number, items in enumerate((order[:samples], order[samples:])):
        tally = Counter((5 <= value < 5 + width) for value in x[items].tolist())  # thresholds 5..5+width differ here
        offset = test.statistic.alpha * uniform(seed, "stop", round_number)
        cell = floor((Fraction(tally[True], samples) - offset) / test.statistic.alpha)
        middle = offset + (2 * cell + 1) * test.statistic.alpha / 2
        assert test.large(V, scan, SharedRandomness(seed), round_number) == (min(middle, Fraction(1)) >= test.bound)

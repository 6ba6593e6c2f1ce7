"""The stop test against brute force (docs/claims/subroutines.md)."""

from collections import Counter
from fractions import Fraction
from math import floor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replical import Pool, PrivateRandomness, SharedRandomness, Thresholds, plan
from replical.errors import ReplicalError
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


# ---- plans ----


def exact(x):
    return Fraction(repr(x))


@given(st.integers(1, 400).map(lambda i: i / 10_000))
def test_a_plan_s_stop_delta_leaves_something_or_is_refused(stop_delta):
    task = {"epsilon": 0.2, "delta": 0.1, "rho": 0.1, "theta": 1.0, "stop": "rstat", "stop_delta": stop_delta}
    try:
        made = plan("replical", 100, **task)
    except ReplicalError:
        # rSTAT's own ρ is ρ/(2N), and it needs 2δ below that
        assert stop_delta >= 0.1 / (4 * plan("replical", 100, **(task | {"stop_delta": None})).rounds_most)
    else:
        assert 2 * made.rounds_most * stop_delta < 0.1
        assert made["stop_delta"] == exact(stop_delta)

"""Decisions by distance against a brute-force twin, and their bounds against exact binomial sums."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import Pool, PredictionTable, PrivateRandomness, SharedRandomness, Thresholds, plan
from replical.learners.settled.distance import Decisions
from support import reference


@st.composite
def pools(draw):
    n, U, seed = draw(st.integers(1, 9)), draw(st.integers(1, 120)), draw(st.integers(0, 2**32))
    generator = np.random.default_rng(seed)
    if draw(st.booleans()):
        C, x = Thresholds(n), generator.integers(-1, n + 1, size=U)
        codes = C.predict(x)
    else:
        C = PredictionTable([f"m{h}" for h in range(n)], labels=(0, 1, 2))
        codes = np.where(generator.random((n, U)) < generator.choice([0, 0.02, 0.3], size=(n, 1)), 1, 0)
        x = codes.T
    some = generator.random(n) < 0.7
    some[generator.integers(n)] = True
    return C, Pool(C, x, PrivateRandomness.simulated("distance", seed)), codes, np.flatnonzero(some), seed


@pytest.mark.claim("settled_distance")
@settings(max_examples=40)
@given(pools(), st.sampled_from([(0.1, 0.2), (0.4, 0.4), (0.6, 0.9)]))
def test_decisions_are_those_of_the_twin(made, ends):
    C, pool, codes, alive, seed = made
    a, b = ends
    p, shared = (
        plan("settled-distance", C, epsilon=b, delta=0.3, rho=0.6, a=a, b=b, pool="finite"),
        SharedRandomness(str(seed)),
    )
    decisions, V = Decisions(p, pool, shared), pool.version_space()
    v, U = p.threshold(shared), pool.size
    order = sorted(range(len(C)), key=lambda h: (shared.word("order", index=h), h))
    found = reference.decided(
        codes, range(U), alive.tolist(), order, p.farther(v, U), lambda place: p.nearer(v, U, place)
    )
    some = V.keep(np.isin(V.indices, alive))
    assert decisions.alike(some) == (found is not None and (found != "nobody" or some.mass <= p.epsilon))
    assert decisions.place == (None if found == "nobody" else found)


@pytest.mark.claim("settled_distance")
@settings(max_examples=20)
@given(st.integers(1, 200), st.sampled_from(["1/20", "3/10", "9/10"]), st.integers(0, 5))
def test_bounds_are_binomial(U, v, place):
    """At the threshold itself both tests err at most as often as they may, by exact sums."""
    p, v = plan("settled-distance", 10, epsilon=0.95, delta=0.1, rho=0.3, pool="finite"), Fraction(v)
    exactly = [comb(U, k) * v**k * (1 - v) ** (U - k) for k in range(U + 1)]
    far, near = p.farther(v, U), p.nearer(v, U, place)
    assert sum(exactly[far:]) <= p["delta_I"]
    assert sum(exactly[: near + 1]) <= p["delta_A"] / ((place + 1) * (place + 2))

"""What the proofs of Lemmas 2 and 4 count, beside their definitions."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical.study.theorem import THEOREMS, Trial, bad_thresholds


@given(st.lists(st.integers(-3, 30), max_size=60), st.integers(1, 25), st.floats(0.05, 1))
def test_bad_thresholds_are_those_of_the_definition(places, m, rho):
    places = np.array([*places, 0])  # the target is in the first interval
    sizes = [int(np.count_nonzero(places == q)) for q in range(40)]
    bad = {0}
    for i in range(1, m):
        before = int(np.count_nonzero(places < i))
        if sizes[i] > rho / 30 * before or any(
            size and size >= exp(j) * before for j, size in enumerate(sizes[i:]) if j
        ):
            bad.add(i)
    assert bad_thresholds(places, m, rho) == bad


@pytest.mark.parametrize("number", [1, 2])
def test_places_are_those_of_exact_errors(number):
    trial = Trial.of(THEOREMS[number], "intervals:12", seed="s", epsilon=0.2, delta=0.05, rho=0.4, theta=12)
    plan, population = trial.plan, trial.ready.world.population(17)
    low = Fraction(0) if number == 1 else plan.epsilon / 3
    width = (plan.epsilon * plan["tau"]) if number == 1 else plan.epsilon / 3 / plan.integer("m")
    exact = [(population.error(h) - population.nu - low) / width for h in range(len(population.C))]
    found = trial.places(population)
    off = [abs(place - value // 1) for place, value in zip(found.tolist(), exact, strict=True)]
    assert max(off) <= 1  # doubles may round at a border
    assert sum(off) <= 2

"""Every learner against its brute-force twin, on finite pools."""

from dataclasses import replace
from math import isclose

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import CAL, ERM, Population, PrivateRandomness, RepliCAL, SharedRandomness, Thresholds, learn, plan
from support import reference
from support.labs import lab, worlds


def same(result, expected):
    hypothesis, asked, alive = expected
    assert result.hypothesis == hypothesis
    assert result.labels == len(asked)
    assert result.V.indices.tolist() == alive


@pytest.mark.claim("cal")
@settings(max_examples=40, deadline=None)
@given(worlds, st.sampled_from([1, 3]))
def test_cal(world, k):
    C, number, seed = world
    pool, labels, codes, order, truth = lab(C, number, 150)
    task = {"epsilon": 0.2, "delta": 0.1, "pool": "finite"}
    made = plan("cal", C, **task) if k == 1 else plan("cal-rounds", C, **task, theta=2.0, k_loop=k)
    expected = reference.cal(codes, order, truth, made.epsilon, k, seed)
    if k > 1 and len(expected[1]) > k * made.rounds_most:
        return  # the reference has no cap on rounds; the capped run is tested elsewhere
    same(learn(CAL(made), pool, labels, SharedRandomness(seed)), expected)


@pytest.mark.claim("erm")
@settings(max_examples=40, deadline=None)
@given(worlds)
def test_erm(world):
    C, number, seed = world
    pool, labels, codes, order, truth = lab(C, number, 60)
    result = learn(ERM(plan("erm", C, epsilon=0.2, delta=0.1, k_final=25)), pool, labels, SharedRandomness(seed))
    same(result, reference.erm(codes, order, truth, 25, seed))


@pytest.mark.claim("replical")
@settings(max_examples=40, deadline=None)
@given(worlds, st.sampled_from([(0.1, 2.0, 0.125), (0.3, 1.0, 0.45)]))
def test_replical_paper(world, numbers):
    """With small thresholds hardly anybody survives, with large ones there is somebody to choose from."""
    (C, number, seed), (epsilon, theta, T) = world, numbers
    pool, labels, codes, order, truth = lab(C, number, 600)
    made = plan(
        "replical", C, epsilon=epsilon, delta=0.1, rho=0.3, theta=theta, T=T, name="paper", pool="finite", k_loop=20,
        k_final=25,
    )  # fmt: skip
    try:
        expected = reference.replical_paper(
            codes, order, truth, made.epsilon, 20, 25, made.integer("m"), made["v_max"], made.rounds_most, seed
        )
    except IndexError:
        return  # the reference ran out of items
    same(learn(RepliCAL(made), pool, labels, SharedRandomness(seed)), expected)


@pytest.mark.claim("replical")
@settings(max_examples=40, deadline=None)
@given(worlds, st.sampled_from([0.2, 0.5]))
def test_replical_tight(world, epsilon):
    C, number, seed = world
    made = plan("replical", C, epsilon=epsilon, delta=0.5, rho=0.9, theta=2.0, pool="finite", k_loop=15, k_final=120)
    measuring = made.integer("measuring")
    pool, labels, codes, order, truth = lab(C, number, measuring + 500)
    v_loop, G = made["v_loop"], made["G"]
    try:
        expected = reference.replical_tight(
            codes, order, truth, made.epsilon, 15, 120, measuring, v_loop, G, made.rounds_most, seed
        )
    except IndexError:
        return  # the reference ran out of items
    same(learn(RepliCAL(made), pool, labels, SharedRandomness(seed)), expected)


@pytest.mark.parametrize("name", ["paper", "tight"])
def test_exact_draws_have_the_law_of_a_scan(name):
    """Mean survivors of RepliCAL on the exact population and on large samples of it agree within six standard errors."""
    C = Thresholds(120)
    world = Population(C, target=40)
    common = {"epsilon": 0.2, "delta": 0.1, "rho": 0.3, "theta": 2.0, "k_loop": 60}
    made = plan("replical", C, **common, k_final=60 if name == "paper" else 800, name=name)
    learner = RepliCAL(replace(made, exact_only=""))  # the same numbers for both kinds of pool
    survivors = {}
    for kind, size in {"exact": "exact", "finite": 30_000}.items():
        found = []
        for i in range(150):
            private = PrivateRandomness.simulated("law", kind, i)
            pool = world.pool(size, private)
            found.append(learn(learner, pool, world.labels(pool, private), SharedRandomness(f"law {i}")).V.size)
        survivors[kind] = np.array(found)
    difference = survivors["exact"] - survivors["finite"]
    assert isclose(difference.mean(), 0, abs_tol=6 * max(difference.std(), 0.1) / np.sqrt(len(difference)))

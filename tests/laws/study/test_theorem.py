"""What the proofs of Lemmas 2 and 4 count, beside their definitions."""

from dataclasses import replace
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical import SharedRandomness
from replical.learners.planning import learner_for
from replical.study.theorem import THEOREMS, Trial, bad_thresholds
from replical.worlds.audit import run_pair
from replical.worlds.labs import pair_string


@given(st.dictionaries(st.integers(-3, 30), st.integers(1, 200)), st.integers(1, 25), st.floats(0.05, 30))
def test_bad_thresholds_are_those_of_the_definition(crowds, m, rho):
    places = np.array([0, *(place for place, size in crowds.items() for _ in range(size))])  # 0 is the target
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


@pytest.mark.parametrize("number", [1, 2])
def test_what_the_proof_counts_is_counted_hypothesis_by_hypothesis(number):
    """With far fewer labels than the proof asks for there is something to count."""
    trial = Trial.of(THEOREMS[number], "thresholds:8000", seed="s", epsilon=0.2, delta=0.05, rho=0.4)
    made = trial.smaller(Fraction(trial.plan.k, 600))
    made = replace(made, numbers=tuple(replace(each, value=40) if each.name == "m" else each for each in made.numbers))
    trial = replace(trial, ready=replace(trial.ready, learner=learner_for(made)))
    totals = np.zeros(3)
    for pair in range(6):
        population, labs = run_pair(trial.ready.learner, trial.ready.world, "s", pair)
        kept = [set(lab.result.survivors.indices.tolist()) for lab in labs]
        found = trial.dissect(population, pair, (labs[0].result, labs[1].result), 0.0)
        places = dict(enumerate(trial.places(population).tolist()))
        i = SharedRandomness(pair_string("s", pair)).integer("threshold", high=40)
        below = [h for h, place in places.items() if place < i]
        if not below:
            continue
        assert found.intruders == tuple(sum(places[h] > i for h in lab) / len(below) for lab in kept)
        assert found.expelled == pytest.approx([sum(h not in lab for h in below) / len(below) for lab in kept])
        assert found.inside == sum(place == i for place in places.values()) / len(below)
        totals += sum(found.intruders), sum(found.expelled), found.inside
    assert (totals > 0).all()

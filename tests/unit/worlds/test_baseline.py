"""Handicap beside argmax: three labs with one text."""

import numpy as np

from replical.core.randomness import PrivateRandomness
from replical.worlds.baseline import ArgmaxComparison
from replical.worlds.datasets import twelve_models


def test_a_text_is_a_function_of_seed_and_number():
    trial = ArgmaxComparison(world=twelve_models(500), seed="test")
    one, again, other = trial(3), trial(3), trial(4)
    assert (one, one.text) == (again, "test / text 3")
    assert one != other


def test_argmax_has_fewest_errors_on_as_many_items_of_the_lab():
    """Counted by hand on the first items of the lab's private order."""
    trial = ArgmaxComparison(world=twelve_models(500), seed="test", public=None)
    outcome, population = trial(0), trial.world.population()
    for lab, handicap, argmax in zip("ABC", outcome.handicap, outcome.argmax, strict=True):
        private = PrivateRandomness.simulated("test", 0, lab)
        pool = population.pool(500, private)
        asked = pool.scan().anywhere(pool.version_space(), handicap.labels)
        answers = population.labels(pool, private).answer(asked)
        errors = pool.version_space().errors(answers)
        assert (argmax.labels, argmax.model) == (handicap.labels, int(np.argmin(errors)))
        assert argmax.verdict is None


def test_proven_means_every_lab_and_one_model():
    trial = ArgmaxComparison(world=twelve_models(1000), seed="test")
    outcomes = [trial(number) for number in range(3)]
    for outcome in outcomes:
        same = len({choice.model for choice in outcome.handicap}) == 1
        assert outcome.proven == (same and all(choice.certified for choice in outcome.handicap))
    assert any(outcome.proven for outcome in outcomes)

"""Three ways to choose, side by side: three labs with one text."""

import numpy as np
import pytest

from replical.core.randomness import PrivateRandomness
from replical.worlds.baseline import Choice, Comparison, Figures, identical, usual_way
from replical.worlds.datasets import flight_worlds


@pytest.fixture(scope="module")
def worlds():
    return flight_worlds(500, 100)


def test_a_text_is_a_function_of_seed_and_number(worlds):
    trial = Comparison(world=worlds[0], public=worlds[1], seed="test")
    one, again, other = trial(3), trial(3), trial(4)
    assert one == again != other


def test_the_usual_way_counts_own_disputed_items_and_public_ones(worlds):
    """By hand: the first items of the lab's own on which models differ, public errors added, ties as in the public order."""
    world = worlds[0]
    population, private = world.population(), PrivateRandomness.simulated("test", 0, "A")
    pool = population.pool(500, private)
    truth, said = world.law.argmax(axis=1), np.asarray(world.cells)
    drawn = pool.ids[pool.order]
    differ = drawn[(said[drawn] != said[drawn][:, :1]).any(axis=1)]
    rng, names = np.random.default_rng(1), world.C.candidates
    for asked in (0, 1, 7, 40):
        public = rng.integers(5, size=len(names))
        wrong = (said[differ[:asked]] != truth[differ[:asked], None]).sum(axis=0)
        best = min(range(len(names)), key=lambda h: (wrong[h] + public[h], public[h], names[h]))
        assert usual_way(pool, population.labels(pool, private), asked, public) == best


def test_all_three_ways_meet_the_same_labs(worlds):
    """The favourite costs nothing, the usual way has as many labels as handicap, and only that proves anything."""
    trial = Comparison(world=worlds[0], public=worlds[1], seed="test")
    outcome = trial(0)
    assert identical(outcome.favourite)
    assert {choice.labels for choice in outcome.favourite} == {0}
    assert [choice.labels for choice in outcome.usual] == [choice.labels for choice in outcome.handicap]
    assert not any(choice.certified for choice in (*outcome.favourite, *outcome.usual))
    assert all(0 <= choice.excess_error < 1 for choice in (*outcome.favourite, *outcome.usual, *outcome.handicap))


def test_where_public_items_mislead_the_favourite_is_bad_and_labels_find_out():
    """Public flights of which half were late: strings are fixed, so there is no chance in it."""
    labs, _, balanced = flight_worlds(5_000, 100)
    trial = Comparison(world=labs, public=balanced, seed="test")
    outcomes = [trial(number) for number in range(3)]
    assert Figures.of([outcome.favourite for outcome in outcomes]).mean > 0.05
    assert Figures.of([outcome.handicap for outcome in outcomes]).mean < 0.01


def test_figures_tell_means_and_typical_values():
    def choice(model, labels, excess):
        return Choice(model=model, labels=labels, excess_error=excess)

    ways = [(choice(0, 10, 0.0), choice(0, 20, 0.0)), (choice(0, 30, 0.0), choice(1, 40, 0.25))]
    found = Figures.of(ways)
    assert (found.texts, found.same, found.labs, found.proven) == (2, 1, 4, 0)
    assert (found.labels, found.mean, found.median) == (25, 0.0625, 0)

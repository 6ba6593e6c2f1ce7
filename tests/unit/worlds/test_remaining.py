"""How many labels are left, in the light of those heard."""

from functools import cache

import numpy as np
import pytest

from replical import Pool, PrivateRandomness, SharedRandomness, learner_for, plan
from replical.learners.base import Course
from replical.pools.query import Answers
from replical.worlds.datasets import real_world
from replical.worlds.forecast import Remaining, remaining
from replical.worlds.vote_worlds import posterior, votes_on

SHARED = SharedRandomness("remaining")


RUNS = {
    "handicap": ("handicap", {"rho": 0.1}),
    "noiseless": ("handicap", {"rho": 0.3, "nu": 0}),
    "a2": ("a2", {"epsilon": 0.03}),
}


@cache
def a_run(learner="handicap", number=0):
    """A whole run on the tumours: learner, pool, and the labels in the order in which they were heard."""
    world, private = real_world("breast_cancer", 1000), PrivateRandomness.simulated("remaining", number)
    drawn = world.population().pool(1000, private)
    cells = drawn.ids[drawn.order]
    pool = Pool(world.C, world.cells[cells], private)
    truth = world.law.argmax(axis=1)[cells].astype(np.uint16)
    if learner == "noiseless":
        truth = world.cells[cells, 30]
    name, options = RUNS[learner]
    active = learner_for(plan(name, world.C, pool="finite", **{"epsilon": 0.1, "delta": 0.05} | options))
    course, heard = Course(active, pool, SHARED), {}
    while course.query is not None:
        heard |= {item: int(truth[item]) for item in course.query.items.tolist()}
        course.tell(Answers.unanimous(course.query, truth[course.query.items], 2))
    return active, pool, heard


def first(heard, count):
    return dict(list(heard.items())[:count])


@pytest.mark.parametrize("learner", RUNS)
def test_labels_left_are_about_right_and_none_at_the_end(learner):
    active, pool, heard = a_run(learner)
    votes, half = votes_on(pool), len(heard) // 2
    found = remaining(active, pool, SHARED, votes, first(heard, half), draws=3)
    assert found.labels == half
    assert 0 <= found.low <= found.median <= found.high <= len(pool) - half
    at_the_end = remaining(active, pool, SHARED, votes, heard, draws=1)
    assert (at_the_end.low, at_the_end.median, at_the_end.high) == (0, 0, 0)


def test_the_same_labels_give_the_same_estimate():
    active, pool, heard = a_run()
    one, two = (remaining(active, pool, SHARED, votes_on(pool), first(heard, 64), draws=1) for _ in range(2))
    assert one == two


def test_labels_tell_the_candidates_apart():
    """Possible truths after labels give the true labels more weight than those before."""
    _, pool, heard = a_run()
    votes, known = votes_on(pool), first(heard, 128)
    items, codes = np.array(list(known)), np.array(list(known.values()))
    generator = np.random.default_rng(5)

    def fit(each):
        probabilities = votes.world(each).law(pool.items[items])
        return np.log(probabilities[np.arange(len(codes)), codes]).mean()

    before = [fit(votes.draw(generator)) for _ in range(12)]
    after = [fit(each) for each in posterior(votes, pool.items[items], codes, generator, 12)]
    assert np.median(after) > np.median(before)
    assert len(list(posterior(votes, pool.items[:0], codes[:0], generator, 3))) == 3


def test_labels_show_who_leads():
    """Labels that are always what one candidate says: it leads, or one that says nearly the same."""
    _, pool, _ = a_run()
    votes, items = votes_on(pool), np.arange(300)
    codes = pool.items[items, 30].astype(np.int64)
    truths = list(posterior(votes, pool.items[items], codes, np.random.default_rng(5), 8))
    near = [votes.distances[30, each.leader] for each in truths]
    assert np.median(near) < np.quantile(votes.distances[30], 0.2)
    assert np.median([each.lead for each in truths]) > 0.3


@pytest.mark.slow
def test_at_128_labels_the_estimate_is_nearer_than_at_none():
    off = {0: [], 128: []}
    for number in range(6):
        active, pool, heard = a_run("handicap", number)
        votes = votes_on(pool)
        for count, each in off.items():
            found = remaining(active, pool, SHARED, votes, first(heard, count), draws=8)
            each.append(abs(np.log((count + found.median) / len(heard))))
    assert np.median(off[128]) < np.median(off[0])


def test_words_pretend_no_more_than_is_known():
    assert Remaining(labels=1, low=3.4, median=12.6, high=1234.0).words == "1 label; about 13 left (3 to 1,200)"

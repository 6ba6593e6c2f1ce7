"""The two labs of an audit share the world and the string, and nothing else."""

from fractions import Fraction

import numpy as np
import pytest

from replical import Population, PrivateRandomness, RepliCAL, SharedRandomness, Thresholds, World, audit, plan
from replical.errors import EmptyVersionSpace
from replical.worlds.audit import CONTROLS, run_pair, run_pairs, summarise
from replical.worlds.labs import CONTROLLED, OwnString, fewest_errors, pair_string, run_lab

C = Thresholds(500)
WORLD = World(C=C, pool_size=40_000)
LEARNER = RepliCAL(
    plan("replical", C, epsilon=0.1, delta=0.1, rho=0.3, theta=2.0, pool="finite", k_loop=50, k_final=500)
)


class Spy:
    """A learner that shows what each lab was given."""

    plan = LEARNER.plan

    def __init__(self):
        self.pools, self.strings, self.asked = [], [], []

    def run(self, pool, shared):
        self.pools.append(pool)
        self.strings.append(shared.seed)
        conversation = LEARNER.run(pool, shared)
        query = next(conversation)
        while True:
            self.asked.append(query.items)
            try:
                query = conversation.send((yield query))
            except StopIteration as stop:
                return stop.value


def order(pool):
    return pool.ids[pool.scan().anywhere(pool.version_space(), len(pool)).items]


@pytest.mark.claim("randomness")
def test_pools_are_independent_and_the_string_is_common():
    spy = Spy()
    run_pair(spy, WORLD, "contract", 3)
    one, two = spy.pools
    assert one is not two
    assert not np.array_equal(order(one), order(two))
    assert spy.strings[0] == spy.strings[1] == pair_string("contract", 3) != pair_string("contract", 4)


def test_samples_of_the_two_labs_are_uncorrelated():
    """Cell counts of two independent pools: the correlation over 500 cells stays within five standard errors."""
    correlations = []
    for number in range(20):
        spy = Spy()
        run_pair(spy, WORLD, "correlation", number)
        counts = [np.bincount(pool.ids, weights=pool.weights, minlength=499) for pool in spy.pools]
        correlations.append(np.corrcoef(*counts)[0, 1])
    assert abs(np.mean(correlations)) < 5 / np.sqrt(499 * 20)


def test_a_lab_alone_does_what_it_did_in_the_pair():
    population, labs = run_pair(LEARNER, WORLD, "contract", 5)
    string = SharedRandomness(pair_string("contract", 5))
    alone = run_lab(LEARNER, population, WORLD.pool_size, string, ("contract", 5, "B"))
    assert alone.result.hypothesis == labs[1].result.hypothesis
    assert alone.result.V.indices.tolist() == labs[1].result.V.indices.tolist()


@pytest.mark.claim("randomness")
def test_the_string_decides_nothing_about_a_lab_s_data(monkeypatch):
    before = Spy()
    run_pair(before, WORLD, "contract", 7)
    monkeypatch.setattr("replical.worlds.audit.pair_string", lambda seed, number: "another string")
    after = Spy()
    run_pair(after, WORLD, "contract", 7)
    assert before.strings != after.strings
    for one, two in zip(before.pools, after.pools, strict=True):
        assert np.array_equal(order(one), order(two))
    assert np.array_equal(before.asked[0], after.asked[0])


def test_private_randomness_of_the_labs_never_meets_the_shared_words():
    shared = SharedRandomness(pair_string("contract", 0)).words("order", count=1000)
    private = PrivateRandomness.simulated("contract", 0, "A").generator("pool").bit_generator.random_raw(1000)
    assert not set(shared.tolist()) & set(private.tolist())


@pytest.mark.parametrize("workers", [2, 3])
def test_the_same_figures_for_any_number_of_workers(workers):
    world = World(C=C)
    learner = RepliCAL(plan("replical", C, epsilon=0.1, delta=0.1, rho=0.3, theta=2.0))
    alone = audit(learner, world, seed="workers", pairs=7, workers=1)
    assert audit(learner, world, seed="workers", pairs=7, workers=workers) == alone


def test_a_pair_s_figures_do_not_depend_on_the_pairs_before_it():
    learner = RepliCAL(plan("replical", C, epsilon=0.1, delta=0.1, rho=0.3, theta=2.0))
    listed = list(run_pairs(learner, World(C=C), seed="s", pairs=4, workers=1))
    assert summarise(3, *run_pair(learner, World(C=C), "s", 3), listed[3].controls) == listed[3]


def test_function_agreement_sees_through_duplicates():
    """Two names for one function: different indices, identical predictions."""
    from dataclasses import replace

    from replical import PredictionTable
    from replical.worlds.labs import Lab

    T = PredictionTable(["a", "twin of a", "b"])
    cells = T.items([[0, 0, 1], [1, 1, 1]])
    population, labs = run_pair(_erm(T), World(C=T, cells=cells), "twins", 0)
    forced = tuple(
        Lab(result=replace(lab.result, hypothesis=h), excess_error=lab.excess_error) for h, lab in enumerate(labs)
    )
    pair = summarise(0, population, forced)
    assert not pair.agree
    assert pair.same_function
    assert isinstance(population, Population)


def _erm(T):
    from replical import ERM

    return ERM(plan("erm", T, epsilon=0.2, delta=0.1))


def test_a_string_of_a_lab_s_own_has_nothing_in_common_or_all_but_a_part():
    common, own = SharedRandomness("common"), SharedRandomness("own")
    every = np.arange(100)
    for part, sources in ((None, (own, own)), ("threshold", (own, common)), ("order", (common, own))):
        string = OwnString("common", "own", part)
        threshold, order = sources
        assert string.uniform("threshold") == threshold.uniform("threshold")
        assert string.integer("threshold", high=10**9) == threshold.integer("threshold", high=10**9)
        assert string.first("order", indices=every) == order.first("order", indices=every)
        assert string.lowest("order", n=100, count=5).tolist() == order.lowest("order", n=100, count=5).tolist()
        assert string.derived("order", 1).word("x") == order.derived("order", 1).word("x")
        assert string.names == {"threshold", "order"}


def test_controls_take_away_the_string_a_part_of_it_or_the_learner():
    """With a string of its own a lab is what it would be in a pair with another number; only the first pairs have controls."""
    learner = RepliCAL(plan("replical", C, epsilon=0.1, delta=0.1, rho=0.1, theta=2.0))
    pairs = list(run_pairs(learner, World(C=C), seed="controls", pairs=CONTROLLED + 1, workers=1))
    assert pairs[-1].controls is None
    found = {name: sum(getattr(pair.controls, name) for pair in pairs[:-1]) / CONTROLLED for name in CONTROLS}
    assert all(pair.agree for pair in pairs)
    assert found["own_string"] < found["own_threshold"] < 0.9
    assert found["own_order"] < 0.5
    assert found["fewest_errors"] == 1
    population, (one, _) = run_pair(learner, World(C=C), "controls", 0)
    alone = run_lab(
        learner, population, "exact", SharedRandomness(f"{pair_string('controls', 0)}, B"), ("controls", 0, "B")
    )
    assert pairs[0].controls.own_string == (alone.result.hypothesis == one.result.hypothesis)


def test_a_lab_without_an_answer_agrees_with_nobody():
    class Empty(RepliCAL):
        def run(self, pool, shared):
            if isinstance(shared, OwnString):
                raise EmptyVersionSpace("nobody is left")
            return super().run(pool, shared)

    learner = Empty(plan("replical", C, epsilon=0.1, delta=0.1, rho=0.3, theta=2.0))
    (pair,) = run_pairs(learner, World(C=C), seed="empty", pairs=1, workers=1)
    assert pair.controls.own_string is False
    assert pair.controls.own_threshold is pair.controls.own_order is None  # it asked its string for nothing


@pytest.mark.parametrize("pool_size", ["exact", 500])
def test_what_errs_least_errs_least(pool_size):
    population = World(C=C).population(30)
    string, name = SharedRandomness("own"), ("least", "A")
    assert fewest_errors(population, pool_size, 0, string, name) == string.first("order", indices=np.arange(len(C)))
    labels = 10**6 if pool_size == "exact" else 500
    assert population.error(fewest_errors(population, pool_size, labels, string, name)) <= Fraction(1, 10)

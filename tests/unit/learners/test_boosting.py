"""Boosting: its books, its strings in order, its budgets and its ties (docs/claims/boosting.md)."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from replical import (
    CAL,
    Boosted,
    KnownLabels,
    Pool,
    Population,
    Prior,
    PrivateRandomness,
    Result,
    SharedRandomness,
    Thresholds,
    World,
    audit,
    learn,
    plan,
)
from replical.bounds.subroutines import HeavyHitters
from replical.errors import BudgetSpent, EmptyVersionSpace, PlanMismatch, PoolExhausted
from replical.learners.paper.boosting import FREQUENT, Boosting, LabelCache
from replical.learners.paper.bulk import fits, in_bulk
from replical.learners.planning import learner_for
from replical.pools.query import Answers, Query
from support.boosting import LINE, lab, setting
from support.mutants import Scattered, Tosses, scaled

C = Thresholds(9)  # eight cells
TASK = {"epsilon": 0.2, "delta": 0.1, "rho": 0.1}
ERM = {"nu": 0.0, "k_final": 5}
CERTAIN = ((1, 8),)


def test_boosted_refuses_the_plan_of_its_base():
    made = plan("boosted-replicable-erm", C, **TASK, **ERM)
    with pytest.raises(PlanMismatch, match="Boosted was given a plan for 'replicable-erm'"):
        Boosted(learner_for(made.base), made.base)


def test_boosted_refuses_a_learner_that_is_not_replicable():
    made = plan("boosted-replicable-erm", C, **TASK, **ERM)
    with pytest.raises(
        PlanMismatch, match=r"^Boosted needs a replicable learner, such as replicable-erm, and cal is not$"
    ):
        Boosted(CAL(plan("cal", C, epsilon=0.2, delta=0.1)), made)


def test_a_base_that_needs_a_known_distribution_is_refused_a_finite_pool():
    made = plan("boosted-replical", C, **TASK, theta=2.0, strings=1, runs=2)
    private = PrivateRandomness.simulated("x")
    pool = Population(C, target=4).pool(100, private)
    with pytest.raises(PlanMismatch, match="this plan takes Δ as known"):
        learn(learner_for(made), pool, KnownLabels(C, [0] * 8), SharedRandomness("x"))


# --- the books --------------------------------------------------------------------------------------------------------


def boosted(kinds=None, **options):
    """Boosting of a base learner whose strings are of the given kinds; of one that scatters if none is given."""
    made = plan("boosted-replicable-erm", C, **TASK, **ERM, **options)
    return Boosted(Scattered(made.base) if kinds is None else Tosses(made.base, kinds), made)


def run(learner, seed="x", size=None, target=4):
    world, private = Population(C, target=target), PrivateRandomness.simulated(seed)
    pool = world.pool(learner.plan.runs if size is None else size, private)
    return learn(learner, pool, world.labels(pool, private), SharedRandomness(seed))


def test_strings_are_tried_in_order():
    """Half of the strings toss a fair coin: the answer is the mode of the first string that does not."""
    learner = boosted(((0.5, 4), (0.5, 8)), strings=8, runs=400)
    tried = Counter()
    for number in range(40):
        shared = SharedRandomness(f"s{number}")
        strings = [shared.derived("string", i) for i in range(8)]
        certain = next(i for i, string in enumerate(strings) if string.uniform("kind") >= 0.5)
        result = run(learner, f"s{number}")
        assert result.hypothesis == strings[certain].integer("mode", high=9)
        assert result.boosting == Boosting(runs=400 * (certain + 1), strings=certain + 1, frequency=Fraction(1))
        assert result.V.indices.tolist() == [result.hypothesis]
        assert result.stopped
        tried[certain + 1] += 1
    assert len(tried) > 2


@pytest.mark.parametrize(("above", "found"), [(0, True), (1, False)])
def test_a_frequency_equal_to_the_threshold_is_enough(above, found):
    """Ten runs name the mode, 25 of 40 others return it; the threshold is 25/40, or a little more."""
    learner = boosted(((1, 5),), strings=1, runs=50)
    ends = {"low": Fraction(5, 8) + Fraction(above, 10**9), "high": Fraction(5, 8) + Fraction(above, 10**9)}
    numbers = tuple(replace(n, value=ends[n.name]) if n.name in ends else n for n in learner.plan.numbers)
    learner = replace(learner, plan=replace(learner.plan, numbers=numbers))
    assert learner.plan.sizes == HeavyHitters(candidates=10, counted=40)
    items = np.repeat(np.arange(8), 5)  # each cell five times, in any order
    pool = Pool(C, items, PrivateRandomness.simulated("exactly"))
    order = np.concatenate([np.zeros(10, dtype=np.int64), items[PrivateRandomness.simulated("y").permutation(40)]])
    fixed = Pool.in_order(C, C.cells(), np.arange(8), order, pool.predictions)
    nobody = Population(C, target=0).labels(fixed, PrivateRandomness.simulated("y"))  # nothing is asked
    result = learn(learner, fixed, nobody, SharedRandomness("x"))
    assert (result.hypothesis is not None) == found
    assert result.boosting.frequency == (Fraction(5, 8) if found else None)


def test_no_heavy_hitter_is_no_answer():
    result = run(boosted(strings=3, runs=200))
    assert result.hypothesis is None
    assert result.describe(C) == "no heavy hitter"
    assert result.boosting == Boosting(runs=600, strings=3, frequency=None)
    assert result.V.size == 9
    assert not result.stopped
    assert not result.sound
    (frequent,) = (condition for condition in result.conditions if condition.name == FREQUENT)
    assert not frequent.held
    assert frequent.value < 0.55 <= frequent.bound


def test_an_audit_counts_no_answer_as_disagreement():
    """Two labs that both find nothing have not agreed on anything, and made the error of having no answer."""
    found = audit(boosted(strings=2, runs=60), World(C=C, pool_size=120), seed="none", pairs=5)
    assert (found.agreements, found.agreement, found.function_agreement, found.cap_reached) == (0, 0.0, 0.0, 10)
    assert found.excess_over_epsilon == 10
    found = audit(boosted(CERTAIN, strings=2, runs=60), World(C=C, pool_size=120), seed="some", pairs=5)
    assert (found.agreements, found.cap_reached) == (5, 0)


class Says:
    """A base learner that answers this and then that."""

    def __init__(self, plan, answers):
        self.plan, self.answers = plan, iter(answers)

    def run(self, pool, shared):
        h = next(self.answers)
        return Result(hypothesis=h, unrounded=h, V=None, conditions=())
        yield


def test_ties_are_broken_by_index_and_never_win():
    """Two runs name two candidates, and each of them wins one of the two that count."""
    made = plan("boosted-replicable-erm", C, **TASK, **ERM, strings=1, runs=4)
    result = run(Boosted(Says(made.base, [5, 3, 5, 3]), made))
    assert (result.hypothesis, result.unrounded) == (None, 3)


# --- finite pools -----------------------------------------------------------------------------------------------------


def test_a_pool_with_fewer_items_than_runs_says_so():
    with pytest.raises(
        PoolExhausted, match="a pool of 59 items has no 60 parts: bring a larger pool or make fewer runs"
    ):
        run(boosted(CERTAIN, strings=3, runs=60), size=59)


def test_a_part_too_small_for_a_run_says_so():
    made = plan("boosted-replicable-erm", C, **TASK, nu=0.0, k_final=20, strings=2, runs=10)
    with pytest.raises(PoolExhausted, match="20 fresh items are needed, but the pool has only 19 left: 1 missing"):
        run(learner_for(made), size=199)
    assert run(learner_for(made), size=200).boosting is not None


class Breaks:
    """A base learner that keeps nobody on some data sets and returns hypothesis 3 on the others."""

    def __init__(self, plan, broken):
        self.plan, self.broken, self.run_number = plan, broken, -1

    def run(self, pool, shared):
        self.run_number += 1
        if self.run_number in self.broken:
            raise EmptyVersionSpace("nobody is left")
        return Result(hypothesis=3, unrounded=3, V=None, conditions=())
        yield


@pytest.mark.parametrize(
    ("broken", "strings", "answer"),
    [(range(4), 2, 3), (range(8), 1, None), ((2, 5), 1, 3)],
    ids=["those that name candidates", "all", "a few"],
)
def test_runs_that_keep_nobody_win_for_nobody(broken, strings, answer):
    """Of 8 runs with a string 4 name candidates here; a string without one is passed over, one without a run is an error."""
    made = plan("boosted-replicable-erm", C, **TASK, **ERM, strings=2, runs=8)
    assert made.integer("Q1") == 4
    learner = Boosted(Breaks(made.base, broken), made)
    if answer is None:
        with pytest.raises(EmptyVersionSpace, match="nobody is left"):
            run(learner, size=8)
        return
    result = run(learner, size=8)
    assert (result.hypothesis, result.boosting.strings) == (answer, strings)


# --- data sets that strings share -----------------------------------------------------------------------------------


def test_labels_are_asked_once_whatever_the_strings():
    """A passive learner asks the same of every string: three strings that find nothing cost as much as one."""
    options = {"nu": 0.0, "k_final": 20, "strings": 3, "runs": 30}
    learner = learner_for(plan("boosted-replicable-erm", C, **TASK, **options))
    never = replace(learner, plan=scaled(scaled(learner.plan, "low", 2), "high", 2))  # no winner has 110% of the runs
    assert run(never, size=600).labels == 600
    assert run(never, size=600).boosting == Boosting(runs=90, strings=3, frequency=None)
    assert run(never, size="exact").labels == 3 * 600  # a known distribution has no items that could be kept


def scripted(*questions):
    """A learner's conversation that asks these items and keeps what it heard."""
    heard = []
    for items in questions:
        ones = np.ones(len(items), dtype=np.int64)
        query = Query(items=np.array(items), counts=ones, scanned=9, disagreement=(1, 1), survivors=2)
        heard.append((yield query).counts.argmax(axis=1).tolist())
    return heard


def told(conversation, labels):
    """Hold a conversation with labels that come one after the other; what was asked, and what it ends with."""
    asked, labels = [], iter(labels)
    try:
        query = next(conversation)
        while True:
            asked.append(query.items.tolist())
            counts = np.eye(2, dtype=np.int64)[[next(labels) for _ in query.items]]
            query = conversation.send(Answers(items=query.items, counts=counts.reshape(-1, 2)))
    except StopIteration as stop:
        return asked, stop.value


def test_what_was_heard_of_a_data_set_is_not_asked_again():
    cache = LabelCache()
    assert told(cache.ask_once(scripted([4, 7], [9]), 0), [1, 0, 1]) == ([[4, 7], [9]], [[1, 0], [1]])
    assert told(cache.ask_once(scripted([7, 3], [4]), 0), [1]) == ([[3]], [[0, 1], [1]])  # only 3 is new
    assert told(cache.ask_once(scripted([4]), 1), [0]) == ([[4]], [[0]])  # another data set has other labels
    assert told(cache.ask_once(scripted([], [9]), 0), []) == ([[]], [[], [1]])  # a question without an item


def test_the_second_time_a_run_asks_about_a_cell_it_hears_the_second_label():
    """Items of a simulated pool are cells that occur several times, with labels of their own."""
    cache = LabelCache()
    assert told(cache.ask_once(scripted([5, 5], [5]), 0), [1, 0, 0]) == ([[5, 5], [5]], [[1, 0], [0]])
    assert told(cache.ask_once(scripted([5], [5, 5], [5]), 0), [1]) == ([[5]], [[1], [0, 0], [1]])


# --- budget and prior -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["exact", 4000])
def test_a_budget_counts_all_runs_together(size):
    """Little is settled after one label per round, so the last stage asks for far more than a fraction ε of its items."""
    task = TASK | {"epsilon": 0.3, "theta": 1.0, "k_loop": 1, "k_final": 100, "strings": 1, "runs": 16}
    task["pool"] = "exact" if size == "exact" else "finite"
    free = learner_for(plan("boosted-replical", C, **task))
    if size != "exact":  # the tight plan would set thousands of items aside in each part to measure masses
        free = replace(free, plan=scaled_base(free.plan), base=learner_for(scaled_base(free.plan).base))
    spent = run(free, size=size)
    assert spent.labels > free.plan.labels_most
    limited = replace(free, plan=replace(free.plan, max_labels=free.plan.labels_most))
    with pytest.raises(BudgetSpent, match=f"more than max_labels = {free.plan.labels_most}"):
        run(limited, size=size)
    enough = replace(free, plan=replace(free.plan, max_labels=spent.labels))
    assert run(enough, size=size).labels == spent.labels


def scaled_base(made):
    return replace(made, base=scaled(made.base, "measuring", 0.01))


@pytest.mark.parametrize("size", ["exact", 4000])
@pytest.mark.parametrize("first", [3, 4, 5])
def test_runs_follow_the_prior(size, first):
    """With four labels 3, 4 and 5 mostly survive together, and the one preferred wins."""
    prior = Prior.order(C, [first, *(h for h in range(9) if h != first)])
    task = TASK | {"epsilon": 0.9, "nu": 0.0, "k_final": 4, "strings": 1, "runs": 200}
    made = plan("boosted-replicable-erm", C, **task, prior=prior)
    assert made.base.prior is prior
    assert any("strict order" in condition.name for condition in made.conditions)
    assert run(learner_for(made), size=size).unrounded == first


# --- in bulk and one by one -------------------------------------------------------------------------------------------


SINGLY, BULK = 400, 4000


def test_bulk_is_for_known_distributions_and_plans_it_knows():
    world, made, _ = setting("replical tight")
    pool, _ = lab(world, "fits")
    assert fits(made, pool)
    assert not fits(made, world.pool(50, PrivateRandomness.simulated("x")))
    assert not fits(plan("cal", world.C, epsilon=0.2, delta=0.1), pool)
    assert not fits(plan("replical", world.C, **LINE, name="paper", k_final=2**52), pool)


def test_so_many_runs_one_by_one_are_refused_with_what_they_would_cost():
    """The paper's sizes on the paper's sizes: a run's errors are no doubles, so that runs cannot be made side by side."""
    world, _, _ = setting("replical tight")
    pool, labels = lab(world, "refused")
    made = plan("boosted-replical", world.C, **LINE, name="paper")
    with pytest.raises(PlanMismatch, match=r"would make 111,208 runs of up to 1.51e\+19 labels .* the plan 'tight'"):
        learn(learner_for(made), pool, labels, SharedRandomness("s"))
    few = plan("boosted-replical", world.C, **LINE, name="paper", runs=60)
    assert learn(learner_for(few), pool, labels, SharedRandomness("s")).boosting.runs == 60


def wins_in_bulk(made, pool, labels, shared, sets):
    """How often each hypothesis wins with the first string on these data sets."""
    conversation = in_bulk(made.base, pool, shared.derived("string", 0), len(sets), ("data sets", sets.start))
    try:
        query = next(conversation)
        while True:
            query = conversation.send(labels.answer(query))
    except StopIteration as stop:
        return stop.value


def test_boosted_uses_bulk_with_the_strings_of_single_runs():
    """On an exact population Boosted's frequencies are those of `in_bulk` with the derived string."""
    world, _, _ = setting("erm realizable")
    task = {"epsilon": 0.2, "delta": 0.1, "rho": 0.3, "nu": 0.0, "k_final": 30}
    made = plan("boosted-replicable-erm", world.C, **task, strings=2, runs=BULK)
    pool, labels = lab(world, "boosted")
    shared = SharedRandomness("boosted")
    result = learn(learner_for(made), pool, labels, shared)
    named = wins_in_bulk(made, pool, labels, shared, range(made.sizes.candidates))
    wins = wins_in_bulk(made, pool, labels, shared, range(made.sizes.candidates, BULK))
    mode, times = min(((h, wins[h]) for h in named), key=lambda win: (-win[1], win[0]))
    assert result.unrounded == mode
    assert len(wins) > 1
    if result.boosting.strings == 1:
        assert result.boosting.frequency == Fraction(times, made.sizes.counted)
    assert result.labels == result.boosting.strings * BULK * 30

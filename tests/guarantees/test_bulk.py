"""Runs in bulk have the law of runs one by one; mutants do not (docs/claims/boosting.md)."""

from collections import Counter
from functools import cache
from math import log, sqrt

import pytest
from scipy.stats import fisher_exact

from replical import Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
from replical.learners.paper.bulk import fits, in_bulk
from replical.learners.planning import learner_for
from support.boosting import CASES, lab, setting
from support.mutants import scaled

# --- in bulk and one by one -------------------------------------------------------------------------------------------


SINGLY, BULK = 400, 4000


def in_one_go(made, world, shared, seed):
    """Winners and labels of many runs in bulk; the conversation is held here, without `learn`."""
    pool, labels = lab(world, seed)
    assert fits(made, pool)
    conversation, asked = in_bulk(made, pool, shared, BULK, ("all",)), 0
    try:
        query = next(conversation)
        while True:
            asked += query.total
            query = conversation.send(labels.answer(query).check(query, len(world.C.labels)))
    except StopIteration as stop:
        return stop.value, asked


@cache
def singly(case):
    """The same runs one by one."""
    world, made, shared = setting(case)
    wins, bills = Counter(), []
    for number in range(SINGLY):
        result = learn(learner_for(made), *lab(world, case, number), shared)
        wins[result.hypothesis] += 1
        bills.append(result.labels)
    return wins, bills


def alike(one, two, alarm):
    """Fisher's exact test for every hypothesis, at `alarm` together."""
    totals, hypotheses = (sum(one.values()), sum(two.values())), sorted(one | two)
    smallest = min(
        fisher_exact([[one[h], two[h]], [totals[0] - one[h], totals[1] - two[h]]]).pvalue for h in hypotheses
    )
    return smallest > alarm / len(hypotheses)


def bills_agree(total, bills, most, alarm):
    """Hoeffding's test of equal means: bills lie in [0, most], whatever their distribution."""
    off = abs(total / BULK - sum(bills) / SINGLY)
    return off <= most * sqrt(log(2 / alarm) / 2 * (1 / BULK + 1 / SINGLY))


@pytest.mark.claim("boosting")
@pytest.mark.parametrize("case", CASES)
def test_runs_in_bulk_are_runs_one_by_one(case, alarm):
    world, made, shared = setting(case)
    singles, bills = singly(case)
    wins, total = in_one_go(made, world, shared, case)
    assert sum(wins.values()) == BULK
    assert max(singles.values()) < 0.95 * SINGLY  # the winner is not settled by the string
    assert alike(wins, singles, alarm / 2)
    if made.learner == "replicable-erm":
        assert total == BULK * made.k
        assert set(bills) == {made.k}
    else:
        assert bills_agree(total, bills, made.k * made.rounds_most + made.integer("k_final"), alarm / 2)


@pytest.mark.claim("boosting")
@pytest.mark.mutant
@pytest.mark.parametrize("case", CASES)
def test_the_same_test_notices_another_threshold(case, alarm):
    """In bulk with a final threshold twice as large."""
    world, made, shared = setting(case)
    wins, _ = in_one_go(scaled(made, CASES[case][4], 2), world, shared, case)
    assert not alike(wins, singly(case)[0], alarm / 2)


@pytest.mark.claim("boosting")
@pytest.mark.mutant
def test_the_same_test_notices_another_bill(alarm):
    world, made, shared = setting("replical paper")
    _, total = in_one_go(scaled(made, "k_loop", 2), world, shared, "bill")
    most = made.k * made.rounds_most + made.integer("k_final")
    assert not bills_agree(total, singly("replical paper")[1], most, alarm / 2)


@pytest.mark.claim("boosting")
def test_bulk_takes_many_tables_where_one_would_be_too_large(monkeypatch, alarm):
    """Wins add up over tables of ten runs each."""
    from replical.learners.paper import bulk

    world, made, shared = setting("erm realizable")
    monkeypatch.setattr(bulk, "_TABLE", 10 * len(world.cells))
    wins, total = in_one_go(made, world, shared, "tables")
    assert (sum(wins.values()), total) == (BULK, BULK * made.k)
    assert alike(wins, singly("erm realizable")[0], alarm)


@pytest.mark.claim("boosting")
def test_a_table_whose_runs_keep_nobody_costs_its_own_runs_alone(monkeypatch):
    """More noise than the plan supposes: some runs keep nobody, and with a run a table some tables are empty."""
    from replical.learners.paper import bulk

    monkeypatch.setattr(bulk, "_TABLE", 1)
    C = Thresholds(33)
    world, private = Population(C, target=10, noise=0.08), PrivateRandomness.simulated("b")
    made = plan(
        "boosted-replica2", C, epsilon=0.02, delta=0.1, rho=0.3, theta=1, nu=0.02, strings=1, runs=60, k_loop=30,
        k_final=3000,
    )  # fmt: skip
    pool = world.pool("exact", private)
    result = learn(learner_for(made), pool, world.labels(pool, private), SharedRandomness("s1"))
    assert result.hypothesis == 10
    assert 0.5 < result.boosting.frequency < 1

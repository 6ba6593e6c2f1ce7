"""Boosting as the paper prints it: rHeavyHitters over shared data sets (docs/claims/boosting.md).

The base learner asks nothing and all is known about it. Runs are counted at once, so that sizes are the plan's own.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import count, pairwise
from math import ceil

import numpy as np
import pytest
from scipy.stats import binom

from replical import Boosted, Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
from replical.learners.planning import learner_for
from replical.worlds.labs import pair_string
from support.mutants import AtOnce, OwnSets, PrivateFor, Scattered, Tickets, Tosses, scaled, without_threshold
from support.sequential import Promise

C = Thresholds(9)  # eight equally heavy cells
WORLD = Population(C, target=4)
TASK = {"epsilon": 0.2, "delta": 0.1, "nu": 0.0}
LOW, HIGH = 0.55, 0.70


def boosted(kinds, form=AtOnce, **options):
    made = plan("boosted-replicable-erm", C, **TASK, **options)
    return form(Tosses(made.base, kinds), made)


def answers(learner, seed, number, private=None):
    """What labs A and B return, each from data sets of its own; the words of `private` are their own too."""
    string, sets = pair_string(seed, number), learner.plan.runs
    for lab in "AB":
        shared = PrivateFor(string, f"{string} {lab}", private) if private else SharedRandomness(string)
        own = PrivateRandomness.simulated(seed, number, lab)
        many = sets * (learner.plan.strings if isinstance(learner, OwnSets) else 1)
        pool = Tickets.drawn(WORLD, many, own.generator("pool"))
        yield learn(learner, pool, WORLD.labels(pool, own), shared).hypothesis


def judged(promise, learner, seed, private=None, *, none=True):
    """Pairs until it is decided; that both labs have no answer is a difference where `none` says so."""
    for number in count():
        one, two = answers(learner, seed, number, private)
        promise.hear(one != two or (none and one is None))
        if not promise.open:
            return promise
    raise AssertionError("numbers do not end")


# --- with one string both labs have the same list ----------------------------------------------------------------------

NEAR = ((1, 5),)  # a mode of 5/8, in the middle of the range: a threshold cannot be worse placed
FAIR = ((1, 4),)  # two values of one half


def lists(kinds, change=lambda made: made):
    learner = boosted(kinds, rho=0.2)
    assert (learner.plan.strings, learner.plan["rho_hh"]) == (1, Fraction(3, 20))
    return replace(learner, plan=change(learner.plan))


@pytest.mark.claim("boosting")
@pytest.mark.parametrize("kinds", [NEAR, FAIR], ids=["near the threshold", "two halves"])
def test_with_one_string_labs_have_the_same_list(kinds, alarm, request, record_property):
    """At the plan's own sizes they differ with probability 3ρ/4 at most, an empty list being one like others."""
    same = judged(Promise(0.15, 200, alarm), lists(kinds), request.node.name, none=False)
    record_property("power", same.told())
    assert same.broken is False


@pytest.mark.claim("boosting")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("kinds", "change", "private"),
    [
        (NEAR, lambda made: made, "frequency"),
        (NEAR, lambda made: scaled(made, "Q2", 1e-4), None),
        (FAIR, lambda made: scaled(scaled(made, "low", Fraction(9, 11)), "high", Fraction(5, 7)), None),
    ],
    ids=["a private threshold", "a ten-thousandth of the runs", "a threshold from .45 to .50"],
)
def test_the_same_test_catches_other_lists(kinds, change, private, alarm, request):
    assert judged(Promise(0.15, 200, alarm), lists(kinds, change), request.node.name, private, none=False).broken


# --- several strings: a learner that differs from itself in 29% of the pairs -------------------------------------------

KINDS = ((0.4, 4), (0.2, 5), (0.4, 8))  # a fair coin, 5:3, certain
OWN = sum(share * (1 - (eighths / 8) ** 2 - (1 - eighths / 8) ** 2) for share, eighths in KINDS)
STRINGS, RUNS, PAIRS = 8, 40_000, 300


def most():
    """How often two labs have no common answer, at most: no string is certain, or with one of them their lists differ.

    How runs with different strings depend on each other does not matter to this sum. Q1 runs name the candidates, Q2
    count them; between two multiples of 1/Q2 the threshold asks for the same number of wins.
    """
    sizes = boosted(KINDS, rho=0.1, strings=STRINGS, runs=RUNS).plan.sizes
    wins = np.arange(int(LOW * sizes.counted) + 1, ceil(HIGH * sizes.counted))
    borders = np.array([LOW, *(wins / sizes.counted), HIGH])
    needed = np.array([round((begin + end) / 2 * sizes.counted + 0.5) for begin, end in pairwise(borders)])
    differ = 0.0
    for share, eighths in KINDS:
        mode, other = (
            (1 - (1 - p) ** sizes.candidates) * binom.sf(needed - 1, sizes.counted, p)
            for p in (eighths / 8, 1 - eighths / 8)
        )
        differ += share * float(np.diff(borders) @ (1 - mode**2 - other**2 - (1 - mode - other) ** 2)) / (HIGH - LOW)
    return STRINGS * differ + (1 - KINDS[-1][0]) ** STRINGS


@pytest.mark.claim("boosting")
@pytest.mark.parametrize("form", [AtOnce, OwnSets], ids=["shared data sets", "data sets of their own"])
def test_heavy_hitters_lower_the_disagreement(form, alarm, request, record_property):
    """A single run differs in 29% of the pairs, boosted labs in less than 5%, whether strings share data sets or not."""
    learner = boosted(KINDS, form, rho=0.1, strings=STRINGS, runs=RUNS)
    alike = judged(Promise(most(), PAIRS, alarm), learner, request.node.name)
    record_property("power", f"{alike.told()}, {most():.3f} expected at most")
    assert most() < min(0.05, OWN / 4)
    assert alike.found < OWN
    assert alike.broken is False


@pytest.mark.claim("boosting")
@pytest.mark.mutant
@pytest.mark.parametrize(("runs", "private"), [(2, None), (RUNS, "frequency")], ids=["two runs", "a private threshold"])
def test_the_same_test_catches_mutants(runs, private, alarm, request):
    learner = boosted(KINDS, rho=0.1, strings=STRINGS, runs=runs)
    assert judged(Promise(most(), PAIRS, alarm), learner, request.node.name, private).broken


@pytest.mark.claim("boosting")
def test_a_learner_that_no_string_makes_replicable_gives_no_answer(request):
    """Each of eight hypotheses wins an eighth of the runs; one of them in 55% of them has probability below 1e-50."""
    made = plan("boosted-replicable-erm", C, **TASK, rho=0.1, strings=3, runs=310)
    learner = Boosted(Scattered(made.base), made)
    assert 8 * 3 * binom.sf(0.55 * made.sizes.counted - 1, made.sizes.counted, 1 / 8) < 1e-50
    assert all(answer is None for number in range(20) for answer in answers(learner, request.node.name, number))


@pytest.mark.claim("boosting")
@pytest.mark.mutant
@pytest.mark.parametrize("alone", [False, True])
def test_boosting_never_returns_what_most_runs_do_not(alone, alarm, request):
    """Three runs in eight are wrong whatever the string: boosted labs return the right answer or none.

    Mutant: the one candidate that a first run names, however often it is counted.
    """
    made = plan("boosted-replicable-erm", C, **TASK, rho=0.1, strings=1, runs=2 if alone else 620)
    learner = AtOnce(Tosses(made.base, NEAR), without_threshold(made) if alone else made)
    assert alone or binom.sf(0.55 * made.sizes.counted - 1, made.sizes.counted, 3 / 8) < 1e-15
    accurate, right = Promise(TASK["delta"], 200, alarm), 0
    for number in count():
        mode = SharedRandomness(pair_string(request.node.name, number)).derived("string", 0).integer("mode", high=9)
        found = list(answers(learner, request.node.name, number))
        accurate.hear(*(answer not in (None, mode) for answer in found))
        right += found.count(mode)
        if not accurate.open:
            break
    assert right >= accurate.trials / 4
    assert accurate.broken == alone


# --- learners of the library, in bulk ------------------------------------------------------------------------------


@pytest.mark.claim("boosting")
@pytest.mark.mutant
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "strings"), [("boosted-replicable-erm", 1), ("boosted-replical", 1), ("boosted-replicable-erm", 2)]
)
def test_labs_agree_at_the_plan_s_own_sizes(name, strings, alarm, request, record_property):
    """36,374 runs with one string at ρ = .5, in bulk; mutant: each lab has a string of its own."""
    line = Population(Thresholds(40), target=20)
    task = {"epsilon": 0.2, "delta": 0.1, "rho": 0.5, "name": "tight"}
    more = {"nu": 0.0} if name == "boosted-replicable-erm" else {"theta": 2.0}
    learner, same, accurate = learner_for(plan(name, line.C, **task, **more)), Promise(0.5, 200, alarm), 0
    assert (learner.plan.strings, learner.plan.runs) == (1, 36_374)
    for number in count():
        found = []
        for lab in "AB":
            own = PrivateRandomness.simulated(request.node.name, number, lab)
            pool = line.pool("exact", own)
            shared = SharedRandomness(pair_string(request.node.name, number) + (lab if strings == 2 else ""))
            found.append(learn(learner, pool, line.labels(pool, own), shared).hypothesis)
        same.hear(found[0] is None or found[0] != found[1])
        accurate += sum(h is not None and float(line.error(h)) <= 0.2 for h in found)
        if not same.open:
            break
    record_property("power", same.told())
    assert same.broken == (strings == 2)
    assert accurate == 2 * same.trials

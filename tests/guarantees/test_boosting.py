"""Boosting makes a weakly replicable learner more replicable; its mutants do not (docs/claims/boosting.md)."""

from dataclasses import replace
from functools import cache
from itertools import count, pairwise
from math import ceil

import pytest
from scipy.stats import binom, fisher_exact

from replical import Boosted, Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
from replical.learners.planning import learner_for
from replical.worlds.audit import pair_string
from support.mutants import PrivateFor, Scattered, Tickets, Tosses, without_threshold
from support.sequential import Promise

TASK = {"epsilon": 0.2, "delta": 0.1, "rho": 0.1, "nu": 0.0}
LOW, HIGH = 0.55, 0.70

# --- a base learner that asks nothing ---------------------------------------------------------------------------------

C = Thresholds(9)  # eight equally heavy cells
WORLD = Population(C, target=4)
# A fair coin with two strings in five, 5:3 (inside the range of the threshold) with one, certain with the others.
KINDS = ((0.4, 4), (0.2, 5), (0.4, 8))
OWN = sum(share * (1 - (eighths / 8) ** 2 - (1 - eighths / 8) ** 2) for share, eighths in KINDS)
STRINGS, RUNS, PAIRS = 8, 600, 300


def most():
    """How often two boosted labs differ, at most: all is known about this base learner, so this needs no inequality.

    Between two multiples of 1/T the threshold asks for the same number of wins. Labs agree if they reject strings
    together until they accept one with the same hypothesis; what one lab might still return after the other has
    stopped is counted as a difference.
    """
    borders = [LOW, *(wins / RUNS for wins in range(int(LOW * RUNS) + 1, ceil(HIGH * RUNS))), HIGH]
    same = 0.0
    for begin, end in pairwise(borders):
        needed = round((begin + end) / 2 * RUNS + 0.5)
        together = accepted = 0.0
        for share, eighths in KINDS:
            mode, other = (binom.sf(needed - 1, RUNS, p) for p in (eighths / 8, 1 - eighths / 8))
            accepted += share * (mode**2 + other**2)
            together += share * (1 - mode - other) ** 2
        same += (end - begin) / (HIGH - LOW) * accepted * sum(together**string for string in range(STRINGS))
    return 1 - same


def boosted(strings=STRINGS, runs=RUNS):
    made = plan("boosted-replicable-erm", C, **TASK, strings=strings, runs=runs)
    return Boosted(Tosses(made.base, KINDS), made)


def answers(learner, seed, number, private=None):
    """What labs A and B return, each from a pool of its own; the words of `private` are their own too."""
    string = pair_string(seed, number)
    for lab in "AB":
        shared = PrivateFor(string, f"{string} {lab}", private) if private else SharedRandomness(string)
        own = PrivateRandomness.simulated(seed, number, lab)
        pool = Tickets.drawn(WORLD, learner.plan.strings * learner.plan.runs, own.generator("pool"))
        yield learn(learner, pool, WORLD.labels(pool, own), shared).hypothesis


def judged(learner, seed, alarm, private=None):
    """Run pairs until it is known, with the power of so many, whether more of them than `most` have no common answer."""
    alike = Promise(most(), PAIRS, alarm)
    for number in count():
        one, two = answers(learner, seed, number, private)
        alike.hear(one is None or one != two)
        if not alike.open:
            return alike
    raise AssertionError("numbers do not end")


@pytest.mark.claim("boosting")
def test_boosting_lowers_the_disagreement(alarm, request, record_property):
    """A single run differs from another in 29% of the pairs, boosted labs in less than 7%."""
    alike = judged(boosted(), request.node.name, alarm)
    record_property("power", f"{alike.told()}, {most():.3f} expected at most")
    assert most() < OWN / 4
    assert alike.found < OWN
    assert alike.broken is False


def without(learner):
    return replace(learner, plan=without_threshold(learner.plan))


@pytest.mark.claim("boosting")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("mutant", "private"),
    [
        (lambda: without(boosted(strings=1, runs=1)), None),
        (lambda: without(boosted()), None),
        (boosted, "frequency"),
    ],
    ids=["a single run", "the first string's mode", "a private threshold"],
)
def test_the_same_test_catches_mutants(mutant, private, alarm, request):
    assert judged(mutant(), request.node.name, alarm, private).broken


@pytest.mark.claim("boosting")
def test_a_learner_that_no_string_makes_replicable_gives_no_answer(request):
    """Each of eight hypotheses wins an eighth of the runs; one of them in 55% of 300 has probability below 1e-50."""
    made = plan("boosted-replicable-erm", C, **TASK, strings=3, runs=300)
    learner = Boosted(Scattered(made.base), made)
    assert 8 * 3 * binom.sf(0.55 * 300 - 1, 300, 1 / 8) < 1e-50
    assert all(answer is None for number in range(20) for answer in answers(learner, request.node.name, number))


@pytest.mark.claim("boosting")
@pytest.mark.mutant
@pytest.mark.parametrize("alone", [False, True])
def test_boosting_never_returns_what_most_runs_do_not(alone, alarm, request):
    """Three runs in eight are wrong whatever the string: boosted labs return the right answer or none."""
    options = {"strings": 1, "runs": 1 if alone else 600}
    made = plan("boosted-replicable-erm", C, **TASK, **options)
    learner = Boosted(Tosses(made.base, ((1, 5),)), without_threshold(made) if alone else made)
    assert binom.sf(0.55 * 600 - 1, 600, 3 / 8) < 1e-15
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


# --- a learner of the library, in bulk --------------------------------------------------------------------------------

LINE = Population(Thresholds(40), target=20)


@cache
def on_a_line(seed, pairs, boosting, strings, runs):
    """Pairs of labs with ReplicableERM that have no common answer; a single run has no threshold to pass."""
    made = plan("boosted-replicable-erm", LINE.C, **TASK, k_final=60, boosting=boosting, strings=strings, runs=runs)
    learner = learner_for(made if runs > 1 else without_threshold(made))
    differ = 0
    for number in range(pairs):
        found = []
        for lab in "AB":
            own = PrivateRandomness.simulated(seed, number, lab)
            pool = LINE.pool("exact", own)
            shared = SharedRandomness(pair_string(seed, number))
            found.append(learn(learner, pool, LINE.labels(pool, own), shared).hypothesis)
        differ += found[0] is None or found[0] != found[1]
    return differ


@pytest.mark.claim("boosting")
@pytest.mark.mutant
@pytest.mark.slow
@pytest.mark.parametrize(
    ("boosting", "strings", "runs"), [("modes", 5, 1000), ("heavy-hitters", 5, 1000), ("modes", 1, 1)]
)
def test_replicable_erm_with_few_labels_is_boosted(boosting, strings, runs, alarm, request, record_property):
    """Fisher's exact test: boosted labs differ less often than labs of one run each, beyond chance."""
    single, pairs = 400, 150
    alone = on_a_line("alone", single, "modes", 1, 1)
    differ = on_a_line(request.node.name, pairs, boosting, strings, runs)
    record_property("power", f"{differ} of {pairs} pairs differ; of single runs {alone} of {single}")
    assert alone >= 0.2 * single
    less = fisher_exact([[differ, pairs - differ], [alone, single - alone]], alternative="less").pvalue
    assert (less <= alarm) == (runs > 1)

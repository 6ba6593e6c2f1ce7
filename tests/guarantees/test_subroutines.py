"""rSTAT, rHeavyHitters and the stop test keep their promises where their mutants do not (docs/claims/subroutines.md)."""

from dataclasses import replace
from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from replical import (
    Population,
    PredictionTable,
    PrivateRandomness,
    ReplicA2,
    RepliCAL,
    SharedRandomness,
    Thresholds,
    learn,
    plan,
)
from replical.learners.paper.replical import StopTest
from replical.subroutines import HeavyHitters, Statistic, rheavyhitters, rstat
from replical.worlds.audit import pair_string, run_lab
from support.mutants import scaled
from support.pairs import assert_broken, assert_promise, strings
from support.power import rejects_at
from support.sequential import Promise


def generators(seed, number):
    return [PrivateRandomness.simulated(seed, number, lab).generator() for lab in "AB"]


# --- rSTAT ------------------------------------------------------------------------------------------------------------

STATISTIC, QUESTIONS = {"tau": 0.1, "rho": 0.2, "delta": 0.05}, 400


@pytest.mark.claim("subroutines")
@pytest.mark.mutant
@pytest.mark.parametrize(("mean", "mutant"), [(0.03, None), (0.37, None), (0.37, "private"), (0.37, "starved")])
def test_rstat(mean, mutant, alarm, request, record_property, monkeypatch):
    """A coin's mean, near an end or in the middle of [0, 1]: cells are nearly 2τ wide, so rounding takes most of τ.

    A private offset splits the labs; a thousandth of the sample splits them too, and misses the tolerance.
    """
    if mutant == "starved":
        of = Statistic.of
        monkeypatch.setattr(Statistic, "of", lambda **task: replace(of(**task), samples=of(**task).samples // 1000))
    seed, private = request.node.name, "rstat" if mutant == "private" else None
    tau, rounded_away = STATISTIC["tau"], 0
    alike = Promise(STATISTIC["rho"], QUESTIONS, alarm / 2)
    accurate = Promise(STATISTIC["delta"], 2 * QUESTIONS, alarm / 2)
    for number in count():
        answers = [
            rstat(lambda count, own=own: own.random(count) < mean, shared, **STATISTIC)
            for own, shared in zip(generators(seed, number), strings(seed, number, private), strict=True)
        ]
        alike.hear(answers[0] != answers[1])
        accurate.hear(*(abs(answer - mean) > tau for answer in answers))
        rounded_away += sum(abs(answer - mean) > tau / 4 for answer in answers)
        if not (alike.open or accurate.open):
            break
    record_property("power", alike.told())
    assert alike.found <= 2 * STATISTIC["rho"]
    assert rounded_away > number + 1  # more than half of the answers: the sampling error alone is below τ/10
    assert (alike.broken, accurate.broken) == (mutant is not None, mutant == "starved")


# --- rHeavyHitters ----------------------------------------------------------------------------------------------------

HEAVY, P = {"rho": 0.3, "v": 0.55, "epsilon": 0.2}, (0.56, 0.43, 0.01)  # two values inside [.35, .75]
SAMPLES = 150


def sampler(own, p):
    """Values in sorted pieces: only how often each occurs in a piece is looked at."""
    return lambda count: np.repeat(np.arange(len(p)), own.multinomial(count, p))


@pytest.mark.claim("subroutines")
@pytest.mark.mutant
@pytest.mark.parametrize("mutant", [None, pytest.param("private", marks=pytest.mark.slow)])
def test_heavy_hitters_are_the_same_in_both_labs(mutant, alarm, request, record_property):
    """The shared threshold falls below both values, between them or above them, each with probability .2 at least."""
    seed, private = request.node.name, "heavy hitters" if mutant else None
    alike, lists = Promise(HEAVY["rho"], SAMPLES, alarm), set()
    possible = {(), (0,), (0, 1)}  # every list that may be returned, none with a value below v - ε
    for number in count():
        found = [
            rheavyhitters(sampler(own, P), shared, **HEAVY)
            for own, shared in zip(generators(seed, number), strings(seed, number, private), strict=True)
        ]
        alike.hear(found[0] != found[1])
        lists |= set(map(tuple, found))
        if not alike.open and (lists == possible or number > SAMPLES):
            break
    record_property("power", alike.told())
    assert alike.found <= 2 * HEAVY["rho"]
    assert lists == possible
    assert alike.broken == (mutant is not None)


@pytest.mark.claim("subroutines")
@pytest.mark.mutant
@pytest.mark.parametrize("starved", [False, True])
def test_heavy_hitters_are_all_there(starved, alarm, request, monkeypatch):
    """Two values of frequency v+ε each: with a single draw for candidates one of them is missed."""
    if starved:
        of = HeavyHitters.of
        monkeypatch.setattr(HeavyHitters, "of", lambda **task: replace(of(**task), candidates=1))
    task, runs = {"rho": 0.5, "v": 0.4, "epsilon": 0.1}, 25
    complete = Promise(task["rho"], runs, alarm)
    for number in count():
        own, _ = generators(request.node.name, number)
        shared = SharedRandomness(pair_string(request.node.name, number))
        complete.hear(rheavyhitters(sampler(own, (0.5, 0.5)), shared, **task) != [0, 1])
        if not complete.open:
            break
    assert complete.broken == starved


# --- the stop test ----------------------------------------------------------------------------------------------------

# Small cells, so that several dozen hypotheses survive and agreement is not forced by the data.
TASK, PAIRS = {"epsilon": 0.05, "delta": 0.05, "rho": 0.1}, 650
CASES = {
    "replical": (RepliCAL, Thresholds(5_000), {"theta": 2.0}, 0.0),
    "replica2": (ReplicA2, Thresholds(1000), {"theta": 1.0, "nu": 0.05}, 0.05),
}


def setting(case, name):
    kind, C, more, noise = CASES[case]
    if (case, name) == ("replical", "paper"):
        C = Thresholds(20_000)  # more labels leave fewer of a class
    return kind(plan(case, C, **TASK, **more, name=name, stop="rstat")), C, noise


PLANS = ["tight", "paper"]


@pytest.mark.claim("subroutines")
@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("case", CASES)
def test_labs_that_stop_by_rstat_agree_and_are_accurate(case, name, alarm, request, record_property):
    learner, C, noise = setting(case, name)
    assert_promise(learner, C, TASK, PAIRS, alarm, request.node.name, record_property, noise)


@pytest.mark.claim("subroutines")
@pytest.mark.mutant
@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize(("case", "mutant"), [("replical", "threshold"), ("replical", "order"), ("replica2", "order")])
def test_the_same_test_catches_mutants(case, mutant, name, alarm, request):
    learner, C, noise = setting(case, name)
    assert_broken(learner, C, TASK, PAIRS, alarm, request.node.name, mutant, noise)


@pytest.mark.claim("subroutines")
@pytest.mark.parametrize("case", CASES)
def test_stops_need_not_be_shared(case, alarm, request, record_property):
    """Only terminal version spaces are coupled: with private words for the stop test the promise holds all the same."""
    learner, C, noise = setting(case, "tight")
    assert_promise(learner, C, TASK, 120, alarm, request.node.name, record_property, noise, mutant="stop")


# --- a world in which a round too many tells the labs apart -----------------------------------------------------------

TRAP = {"epsilon": 0.52, "delta": 0.05, "theta": 2.0}


def trap(rivals=300):
    """The swing survives the first round with probability one half, and Δ(V) is .59ε with it, .23ε without.

    Each of the rivals errs .9G, half of the cells they share. A round at Δ(V) = .59ε, where conditional errors are larger
    than the plan reckons with, removes them all in the lab that kept the swing; the other lab keeps them to the end.
    """
    C = PredictionTable(["best", "far", "swing", *(f"rival {i}" for i in range(rivals))])
    generator, total = np.random.default_rng(0), 1_000_000
    codes = np.zeros((22, len(C)), dtype=int)
    codes[:, 1], codes[20, 2] = 1, 1
    for rival in range(rivals):
        codes[generator.permutation(20)[:10], 3 + rival] = 1
    weights = np.full(22, 5_850)  # ten cells are .9G = .9ε/(4Θ)
    weights[20] = 187_500  # the loop's threshold 3/(8Θ)
    weights[21] = total - weights[:21].sum()
    return Population(C, target=0, cells=C.items(codes), weights=weights)


def trapped(world, rho, late):
    """RepliCAL with its stop test, or with one that goes on until Δ(V) is surely below ε, for one round more."""
    made = plan("replical", world.C, **TRAP, rho=rho, stop="rstat", k_loop=10**6)
    if late:
        tolerance = made.epsilon / 4
        numbers = {name: float(made[f"stop_{name}"]) for name in ("rho", "delta")}
        test = StopTest(
            statistic=Statistic.of(tau=float(tolerance), **numbers), bound=3 * tolerance, tolerance=tolerance
        )
        made = replace(scaled(made, "N", Fraction(2, made.rounds_most)), stop_test=test)
    return RepliCAL(made)


@pytest.mark.claim("subroutines")
@pytest.mark.mutant
@pytest.mark.parametrize("late", [False, True])
def test_no_round_is_run_where_conditional_errors_are_too_large(late, alarm, request):
    """A round below mass ε needs a stop test that missed its tolerance."""
    world, runs = trap(), 200
    learner = trapped(world, 0.1, late)
    low = kept = 0
    for number in range(runs):
        private = PrivateRandomness.simulated(request.node.name, number)
        pool = world.pool("exact", private)
        result = learn(learner, pool, world.labels(pool, private), SharedRandomness(f"{number}"))
        loop = [each for each in result.rounds if each.drawn == learner.plan.k]
        kept += any(each.survivors == 302 for each in result.rounds)  # all but the one far away
        low += any(each.disagreement[0] < learner.plan.epsilon * each.disagreement[1] for each in loop)
    assert 0.3 * runs < kept < 0.7 * runs  # the swing swings
    most = learner.plan.rounds_most * float(learner.plan["stop_delta"])
    assert (low >= rejects_at(runs, most, alarm)) == late


@pytest.mark.claim("subroutines")
@pytest.mark.mutant
@pytest.mark.parametrize("late", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_labs_agree_in_the_trap(late, alarm, request, record_property):
    """At ρ = .002: with rounds at .59ε the labs differ in about .9% of the pairs."""
    world, pairs, rho, seed = trap(), 5000, 0.002, request.node.name
    learner, alike = trapped(world, rho, late), Promise(rho, pairs, alarm)
    for number in count():
        answers = {
            run_lab(learner, world, "exact", shared, (seed, number, lab)).result.hypothesis
            for lab, shared in zip("AB", strings(seed, number), strict=True)
        }
        alike.hear(len(answers) > 1)
        if not alike.open:
            break
    record_property("power", alike.told())
    assert alike.broken == late

"""rSTAT and rHeavyHitters keep their promises where their mutants do not (docs/claims/subroutines.md)."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from replical import PrivateRandomness, SharedRandomness
from replical.bounds.subroutines import HeavyHitters, Statistic, rstat
from replical.worlds.labs import pair_string
from support.boosting import rheavyhitters
from support.pairs import strings
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

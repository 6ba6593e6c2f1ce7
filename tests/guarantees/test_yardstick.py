"""All certified labs with one yardstick agree as often as proven, whoever they are (docs/claims/yardstick.md)."""

from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from replical import Population, PrivateRandomness, SharedRandomness, Thresholds, Yardstick, plan
from replical.bounds.yardstick import YardstickBound
from replical.learners.planning import learner_for
from replical.worlds.audit import run_lab
from support.mutants import PrivateFor
from support.sequential import Promise

# --- the theorem: an adversary places the centres ----------------------------------------------------------------------

N, M, RHO, A, B = 400, 4000, 0.1, Fraction(1, 10), Fraction(1, 5)
TRIALS, CHOICES = 4000, 20


def line(generator):
    """Distances from the truth, with signs: cuts on a line, on a yardstick of M items drawn from the cells."""
    below = np.concatenate(([0], np.cumsum(generator.multinomial(M, np.full(N - 1, 1 / (N - 1))))))
    return below - below[N // 2]


def crowd(generator):
    """The same for a crowd at one distance, which depends on the yardstick: the threshold meets it or it does not."""
    return np.where(np.arange(N) < 5, 0, generator.integers(int(M * A), int(M * B)))


def slack(place, trusted):
    """The most slack that passes; a mutant counts only a part of it."""
    balls = YardstickBound(M=M, a=A, b=B, n=N).around(np.abs(place))
    return int(balls.most(RHO, M) / trusted)


def apart(place, kappa, thresholds, ranks):
    """Do two labs differ whose centres lie κ items to the left and to the right of the truth?"""
    answers = [
        np.where(np.abs(place - side) <= np.floor(M * v), ranks, np.inf).argmin()
        for side, v in zip((-kappa, kappa), thresholds, strict=True)
    ]
    return answers[0] != answers[1]


def chosen_for(string, choices):
    """Of many yardsticks one on which these very labs differ, if there is one."""
    v, ranks = string
    return next((each for each in choices if apart(*each, (v, v), ranks)), choices[0])


def chosen_for_threshold(string, choices):
    """Of many yardsticks the one with the most hypotheses that may be in one lab's ball only, at this threshold."""
    x = np.floor(M * string[0])
    return max(choices, key=lambda each: _lost(np.abs(each[0]), each[1], x))


def _lost(D, kappa, x):
    return 1 - np.count_nonzero(D + kappa <= x) / np.count_nonzero(D - kappa <= x)


@cache
def judged(world, mutant, alarm):
    promise = Promise(RHO, TRIALS, alarm)
    generator = np.random.default_rng(17)
    trusted = 0.5 if mutant == "half the slack" else 1.0
    places = [world(generator) for _ in range(CHOICES)]
    choices = [(place, slack(place, trusted)) for place in places]
    while promise.open:
        v, ranks = generator.uniform(float(A), float(B), 2), generator.random(N)
        thresholds = v if mutant == "private threshold" else (v[0], v[0])
        choice = choices[0]
        if mutant == "after the string":
            choice = chosen_for((v[0], ranks), choices)
        elif mutant == "threshold's word":
            choice = chosen_for_threshold((v[0], ranks), choices)
        promise.hear(apart(*choice, thresholds, ranks))
    return promise, choices[0][1]


@pytest.mark.claim("yardstick")
@pytest.mark.parametrize("world", [line, crowd])
def test_certified_labs_agree_wherever_their_centres_are(world, alarm, record_property):
    promise, kappa = judged(world, None, alarm)
    record_property("power", promise.told())
    assert promise.found <= 1.5 * RHO
    assert kappa >= 20  # items the adversary may mislabel
    assert promise.failures >= 0.8 * RHO * promise.trials  # the bound is all but reached
    assert promise.broken is False


@pytest.mark.claim("yardstick")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("world", "mutant"),
    [
        (line, "half the slack"), (line, "private threshold"), (line, "after the string"),
        (crowd, "half the slack"), (crowd, "after the string"), (crowd, "threshold's word"),
    ],
)  # fmt: skip
def test_the_same_test_catches_mutants(world, mutant, alarm):
    """Who chooses the yardstick after the string, or from the threshold's word, proves nothing."""
    assert judged(world, mutant, alarm)[0].broken


# --- whole runs: many labs, each with a law of its own -----------------------------------------------------------------

TILTS = (-0.3, 0.0, 0.3, 0.0)
CASES = {
    "cal": ("rounded-cal", 5000, 1000, 0.15, 0.0, 1000),
    "a2": ("rounded-a2", 2000, 20_000, 0.2, 0.05, 600),
}


def setting(case):
    learner, n, U, rho, noise, trials = CASES[case]
    C = Thresholds(n)
    labs = {} if learner == "rounded-cal" else {"labs": len(TILTS)}
    made = plan(
        learner,
        C,
        epsilon=0.2,
        delta=0.05,
        rho=rho,
        pool="finite",
        yardstick=Yardstick.cells(C),
        a=0.03,
        b=0.15,
        **labs,
    )
    return SimpleNamespace(C=C, U=U, rho=rho, noise=noise, trials=trials), learner_for(made)


def tilted(C, tilt):
    """Masses of the cells that rise or fall along the line."""
    cells = len(C) - 1
    return np.rint(1000 * (1 + tilt * np.linspace(-1, 1, cells))).astype(np.int64)


def groups(case, mutant=None):
    """Group after group of labs with one string, pools of different laws, and labels of one truth."""
    at, learner = setting(case)
    predictions, number = Population(at.C, target=0).predictions, 0
    while True:
        n = len(at.C)
        target = int(PrivateRandomness.simulated("yardstick", case, number).generator().integers(n // 4, 3 * n // 4))
        string, labs = f"yardstick {case} {number}", []
        for lab, tilt in enumerate(TILTS):
            world = Population(at.C, target=target, noise=at.noise, weights=tilted(at.C, tilt), predictions=predictions)
            shared = PrivateFor(string, f"{string} {lab}", mutant) if mutant else SharedRandomness(string)
            labs.append(run_lab(learner, world, at.U, shared, ("yardstick", case, number, lab)))
        yield labs
        number += 1


@cache
def heard(case, mutant, alarm):
    at, _ = setting(case)
    differ, accurate = Promise(at.rho, at.trials, alarm / 2), Promise(0.05, 1000, alarm / 2)
    certified = unrounded = count = 0
    for labs in groups(case, mutant):
        proven = [lab.result for lab in labs if lab.result.rounding.certified]
        differ.hear(len({result.hypothesis for result in proven}) > 1)
        accurate.hear(*(lab.result.rounding.accurate and lab.excess_error > Fraction(1, 5) for lab in labs))
        certified, count = certified + len(proven), count + 1
        unrounded += len({result.unrounded for result in proven}) > 1
        if (mutant and not differ.open) or not (differ.open or accurate.open):
            return SimpleNamespace(
                differ=differ, accurate=accurate, certified=certified / count / len(TILTS), base=unrounded / count
            )
    raise AssertionError("groups do not end")


@pytest.mark.claim("yardstick")
@pytest.mark.parametrize("case", ["cal", pytest.param("a2", marks=pytest.mark.slow)])
def test_all_certified_labs_agree_and_are_accurate_when_they_say_so(case, alarm, record_property):
    found = heard(case, None, alarm)
    record_property("power", found.differ.told("groups differ"))
    assert found.certified >= 0.9
    assert found.base >= 0.5  # without rounding they would differ
    assert found.differ.broken is False
    assert found.accurate.broken is False


@pytest.mark.claim("yardstick")
@pytest.mark.mutant
@pytest.mark.parametrize("mutant", ["threshold", "order"])
def test_labs_without_a_shared_string_differ(mutant, alarm):
    assert heard("cal", mutant, alarm).differ.broken


# --- accuracy: a yardstick that misses a part of the world -------------------------------------------------------------


@cache
def misled(alarm):
    """Cells of the left half measure; the truth is on the right, where the yardstick tells nobody apart."""
    C = Thresholds(200)
    yardstick = Yardstick(C, np.arange(100))
    made = plan("rounded-cal", C, epsilon=0.1, delta=0.05, rho=0.1, pool="finite", yardstick=yardstick)
    learner, said, mutant, number = learner_for(made), Promise(0.05, 300, alarm), Promise(0.05, 300, alarm), 0
    certified = True
    while said.open or mutant.open:
        world = Population(C, target=150)
        lab = run_lab(learner, world, 2000, SharedRandomness(f"misled {number}"), ("misled", number))
        wrong = lab.excess_error > made.epsilon
        certified = certified and lab.result.rounding.certified
        said.hear(lab.result.rounding.accurate and wrong)
        mutant.hear(lab.result.rounding.kappa == 0 and wrong)  # judged on the yardstick in place of the lab's own items
        number += 1
    return said, mutant, certified


@pytest.mark.claim("yardstick")
def test_an_answer_that_the_yardstick_cannot_judge_is_not_called_accurate(alarm, record_property):
    said, _, certified = misled(alarm)
    record_property("power", said.told("answers are called accurate and are not"))
    assert certified  # all labs agree all the same
    assert said.broken is False


@pytest.mark.claim("yardstick")
@pytest.mark.mutant
def test_accuracy_judged_on_the_yardstick_is_found_out(alarm):
    assert misled(alarm)[1].broken

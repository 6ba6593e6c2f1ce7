"""Rounded keeps its promise where its mutants do not (docs/claims/rounded.md)."""

from functools import cache
from types import SimpleNamespace

import pytest

from replical import Population, PrivateRandomness, Thresholds, plan
from replical.learners.planning import learner_for
from replical.worlds.audit import run_lab
from support.pairs import strings
from support.sequential import Promise

# On a wide range [a, b] two private thresholds differ by a factor of up to eleven: a mutant bad enough for few pairs.
WIDE, NARROW = {"a": 0.02, "b": 0.225}, {"a": 0.1, "b": 0.225}
MUTANTS = ("threshold", "order")
# Learner, class, pool, ρ, noise, thresholds; the pairs whose power the test has; the mutants that are bad enough for it.
CASES = {
    "cal": ("rounded-cal", Thresholds(20_000), 10_000, 0.15, 0.0, WIDE, 500, ("threshold", "order", "unrounded")),
    "a2": ("rounded-a2", Thresholds(10_000), 16_000, 0.2, 0.05, NARROW, 300, ("order",)),
    "a2 wide": ("rounded-a2", Thresholds(10_000), 20_000, 0.2, 0.05, WIDE, 300, ("threshold",)),
}
SLOW = ("a2 wide",)


def marked(*case):
    return pytest.param(*case, marks=pytest.mark.slow) if case[0] in SLOW else case if len(case) > 1 else case[0]


def setting(case):
    learner, C, U, rho, noise, ends, pairs, mutants = CASES[case]
    made = plan(learner, C, epsilon=0.25, delta=0.05, rho=rho, items=U, pool="finite", **ends)
    return SimpleNamespace(C=C, U=U, rho=rho, noise=noise, pairs=pairs, mutants=mutants), learner_for(made)


@cache
def figures(case, alarm):
    """Both labs of many pairs, until all is known. Labels do not depend on the shared string: a run serves the mutants too."""
    at, learner = setting(case)
    differ = {name: Promise(at.rho, at.pairs, alarm / 2) for name in (None, *at.mutants)}
    accurate = Promise(learner.plan["delta"], 2 * at.pairs, alarm / 2)
    pairs = certified = base = survivors = 0
    predictions = Population(at.C, target=0).predictions
    while accurate.open or any(each.open for each in differ.values()):
        private, n = PrivateRandomness.simulated("rounded", case, pairs), len(at.C)
        target = int(private.generator().integers(n // 4, 3 * n // 4))  # the ball around it is not cut off by an end
        world = Population(at.C, target=target, noise=at.noise, predictions=predictions)
        labs = [
            run_lab(learner, world, at.U, shared, ("rounded", case, pairs, lab))
            for lab, shared in zip("AB", strings(case, pairs), strict=True)
        ]
        results = [lab.result for lab in labs]
        both = all(result.rounding.certified for result in results)
        apart = both and results[0].unrounded != results[1].unrounded
        accurate.hear(*(lab.excess_error > learner.plan.epsilon and lab.result.rounding.certified for lab in labs))
        for mutant, promise in differ.items():
            if mutant == "unrounded":
                promise.hear(apart)
                continue
            answers = {
                last_step(learner.plan, shared, result)
                for shared, result in zip(strings(case, pairs, mutant), results, strict=True)
            }
            promise.hear(both and len(answers) > 1)
            assert mutant or answers == {result.hypothesis for result in results}
        pairs, certified, base = pairs + 1, certified + both, base + apart
        survivors += sum(result.V.size for result in results) / 2
    return SimpleNamespace(
        differ=differ, accurate=accurate, certified=certified / pairs, base=base / pairs, survivors=survivors / pairs
    )


def last_step(made, shared, result):
    """What a lab with this string answers after the very same labels."""
    ball = made.ball(shared, result.rounding.scores, result.rounding.items, result.V.indices)
    return made.prior.first(shared, "order", indices=ball)


@pytest.mark.claim("rounded", "certificate")
@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_certified_labs_agree_and_are_accurate(case, alarm, record_property):
    found = figures(case, alarm)
    differ = found.differ[None]
    record_property("power", f"{differ.told()}; unrounded, {100 * found.base:.0f}% differ")
    assert differ.found <= 2 * CASES[case][3]
    assert found.certified >= 0.9
    assert differ.broken is False
    assert found.accurate.broken is False


@pytest.mark.claim("rounded")
@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_the_world_is_not_vacuous(case, alarm):
    """Survivors are many, and the base learner's own answers differ."""
    found = figures(case, alarm)
    assert found.survivors >= 20
    assert found.base >= 0.2


@pytest.mark.claim("rounded")
@pytest.mark.mutant
@pytest.mark.parametrize(
    ("case", "mutant"), [marked(case, each) for case in CASES for each in CASES[case][-1] if each in MUTANTS]
)
def test_the_same_test_catches_mutants(case, mutant, alarm):
    assert figures(case, alarm).differ[mutant].broken


@pytest.mark.claim("rounded")
@pytest.mark.mutant
def test_the_same_test_catches_unrounded_answers(alarm):
    assert figures("cal", alarm).differ["unrounded"].broken


@pytest.mark.claim("rounded")
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_whole_run_with_a_mutant_is_the_last_step_with_it(mutant):
    """What `figures` relies on: nothing but the last step looks at the shared string."""
    at, learner = setting("cal")
    world = Population(at.C, target=12_345)
    for number in range(2):
        for lab, broken, sound in zip("AB", strings("m", number, mutant), strings("m", number), strict=True):
            whole = run_lab(learner, world, at.U, broken, ("m", number, lab)).result
            last = run_lab(learner, world, at.U, sound, ("m", number, lab)).result
            assert whole.rounding.figures() == last.rounding.figures()
            assert whole.hypothesis == last_step(learner.plan, broken, last)

"""Rounded keeps its promise where its mutants do not (docs/claims/rounded.md)."""

from functools import cache
from types import SimpleNamespace

import pytest

from replical import Population, PrivateRandomness, SharedRandomness, Thresholds, plan
from replical.core.binomial import detects, rejects_at
from replical.learners.catalogue import learner_for
from replical.learners.rounding.finishes import finish
from replical.worlds.audit import pair_string, run_lab
from support.mutants import PrivateFor

# On a wide range [a, b] two private thresholds differ by a factor of up to eleven: a mutant bad enough for few pairs.
WIDE, NARROW = {"a": 0.02, "b": 0.225}, {"a": 0.1, "b": 0.225}


CASES = {
    "cal": ("rounded-cal", Thresholds(20_000), 10_000, 0.15, 0.0, WIDE),
    "a2": ("rounded-a2", Thresholds(10_000), 16_000, 0.2, 0.05, NARROW),
    "a2 wide": ("rounded-a2", Thresholds(10_000), 20_000, 0.2, 0.05, WIDE),
}


PAIRS = {"cal": 130, "a2": 40}


SLOW = {"cal": 500, "a2": 300, "a2 wide": 300}


RUNS = [*PAIRS.items(), *(pytest.param(*run, marks=pytest.mark.slow) for run in SLOW.items())]


MUTANTS = ("threshold", "order")


def setting(case):
    learner, C, U, rho, noise, ends = CASES[case]
    made = plan(learner, C, epsilon=0.25, delta=0.05, rho=rho, items=U, pool="finite", **ends)
    return SimpleNamespace(C=C, U=U, rho=rho, noise=noise), learner_for(made)


def strings(seed, number, mutant):
    """What labs A and B take for the shared string."""
    string = pair_string(seed, number)
    return [PrivateFor(string, f"{string} {lab}", mutant) if mutant else SharedRandomness(string) for lab in "AB"]


@cache
def figures(case, pairs):
    """Both labs of many pairs. Labels do not depend on the shared string, so each run serves the mutants too."""
    at, learner = setting(case)
    found = SimpleNamespace(certified=0, above=0, base=0, survivors=0.0, differ=dict.fromkeys((None, *MUTANTS), 0))
    predictions = Population(at.C, target=0).predictions
    for number in range(pairs):
        private, n = PrivateRandomness.simulated("rounded", case, number), len(at.C)
        target = int(private.generator().integers(n // 4, 3 * n // 4))  # the ball around it is not cut off by an end
        world = Population(at.C, target=target, noise=at.noise, predictions=predictions)
        labs = [
            run_lab(learner, world, at.U, shared, ("rounded", case, number, lab))
            for lab, shared in zip("AB", strings(case, number, None), strict=True)
        ]
        results = [lab.result for lab in labs]
        both = all(result.rounding.certified for result in results)
        found.certified += both
        found.above += sum(lab.excess_error > learner.plan.epsilon and lab.result.rounding.certified for lab in labs)
        found.survivors += sum(result.V.size for result in results) / (2 * pairs)
        found.base += both and results[0].unrounded != results[1].unrounded
        for mutant in found.differ:
            answers = {
                finish(learner.plan, shared, result.rounding, SimpleNamespace(V=result.V))
                for shared, result in zip(strings(case, number, mutant), results, strict=True)
            }
            found.differ[mutant] += both and len(answers) > 1
            assert mutant or answers == {result.hypothesis for result in results}
    return found


# --- the promise ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("case", "pairs"), RUNS)
def test_certified_labs_agree_and_are_accurate(case, pairs, alarm, record_property):
    at, learner = setting(case)
    found = figures(case, pairs)
    power = detects(pairs, at.rho, alarm / 2)
    record_property(
        "power", f"{found.differ[None]} of {pairs} pairs differ, unrounded {found.base}; would find {power:.3f}"
    )
    assert power <= 2 * at.rho or pairs == PAIRS.get(case)  # the slow suite has the power
    assert found.certified >= 0.9 * pairs
    assert found.differ[None] < rejects_at(pairs, at.rho, alarm / 2)
    assert found.above < rejects_at(2 * pairs, float(learner.plan["delta"]), alarm / 2)


@pytest.mark.parametrize(("case", "pairs"), RUNS)
def test_the_world_is_not_vacuous(case, pairs):
    """Survivors are many, and the base learner's own answers differ."""
    found = figures(case, pairs)
    assert found.survivors >= 20
    assert found.base >= 0.2 * pairs


@pytest.mark.parametrize(
    ("case", "pairs", "mutant"),
    [
        ("cal", PAIRS["cal"], "threshold"),
        ("cal", PAIRS["cal"], "order"),
        ("a2", PAIRS["a2"], "order"),
        pytest.param("a2 wide", SLOW["a2 wide"], "threshold", marks=pytest.mark.slow),
    ],
)
def test_the_same_test_catches_mutants(case, pairs, mutant, alarm):
    assert figures(case, pairs).differ[mutant] >= rejects_at(pairs, CASES[case][3], alarm / 2)


def test_the_same_test_catches_unrounded_answers(alarm):
    pairs = PAIRS["cal"]
    assert figures("cal", pairs).base >= rejects_at(pairs, CASES["cal"][3], alarm / 2)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_whole_run_with_a_mutant_is_the_last_step_with_it(mutant):
    """What `figures` relies on: nothing but the last step looks at the shared string."""
    at, learner = setting("cal")
    world = Population(at.C, target=12_345)
    for number in range(2):
        for lab, broken, sound in zip("AB", strings("m", number, mutant), strings("m", number, None), strict=True):
            whole = run_lab(learner, world, at.U, broken, ("m", number, lab)).result
            last = run_lab(learner, world, at.U, sound, ("m", number, lab)).result
            assert whole.rounding.figures() == last.rounding.figures()
            assert whole.hypothesis == finish(learner.plan, broken, last.rounding, SimpleNamespace(V=last.V))

"""The theorems at their own sizes (docs/claims/replical.md, replica2.md, complexity.md)."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from replical import plan
from replical.learners.planning import learner_for
from replical.study.theorem import THEOREMS, Trial, crossing
from support.power import rejects_at

DELTA, RHO = 0.05, 0.1


@pytest.fixture(scope="module")
def trials():
    return {
        number: Trial.of(theorem, "thresholds:20000", seed="guarantee", epsilon=0.05, delta=DELTA, rho=RHO)
        for number, theorem in THEOREMS.items()
    }


@pytest.fixture(scope="module")
def found(trials):
    return {number: trial.measure(40, dissect=True) for number, trial in trials.items()}


@pytest.mark.claim("replical", "replica2")
def test_nothing_contradicts_the_theorems_at_their_own_sizes(trials, found, alarm):
    alarm /= 4  # so many tests
    for number, trial in trials.items():
        audit, made = found[number].audit, trial.plan
        assert made.labels_most > 1e16
        assert audit.labels_max <= made.labels_most
        assert audit.pairs - audit.agreements < rejects_at(audit.pairs, RHO, alarm)
        assert audit.excess_over_epsilon < rejects_at(2 * audit.pairs, DELTA, alarm)
        assert 1 <= found[number].rounds <= made.rounds_most
        assert trial.ready.broken == ()


@pytest.mark.claim("replical", "replica2")
def test_the_cells_are_not_vacuous(found):
    """With strings of their own the same labs differ; with thresholds of their own, more often than with common ones."""
    for each in found.values():
        assert each.audit.vacuous is False
        assert each.audit.own_string <= 0.2
        assert each.audit.own_threshold < each.audit.agreement
        assert each.audit.survivors_mean >= 20


@pytest.mark.claim("replical", "replica2")
@pytest.mark.mutant
def test_the_same_figures_show_a_broken_promise(found, alarm):
    """A private string, put to the same test, fails it."""
    for each in found.values():
        differ = round((1 - each.audit.own_string) * each.audit.controls)
        assert differ >= rejects_at(each.audit.controls, RHO, alarm / 2)


@pytest.mark.claim("replical", "replica2")
def test_the_proof_counts_no_more_than_it_allows(trials, found):
    """Bad thresholds are counted exactly; at these sizes nobody is an intruder or expelled, whom it allows a few."""
    for number, trial in trials.items():
        for each in found[number].anatomies:
            assert 0 < each.bad <= trial.rho_drawn / 8
            assert max(*each.intruders, *each.expelled) <= trial.rho_drawn / 30
            assert each.drawn_bad or each.inside <= trial.rho_drawn / 30
            assert each.jaccard <= trial.rho_drawn / 4


@pytest.mark.claim("replical", "replica2")
@pytest.mark.mutant
def test_with_sizes_divided_the_proof_s_counts_and_then_the_promise_break(trials):
    """And so nothing but the sizes keeps it: 10^11 times fewer labels leave intruders, 10^14 times fewer differ too often."""
    trial = trials[1]
    steps = list(trial.divide(20, first=11.0))
    assert max(steps[0].intruders, steps[0].expelled) > trial.rho_drawn / 30
    assert steps[0].jaccard < RHO <= steps[-1].jaccard
    divisor, labels = crossing(steps, RHO)
    assert 1e12 < divisor < 1e15
    assert labels < plan("replical", trial.ready.world.C, epsilon=0.05, delta=DELTA, rho=RHO, theta=2).labels_most
    assert steps[-1].fewest_errors_differ > RHO  # where the theorem's labels are gone, data alone do not decide


@pytest.mark.claim("replical", "replica2")
@pytest.mark.mutant
def test_coarse_thresholds_are_bad_thresholds(trials):
    """With a thousand intervals in place of millions nearly every one that matters is bad."""
    trial = trials[1]
    coarse = tuple(replace(each, value=1000) if each.name == "m" else each for each in trial.plan.numbers)
    learner = learner_for(replace(trial.plan, numbers=coarse))
    other = replace(trial, ready=replace(trial.ready, learner=learner))
    assert other.measure(1, dissect=True).anatomies[0].bad > trial.rho_drawn / 8


# How sizes grow: least squares of log labels on a grid of plans; nothing is run.

GRID = {"rho": (0.3, 0.1, 0.03, 0.01, 0.003), "n": (1e3, 1e6, 1e9, 1e12), "theta": (2.0, 8.0, 32.0)}
COMMON = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
REALIZABLE = [at | {"epsilon": 2.0**-power} for at in COMMON for power in (8, 16, 32, 64)]
AGNOSTIC = [
    at | {"nu": 2.0**-p, "epsilon": 2.0**-p / ratio} for at in COMMON for p in (16, 32, 64) for ratio in (1, 4, 16)
]
SCALES = {
    "1/ρ": lambda at: 1 / at["rho"],
    "ln n": lambda at: math.log(at["n"]),
    "Θ": lambda at: at["theta"],
    "log 1/ε": lambda at: -math.log(at["epsilon"]),
    "log 1/(Θν)": lambda at: -math.log(at["theta"] * at["nu"]),
    "ν/ε": lambda at: at["nu"] / at["epsilon"],
}


def replical(at):
    made = plan(
        "replical", int(at["n"]), epsilon=at["epsilon"], delta=DELTA, rho=at["rho"], theta=at["theta"], name="paper"
    )
    return made.labels_most


def replica2(at):
    options = {"epsilon": at["epsilon"], "delta": DELTA, "rho": at["rho"], "theta": at["theta"], "nu": at["nu"]}
    return plan("replica2", int(at["n"]), name="paper", **options)


def loop(at):
    made = replica2(at)
    return made.k * made.rounds_most


def last(at):
    made = replica2(at)
    return made.final_size(made.stop_mass)


@pytest.mark.claim("complexity")
@pytest.mark.parametrize(
    ("labels", "grid", "stated"),
    [
        (replical, REALIZABLE, {"1/ρ": 4, "ln n": 2, "Θ": 1, "log 1/ε": 5}),
        (loop, AGNOSTIC, {"1/ρ": 4, "ln n": 2, "Θ": 2, "log 1/(Θν)": 5, "ν/ε": 0}),
        # its last sample knows the smallest error too, by a union bound that the printed bound leaves out: up to ln n more
        (last, AGNOSTIC, {"1/ρ": 4, "ln n": 2, "Θ": 2, "log 1/(Θν)": 4, "ν/ε": 2}),
    ],
    ids=["RepliCAL", "ReplicA², loop", "ReplicA², last sample"],
)
def test_labels_grow_as_stated(labels, grid, stated):
    """Powers of the paper's bounds, less than half a power apart: rounds are whole, and logarithms are no powers."""
    design = np.array([[1.0, *(math.log(SCALES[name](at)) for name in stated)] for at in grid])
    fitted = np.linalg.lstsq(design, np.array([math.log(labels(at)) for at in grid]), rcond=None)[0][1:]
    assert fitted == pytest.approx(list(stated.values()), abs=0.45)

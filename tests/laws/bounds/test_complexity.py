"""Scaling laws of the paper's bounds, for every task (docs/claims/complexity.md)."""

from math import e, exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical.bounds.complexity import BOUNDS, needs

REFERENCE = {"n": 1000, "epsilon": 0.01, "delta": 0.05, "rho": 0.1, "theta": 2.0, "nu": 0.02}


def bound(name, **task):
    """A bound at a task that may hold more than it needs."""
    return BOUNDS[name](**{need: task[need] for need in needs(name)})


@given(st.floats(1, 100), st.floats(0.2, 0.49))
def test_a_disagreement_radius_beyond_the_domain_of_the_logarithm_counts_as_one_round(theta, nu):
    """From Θν = 1/e on log(1/(Θν)) is 1, beyond Θν = 1 it would be negative."""
    task = {**REFERENCE, "theta": max(theta, 1 / (e * nu)), "nu": nu}
    last = (nu / 0.01) ** 2
    assert bound("a2", **task) == pytest.approx(task["theta"] ** 2 * (last + 1) * log(1000 / 0.05))
    expected = (1 + last) * (log(1000) ** 2 * log(10) * 1e4 + log(1000 / 0.05))
    assert bound("replica2", **task) == pytest.approx(task["theta"] ** 2 * expected)


# Scaling laws
def powers(least, most):
    return st.floats(least, most).map(lambda exponent: 10.0**-exponent)


TASKS = st.fixed_dictionaries(
    {
        "n": st.integers(1, 10**30), "epsilon": powers(0.01, 12), "delta": powers(0.01, 12), "rho": powers(0.01, 12),
        "theta": st.floats(0, 5).map(lambda exponent: 10.0**exponent), "nu": st.floats(0, 0.499),
    }
)  # fmt: skip


@pytest.mark.claim("complexity")
@pytest.mark.parametrize("name", BOUNDS)
@given(task=TASKS, factor=st.floats(1, 1000), argument=st.sampled_from(["n", "epsilon", "delta", "rho", "theta"]))
def test_asking_for_more_never_costs_less(name, task, factor, argument):
    more = {**task, argument: {"n": int(task["n"] * factor), "theta": task["theta"] * factor}.get(argument, 0)}
    if argument in ("epsilon", "delta", "rho"):
        more[argument] = task[argument] / factor
    if argument == "theta" and name.startswith("replica2"):
        # Θ²log⁵(1/(Θν)) falls with Θ once Θν is above e^-2.5; below e^-3 the bound rises whatever else it holds.
        more["nu"] = task["nu"] = min(task["nu"], exp(-3) / more["theta"])
        more["epsilon"] = task["epsilon"] = min(task["epsilon"], exp(-3) / more["theta"])
    assert bound(name, **more) >= bound(name, **task) * (1 - 1e-12)


@pytest.mark.parametrize("name", BOUNDS)
@given(task=TASKS, constant=st.floats(1e-3, 1e3))
def test_the_constant_is_a_factor(name, task, constant):
    needed = {need: task[need] for need in needs(name)}
    assert BOUNDS[name](**needed, constant=constant) == pytest.approx(constant * bound(name, **task), rel=1e-12)


@pytest.mark.claim("complexity")
@pytest.mark.parametrize("name", [name for name in BOUNDS if "rho" in needs(name)])
@given(task=TASKS, exponent=st.floats(20, 40))
def test_halving_rho(name, task, exponent):
    """16 times the labels, boosted or tight 4 times, up to logarithms of 1/ρ that move by less than 2%."""
    task = {**task, "rho": 10.0**-exponent, "delta": max(task["delta"], 1e-9)}
    growth = bound(name, **{**task, "rho": task["rho"] / 2}) / bound(name, **task)
    power = 4 if name.endswith(("boosted", "tight")) else 16
    logs = 4 if name.endswith("boosted") else 1
    moved = 1 + log(2) / log(1 / task["rho"])
    assert power * (1 - 1e-9) <= growth <= power * moved**logs * (1 + 1e-9)


@pytest.mark.claim("complexity")
@given(task=TASKS)
def test_halving_epsilon(task):
    epsilon = min(task["epsilon"], 0.4)
    task = {**task, "epsilon": epsilon, "nu": max(task["nu"], epsilon)}
    half = {**task, "epsilon": task["epsilon"] / 2}
    for name in BOUNDS:
        if "theta" not in needs(name):
            power = 4 if "agnostic" in name else 2
            assert bound(name, **half) == pytest.approx(power * bound(name, **task), rel=1e-12)


# What the paper says about them
@given(task=TASKS, exponent=st.floats(3, 8))
def test_active_realizable_learning_is_polylogarithmic_in_one_over_epsilon(task, exponent):
    """Squaring ε doubles log(1/ε): CAL grows by 2, RepliCAL by 2⁵, up to loglog; passive learners grow by 1/ε."""
    task = {**task, "epsilon": 10.0**-exponent}
    finer = {**task, "epsilon": 10.0 ** (-2 * exponent)}
    loglog = 1 + log(2)
    for name, power in (("cal", 1), ("replical", 5), ("replical_boosted", 5), ("replical_tight", 1)):
        assert bound(name, **finer) <= 2**power * loglog * bound(name, **task)
    for name in ("passive", "replicable_passive", "replicable_passive_boosted", "replicable_passive_tight"):
        assert bound(name, **finer) == pytest.approx(10**exponent * bound(name, **task))


@given(task=TASKS)
def test_replicability_costs_labels(task):
    assert bound("replicable_passive", **task) >= bound("passive", **task) * (1 - 1e-12)
    assert bound("replical", **task) >= bound("cal", **task) * (1 - 1e-12)


@given(task=TASKS)
def test_the_rank_lemma_saves_in_rho_and_nowhere_costs_more(task):
    """log²n/ρ² against log²n log(1/ρ)/ρ⁴."""
    assert bound("replicable_passive_tight", **task) <= 2 * bound("replicable_passive", **task)
    assert bound("replical_tight", **task) <= 2 * bound("replical", **task)

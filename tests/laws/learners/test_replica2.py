"""The proof of ReplicA² on finite pools adds up for every task, with the plan's own numbers (docs/claims/replica2.md)."""

from fractions import Fraction
from math import ceil, exp, expm1, floor, log, sqrt

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from replical import plan

ROUGHLY = 1.05


def between(low, high):
    return st.floats(log(low), log(high)).map(lambda x: float(f"{exp(x):.3g}"))


@st.composite
def plans(draw, loops=True):
    """A plan for a finite pool and the task it is for; where it `loops`, 8Θν̄ is below 1."""
    epsilon = draw(between(1e-4, 0.1))
    task = {
        "epsilon": epsilon,
        "delta": draw(between(1e-4, 0.5)),
        "rho": draw(between(1e-3, 0.9)),
        "theta": draw(between(1.0, 20.0)),
        "nu": min(0.49, draw(st.sampled_from([0.0, 0.5, 1.0, 1.9, 2.0, 2.1, 8.0])) * epsilon),
    }
    n = draw(st.integers(2, 10**6))
    s = 8 * task["theta"] * max(task["nu"], epsilon)
    assume(s < 1 or not loops)
    return plan("replica2", n, **task, pool="finite"), task, n, min(1.0, s)


def failure(task):
    return min(task["delta"] / 2, task["rho"] / 16)


@pytest.mark.claim("replica2")
@settings(max_examples=100)
@given(plans())
def test_a_mass_is_measured_well_enough(made):
    """Step 1, with exact binomial tails: a round below s/1.05 in any of V_0 .. V_N."""
    made, task, _, s = made
    mu, N = made.measuring, made.rounds_most
    assert (N + 1) * binom.sf(ceil(mu * s) - 1, mu, s / ROUGHLY) <= failure(task) / 8
    assert made.stop_mass / Fraction(105, 100) >= Fraction(1, 2**N)


def removed(made, task, n, mass, *, unseen=1.0):
    """Step 2: a round at this mass removes somebody of excess 2ε/3, or scans too few items; `unseen`: share of ν̄T used."""
    k, theta, epsilon = made.k, task["theta"], task["epsilon"]
    nu_bar = max(task["nu"], epsilon)
    eta = 1 / 8 if 2 * epsilon <= nu_bar else 1 / 16
    fewest = ceil((1 - eta) * k / mass)
    short = binom.sf(k - 1, fewest - 1, mass)  # k disputed items among fewer than that
    errs = min(1.0, (nu_bar + 2 * epsilon / 3) / mass)
    return n * binom.sf(floor(unseen * nu_bar * fewest + k / (8 * theta)), k, errs) + short


@pytest.mark.claim("replica2")
@pytest.mark.mutant
@settings(max_examples=100)
@given(plans())
def test_the_loop_keeps_the_near_ones(made):
    """At every mass it may run at; a cut at k/(8Θ), without what the best may err, removes them at s/1.05."""
    made, task, n, s = made
    N = made.rounds_most
    for mass in (s / ROUGHLY, sqrt(s), 1.0):
        assert N * removed(made, task, n, mass) <= failure(task) / 2
    assert N * removed(made, task, n, s / ROUGHLY, unseen=0.0) > failure(task) / 2


def lost(made, task, n, cut=1.0):
    """Lemma N step by step, where λ is what serves best: how often two labs may differ; how often one errs above ε."""
    epsilon, nu_bar, M = task["epsilon"], max(task["nu"], task["epsilon"]), made.integer("k_final") * cut
    G = 2 * epsilon / 3
    v = 2 * nu_bar + 2 * G
    sigma = sqrt(v / M)
    grown = [
        2 + 1 / x + 2 / x * expm1(M * v * (expm1(x / sqrt(v * M)) - x / sqrt(v * M))) for x in (0.7, 0.75, 0.8, 0.85)
    ]  # expelled, F, intruders: λ/2 twice is the second 1
    a = sqrt(2 * M * log(2 * n) / v)
    luckiest = (log(2 * n) + M * v * (expm1(a / M) - a / M)) / a
    shifts = 2 * sqrt((4 * nu_bar + G) / M)
    passes = 2 * n * max(below(M, v, G, G), below(M, 2 * nu_bar + G, G, G))
    return (min(grown) * sigma * log(n) + luckiest + shifts * log(n)) / G + passes, n * below(
        M, 2 * nu_bar + epsilon, epsilon, epsilon / 3
    )


def below(M, variance, mean, gap):
    """Bernstein: a mean of M terms in [-1, 1] lies by `gap` below its own."""
    return exp(-M * gap**2 / (2 * (variance + (1 + mean) * gap / 3)))


@pytest.mark.claim("replica2")
@pytest.mark.mutant
@settings(max_examples=100)
@given(plans(loops=False))
def test_the_last_sample_is_large_enough(made):
    """Both sums stay below what is promised; with a quarter of the sample one does not."""
    made, task, n, _ = made
    f = failure(task)
    differ, above = lost(made, task, n)
    assert differ + 2 * (f / 2 + f / 8) <= task["rho"]
    assert above + f / 2 + f / 8 <= task["delta"]
    differ, above = lost(made, task, n, cut=0.25)
    assert differ > task["rho"] or above > task["delta"]

"""The proof of ReplicA² on finite pools adds up for every task, with the plan's own numbers (docs/claims/replica2.md)."""

from fractions import Fraction
from math import ceil, exp, floor, log, sqrt

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
    """Step 1, with exact binomial tails: a round below s/1.05, or a last sample for less than Δ/1.25, in any of V_0 .. V_N."""
    made, task, _, s = made
    mu, N, epsilon = made.measuring, made.rounds_most, task["epsilon"]
    late = binom.sf(ceil(mu * s) - 1, mu, s / ROUGHLY)
    small = max(binom.cdf(ceil(mu * mass / 1.25) - 1, mu, mass) for mass in (epsilon, 2 * epsilon, s))
    assert (N + 1) * (late + small) <= failure(task) / 8
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


def widths(made, task, n, measured, cut=1.0):
    """Steps 3 and 4: what the rank lemma allows two labs, and how often one lab keeps an excess above ε."""
    epsilon = task["epsilon"]
    M = made.final_size(measured) * cut
    mass = 1.25 * max(float(measured), epsilon)
    scale = 2 * (2 * mass + 2 * (2 * epsilon / 3) / 3) / M  # Bernstein: Pr[w > t] ≤ exp(-t²/scale) for t ≤ 2ε/3
    differ = (1 + log(n)) * sqrt(scale * (1 + log(2 * n**2))) / (2 * epsilon / 3)
    above = n * exp(-((epsilon / 3) ** 2) / (2 * (mass + 2 * (epsilon / 3) / 3) / M))
    return differ, above


@pytest.mark.claim("replica2")
@pytest.mark.mutant
@settings(max_examples=100)
@given(plans(loops=False))
def test_the_last_sample_is_large_enough(made):
    """For every measured mass both sums stay below what is promised; a quarter of the sample does not."""
    made, task, n, s = made
    f = failure(task)
    for measured in (0.0, s, 1.0):
        differ, above = widths(made, task, n, Fraction(measured))
        assert differ + 2 * (f / 2 + f / 8) <= task["rho"]
        assert above + f / 2 + f / 8 <= task["delta"]
    differ, above = widths(made, task, n, Fraction(s), cut=0.25)
    assert differ > task["rho"] or above > task["delta"]

"""A release tells at most ε about a lab, computed and not sampled, and is rarely another answer (docs/claims/release.md)."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from replical.lab.release import noisy_maximum, permute_and_flip, threshold
from support.release import MUTANTS, formula, law, worst_ratio
from support.release_chance import Selection, release_chance

WORD = 2**64
EPSILONS = (0.1, 0.5, 1.0, 3.0)


def at_most(ratio, epsilon):
    """Is a ratio at most e^ε? To 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return Decimal(ratio.numerator) / Decimal(ratio.denominator) <= Decimal(repr(epsilon)).exp() * (
            1 + Decimal("1e-40")
        )


@pytest.mark.claim("release")
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_whole_lab_changes_no_chance_by_more(epsilon):
    """All counts up to 2 of three candidates and all votes of one lab more: the worst ratio is e^ε, and it is reached."""
    ratio = worst_ratio(permute_and_flip, epsilon)
    assert at_most(ratio, epsilon)
    assert ratio == Fraction(WORD, threshold(epsilon))
    assert at_most(worst_ratio(permute_and_flip, epsilon, n=2, most=4), epsilon)


@pytest.mark.claim("release")
def test_a_lab_that_is_replaced_changes_it_by_twice_that():
    ratio = worst_ratio(permute_and_flip, 0.5, most=1, replaced=True)
    assert at_most(ratio, 1.0)
    assert not at_most(ratio, 0.5)


@pytest.mark.claim("release")
@pytest.mark.mutant
@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_releases_that_leak_are_noticed(name, epsilon):
    ratio = worst_ratio(MUTANTS[name], epsilon, most=2)
    assert ratio is None or not at_most(ratio, epsilon)


@pytest.mark.claim("release")
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_code_has_the_law_of_exponential_noise(epsilon):
    """Run for all coins, it is the noisy maximum: a formula for that which shares no code with it."""
    t = threshold(epsilon)
    for counts in [*product(range(3), repeat=3), (4, 1, 0), (5,), (3, 3), (0, 6), (1, 0, 2, 0)]:
        found = law(permute_and_flip, counts, t)
        assert found == {h: p for h, p in formula(counts, Fraction(t, WORD)).items() if p}


def agree(sampler, alarm, draws):
    """Frequencies of a sampler against the exact law."""
    counts, epsilon = (4, 2, 2, 0), 0.5
    exact = formula(counts, Fraction(threshold(epsilon), WORD))
    seen = np.bincount([noisy_maximum(counts, epsilon, sampler) for _ in range(draws)], minlength=4)
    for h, p in exact.items():
        assert binom.ppf(alarm / 8, draws, float(p)) <= seen[h] <= binom.isf(alarm / 8, draws, float(p))


@pytest.mark.claim("release")
@pytest.mark.parametrize("sampler", ["exact", "opendp"])
def test_samplers_are_twins(sampler, alarm):
    if sampler == "opendp":
        pytest.importorskip("opendp")
    agree(sampler, alarm, 4000)


@pytest.mark.claim("release")
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_threshold_errs_on_the_side_of_privacy(epsilon):
    with localcontext() as context:
        context.prec = 60
        exact = 2**64 * (-Decimal(repr(epsilon))).exp()
        assert exact <= threshold(epsilon) < exact + 1


@pytest.mark.claim("release")
@pytest.mark.parametrize("epsilon", [*EPSILONS, 1e-6, 20.0])
def test_opendp_states_that_epsilon_is_kept(epsilon, monkeypatch):
    """Whatever scale was taken in the end, OpenDP's own map is at most ε, for a decimal ε and not for the double near it."""
    measurements = pytest.importorskip("opendp.measurements")
    made, make = [], measurements.make_noisy_max
    monkeypatch.setattr(measurements, "make_noisy_max", lambda *words: made.append(make(*words)) or made[-1])
    noisy_maximum([2, 0], epsilon)
    kept = Fraction(made[-1].map(1))
    assert kept <= Fraction(repr(epsilon))
    assert kept > Fraction(repr(epsilon)) * (1 - Fraction(1, 10**11))  # and no privacy is bought that nobody asked for


# ---- is it the right answer? ----


@pytest.mark.claim("release")
def test_votes_for_others_do_no_more_harm_than_is_said():
    """Exactly, for all ways in which z labs vote for others, with and without nobody."""
    for n, epsilon, y, z, nobody in [
        (3, 1.0, 4, 1, 0),
        (4, 0.5, 6, 3, 0),
        (3, 2.0, 2, 2, 0),
        (3, 1.0, 3, 2, 2),
        (2, 0.3, 3, 1, 0),
    ]:
        bound = Selection(n=n, epsilon=epsilon, nobody=nobody).misses(np.array([float(y)]), np.array([float(z)]))[0]
        q, worst = Fraction(threshold(epsilon), WORD), 0.0
        for others in product(range(z + 1), repeat=n - 1):
            if sum(others) <= z:
                counts = (y, *others) + ((nobody,) if nobody else ())
                worst = max(worst, 1 - float(formula(counts, q)[0]))
        assert worst <= bound
        assert worst > bound / 4 or bound == 1  # and it is no empty promise


def chance(selection, k, q):
    """Exactly: k labs, each of which votes for the rival with probability q."""
    t, total = Fraction(threshold(selection.epsilon), WORD), 0.0
    for z in range(k + 1):
        missed = 1 - float(formula((k - z, z) + (0,) * (selection.n - 2), t)[0])
        total += binom.pmf(z, k, q) * missed
    return total


@pytest.mark.claim("release")
@pytest.mark.parametrize("k", [2, 5, 9])
def test_labs_that_share_an_answer_release_it(k):
    """One rival takes all wrong votes; strings on which every lab is likely wrong are as frequent as ρ allows."""
    selection = Selection(n=3, epsilon=1.0)
    for q in (0.0, 0.05, 0.2, 0.5):
        assert chance(selection, k, q) <= selection.per_lab(q, k) + 1e-12
    for rho in (0.05, 0.1, 0.3):
        assert chance(selection, k, rho) <= selection.per_pair(rho, k) + 1e-12
        for q in (0.2, 0.4, 0.6):
            if rho <= q:  # on ρ/q of the strings labs are wrong with probability q, on the others never
                mixed = rho / q * chance(selection, k, q) + (1 - rho / q) * chance(selection, k, 0.0)
                assert mixed <= selection.per_pair(rho, k) + 1e-12


@pytest.mark.claim("release")
def test_how_many_labs_it_takes():
    """The table of docs/claims/release.md."""
    enough = {
        (0.5, 240): [16, 16, 18, 21], (0.5, 10**6): [33, 33, 37, 43], (1.0, 240): [8, 8, 10, 12],
        (1.0, 10**6): [17, 17, 20, 23], (2.0, 240): [4, 5, 6, 7], (2.0, 10**6): [9, 9, 11, 13],
    }  # fmt: skip
    for (epsilon, n), labs in enough.items():
        selection = Selection(n=n, epsilon=epsilon)
        assert [release_chance(selection, 20, beta=q).enough for q in (0.0, 0.0125, 0.1, 0.2)] == labs
    assert release_chance(Selection(n=240, epsilon=1.0), 20, beta=0.6).enough is None


def exactly(n, epsilon, k, lost):
    """E min(1, ½(n-2+e^(εz))e^(-ε(k-z))), z ~ Bin(k, lost), in decimals of 40 digits; no code in common."""
    with localcontext() as context:
        context.prec = 40
        q, e, total = Decimal(repr(lost)), Decimal(repr(epsilon)), Decimal(0)
        for z in range(k + 1):
            missed = (n - 2 + (e * z).exp()) * (-e * (k - z)).exp() / 2
            total += math.comb(k, z) * (q**z if z else 1) * (1 - q) ** (k - z) * min(Decimal(1), missed)
        return total


@pytest.mark.claim("release")
def test_strings_that_mislead_everybody_are_paid_for_once():
    """The table again, by an exact sum, each number of labs with the one below it; and ρ0 is paid once by two consortia."""
    for (epsilon, n), labs in {
        (0.5, 240): [16, 16, 18, 21], (0.5, 10**6): [33, 33, 37, 43], (1.0, 240): [8, 8, 10, 12],
        (1.0, 10**6): [17, 17, 20, 23], (2.0, 240): [4, 5, 6, 7], (2.0, 10**6): [9, 9, 11, 13],
    }.items():  # fmt: skip
        selection = Selection(n=n, epsilon=epsilon)
        for lost, k in zip((0.0, 0.0125, 0.1, 0.2), labs, strict=True):
            assert exactly(n, epsilon, k, lost) <= Decimal("0.05") < exactly(n, epsilon, k - 1, lost)
            found, second = release_chance(selection, k, beta=lost, string=0.08), float(exactly(n, epsilon, k, lost))
            assert found.enough == k
            assert found.limit == 0.08
            assert found.misses == pytest.approx(0.08 + second, abs=1e-9)
            assert found.apart == pytest.approx(0.08 + 2 * second, abs=1e-9)


@pytest.mark.claim("release")
@pytest.mark.mutant
def test_a_string_that_misleads_all_labs_is_not_forgotten():
    """On a tenth of the strings all labs vote alike for another: no number of labs helps, and the noise alone claims less."""
    selection, k, bad = Selection(n=3, epsilon=1.0), 30, 0.1
    missed = bad * 1.0 + (1 - bad) * chance(selection, k, 0.0)
    assert missed <= release_chance(selection, k, beta=0.0, string=bad).misses
    assert missed > release_chance(selection, k, beta=0.0).misses  # the mutant
    independent = 2 * missed  # and two consortia: charged apart they would pay twice
    apart = (1 - bad) * 2 * chance(selection, k, 0.0)
    assert apart <= release_chance(selection, k, beta=0.0, string=bad).apart < independent

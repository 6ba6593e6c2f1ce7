"""rSTAT and rHeavyHitters: large samples, names of words, and bad input (docs/claims/subroutines.md)."""

from fractions import Fraction

import numpy as np
import pytest

from replical import SharedRandomness
from replical.bounds.subroutines import HeavyHitters, Statistic, rstat
from replical.errors import ValueOutOfRange

SHARED = SharedRandomness("published")


def test_large_samples_are_drawn_in_pieces():
    sizes = []

    def sampler(count):
        sizes.append(count)
        return np.full(count, 0.25)

    task = {"tau": 0.005, "rho": 0.3, "delta": 0.05}
    answer = rstat(sampler, SHARED, **task)
    made = Statistic.of(**task)
    assert sum(sizes) == made.samples > max(sizes)
    assert answer == float(made.round(Fraction(1, 4), SHARED, "rstat"))


def test_questions_have_words_of_their_own():
    answers = {
        rstat(lambda count: np.full(count, 0.4), SHARED, tau=0.1, rho=0.5, delta=0.1, name=("q", i)) for i in range(20)
    }
    assert len(answers) == 20


# --- bad input --------------------------------------------------------------------------------------------------------


def constant(value):
    return lambda count: np.full(count, value)


RSTAT = {"tau": 0.3, "rho": 0.5, "delta": 0.1}
HEAVY = {"rho": 0.9, "v": 0.7, "epsilon": 0.3}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"rho": 0.2}, r"rSTAT needs rho above 2 delta, got rho 0.2 and delta 0.1: lower delta below 0.1"),
        ({"tau": 0}, r"tau must be in \(0, 1\), got 0"),
        ({"tau": 1.0}, r"tau must be in \(0, 1\), got 1"),
        ({"rho": float("nan")}, r"rho must be in \(0, 1\), got nan"),
        ({"delta": "0.1"}, r"delta must be a number, got '0.1'"),
    ],
)
def test_rstat_refuses_bad_numbers(changed, sentence):
    with pytest.raises(ValueOutOfRange, match=sentence):
        rstat(constant(0.5), SHARED, **(RSTAT | changed))


@pytest.mark.parametrize(
    ("sampler", "sentence"),
    [
        (constant(1.5), r"values in \[0, 1\], got 1.5"),
        (constant(-1), r"values in \[0, 1\], got -1"),
        (constant(np.nan), r"values in \[0, 1\], got nan"),
        (lambda count: np.zeros(count + 1), r"asked for (\d+) values and gave an array of shape"),
        (lambda count: np.zeros((count, 1)), r"asked for (\d+) values and gave an array of shape \(\d+, 1\)"),
        (lambda _: 0.5, r"gave an array of shape \(\)"),
    ],
)
def test_rstat_refuses_bad_values(sampler, sentence):
    with pytest.raises(ValueOutOfRange, match=sentence):
        rstat(sampler, SHARED, **RSTAT)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"epsilon": 0.7}, r"0 < v - epsilon and v \+ epsilon at most 1, got v 0.7 and epsilon 0.7"),
        ({"v": 0.2}, r"0 < v - epsilon .* got v 0.2 and epsilon 0.3"),
        ({"v": 0.71}, r"v \+ epsilon at most 1, got v 0.71 and epsilon 0.3"),
        ({"rho": 1}, r"rho must be in \(0, 1\), got 1"),
        ({"epsilon": True}, r"epsilon must be a number, got True"),
    ],
)
def test_heavy_hitters_refuse_bad_numbers(changed, sentence):
    with pytest.raises(ValueOutOfRange, match=sentence):
        HeavyHitters.of(**(HEAVY | changed))

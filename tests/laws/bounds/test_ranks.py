"""The rank lemma against its definition: sets of hypotheses, one threshold, one shared order (docs/claims/ranks.md)."""

from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import exp, expm1, floor, inf, log, prod, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from replical import SharedRandomness, Thresholds
from replical.bounds.ranks import agreement_bound, crossing
from replical.classes.prior import UNIFORM, Prior
from replical.core.exact import lower_tail, upper_tail

EIGHTHS = [inf, *(i / 8 for i in range(-2, 13))]  # exact in binary, with many ties
scores = st.lists(st.tuples(st.sampled_from(EIGHTHS), st.sampled_from(EIGHTHS)), min_size=1, max_size=9)
ranges = st.tuples(st.integers(0, 8), st.integers(1, 6)).map(lambda ends: (ends[0] / 8, (ends[0] + ends[1]) / 8))
seeds = st.integers(0, 2**32)


def weights_of(seed, n):
    return [int(w) for w in np.random.default_rng(seed).choice([1, 1, 2, 3, 50], size=n)]


def order_of(seed, n):
    return [int(h) for h in np.random.default_rng(seed).permutation(n)]


def pieces(pairs, a, b):
    """The intervals of [a, b] on which neither lab's set changes, with both sets."""
    ends = sorted({a, b} | {s for pair in pairs for s in pair if a < s < b})
    for low, high in pairwise(ends):
        sets = [{h for h, pair in enumerate(pairs) if pair[lab] <= low} for lab in (0, 1)]
        yield Fraction(high) - Fraction(low), *sets


def expected_jaccard(pairs, a, b, weights):
    """E[1 - μ(V1∩V2)/μ(V1∪V2)], 0 where both are empty."""
    total = Fraction(0)
    for width, one, two in pieces(pairs, a, b):
        union = sum(weights[h] for h in one | two)
        if union:
            total += width * (1 - Fraction(sum(weights[h] for h in one & two), union))
    return total / (Fraction(b) - Fraction(a))


def differs_in_order(pairs, a, b, preferred):
    """The share of thresholds at which the two most preferred members differ."""
    total = Fraction(0)
    for width, one, two in pieces(pairs, a, b):
        firsts = [next((h for h in preferred if h in kept), None) for kept in (one, two)]
        total += width * (firsts[0] != firsts[1])
    return total / (Fraction(b) - Fraction(a))


def by_rank(pairs, a, b, weights):
    """Σ w_h μ_h/M_h over the hypotheses a lab may keep."""
    low = [min(pair) for pair in pairs]
    total = Fraction(0)
    for h, pair in enumerate(pairs):
        if low[h] < b:
            width = Fraction(min(max(*pair, a), b)) - Fraction(max(low[h], a))
            total += width * Fraction(
                weights[h], sum(w for w, s in zip(weights, low, strict=True) if s <= max(low[h], a))
            )
    return total / (Fraction(b) - Fraction(a))


def in_bounds(bound):
    slack = 1e-12
    assert 0 <= bound.exact <= bound.ranks + slack
    assert bound.ranks <= bound.local * (1 + slack) + slack
    assert bound.local <= bound.crude * (1 + slack)


@pytest.mark.claim("ranks")
@given(scores, ranges)
def test_uniform_equals_the_definition(pairs, ends):
    bound = agreement_bound(*np.array(pairs).T, ends)
    ones = [1] * len(pairs)
    assert bound.exact == pytest.approx(float(expected_jaccard(pairs, *ends, ones)), abs=1e-12)
    assert bound.ranks == pytest.approx(float(by_rank(pairs, *ends, ones)), abs=1e-12)
    in_bounds(bound)


@pytest.mark.claim("ranks")
@given(scores, ranges, seeds)
def test_weights_equal_the_definition(pairs, ends, seed):
    weights = weights_of(seed, len(pairs))
    bound = agreement_bound(*np.array(pairs).T, ends, Prior.weights(Thresholds(len(pairs)), weights))
    assert bound.exact == pytest.approx(float(expected_jaccard(pairs, *ends, weights)), abs=1e-12)
    assert bound.ranks == pytest.approx(float(by_rank(pairs, *ends, weights)), abs=1e-12)
    in_bounds(bound)


@pytest.mark.claim("ranks")
@given(scores, ranges, seeds)
def test_a_strict_order_equals_the_definition(pairs, ends, seed):
    preferred = order_of(seed, len(pairs))
    bound = agreement_bound(*np.array(pairs).T, ends, Prior.order(Thresholds(len(pairs)), preferred))
    assert bound.exact == pytest.approx(float(differs_in_order(pairs, *ends, preferred)), abs=1e-12)
    assert bound.exact <= bound.ranks + 1e-12
    assert (bound.local, bound.crude) == (inf, inf)


@cache
def splits(kind, own):
    """How often labs should differ, how often they do, and among how many strings; with strings of their own or one."""
    n, strings = 30, 3000
    C, generator = Thresholds(n), np.random.default_rng(7)
    one = np.sort(generator.random(n))
    two = one + generator.normal(size=n) * 0.15
    prior = {
        "uniform": UNIFORM,
        "weights": Prior.weights(C, np.linspace(1, 20, n)),
        "order": Prior.order(C, order_of(1, n)),
    }[kind]
    differ = 0
    for number in range(strings):
        answers = set()
        for lab, scores in enumerate((one, two)):
            shared = SharedRandomness(f"{kind} {number}" + own * f" {lab}")
            v = shared.uniform("threshold", low=0.2, high=0.7)
            answers.add(prior.first(shared, "order", indices=np.flatnonzero(scores <= v)))
        differ += len(answers) > 1
    return agreement_bound(one, two, (0.2, 0.7), prior).exact, differ, strings


@pytest.mark.claim("ranks")
@pytest.mark.parametrize("kind", ["uniform", "weights", "order"])
def test_the_shared_order_splits_labs_as_often_as_it_says(kind, alarm):
    """Thresholds and orders from published strings; a two-sided exact test."""
    exact, differ, strings = splits(kind, own=False)
    assert 0.1 < exact < 0.6
    assert upper_tail(differ, strings, exact) > alarm / 2
    assert lower_tail(differ, strings, exact) > alarm / 2


@pytest.mark.claim("ranks")
@pytest.mark.mutant
@pytest.mark.parametrize("kind", ["uniform", "weights", "order"])
def test_strings_of_their_own_split_labs_more_often(kind, alarm):
    """The same test finds labs that share nothing."""
    exact, differ, strings = splits(kind, own=True)
    assert upper_tail(differ, strings, exact) <= alarm / 2


# --- Lemma R, step by step ---------------------------------------------------------------------------------------------


@pytest.mark.claim("ranks")
@pytest.mark.parametrize("labs", [2, 3, 4, 5, 10, 40])
def test_crossing_is_the_least_over_lambda(labs):
    least = min(labs / 2 + 1 / x + labs / x * (exp(x * x) + x / sqrt(2) - 1) for x in np.arange(0.001, 2, 0.001))
    assert least <= float(crossing(labs)) <= least + 0.011


def test_the_shares_of_places_add_up_to_a_logarithm():
    shares = np.cumsum(1 / np.arange(2, 100_000))
    assert (shares <= np.log(np.arange(2, 100_000))).all()


@pytest.mark.claim("ranks")
@given(st.integers(1, 300), st.floats(1e-3, 0.5), st.floats(0, 2), st.floats(0.1, 1.5))
def test_shares_stray_no_further_than_lemma_r_says(M, G, place, x):
    """Steps 1 and 3 with exact binomials: expelled, intruders near and far."""
    d, sigma = place * G, sqrt(G / M)
    share, chance = np.arange(M + 1) / M, binom.pmf(np.arange(M + 1), M, d)
    above, below = np.maximum(share - d, 0), np.maximum(d - share, 0)
    if d <= G:
        assert chance @ above <= sigma / 2 * (1 + 1e-9)
    assert chance @ np.expm1(x / sigma * below) <= (exp(x * x) + x / sqrt(2) - 1) * (1 + 1e-9)
    assert binom.cdf(floor(M * G * (1 + 1e-12)), M, 2 * G) <= exp(-M * G / 4)


growths = st.one_of(
    st.lists(st.floats(0, 2), min_size=1, max_size=40),
    st.tuples(st.integers(2, 60), st.floats(0.2, 2)).map(
        lambda at: [at[1] * log(j) / log(at[0]) for j in range(2, at[0])]
    ),
)


def fast(distances, slope):
    """|F| on [0, 1], exactly: before a jump that more than makes up for the slope until there."""
    jumps = sorted({0.0, *distances})
    heights = [log(1 + sum(d <= at for d in distances)) - slope * at for at in jumps]
    inside = 0.0
    for place, (start, end) in enumerate(pairwise([*jumps, max(1.0, jumps[-1])])):
        later = max(heights[place + 1 :], default=-inf)
        falls = heights[place] + slope * start  # ln N here
        enters = max(start, (falls - later) / slope) if later > -inf else inf
        inside += max(0.0, min(end, 1.0) - enters)
    return inside


@pytest.mark.claim("ranks")
@given(growths, st.floats(0.5, 200))
def test_a_class_grows_fast_on_few_thresholds(distances, slope):
    """Step 2, G = 1, and what step 3 takes from it; brute force on a grid beside the exact length."""
    n, exact = 1 + len(distances), fast(distances, slope)
    assert exact <= log(n) / slope + 1e-9
    grid = (np.arange(500) + 0.5) / 500
    counted = np.array([1 + sum(d <= g for d in distances) for g in grid])
    in_F = np.array(
        [any(log(1 + sum(e <= d for e in distances)) - slope * d > log(N) - slope * g for d in distances if d > g)
         for g, N in zip(grid, counted, strict=True)]
    )  # fmt: skip
    assert abs(in_F.mean() - exact) <= (n + 1) / 500
    for d in distances:
        near = ~in_F & (grid < d)
        assert (
            1 + sum(e <= d for e in distances) <= counted[near] * np.exp(slope * (d - grid[near])) * (1 + 1e-9)
        ).all()


def test_half_as_many_thresholds_would_not_do():
    """A class that grows at the rate of the slope all the way: F is nearly as long as step 2 allows."""
    n, slope = 2000, 2 * log(2000)
    distances = [0.5 * log(j) / log(n) for j in range(2, n + 1)]
    assert 0.9 * log(n) / slope < fast([0.99 * d for d in distances], slope) <= log(n) / slope


# --- Lemma N, step by step ---------------------------------------------------------------------------------------------


@pytest.mark.claim("ranks")
@given(st.integers(1, 60), st.floats(0.02, 0.45), st.floats(0.01, 1), st.floats(0, 2), st.floats(0.2, 1.2))
def test_differences_of_errors_stray_no_further_than_lemma_n_says(M, nu, part, place, x):
    """Its steps 1 and 3 of Lemma R, with the exact law of a mean of {-1, 0, 1}; M need not be what a plan has."""
    G = part * nu * 2 / 3
    e, v, law = place * G, 2 * nu + 2 * G, np.ones(1)
    d = min(1.0, 2 * nu + e)
    for _ in range(M):
        law = np.convolve(law, [(d - e) / 2, 1 - d, (d + e) / 2])
    share, y = np.arange(-M, M + 1) / M, x / sqrt(v * M)
    if e <= G:
        assert law @ np.maximum(share - e, 0) <= sqrt(v / M) / 2 * (1 + 1e-9)
    assert law @ np.expm1(y * M * np.maximum(e - share, 0)) <= expm1(M * v * (expm1(y) - y)) + x / 2 + 1e-9
    if place == 2:
        assert law[share <= G].sum() <= exp(-M * G**2 / (2.27 * v)) + 1e-12


@pytest.mark.claim("ranks")
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 5))
def test_the_luckiest_hypothesis_gains_about_the_same(seed, M, n):
    """Step 4, all samples of a population of three kinds of items: Var(m) ≤ (4ν+2G)/M, or (4ν+G)/M where G ≤ ½."""
    generator = np.random.default_rng(seed)
    wrong, weights = generator.integers(0, 2, size=(n, 3)), generator.dirichlet(np.ones(3))
    errors = wrong @ weights
    best = int(errors.argmin())
    G = float(generator.choice(errors - errors[best]) + generator.random() * 0.2)
    near = wrong[errors - errors[best] <= G]
    gains, chances = [], []
    for sample in product(range(3), repeat=M):
        gains.append((wrong[best, list(sample)].sum() - near[:, list(sample)].sum(axis=1)).max() / M)
        chances.append(prod(weights[item] for item in sample))
    mean = np.dot(chances, gains)
    assert np.dot(chances, (np.array(gains) - mean) ** 2) <= (4 * errors[best] + G * (1 + (G > 0.5))) / M + 1e-12


shares = st.lists(st.tuples(st.floats(-0.3, 1), st.floats(-0.3, 1)), min_size=0, max_size=8)


@pytest.mark.claim("ranks")
@given(shares, st.floats(0.05, 1))
def test_shifted_labs_split_by_the_shift_and_as_unshifted_ones(pairs, G):
    """Step 1, for any D: what labs lose that count above their own luckiest."""
    D = np.array([(0.0, 0.0), *pairs]).T  # the best hypothesis is the first
    lucky = -D.min(axis=1)
    shifted = agreement_bound(*(D + lucky[:, None]), (0, G)).exact
    plain = agreement_bound(*np.maximum(D, 0), (0, G)).exact
    assert shifted * G <= lucky.max() + plain * G + abs(lucky[0] - lucky[1]) * log(D.shape[1]) + 1e-9

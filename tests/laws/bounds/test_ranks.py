"""The rank lemma against its definition: sets of hypotheses, one threshold, one shared order (docs/claims/ranks.md)."""

from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical import SharedRandomness, Thresholds
from replical.bounds.ranks import agreement_bound
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


@given(scores, ranges, st.floats(0.01, 100))
def test_equal_weights_change_nothing(pairs, ends, weight):
    one, two = np.array(pairs).T
    uniform = agreement_bound(one, two, ends)
    weighted = agreement_bound(one, two, ends, Prior.weights(Thresholds(len(pairs)), [weight] * len(pairs)))
    for field in ("exact", "ranks", "local", "crude"):
        assert getattr(weighted, field) == pytest.approx(getattr(uniform, field), rel=1e-9, abs=1e-12)


@given(scores, ranges)
def test_the_labs_may_change_places(pairs, ends):
    one, two = np.array(pairs).T
    there, back = agreement_bound(one, two, ends), agreement_bound(two, one, ends)
    assert there.exact == pytest.approx(back.exact, abs=1e-12)
    assert there.ranks == pytest.approx(back.ranks, abs=1e-12)


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

"""What balls of packed rows dispute equals brute force, on every back end."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical.core import bits
from replical.core.kernels.pairs import Balls, Pairs
from support import reference

pytestmark = pytest.mark.usefixtures("kernels")


def world(n, length, digits, seed, heaviest):
    """Codes that differ a little from one another, weights, and what there is to dispute."""
    generator = np.random.default_rng(seed)
    codes = np.where(generator.random((n, length)) < 0.3, generator.integers(2**digits, size=(n, length)), 0)
    weights = generator.integers(1, heaviest + 1, size=length)
    planes = np.stack([bits.pack((codes >> digit) & 1 == 1) for digit in range(digits)])
    return codes, planes, weights, int(weights[(codes != codes[0]).any(axis=0)].sum())


worlds = st.builds(
    world,
    st.integers(1, 8),
    st.integers(1, 70),
    st.integers(1, 2),
    st.integers(0, 2**32),
    st.sampled_from([1, 5, 5000, 2**45]),  # sorted in one, two and four rounds
)


def balls(planes, weights, whole):
    heavy = None if (weights == 1).all() else weights
    return Balls(planes, heavy, whole=whole), Pairs(planes, heavy).among()


@given(worlds, st.sampled_from([0, 1, 3, 10]))
def test_sweeps_equal_brute_force(drawn, tenths):
    codes, planes, weights, whole = drawn
    made, far = balls(planes, weights, whole)
    for centre in range(len(codes)):
        most = int(far[centre].max()) * tenths // 10
        found = zip(*(each.tolist() for each in made.sweep(centre, far[centre], most)), strict=True)
        assert list(found) == [ball for ball in reference.curve(codes, weights, centre) if ball[0] <= most]


@given(worlds, st.sampled_from([0, 1, 3]))
def test_tops_equal_brute_force(drawn, tenths):
    """Alone, a centre has its highest ball; among others, the highest of all is there, and nothing is invented."""
    codes, planes, weights, whole = drawn
    made, far = balls(planes, weights, whole)
    inner, everyone = int(far.max()) * tenths // 10, np.arange(len(codes))
    best = []
    for centre in everyone:
        curve = reference.curve(codes, weights, centre)
        top = max(curve, key=lambda ball: (Fraction(ball[1], ball[0]), -ball[0]) if ball[0] > inner else (0, 0))
        alone = made.tops(np.array([centre]), far[centre][None], inner=inner, best=0.0)
        assert alone.inside[0] == [ball[1] for ball in curve if ball[0] <= inner][-1]
        assert (alone.disputed[0], alone.radius[0]) == ((top[1], top[0]) if top[0] > inner else (0, 0))
        best.append(Fraction(int(alone.disputed[0]), max(1, int(alone.radius[0]))))
    together = made.tops(everyone, far, inner=inner, best=0.0)
    pruned = made.tops(everyone, far, inner=inner, best=float(max(best)))
    for found in (together, pruned):
        ratios = [Fraction(int(a), max(1, int(b))) for a, b in zip(found.disputed, found.radius, strict=True)]
        assert [ratio == max(best) for ratio in ratios] == [ratio == max(best) for ratio in best]
        assert all(ratio in (0, own) for ratio, own in zip(ratios, best, strict=True))

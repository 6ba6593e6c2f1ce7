"""Distances between packed rows equal brute force, on every back end, whatever is kept and however it is shared."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical.core import bits
from replical.core.kernels import backend, pairs
from replical.core.kernels.pairs import GrowingBalls, Pairs
from support import reference

pytestmark = pytest.mark.usefixtures("kernels")


def rows(n, length, digits, seed):
    """Random codes and their planes; rows 0 and 1 are equal, row 2 is the opposite."""
    codes = np.random.default_rng(seed).integers(2**digits, size=(n, length))
    codes[1:2], codes[2:3] = codes[0], 2**digits - 1 - codes[0]
    return codes, np.stack([bits.pack((codes >> digit) & 1 == 1) for digit in range(digits)])


def brute(codes, weights):
    return [[sum(int(w) for w, a, b in zip(weights, g, h, strict=True) if a != b) for h in codes] for g in codes]


@given(
    st.integers(1, 9), st.integers(1, 200), st.integers(1, 3), st.integers(0, 2**32), st.sampled_from([0, 1, 9, 2**40])
)
def test_distances_equal_brute_force(n, length, digits, seed, heaviest):
    codes, planes = rows(n, length, digits, seed)
    weights = None if heaviest == 0 else np.random.default_rng(seed).integers(1, heaviest + 1, size=length)
    expected = brute(codes.tolist(), np.ones(length, dtype=int) if weights is None else weights)
    found = Pairs(planes, weights)
    assert found.matrix().tolist() == expected
    assert found.distances(np.array([n - 1, 0]), 1).tolist() == [expected[n - 1][1:], expected[0][1:]]


@pytest.mark.parametrize("digits", [1, 2, 4])
@pytest.mark.parametrize(("n", "length"), [(131, 100), (7, 64 * 515), (66, 512 * 64)])
def test_more_than_a_tile_and_more_than_a_strip(n, length, digits):
    """Odd numbers of rows, blocks that end within a tile, and strips that end within a row."""
    codes, planes = rows(n, length, digits, n)
    expected = (codes[:, None, :] != codes[None, :, :]).sum(axis=2) if n < 100 else [
        (codes != row).sum(axis=1) for row in codes]  # fmt: skip
    assert (Pairs(planes).matrix() == expected).all()


@pytest.mark.parametrize("held", [0, 2**29])
@pytest.mark.parametrize("count", [1, 3])
def test_blocks_are_rows_of_the_matrix_whether_it_is_kept_or_not(held, count, monkeypatch):
    codes, planes = rows(150, 700, 1, 3)
    monkeypatch.setattr(pairs, "_HELD", held)
    monkeypatch.setattr(pairs, "_SHARE", 1)
    monkeypatch.setattr(backend, "thread_count", lambda: count)
    blocks = list(Pairs(planes).blocks(np.arange(150)))
    assert [h for block, _ in blocks for h in block.tolist()] == list(range(150))
    assert (np.concatenate([far for _, far in blocks]) == [(codes != row).sum(axis=1) for row in codes]).all()


def test_rows_start_on_cache_lines():
    planes = pairs.align(np.ones((2, 3, 9), dtype=np.uint64))
    assert planes.shape == (2, 3, 16)
    assert planes.ctypes.data % 64 == 0
    assert planes.sum() == 2 * 3 * 9
    assert pairs.align(planes) is planes


@pytest.mark.parametrize(("weights", "dtype"), [(None, np.uint16), ([2**15] * 2, np.int32), ([2**40] * 2, np.int64)])
def test_distances_are_kept_in_the_fewest_bits(weights, dtype):
    planes = bits.pack(np.array([[[True, True], [False, False]]]))
    found = Pairs(planes, None if weights is None else np.array(weights)).matrix()
    assert found.dtype == dtype
    assert found[0, 1] == (2 if weights is None else sum(weights))


# ---- balls ----


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
    return GrowingBalls(planes, heavy, whole=whole), Pairs(planes, heavy).matrix()


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

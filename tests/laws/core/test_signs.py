"""Signs packed as they are found out are those of sums made number by number, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical.core import bits
from replical.core.kernels import signs as module
from replical.core.kernels.signs import signs

pytestmark = pytest.mark.usefixtures("kernels")


def packed(points, factors, starts):
    out = np.full((len(points), bits.words_for(len(factors))), 2**64 - 1, dtype=np.uint64)
    signs(points, factors, starts, out)
    return out


def brute(points, factors, starts):
    """Python's own arithmetic, one rounded operation after the other."""
    rows = []
    for x in points.tolist():
        row = []
        for w, start in zip(factors.tolist(), starts.tolist(), strict=True):
            height = start
            for a, b in zip(w, x, strict=True):
                height += a * b
            row.append(height >= 0)
        rows.append(row)
    return bits.pack(np.array(rows))


@given(st.integers(1, 5), st.integers(1, 150), st.integers(1, 4), st.integers(0, 2**32))
def test_signs_equal_sums_made_one_by_one(points, planes, dimensions, seed):
    generator = np.random.default_rng(seed)
    x, w = generator.normal(size=(points, dimensions)), generator.normal(size=(planes, dimensions))
    starts = generator.normal(size=planes)
    starts[::3] = -(w[::3] * x[0]).sum(axis=1)  # as good as zero: the last bit decides
    assert (packed(x, w, starts) == brute(x, w, starts)).all()


@pytest.mark.parametrize("planes", [1, 64, 511, 512, 513, 1100])
def test_stretches_end_anywhere(planes, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 128)
    generator = np.random.default_rng(planes)
    x, w, starts = generator.normal(size=(5, 3)), generator.normal(size=(planes, 3)), generator.normal(size=planes)
    assert (packed(x, w, starts) == brute(x, w, starts)).all()


def test_products_are_rounded_before_they_are_added():
    """A fused multiplication would see the remainder of the product, and call half of these zeros negative."""
    generator = np.random.default_rng(1)
    x, w = generator.normal(size=(1, 1)), generator.normal(size=(500, 1))
    assert bits.unpack(packed(x, w, -(w[:, 0] * x[0, 0])), 500).all()


@pytest.mark.parametrize("ties", [2, 40])
def test_a_few_sums_that_are_almost_zero(ties):
    """So few that most signs are known without adding in order, and more."""
    generator = np.random.default_rng(ties)
    x, w, starts = generator.normal(size=(7, 3)), generator.normal(size=(300, 3)), generator.normal(size=300)
    starts[:ties] = -(w[:ties] * x[2]).sum(axis=1)
    assert (packed(x, w, starts) == brute(x, w, starts)).all()


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e-320])
def test_products_too_large_or_too_small_for_a_double(size):
    generator = np.random.default_rng(1)
    x, w = generator.normal(size=(4, 3)) * size, generator.normal(size=(70, 3)) * size
    with np.errstate(all="ignore"):
        assert (packed(x, w, np.zeros(70)) == brute(x, w, np.zeros(70))).all()


def test_minus_zero_is_no_negative_number():
    assert packed(np.array([[0.0]]), np.array([[-1.0], [1.0]]), np.array([-0.0, -0.0])).tolist() == [[3]]

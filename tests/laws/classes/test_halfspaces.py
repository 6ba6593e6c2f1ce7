"""Half-spaces packed as they are made say what `codes` says, to the bit, and never hold more than the bits."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical import HalfSpaces
from replical.classes.predictions.packed import PackedPredictions
from replical.core import bits
from replical.core.kernels import backend

pytestmark = pytest.mark.usefixtures("kernels")


@given(st.integers(1, 4), st.integers(1, 140), st.integers(1, 20), st.integers(0, 2**32))
def test_packed_predictions_are_the_codes(dimensions, count, items, seed):
    """Half of the items lie on a boundary, as nearly as numbers can."""
    C = HalfSpaces(dimensions, count, seed="packed")
    X = np.random.default_rng(seed).normal(size=(items, dimensions))
    on = np.arange(items)[::2] % count
    X[::2] = C.normals[on] * C.offsets[on][:, None]
    everyone = np.arange(count)
    packed = PackedPredictions(C, C.items(X)).transpose(np.arange(items))
    assert (bits.unpack(packed[0], items) == C.codes(X, everyone)).all()


def test_no_table_of_numbers_is_made(monkeypatch):
    """2 MB of bits; label codes would take 32."""
    monkeypatch.setattr(backend, "thread_count", lambda: 1)  # each has some room of its own
    C, X = HalfSpaces(3, 4000, seed="packed"), np.random.default_rng(0).normal(size=(4000, 3))
    PackedPredictions(C, X[:2])  # compiles
    tracemalloc.start()
    try:
        PackedPredictions(C, X)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 5e6

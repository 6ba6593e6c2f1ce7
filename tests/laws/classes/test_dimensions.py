"""Littlestone and VC dimension against their definitions, and what both are for known classes."""

from math import floor, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical import Intervals, PredictionTable, Star, Thresholds
from replical.classes import dimensions
from replical.classes.dimensions import littlestone, vc
from replical.errors import ValueOutOfRange
from support import reference

tables = st.integers(1, 6).flatmap(lambda m: st.lists(st.tuples(*[st.integers(0, 1)] * m), min_size=1, max_size=14))


@given(tables)
def test_they_are_their_twins(rows):
    """Rows may repeat; an item on which all agree, or a copy of another, changes nothing."""
    C = PredictionTable([f"h{number}" for number in range(len(rows))])
    items = C.items(np.array(rows).T)
    found = littlestone(C, items), vc(C, items)
    assert found == (reference.littlestone(frozenset(rows)), reference.vc(set(rows)))
    assert found[1] <= found[0] <= log2(len(set(rows)))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 100])
def test_dimensions_of_known_classes(n):
    assert littlestone(Thresholds(n)) == floor(log2(n))
    assert vc(Thresholds(n)) == min(1, n - 1)
    assert (littlestone(Star(n)), vc(Star(n))) == (1, 1)
    assert vc(Intervals(min(2 * n, 20) + 1)) == 2


def test_too_large_classes_are_refused_with_a_sentence(monkeypatch):
    for dimension in (littlestone, vc):
        with pytest.raises(ValueOutOfRange, match="at most 1,024 hypotheses and .* got 1,025"):
            dimension(Thresholds(1025))
        with pytest.raises(ValueOutOfRange, match="2 labels, and this one has 3"):
            dimension(PredictionTable(["a", "b"], labels=("x", "y", "z")))
        with pytest.raises(ValueOutOfRange, match="give the items"):
            dimension(PredictionTable(["a", "b"]))
    monkeypatch.setattr(dimensions, "_STEPS", 1000)
    noise = PredictionTable([f"h{number}" for number in range(200)])
    for dimension in (littlestone, vc):
        with pytest.raises(ValueOutOfRange, match="takes too long: take fewer"):
            dimension(noise, noise.items(np.random.default_rng(1).integers(0, 2, size=(80, 200))))

"""Predictions on a line and packed predictions say the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical import Intervals, Thresholds
from replical.classes.predictions.line import LinePredictions
from replical.classes.predictions.packed import PackedPredictions
from support import reference

pytestmark = pytest.mark.usefixtures("kernels")


@given(st.integers(2, 60), st.data())
def test_nearness_on_a_line_equals_packed_nearness(n, data):
    C = Thresholds(n)
    x = np.array(data.draw(st.lists(st.integers(-1, n), min_size=1, max_size=40)))
    items = np.array(data.draw(st.lists(st.integers(0, len(x) - 1), max_size=30)), dtype=np.int64)
    among = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=40))))
    everyone = np.arange(n)
    line, packed = LinePredictions(C, x).nearness(items), PackedPredictions(C, x).nearness(items)
    expected = [reference.nearest(reference.all_codes(C, x), items, h, among.tolist()) for h in everyone]
    assert line.nearest(everyone, among).tolist() == expected
    marks = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    for form in (line, packed):
        assert form.nearest_marks(everyone, among, marks).tolist() == marks[expected].tolist()


@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_predictions_can_be_taken_item_by_item(n, m, data):
    C = Intervals(8) if data.draw(st.booleans()) else Thresholds(n)
    x = np.array(data.draw(st.lists(st.integers(0, 7), min_size=m, max_size=m)))
    items = np.array(data.draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=10)))
    kind = LinePredictions if isinstance(C, Thresholds) else PackedPredictions
    some, direct = kind(C, x).take(items), kind(C, x[items])
    for h in range(len(C)):
        assert some.codes(h).tolist() == direct.codes(h).tolist()

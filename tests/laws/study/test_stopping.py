"""The stop of a cell, whatever its numbers are."""

import hypothesis.strategies as st
from hypothesis import assume, given

from replical.core.exact import clopper_pearson
from replical.study.spec import Enough

# Stops
STOPS = st.builds(
    lambda half_width, batch, batches, odd: Enough(half_width=half_width, batch=batch, max_pairs=batch * batches + odd % batch),
    st.floats(0.01, 0.4), st.integers(1, 60), st.integers(1, 20), st.integers(0, 59),
)  # fmt: skip


@given(STOPS, st.data())
def test_width_is_looked_at_after_whole_batches_and_nothing_else_is(stop, data):
    pairs = data.draw(st.integers(1, stop.max_pairs // stop.batch)) * stop.batch
    agreements = data.draw(st.integers(0, pairs))
    low, high = clopper_pearson(agreements, pairs)
    assume(abs((high - low) / 2 - stop.half_width) > 1e-9)
    wanted = stop.wanted(agreements, pairs)
    if (high - low) / 2 < stop.half_width:
        assert wanted == pairs
    else:
        assert wanted == min(pairs + stop.batch, stop.max_pairs)
    assert wanted == stop.wanted(pairs - agreements, pairs)  # the same, wherever the interval lies


@given(STOPS)
def test_the_first_batch_is_always_run_and_no_cell_exceeds_its_most(stop):
    assert stop.wanted(0, 0) == stop.batch
    assert stop.wanted(stop.max_pairs // 2, stop.max_pairs) == stop.max_pairs


@given(STOPS, st.data())
def test_what_is_expected_lies_between_what_is_wanted_and_the_most(stop, data):
    pairs = data.draw(st.integers(0, stop.max_pairs // stop.batch)) * stop.batch
    agreements = data.draw(st.integers(0, pairs))
    assert stop.wanted(agreements, pairs) <= stop.expected(agreements, pairs) <= stop.max_pairs
    assert Enough(pairs=7).expected(agreements, pairs) == 7

"""Sets of hypotheses in a certificate read back as themselves."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.learners.proof import indices_of, set_of


@settings(max_examples=60)
@given(st.sets(st.integers(0, 40)))
def test_sets_are_written_as_ranges_and_read_back(members):
    indices = np.array(sorted(members), dtype=np.int64)
    told = set_of(indices)
    assert told["count"] == len(members)
    assert len(told["ranges"]) == sum(h - 1 not in members for h in members)
    assert indices_of(told, 41).tolist() == indices.tolist()

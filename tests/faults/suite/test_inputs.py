"""Mutated files of every format: each is accepted, or refused in a sentence."""

import pytest

from support.faults import scaled
from support.fuzz import fuzz


@pytest.mark.slow
def test_mutated_inputs(counted):
    counts = counted("mutated files")
    found = fuzz(scaled(20_000), 21)
    for name in ("inputs", "tracebacks", "crashes", "hangs"):
        setattr(counts, name, getattr(found, name))
    print(found.table())
    assert found.found == []

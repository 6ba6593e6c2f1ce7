"""Mutated files of every format: accepted, or refused in a sentence."""

import tempfile
from pathlib import Path

import pytest

from support.examples import make_examples
from support.formats import FORMATS
from support.fuzz import fuzz

pytestmark = pytest.mark.slow  # tables that once crashed are in the fast suite: test_hostile_tables.py


def test_every_example_is_accepted_as_it_is(tmp_path):
    make_examples(tmp_path, list(FORMATS))
    for name, form in FORMATS.items():
        examples = sorted(tmp_path.glob(form.pattern))
        assert examples, name
        for example in examples:
            with tempfile.TemporaryDirectory() as scratch:
                path = Path(scratch) / example.name
                path.write_bytes(example.read_bytes())
                assert form.read(path, tmp_path), example.name


def test_a_thousand_mutated_files():
    counts = fuzz(1200, 7)
    assert counts.faults == 0, counts.found
    assert set(counts.by_format) == set(FORMATS)
    assert counts.accepted > 50
    assert counts.refused > 600

"""Files of every format, as they are and mutated: each is accepted, or refused in a sentence."""

import tempfile
from pathlib import Path

import pytest

from support.examples import make_examples
from support.faults import scaled
from support.formats import FORMATS
from support.fuzz import fuzz

pytestmark = pytest.mark.slow  # tables that once crashed are in the fast suite: faults/lab/test_tables.py


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


def test_mutated_inputs(counted):
    counts = counted("mutated files")
    found = fuzz(scaled(20_000), 21)
    counts.inputs, counts.tracebacks = found.all.total(), found.all["traceback"]
    counts.crashes, counts.hangs = found.all["crash"], found.all["hang"]
    print(found.table())
    assert found.found == []
    assert set(found.by_format) == set(FORMATS)
    assert found.all["accepted"] > counts.inputs // 24
    assert found.all["refused"] > counts.inputs // 2

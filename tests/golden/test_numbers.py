"""Did a published number move?"""

import importlib.util
import json
from pathlib import Path

import pytest

from replical.core.randomness import GOLDEN, wrong_words
from support.reference import shared_word

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("golden_make", HERE / "make.py")
make = importlib.util.module_from_spec(spec)


spec.loader.exec_module(make)


@pytest.mark.parametrize("name", make.GOLDEN)
def test_published_numbers_have_not_moved(name):
    assert make.GOLDEN[name]() == json.loads((HERE / f"{name}.json").read_text())


@pytest.mark.claim("randomness")
def test_golden_words_equal_the_pure_python_reference():
    """The files were not made by the code they check: an independent Philox and BLAKE2b agree."""
    for entry in json.loads((HERE / "randomness.json").read_text()):
        assert shared_word(entry["seed"], entry["name"], entry["index"]) == entry["word"]
    for (seed, name, index), word in GOLDEN.items():
        assert shared_word(seed, name, index) == word
    assert not wrong_words()


@pytest.mark.claim("randomness")
@pytest.mark.mutant
def test_a_moved_word_is_noticed(monkeypatch):
    monkeypatch.setitem(GOLDEN, ("replical", ("order",), 0), 1)
    assert wrong_words() == ["'replical' ('order',) [0]"]

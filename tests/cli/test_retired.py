"""What earlier versions had: whoever types it is told what to use now."""

import json

import pytest

from replical.errors import RETIRED, BadProtocol, BadSpec, BadTable, remedy
from replical.lab.columns import open_table
from replical.lab.schema import check_shape
from replical.learners.catalogue import find
from replical.learners.parameters import PARAMETERS
from support.lab import content

OLD = {"--old-flag": "leave it out", "old-learner": "take cal", ".old": "write .parquet"}


@pytest.fixture(autouse=True)
def rows(monkeypatch):
    for word, use in OLD.items():
        monkeypatch.setitem(RETIRED, word, use)


TABLE = sorted({*RETIRED, *OLD})
OPTIONS, KINDS = ([each for each in TABLE if each.startswith(mark)] for mark in ("--", "."))
WORDS = [each for each in TABLE if each not in OPTIONS + KINDS]
KEYS = {each.removeprefix("--").replace("-", "_") for each in OPTIONS} - {*PARAMETERS}


def test_of_any_other_word_nothing_is_said():
    assert remedy("cal") == remedy("--labs") == remedy(".csv") == remedy("labs") == ""


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option(option, command):
    code, out, err = command("doctor", option, "x")
    assert (code, out) == (2, "")
    assert err == f"Error: No such option: {option}{remedy(option)}\n"
    code, out, err = command("doctor", option, "x", "--json")
    assert (code, json.loads(out)["message"], err) == (2, f"No such option: {option}{remedy(option)}", "")


@pytest.mark.parametrize("word", WORDS)
def test_a_learner_or_a_command(word, command):
    with pytest.raises(BadSpec) as refused:
        find(word)
    assert str(refused.value) == f"unknown learner {word!r}{remedy(word)}"
    code, out, err = command(word)
    assert (code, out, err) == (2, "", f"Error: No such command {word!r}{remedy(word)}\n")


@pytest.mark.parametrize("key", sorted(KEYS))
@pytest.mark.parametrize("section", ["", "learner", "labels"])
def test_a_key_of_a_protocol(section, key):
    said = content()
    (said[section] if section else said)[key] = 1
    with pytest.raises(BadProtocol) as refused:
        check_shape(said)
    assert str(refused.value).endswith(f" has no key {key!r}{remedy(key)}")


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_file(kind):
    pytest.importorskip("pyarrow")
    with pytest.raises(BadTable) as refused, open_table(f"pool{kind}", ("id",)):
        pass
    assert str(refused.value).endswith(f"got pool{kind}{remedy(kind)}")

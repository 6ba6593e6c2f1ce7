"""What earlier versions had: whoever types it is told what to use now."""

import json
import re

import pytest

from replical.errors import RETIRED, BadProtocol, BadSpec, BadTable, remedy
from replical.lab.columns import open_table
from replical.lab.schema import check_shape
from replical.learners.catalogue import find
from replical.learners.parameters import PARAMETERS
from support.lab import content

OLD = {
    "--old-flag": "leave it out",
    "old-learner": "take cal",
    ".old": "write .parquet",
    "replical old": "type replical new",
}


@pytest.fixture(autouse=True)
def rows(monkeypatch):
    for word, use in OLD.items():
        monkeypatch.setitem(RETIRED, word, use)


TABLE = sorted({*RETIRED, *OLD})
OPTIONS, KINDS = ([each for each in TABLE if each.startswith(mark)] for mark in ("--", "."))
COMMANDS = [each for each in TABLE if each.startswith("replical ")]
LEARNERS = [each for each in TABLE if each not in OPTIONS + KINDS + COMMANDS]
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


@pytest.mark.parametrize("word", LEARNERS)
def test_a_learner(word):
    with pytest.raises(BadSpec) as refused:
        find(word)
    assert str(refused.value) == f"unknown learner {word!r}{remedy(word)}"


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command(words, command):
    word = words.removeprefix("replical ")
    said = f"No such command {word!r}{remedy(words)}"
    for more in ((), ("new", "--out", "p.toml")):
        assert command(word, *more) == (2, "", f"Error: {said}\n")
    code, out, err = command(word, "--json")
    assert (code, json.loads(out)["message"], err) == (2, said, "")


@pytest.mark.parametrize("words", [each for each in COMMANDS if "type replical" in RETIRED.get(each, "")])
def test_the_command_in_its_place_is_one(words, command):
    (path,) = re.findall(r"type replical ([a-z ]+?)(?: to | --|$)", RETIRED[words])
    code, out, _ = command(*path.split(), "--help")
    assert (code, f"replical {path}" in out) == (0, True)


def test_words_that_are_common_are_no_commands_elsewhere():
    """A protocol has keys with the names of old commands."""
    assert remedy("keys") == remedy("study") == ""


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

"""The map of the paper: every object has a row, every row a function that can be imported and a test that is there."""

import importlib
import re
import tomllib
from functools import reduce

import pytest

from support.claims import all_tests
from support.paths import ROOT

TESTS = all_tests()
OBJECTS = [
    (name, where)
    for section in tomllib.loads((ROOT / "docs" / "paper-objects.toml").read_text(encoding="utf-8")).values()
    for name, where in section.items()
]
TABLES, _, READINGS = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8").partition("\n## Readings\n")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in TABLES.splitlines()
    if line.startswith("| ") and not line.startswith("| object ")
]
SYMBOLS = "b c C d D DIS(V) δ Δ(V) ε err_S(h) err^D_S(h) φ h I_i k m N ψ r R ρ S T Θ ν v σ_r V τ π x y"  # Appendix A
NOTHING_TO_RUN = {"sym"}  # a list of symbols


def found(function):
    """What `module:name` stands for."""
    module, _, name = function.partition(":")
    return reduce(getattr, name.split("."), importlib.import_module(f"replical.{module}"))


def test_every_object_has_a_row_and_every_row_an_object():
    assert [row[0] for row in ROWS] == [name for name, _ in OBJECTS]
    assert len({row[0] for row in ROWS}) == len(ROWS) > 150


def test_rows_name_functions_and_tests_that_exist():
    for name, words, functions, test, deviation in ROWS:
        assert words, name
        if name in NOTHING_TO_RUN:
            assert functions == "-" != deviation, name
        else:
            named = re.findall(r"`([\w.]+:[\w.]+)`", functions)
            assert named, f"{name}: which function is {functions}?"
            assert functions == ", ".join(f"`{each}`" for each in named)
            for each in named:
                assert found(each) is not None
        if test != "-" or name not in NOTHING_TO_RUN:
            assert test.strip("`") in TESTS, f"{name}: {test} is not there"


@pytest.mark.parametrize(
    "function", ["learners.paper.cal:Nobody", "learners.paper.cal:CAL.walk", "learners.nowhere:CAL"]
)
def test_a_function_that_is_not_there_is_noticed(function):
    with pytest.raises((AttributeError, ImportError)):
        found(function)


def test_an_object_has_a_place():
    for name, where in OBJECTS:
        assert re.fullmatch(r".+ \[\d+(-\d+)?(, \d+(-\d+)?)*\]", where), name


def test_lines_of_the_boxes_are_complete():
    """As many lines as each algorithm has in print."""
    boxes = {"alg1": 8, "alg2": 5, "alg3": 19, "alg4": 23}
    for box, last in boxes.items():
        lines = [re.fullmatch(rf"{box}\.(\d+)[abc]?", name) for name, _ in OBJECTS]
        numbers = {int(line[1]) for line in lines if line}
        assert numbers == set(range(1, last + 1))


def test_readings_are_numbered_and_every_one_is_used():
    there = re.findall(r"^\| (P\d+) \|", READINGS, re.MULTILINE)
    assert there == [f"P{number}" for number in range(1, len(there) + 1)]
    assert set(re.findall(r"\bP\d+\b", "\n".join(row[4] for row in ROWS))) == set(there)


def test_readings_that_other_pages_name_exist():
    there = set(re.findall(r"^\| (P\d+) \|", READINGS, re.MULTILINE))
    for page in sorted(ROOT.glob("docs/**/*.md")):
        for link in re.findall(r"\[([P\d, and]+)\]\([./]*paper\.md(?:#readings)?\)", page.read_text(encoding="utf-8")):
            assert set(re.findall(r"P\d+", link)) <= there, f"{page}: {link}"


def test_every_symbol_of_the_paper_is_in_the_notation():
    table = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    there = {
        re.sub(r" \(.*", "", symbol)
        for line in table.splitlines()
        if line.startswith("| ")
        for symbol in line.strip("| ").split(" | ")[0].split(", ")
    }
    assert [symbol for symbol in SYMBOLS.split() if symbol not in there] == []

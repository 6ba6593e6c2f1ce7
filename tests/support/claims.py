"""What the pages of docs/claims and the tests say of each other, read without running anything."""

import ast
import re
from dataclasses import dataclass

from support.paths import ROOT

PAGES = sorted(path.stem for path in (ROOT / "docs" / "claims").glob("*.md") if path.stem != "README")
HEAD = "**Checked by**"
ENTRY = re.compile(r"- (?P<kind>\w+): `tests/(?P<file>[\w/]+\.py)::(?P<name>test_\w+)`")
NONE = re.compile(r"- mutant: none, because \S.*\.")
FOLDERS = {"guarantee": "guarantees", "law": "laws", "unit": "unit", "contract": "contract", "golden": "golden"}


@dataclass(frozen=True)
class Entry:
    """One line under the head: what the test is there for, and which one it is."""

    kind: str
    test: str


@dataclass(frozen=True)
class Marked:
    """A test: the pages it names, and whether it says that it notices something broken."""

    pages: frozenset
    mutant: bool


def checked_by(page):
    """The lines at the end of a page: entries, and reasons for having no mutant."""
    text = (ROOT / "docs" / "claims" / f"{page}.md").read_text(encoding="utf-8")
    assert text.count(HEAD) == 1, f"{page}.md needs one head {HEAD}"
    lines = [line for line in text.partition(HEAD)[2].splitlines() if line.strip()]
    entries, reasons = [], []
    for line in lines:
        found = ENTRY.fullmatch(line)
        assert found or NONE.fullmatch(line), f"{page}.md ends with a line that nobody can read: {line}"
        if found:
            entries.append(Entry(found["kind"], f"{found['file']}::{found['name']}"))
        else:
            reasons.append(line)
    return entries, reasons


def all_tests():
    """Every test function of the suite, by its file and name."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                name = f"{path.relative_to(ROOT / 'tests').as_posix()}::{node.name}"
                found[name] = _marked(node.decorator_list)
    return found


def _marked(decorators):
    pages, mutant = [], False
    for each in decorators:
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "pytest.mark.claim":
            pages += [argument.value for argument in each.args]
        mutant |= ast.unparse(each) == "pytest.mark.mutant"
    return Marked(frozenset(pages), mutant)

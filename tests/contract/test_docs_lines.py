"""Pages can be read, and compared, line by line: prose keeps to 120 characters."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).parents[2]
WIDTH = 120
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")]


def too_long(text):
    """Numbers of the lines that could be broken and are not: no tables, no code, no single word such as an address."""
    fenced, code, before, found = False, False, "", []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.startswith("    ") and (code or not before.strip())
        if re.match(r"\s*(```|~~~)", line):
            fenced = not fenced
        elif len(line) > WIDTH and not (fenced or code) and not re.match(r"\s*\|", line) and _breakable(line):
            found.append(number)
        before = line
    return found


def _breakable(line):
    """Is there a space to break at, after the mark of a list item and before the margin, outside code?"""
    begin = re.match(r"\s*([-*+] |\d+\. |#+ )?", line).end()
    bare = re.sub(r"`[^`]*`", lambda code: "x" * len(code[0]), line)
    return " " in bare[begin : WIDTH + 1]


def test_lines_of_prose_fit():
    pages = [*PAGES, *sorted(ROOT.glob("docs/**/*.md"))]
    assert len(pages) > 50
    long = [f"{page.relative_to(ROOT)}:{number}" for page in pages for number in too_long(page.read_text("utf-8"))]
    assert not long, f"over {WIDTH} characters: {', '.join(long)}"


def test_code_that_begins_ends():
    """A fence stands on a line of its own; one behind a sentence would close nothing."""
    for page in [*PAGES, *sorted(ROOT.glob("docs/**/*.md"))]:
        lines = page.read_text("utf-8").splitlines()
        assert sum(line.lstrip().startswith("```") for line in lines) % 2 == 0, page
        assert not [line for line in lines if line.rstrip().endswith("```") and not line.lstrip().startswith("```")], (
            page
        )

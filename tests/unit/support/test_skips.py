"""Whoever skips a test says what would run it."""

import re

import pytest

from support.paths import ROOT
from support.skips import lines, remedy


def reasons():
    """Those that the tests give, and those of missing packages."""
    texts = [file.read_text("utf-8") for file in (ROOT / "tests").rglob("test_*.py")] + [
        (ROOT / "tests/conftest.py").read_text("utf-8")
    ]
    written = re.compile(r'(?:skipif\([^\n]*reason=|pytest\.skip\()f?"([^"]+)"')
    named = {f"could not import '{name}': x" for text in texts for name in re.findall(r'importorskip\("(\w+)', text)}
    return sorted({reason for text in texts for reason in written.findall(text)} | named)


@pytest.mark.parametrize("reason", reasons())
def test_every_reason_has_a_remedy(reason):
    if "'resource'" in reason or "'sqlalchemy'" in reason:  # part of Python on Linux, and of the core
        return
    assert remedy(reason) != "see the reason"


def test_the_last_lines_count_and_name_what_was_left_out():
    missing = ["could not import 'opendp': No module named 'opendp'"] * 3 + [
        "no chromium and chromedriver on this machine"
    ]
    assert lines(missing, "not slow and not nightly") == [
        "  1 skipped (no chromium and chromedriver on this machine): install chromium and chromedriver",
        "  3 skipped (could not import 'opendp': No module named 'opendp'): pip install -c constraints.txt -e '.[private]'",
        "  tests marked slow or nightly: make nightly",
    ]
    assert lines([]) == []

"""``replical demo`` says what it promises."""

import subprocess
import sys

import pytest

from support.commands import replical

FEWER = "import replical.cli.demo as demo; demo.PAIRS = 6; from replical.cli import run; run()"


def assert_says(done):
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert "replical demo / pair 0" in shown
    assert all(word in shown for word in ("Settled", "A2, at its", "best on", "240 classifiers", "identical", "Proven"))


def test_demo():
    """As people run it, with a tenth of the pairs."""
    words = [sys.executable, "-c", FEWER, "demo"]
    assert_says(subprocess.run(words, capture_output=True, text=True, timeout=300, check=False))


@pytest.mark.slow
def test_demo_with_all_its_pairs():
    assert_says(replical("demo"))

"""``replical demo`` says what it promises."""

import re
import subprocess
import sys

import pytest

FEWER = "import replical.cli.demo as demo; demo.TEXTS = {}; from replical.cli import run; run()"


def demo(texts):
    words = [sys.executable, "-c", FEWER.format(texts), "demo"]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def said(done):
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def test_demo_proves_and_says_what_cannot_be_proven():
    """As people run it, with a few of the texts."""
    shown = said(done := demo(4))
    assert "4 of 4 texts ended with every lab certified and all three labs with the identical model" in shown
    same = int(re.search(r"agreed in (\d) of 4 cases, and could prove nothing", shown).group(1))
    assert same < 4
    assert "12 of 12" in shown  # labs with a proof
    assert "replical demo --files replical-demo" in shown
    lines = done.stderr.splitlines()  # not a terminal: lines, none of them twice
    assert lines
    assert len(set(lines)) == len(lines)


@pytest.mark.slow
def test_demo_with_all_its_texts():
    """Sixty texts; the first line comes while they are still to be computed."""
    words = [sys.executable, "-m", "replical", "demo"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        first = running.stdout.readline()
        assert running.poll() is None
        shown = " ".join((first + running.stdout.read()).split())
    assert first.startswith("Three labs choose one of 12 models")
    assert "60 of 60 texts ended with every lab certified and all three labs with the identical model" in shown
    assert "agreed in 1 of 60 cases, and could prove nothing" in shown

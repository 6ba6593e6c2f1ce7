"""``replical demo`` says what it promises."""

import re
import runpy
import subprocess
import sys

import pytest

from support.paths import ROOT

FEWER = "import replical.cli.demo as demo; demo.TEXTS = {}; from replical.cli import run; run()"


def demo(texts):
    words = [sys.executable, "-c", FEWER.format(texts), "demo"]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def said(done):
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def test_demo_says_what_labels_buy():
    """As people run it, with a few of the texts."""
    shown = said(done := demo(2))
    assert re.search(r"times all three chose one model │ 2 of 2 │ \d of 2 │ \d of 2 │", shown)
    assert re.search(r"Labels buy the proof: \d of 6 labs have one", shown)
    assert re.search(r"the favourite errs 0\.\d+ more than the best, and nothing says so", shown)
    assert "replical demo --files replical-demo" in shown
    lines = done.stderr.splitlines()  # not a terminal: lines; two of the same, as there are two tables
    assert lines
    assert len(set(lines)) == len(lines) / 2


@pytest.mark.slow
def test_demo_with_all_its_texts():
    """Forty texts; the first line comes while they are still to be computed. The picture says the same."""
    words = [sys.executable, "-m", "replical", "demo"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        first = running.stdout.readline()
        assert running.poll() is None
        shown = " ".join((first + running.stdout.read()).split())
    assert first.startswith("Three labs choose one of 12 models")
    picture = re.findall(r">([^<]*)</text>", (ROOT / "docs" / "figures" / "why.svg").read_text("utf-8"))
    cells = [words.replace("/", " of ") for words in picture if re.fullmatch(r"\d+/\d+", words)]
    assert len(cells) == 8
    assert all(cell in shown for cell in cells)


def test_the_table_of_the_readme_is_the_picture():
    """Every number of the README's table stands in the picture, in its order; the script that draws it can be loaded."""
    assert "main" in runpy.run_path(str(ROOT / "docs" / "figures" / "why.py"))
    readme = (ROOT / "README.md").read_text("utf-8")
    rows = re.findall(r"^\|.*\| +(\d+) \| (\d+/\d+) \| (\S+) \| ([\d.() ]+) \|$", readme, re.M)
    picture = re.findall(r">([^<]*)</text>", (ROOT / "docs" / "figures" / "why.svg").read_text("utf-8"))
    stated = [words for words in picture if re.match(r"\d+(/|$|\.\d)|nothing", words)]
    assert len(rows) == 6
    assert [cell.replace("none", "nothing") for row in rows for cell in row] == stated

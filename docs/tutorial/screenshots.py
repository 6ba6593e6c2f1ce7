"""Makes the pictures of the tutorial: a run with handwritten digits, labelled at the page in a real browser.

    python docs/tutorial/screenshots.py

The files are those of examples/people_who_label.py, in a temporary folder. Needs scikit-learn, and Debian's chromium
with its driver.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sklearn.datasets import load_digits

ROOT = Path(__file__).parents[2]
FIGURES = Path(__file__).parent / "figures"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "examples")]
from people_who_label import RUN, make_files  # noqa: E402

from support.browser import browsers  # noqa: E402

BATCH = 3  # with all of a batch open there is an item for every window
TRIES = 8  # a run's length varies, and now and then one ends before the disagreement has moved
SHOWN = """const it = document.querySelector('#item-id').innerText;
return it.startsWith('Item') ? it : document.querySelector('#say').innerText.startsWith('All done') && 'All done'"""
CHANGED = "return document.querySelector('#item-id').innerText !== arguments[0]"
STILL = f"if (document.getAnimations().length) return false; {SHOWN}"
PLOT = "return !document.querySelector('#plot').hasAttribute('hidden')"


def main() -> None:
    """Make the files, then label until there is something to see."""
    parser = argparse.ArgumentParser(description="Make the pictures of the tutorial about people who label.")
    parser.add_argument(
        "--out", type=Path, default=FIGURES, metavar="DIR", help="folder of the pictures; docs/tutorial/figures"
    )
    out = parser.parse_args().out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        make_files()
        for number in range(TRIES):
            with served(f"lab-{number}.db") as url:
                if take(url, out):
                    return
    raise SystemExit(f"{TRIES} runs ended before the disagreement had moved: try again")


@contextlib.contextmanager
def served(journal: str) -> Iterator[str]:
    """The command of the tutorial, with a journal and a port of its own; its address."""
    words = [sys.executable, "-m", "replical", *RUN, "--journal", journal, "--page", "port=0"]
    server = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert server.stderr is not None
        yield next(line.split()[-1] for line in server.stderr if line.startswith("Label at"))
    finally:
        server.terminate()
        server.wait()


def take(url: str, out: Path) -> bool:
    """Three pictures, desktop, phone and dark; False if the run has ended before."""
    digits = load_digits().target
    with browsers() as window:
        desk = window(size=(1000, 900))
        desk.open(url)
        desk.type("#name", "Ann")
        desk.click("#who button")
        labels = 0
        while labels % BATCH or not desk.run(PLOT):
            shown = desk.until(SHOWN)
            if shown == "All done":
                return False
            odd = digits[int(shown.rpartition("-")[2])] % 2
            desk.click(f"#choices button:nth-child({1 + odd})")
            desk.until(CHANGED, shown)
            labels += 1
        if desk.until(STILL) == "All done":
            return False
        desk.screenshot(out / "page.png")
        for name, options in (
            ("page-phone.png", {"phone": True}),
            ("page-dark.png", {"dark": True, "size": (1000, 900)}),
        ):
            other = window(**options)
            other.open(url)
            other.click("#who button")
            other.until(STILL)
            other.screenshot(out / name)
    return True


if __name__ == "__main__":
    main()

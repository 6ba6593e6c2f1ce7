"""Put a finished study into the documentation: its tables, figures and report, and pictures of the report.

    python studies/publish.py RUN docs/explanation/study

copies its tables, study.json, report.html and figures (SVG, GIF), and photographs the report in a real browser (Debian's
chromium and chromedriver) where there is one.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.browser import browsers, installed

COPIED = ("results.parquet", "results.csv", "timings.parquet", "report.html", "study.json")
PICTURES = {"report": {}, "report-dark": {"dark": True}, "report-phone": {"phone": True}}


def main() -> None:
    """Copy and photograph."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder that replical study wrote")
    parser.add_argument("out", type=Path, help="folder in the documentation")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        shutil.copy(given.run / name, given.out / name)
    for figure in (given.run / "figures").iterdir():
        if figure.suffix in (".svg", ".gif"):
            shutil.copy(figure, given.out / figure.name)
    if installed():
        photograph(given.out / "report.html", given.out)


def photograph(page: Path, folder: Path) -> None:
    """The top of the report: light, dark, on a phone."""
    with browsers() as window:
        for name, looks in PICTURES.items():
            opened = window(**looks) if looks.get("phone") else window(size=(1200, 1500), **looks)
            opened.open(page.resolve().as_uri())
            opened.until("return [...document.images].every((image) => image.complete)")
            opened.screenshot(folder / f"{name}.png")
            opened.close()


if __name__ == "__main__":
    main()

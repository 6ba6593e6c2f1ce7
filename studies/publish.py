"""Put a finished study into the documentation: its tables, figures and report, and pictures of the report.

    python studies/publish.py RUN docs/explanation/study

copies its tables, study.json, report.html and figures, and photographs the report in a real browser (Debian's
chromium and chromedriver) where there is one. Without RUN nothing is run: figures and report are made anew from the
tables that are published.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from replical.study.report.page import report
from replical.study.run import draw
from replical.study.spec import PARAMETERS, Study
from support.browser import browsers, installed

TABLES = ("results.parquet", "results.csv", "timings.parquet", "study.json")
PICTURES = {"report": {}, "report-dark": {"dark": True}, "report-phone": {"phone": True}}


def main() -> None:
    """Copy or draw again, and photograph."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, nargs="?", help="folder that replical paper study wrote; none: draw again")
    parser.add_argument("out", type=Path, help="folder in the documentation")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) if given.run is None else given.run
        if given.run is None:
            again(given.out, made)
        else:
            for name in TABLES:
                shutil.copy(made / name, given.out / name)
        publish(made, given.out)
    if installed():
        photograph(given.out / "report.html", given.out)


def again(published: Path, folder: Path) -> None:
    """Draw a published study and write its report, from its tables."""
    facts = json.loads((published / "study.json").read_text(encoding="utf-8"))
    rows, study = pq.read_table(published / "results.parquet").to_pylist(), Study.of(facts["study"])
    rows = [dict.fromkeys(PARAMETERS) | row for row in rows]  # those that came later were not set
    pictures = draw(rows, folder / "figures")
    (folder / "report.html").write_text(report(study, rows, pictures, facts), encoding="utf-8")


def publish(made: Path, out: Path) -> None:
    """The report and its figures, in place of those that are there."""
    for old in out.glob("*.svg"):
        old.unlink()
    shutil.copy(made / "report.html", out / "report.html")
    for figure in (made / "figures").glob("*.svg"):
        shutil.copy(figure, out / figure.name)


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

"""Put a finished study into the documentation: its tables, figures and report, and pictures of the report.

    python studies/publish.py RUN docs/explanation/study

copies results.parquet, timings.parquet, report.html and figures (SVG, GIF), writes results.csv, and photographs the report
in a real browser (Debian's chromium and chromedriver) where there is one.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.browser import browsers, installed

COPIED = ("results.parquet", "timings.parquet", "report.html", "study.json")
PICTURES = {"report": {}, "report-dark": {"dark": True}, "report-phone": {"phone": True}}


def main() -> None:
    """Copy, convert, photograph."""
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
    as_csv(pq.read_table(given.run / "results.parquet"), given.out / "results.csv")
    if installed():
        photograph(given.out / "report.html", given.out)


def as_csv(table: pa.Table, path: Path) -> None:
    """The results for people without Parquet: columns that say something, lists joined."""
    for place, field in enumerate(table.schema):
        if pa.types.is_list(field.type):
            joined = ["; ".join(each or []) for each in table[field.name].to_pylist()]
            table = table.set_column(place, field.name, pa.array(joined))
    said = [name for name in table.column_names if table[name].null_count < table.num_rows]
    csv.write_csv(table.select(said), path)


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

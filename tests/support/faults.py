"""What the fault suite counts, and the one table it prints.

``python tests/support/faults.py build/faults.json`` puts a full table on the page about reliability.
"""

import json
import os
import re
import sys
from dataclasses import asdict, dataclass, fields
from pathlib import Path

SCALE, OUT = "REPLICAL_FAULTS", "REPLICAL_FAULTS_OUT"
MUST_BE_ZERO = ("lost", "changed", "tracebacks", "crashes", "hangs")


@dataclass
class Counts:
    """Of one part of the suite.

    Attributes
    ----------
    kills
        Processes, servers, connections or disks that were ended at a random moment.
    acknowledged, lost
        Labels of which somebody was told that they are recorded; those that were not there afterwards.
    changed
        Labels recorded twice or differently, and runs that did not end as the undisturbed one: another hypothesis,
        transcript or certificate body.
    inputs
        Files and requests that nobody should send.
    tracebacks, crashes, hangs
        Processes that showed a traceback, ended by a signal that was not ours, or did not end in time.
    """

    part: str
    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    changed: int = 0
    inputs: int = 0
    tracebacks: int = 0
    crashes: int = 0
    hangs: int = 0
    seconds: float = 0.0

    @property
    def faults(self):
        """What must not be, and is."""
        return {name: value for name in MUST_BE_ZERO if (value := getattr(self, name))}


COLUMNS = tuple(each.name for each in fields(Counts))


def scaled(count, least=1):
    """So many at full scale; by default a twentieth of it."""
    return max(least, round(count * float(os.environ.get(SCALE, "0.05"))))


def total(rows):
    """All rows as one."""
    return Counts("all", *(sum(getattr(row, name) for row in rows) for name in COLUMNS[1:]))


def table(rows):
    """Lines of the table, as Markdown."""
    shown = [
        [str(getattr(row, name)) for name in COLUMNS[:-1]] + [f"{row.seconds:.0f}"] for row in [*rows, total(rows)]
    ]
    widths = [max(len(line[place]) for line in [COLUMNS, *shown]) for place in range(len(COLUMNS))]

    def line(cells):
        padded = [
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return [line(COLUMNS), line(rule), *map(line, shown)]


def read(path):
    """Rows of a table that was written."""
    return [Counts(**row) for row in json.loads(Path(path).read_text(encoding="utf-8"))["parts"]]


def shown_on(text, rows):
    """A page with this table between its marks."""
    return re.sub(
        r"(?<=<!-- table -->\n).*(?=<!-- end -->)", "".join(f"{line}\n" for line in table(rows)), text, flags=re.DOTALL
    )


def write(rows, path):
    """The same as JSON; parts that were run before at this scale, and not now, stay in the file."""
    path, scale = Path(path), float(os.environ.get(SCALE, "0.05"))
    if path.exists() and json.loads(path.read_text(encoding="utf-8"))["scale"] == scale:
        now = {row.part for row in rows}
        rows = sorted([*rows, *(row for row in read(path) if row.part not in now)], key=lambda row: row.part)
    told = {"schema": "replical.faults/1", "scale": scale}
    told |= {"parts": [asdict(row) for row in rows], "all": asdict(total(rows))}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


PAGE = Path(__file__).parents[2] / "docs/explanation/reliability.md"

if __name__ == "__main__":
    measured = read(sys.argv[1])
    os.environ[SCALE] = str(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["scale"])
    PAGE.with_suffix(".json").unlink(missing_ok=True)
    write(measured, PAGE.with_suffix(".json"))
    PAGE.write_text(shown_on(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")

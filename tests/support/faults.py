"""What the fault suite counts, and the one table it prints."""

import json
import os
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


def write(rows, path):
    """The same as JSON."""
    told = {"schema": "replical.faults/1", "scale": float(os.environ.get(SCALE, "0.05"))}
    told |= {"parts": [asdict(row) for row in rows], "all": asdict(total(rows))}
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")

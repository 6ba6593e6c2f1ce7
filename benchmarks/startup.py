"""How long one waits before anything happens: importing the library, and small commands, each in a fresh process.

python benchmarks/startup.py [--repeats 5] [--json FILE]

Seconds are processor time (user and system) of the process, the median of some repetitions that take turns: other work on
the machine hardly changes it. Ratios to a bare Python and to ``import numpy`` are what can be compared between machines.
The first round, which may compile, is not counted; bytecode is kept, as after an installation.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

NOTHING, NUMPY, LIBRARY = "python", "import numpy", "import replical"
EVERYTHING = "from replical import *"
PROTOCOL = "init --out p.toml --class thresholds:1000 --label-values no,yes --set nu=0 --seed a"
RUN = "run p.toml --pool pool.csv --labels labels.csv:label --truths 0"


def words() -> dict[str, list[str]]:
    """What is measured: its name, and the words after ``python``."""
    command = ["-m", "replical"]
    plan = "plan p.toml --theta 2 --json"
    return {
        NOTHING: ["-c", "pass"],
        NUMPY: ["-c", NUMPY],
        LIBRARY: ["-c", LIBRARY],
        EVERYTHING: ["-c", EVERYTHING],
        "replical --version": [*command, "--version"],
        "replical --help": [*command, "--help"],
        "replical verify --help": [*command, "verify", "--help"],
        "replical plan": [*command, *plan.split()],
        "replical verify": [*command, "verify", "certificate.json", "--json"],
        "replical run": [*command, *RUN.split(), "--journal", "JOURNAL", "--out", "OUT", "--json"],
    }


def prepare(folder: Path) -> None:
    """A protocol, a pool with its labels, and the certificate of a run of a dozen labels."""
    rows = [(f"i{i}", (i * 7919) % 1000) for i in range(2000)]
    (folder / "pool.csv").write_text("id,x\n" + "".join(f"{i},{x}\n" for i, x in rows))
    (folder / "labels.csv").write_text("id,label\n" + "".join(f"{i},{'yes' if x > 400 else 'no'}\n" for i, x in rows))
    once = ["--journal", "first.db", "--out", "certificate.json"]
    for each in ([*PROTOCOL.split(), "--epsilon", ".05", "--delta", ".05", "--rho", ".1"], [*RUN.split(), *once]):
        subprocess.run([sys.executable, "-m", "replical", *each], cwd=folder, check=True, capture_output=True)


def seconds(arguments: list[str], folder: Path, turn: int) -> float:
    """Processor time of one process."""
    fresh = {"JOURNAL": f"{turn}.db", "OUT": f"{turn}.json"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *(fresh.get(each, each) for each in arguments)], cwd=folder, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(repeats: int) -> list[dict[str, Any]]:
    """One row for each name: seconds, and its ratios."""
    os.environ["PYTHONDONTWRITEBYTECODE"] = ""  # empty: Python may keep bytecode
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(folder)
        taken: dict[str, list[float]] = {name: [] for name in words()}
        for turn in range(repeats + 1):
            for name, arguments in words().items():
                taken[name].append(seconds(arguments, folder, turn))
    found = {name: median(each[1:]) for name, each in taken.items()}
    return [
        {
            "name": name,
            "seconds": each,
            "of_python": each / found[NOTHING],
            "of_numpy": each / found[NUMPY],
        }
        for name, each in found.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="How long one waits before anything happens.")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, default=None)
    given = parser.parse_args()
    rows = measure(given.repeats)
    print(f"{'':<24} {'seconds':>8} {'/ python':>9} {'/ numpy':>8}")
    for row in rows:
        print(f"{row['name']:<24} {row['seconds']:>8.3f} {row['of_python']:>9.1f} {row['of_numpy']:>8.2f}")
    if given.json is not None:
        given.json.write_text(json.dumps({"repeats": given.repeats, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

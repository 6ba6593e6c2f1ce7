"""Draw the figures of the documentation again; nothing is measured.

    python benchmarks/figures.py [--out DIR]

takes what was measured from benchmarks/history or from the JSON files in DIR (docs/explanation/figures), and writes the
figures into DIR. Bills and the comparison of active with passive learning are computed, not measured: they are computed
again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import active_against_passive
import choosing
import choosing_tables
import cluster
import cost_of_replicability
import which_handicaps
from bills_figure import bills_picture

from replical.learners.plan import Setting
from replical.study.pictures.style import save

HERE = Path(__file__).parents[1] / "docs" / "explanation" / "figures"
BILLS = {"epsilon": ("epsilon", None), "rho": ("rho", None), "class": ("class", None), "noise": ("rho", 0.02)}
SETTING: dict[str, Any] = {"n": 1000, "epsilon": 0.01, "delta": 0.05, "rho": 0.1, "theta": 2.0}

# Each figure from what is stored: the content of its JSON file, and where it goes, without an ending.
STORED: dict[str, Callable[[dict[str, Any], Path], None]] = {
    "cluster": cluster.figure,
    "cost-of-replicability": lambda found, path: cost_of_replicability.figure(found["worlds"], path),
}
RECORDED: dict[str, Callable[[Path], None]] = {
    "choosing": lambda path: choosing_tables.figure(choosing.recorded(), path),
    "which-handicaps": lambda path: which_handicaps.draw(which_handicaps.recorded(), path.parent),
}


def main() -> None:
    """All of them, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=HERE, help="folder with the JSON files, for the figures too")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these figures")
    given = parser.parse_args()
    for name in (*STORED, *RECORDED, "active-against-passive", *(f"bills-{each}" for each in BILLS)):
        if not given.only or name in given.only:
            draw(name, given.out)
            print(name)


def draw(name: str, out: Path) -> None:
    """One figure."""
    if name in STORED:
        STORED[name](json.loads((out / f"{name}.json").read_text(encoding="utf-8")), out / name)
    elif name in RECORDED:
        RECORDED[name](out / name)
    elif name == "active-against-passive":
        active_against_passive.draw(out)
    else:
        against, nu = BILLS[name.removeprefix("bills-")]
        save(bills_picture(Setting(**SETTING, nu=nu), against), out / f"{name}.svg")


if __name__ == "__main__":
    main()

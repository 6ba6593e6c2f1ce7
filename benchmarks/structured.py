"""Stumps, intervals and boxes without a matrix: seconds and memory of whole runs, each in a fresh process.

    python benchmarks/structured.py [--quick] [--json FILE]

Runs of one lab at ε = .05, ρ = .1; seconds are those of one core, preparing (class, items, quantising) and running apart;
memory is the largest the process had. Where the packed matrix still fits, the same run is made on it. The last rows say
how seconds grow with the class and with the items.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from replical import KnownLabels, Pool, PrivateRandomness, SharedRandomness, Stumps, learn, plan
from replical.classes.predictions.packed import PackedPredictions
from replical.learners.planning import learner_for
from replical.worlds.experiment import Experiment, prepare
from replical.worlds.labs import run_lab

SEED = "structured"
QUIET, NOISY = {"learner": "handicap", "noise": "0"}, {"learner": "handicap", "noise": "0.05"}
EVERYDAY = [
    QUIET | {"spec": "stumps:100,50000", "items": 10**6},
    QUIET | {"spec": "stumps:100,50000", "items": 10**6, "own": True},
    NOISY | {"spec": "stumps:100,50000", "items": 10**6},
    QUIET | {"spec": "intervals:2000", "items": 10**6},
    NOISY | {"spec": "intervals:2000", "items": 10**6},
    QUIET | {"spec": "boxes:2,32", "items": 10**6},
    NOISY | {"spec": "boxes:2,32", "items": 10**6},
]
SMALL = [QUIET | {"spec": spec, "items": 10**5} for spec in ("stumps:20,500", "intervals:300", "boxes:2,12")]
GROWING = {
    "hypotheses, stumps": [QUIET | {"spec": f"stumps:20,{bins}", "items": 10**5} for bins in (2500, 25_000, 250_000)],
    "hypotheses, intervals": [QUIET | {"spec": f"intervals:{grid}", "items": 10**5} for grid in (500, 1600, 5000)],
    "items, stumps:20,500": [
        QUIET | {"spec": "stumps:20,500", "items": items, "own": True} for items in (10**4, 10**5, 10**6)
    ],
}


def one(spec: str, learner: str, noise: str, items: int, *, own: bool = False, packed: bool = False) -> dict[str, Any]:
    """One run; called in a process of its own. Items are drawn from the class's population, or each is its own."""
    started = time.process_time()
    if own:
        dimensions, bins = map(int, spec.partition(":")[2].split(","))
        C, generator = Stumps(dimensions, bins), np.random.default_rng(0)
        pool = Pool(C, generator.random((items, dimensions)), PrivateRandomness.simulated(SEED))
        truth = pool.predictions.codes(len(C) // 3)
        p = plan(learner, C, epsilon=0.05, delta=0.05, rho=0.1, nu=0, pool="finite")
        made, prepared = learner_for(p), time.process_time()
        result = learn(made, pool, KnownLabels(C, truth), SharedRandomness(SEED))
    else:
        tried = Experiment(class_spec=spec, learner=learner, epsilon=0.05, pool_size=items, noise=noise)
        ready = prepare(tried, seed=SEED)
        C, world = ready.world.C, ready.world
        if packed:
            started = time.process_time()
            world.__dict__["predictions"] = PackedPredictions(C, world.cells)  # in place of the structured ones
        population = world.population(len(C) // 3)
        prepared = time.process_time()
        result = run_lab(ready.learner, population, items, SharedRandomness(SEED), (SEED, 0)).result
    seconds = time.process_time() - prepared
    return {
        "class": spec,
        "hypotheses": len(C),
        "learner": learner,
        "noise": noise,
        "items": f"{items:,}" + (" of its own" if own else ""),
        "form": "packed matrix" if packed else "structured",
        "labels": result.labels,
        "answer": result.hypothesis,
        "prepare": round(prepared - started, 3),
        "run": round(seconds, 3),
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def apart(size: dict[str, Any]) -> dict[str, Any]:
    """The same in a fresh process, so that memory is its own."""
    words = [sys.executable, __file__, "--one", json.dumps(size)]
    told: dict[str, Any] = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return told


def exponent(rows: list[dict[str, Any]], size: list[int]) -> float:
    """By which power of the size seconds grow between the last two rows: in the first, what is loaded once counts."""
    before, last = (row["prepare"] + row["run"] for row in rows[-2:])
    return round(log(last / before) / log(size[-1] / size[-2]), 2)


def shown(title: str, rows: list[dict[str, Any]]) -> None:
    """A table of runs."""
    table = Table(title=title)
    for column in rows[0]:
        table.add_column(column, justify="left" if isinstance(rows[0][column], str) else "right", overflow="fold")
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
    Console(width=140).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(**json.loads(given.one))))
        return
    found: dict[str, Any] = {"everyday": [apart(size) for size in ([] if given.quick else EVERYDAY)]}
    if found["everyday"]:
        shown("seconds and memory of one run", found["everyday"])
    small = SMALL[-1:] if given.quick else SMALL
    found["against"] = [apart(size | {"packed": packed}) for size in small for packed in (False, True)]
    for ours, packed in zip(found["against"][::2], found["against"][1::2], strict=True):
        assert [ours[key] for key in ("labels", "answer")] == [packed[key] for key in ("labels", "answer")]
    shown("against the packed matrix, where it fits", found["against"])
    found["growth"] = {}
    for name, sizes in {} if given.quick else GROWING.items():
        rows = [apart(size) for size in sizes]
        by_items = name.startswith("items")
        power = exponent(
            rows, [size["items"] if by_items else row["hypotheses"] for size, row in zip(sizes, rows, strict=True)]
        )
        found["growth"][name] = {"rows": rows, "exponent": power}
        shown(f"{name}: seconds grow with the power {power}", rows)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

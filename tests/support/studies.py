"""Studies small enough to be run many times, and what a run leaves on the disk."""

import json
import random
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass
from hashlib import sha256

from replical.core.exact import clopper_pearson
from replical.learners.catalogue import find
from replical.study.results import SCHEMA
from replical.study.spec import Study

GRID = {"class": ["thresholds:50", "thresholds:1000"], "learner": ["cal", "erm"], "epsilon": 0.1, "pool_size": 300}
BASE = {"schema": "replical.study/1", "name": "small", "seed": "small 1", "stop": {"pairs": 30}, "grid": [GRID]}


def based(**more):
    return {**BASE, **more}


def of_pairs(pairs):
    return based(stop={"pairs": pairs})


TINY_GRID = {"class": "thresholds:50", "learner": "cal", "epsilon": 0.1, "pool_size": 300}
TINY = {"schema": "replical.study/1", "name": "small", "seed": "s", "grid": [TINY_GRID]}


def tiny(*grids, **more):
    """A study of one cell, or of these grids; checked."""
    return Study.of({**TINY, "grid": [{**TINY_GRID, **grid} for grid in grids or [{}]], **more})


def tiny_toml(**changes):
    """The same as text, with some lines changed or left out; those of the grid begin with ``grid_``."""
    lines = {"schema": '"replical.study/1"', "name": '"small"', "seed": '"s"', "stop": "{ pairs = 5 }"}
    grid = {"class": '"thresholds:50"', "learner": '"cal"', "epsilon": "0.1", "pool_size": "300"}
    for name, value in changes.items():
        (grid if name.startswith("grid_") else lines)[name.removeprefix("grid_")] = value
    told = [f"{name} = {value}" for name, value in lines.items() if value is not None]
    return "\n".join([*told, "[[grid]]", *(f"{name} = {value}" for name, value in grid.items() if value is not None)])


def text_of(content):
    """A study as TOML."""

    def value(it):
        if isinstance(it, dict):
            return "{" + ", ".join(f"{key} = {value(each)}" for key, each in it.items()) + "}"
        return "[" + ", ".join(map(value, it)) + "]" if isinstance(it, list) else json.dumps(it)

    lines = [f"{key} = {value(it)}" for key, it in content.items() if key != "grid"]
    for grid in content["grid"]:
        lines += ["[[grid]]", *(f"{key} = {value(it)}" for key, it in grid.items())]
    return "\n".join(lines) + "\n"


@dataclass
class Ran:
    """What a sweep found, and how it went."""

    rows: list
    tables: dict
    progress: list


class Chance:
    """Workers that finish in any order and end now and then, as a seed has it; the work is done in this process."""

    def __init__(self, seed, count, lost):
        self.random, self.count, self.lost, self.deaths = random.Random(seed), count, lost, 0
        self.ahead, self.losses, self.words, self.runs = count, 10**6, "chance", []

    def submit(self, task, piece):
        done = Future()
        if self.random.random() < self.lost:
            self.deaths += 1
            done.set_exception(BrokenExecutor("it ended"))
        else:
            self.runs.extend((piece.cell, number) for number in range(piece.start, piece.end))
            done.set_result(task(piece))
        return done

    def look(self):
        raise AssertionError("somebody always answers")


def study_row(learner, *, agree=97, pairs=100, **changes):
    """A row as `replical.study.results.row` makes it, of so many pairs that agree."""
    record, (low, high) = find(learner), clopper_pearson(agree, pairs)
    row = {name: None for name, _ in SCHEMA} | {
        "grids": ["grid 1"], "class": "thresholds:1000", "hypotheses": 1000.0, "learner": learner, "plan": "tight",
        "epsilon": 0.1, "delta": 0.05, "rho": 0.1 if record.replicable else None, "noise": "0.0", "pool_size": "2000",
        "status": "done", "replicable": record.replicable, "vacuous": False if record.replicable else None,
        "pairs": pairs, "agreements": agree, "agreement": agree / pairs, "agreement_low": low, "agreement_high": high,
        "disagreement": 1 - agree / pairs, "disagreement_low": 1 - high, "disagreement_high": 1 - low,
        "expected_jaccard": 0.03, "labels_mean": 12.0, "labels_max": 20.0, "labels_error": 0.3,
        "excess_error_mean": 0.02, "excess_error_max": 0.05, "excess_over_epsilon": 0, "cap_reached": 0,
    }  # fmt: skip
    if record.replicable:
        row |= {"controls": 40, "own_string": 0.5, "own_threshold": None, "own_order": None, "fewest_errors": 0.5}
    if record.certifies:
        row |= {"certified_fraction": 1.0, "rho_proven": 0.08}
    row |= changes
    return row | {"cell": changes.get("cell") or sha256(str(sorted(row.items())).encode()).hexdigest()[:16]}

"""A lab that looks for a linear rule: items with three features, a protocol about them, tables on a disk."""

import csv

import numpy as np

FEATURES = ("age", "marker", "dose")
RANGES = [[20.0, 80.0], [-3.0, 3.0], [-12.0, 18.0]]
WEIGHTS, OFFSET = np.array([0.1, 0.5, -0.2]), 4.0
LABELS = ("no", "yes")


def columns(items=800, seed=1, *, wrong=0.0):
    """Columns of a lab's table: ids, features in their units, and the truth, of which a share may be wrong."""
    generator = np.random.default_rng(seed)
    X = (generator.normal(size=(items, 3)) * [10, 1, 5] + [50, 0, 3]).round(4)
    yes = (X @ WEIGHTS >= OFFSET) ^ (generator.random(items) < wrong)
    said = {"id": [f"lab {seed}, {number:05d}" for number in range(items)]}
    said |= {name: X[:, j].tolist() for j, name in enumerate(FEATURES)}
    return said | {"truth": [LABELS[int(each)] for each in yes]}


def content(*, seed="a published text", step=0.3, **learner):
    """What a protocol says; other keywords are the learner's."""
    return {
        "schema": "replical.protocol/1",
        "seed": seed,
        "class": {"kind": "linear", "features": list(FEATURES), "range": RANGES, "step": step, "intercept": 1.0},
        "labels": {"values": list(LABELS)},
        "learner": {"name": "lattice", "epsilon": 0.12, "delta": 0.05, "rho": 0.1} | learner,
    }


def written(path, table):
    """The columns as a CSV file."""
    with path.open("w", newline="") as out:
        csv.writer(out).writerows([list(table), *zip(*table.values(), strict=True)])
    return path

"""Small worlds used by several tests."""

import numpy as np

from replical import Boxes, HalfSpaces, Intervals, PredictionTable, Star, Stumps, Thresholds, plan
from replical.learners.planning import learner_for


def random_table(candidates=200, rows=300, labels=(0, 1), seed=5, duplicates=True):
    """A prediction table with random columns, one in ten an exact duplicate of another."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(len(labels), size=(rows, candidates))
    if duplicates:
        for copy in range(0, candidates, 10):
            codes[:, copy] = codes[:, (copy + 7) % candidates]
    C = PredictionTable([f"m{i}" for i in range(candidates)], labels=labels)
    return C, C.items(np.array(labels, dtype=object)[codes])


def classes():
    """Every kind of class with the cells of a population."""
    generator = np.random.default_rng(11)
    listed = [("thresholds", Thresholds(60)), ("intervals", Intervals(12)), ("star", Star(9))]
    made = [(name, C, C.cells()) for name, C in listed]
    made.append(("stumps", Stumps(2, 9), generator.random((80, 2))))
    made.append(("boxes", Boxes(2, 3), generator.random((80, 2))))
    made.append(("halfspaces", HalfSpaces(2, 50, seed="worlds"), generator.normal(size=(80, 2))))
    made.append(("table", *random_table(40, 50)))
    made.append(("table of 3 labels", *random_table(30, 40, labels=("a", "b", "c"))))
    made.append(("table of 10 labels", *random_table(30, 40, labels=tuple(range(10)))))
    made.append(("one hypothesis", Thresholds(1), Thresholds(1).cells()))
    return made


COMMON = {"epsilon": 0.1, "delta": 0.1, "rho": 0.3, "theta": 4.0}
SIZES = {
    "erm": ("erm", {"k_final": 60}),
    "cal": ("cal", {}),
    "cal-rounds": ("cal-rounds", {"k_loop": 8}),
    "a2": ("a2", {}),
    "a2-batch": ("a2", {"batch": 4}),
    "a2-rounds": ("a2-rounds", {"theta": 1.0, "nu": 0.01, "k_loop": 60, "k_final": 80}),
    "replicable-erm": ("replicable-erm", {"nu": 0.0, "k_final": 200}),
    "replicable-erm-agnostic": ("replicable-erm", {"nu": 0.1, "k_final": 200, "name": "paper"}),
    "replical-paper": ("replical", {"name": "paper", "k_loop": 40, "k_final": 60}),
    "replical-tight": ("replical", {"k_loop": 40, "k_final": 400}),
    "replica2-paper": ("replica2", {"theta": 1.0, "nu": 0.01, "name": "paper", "k_loop": 60, "k_final": 80}),
    "replica2-tight": ("replica2", {"theta": 1.0, "nu": 0.01, "k_loop": 60, "k_final": 80}),
    "handicap": ("handicap", {"max_labels": 60}),
    "handicap-batch": ("handicap", {"batch": 4, "max_labels": 60, "labs": 3}),
    "handicap-noiseless": ("handicap", {"nu": 0}),
    "handicap-noiseless-batch": ("handicap", {"nu": 0, "batch": 4, "max_labels": 12}),
}
FINITE_ONLY = ("handicap-noiseless",)  # infer labels


def learners(C, *, pool="finite"):
    """Every learner, with sizes small enough for a small pool."""
    return {
        name: learner_for(plan(learner, C, **(COMMON | {"pool": pool} | sizes)))
        for name, (learner, sizes) in SIZES.items()
    }

"""Small worlds used by several tests."""

import numpy as np

from replical import CAL, ERM, Intervals, PredictionTable, RepliCAL, Star, Thresholds, plan


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
    listed = [("thresholds", Thresholds(60)), ("intervals", Intervals(12)), ("star", Star(9))]
    made = [(name, C, C.cells()) for name, C in listed]
    made.append(("table", *random_table(40, 50)))
    made.append(("table of 3 labels", *random_table(30, 40, labels=("a", "b", "c"))))
    made.append(("one hypothesis", Thresholds(1), Thresholds(1).cells()))
    return made


def learners(C, *, epsilon=0.1, pool="finite", theta=4.0):
    """Every learner, with sizes small enough for a small pool."""
    common = {"epsilon": epsilon, "delta": 0.1, "rho": 0.3, "theta": theta, "pool": pool}
    return {
        "erm": ERM(plan("erm", C, **common, k_final=60)),
        "cal": CAL(plan("cal", C, **common)),
        "cal-rounds": CAL(plan("cal-rounds", C, **common, k_loop=8)),
        "replical-paper": RepliCAL(plan("replical", C, **common, name="paper", k_loop=40, k_final=60)),
        "replical-tight": RepliCAL(plan("replical", C, **common, k_loop=40, k_final=400)),
    }

"""What a public order saves `handicap`: pairs of labs that choose among 240 models of handwritten digits.

Each pair has a string and, with a public order, a public sample of its own: labelled items drawn like the labs' and
independently of them. The order is by errors on it, ties by name.

    python benchmarks/public_order.py [--items 2000] [--pairs 200] [--sample 100]

prints one row for the random order and one for the public one; the defaults take four minutes on one core.
"""

from __future__ import annotations

import argparse

import numpy as np

from replical import Prior, audit, learner_for, plan
from replical.worlds.datasets import real_world

EPSILON, DELTA, RHO = 0.05, 0.05, 0.1


def measure(items: int, pairs: int, sample: int) -> list[float]:
    """Mean and median labels per lab, labs certified, pairs that agree, mean excess error; `sample` 0: a random order."""
    world = real_world("digits", items)
    truth = world.law[:, 1].astype(np.int64)
    found = []
    for pair in range(pairs):
        rows = np.random.default_rng([pair, 5]).integers(len(truth), size=sample)
        errors = (world.cells[rows] != truth[rows, None]).sum(axis=0)
        prior = Prior.by_errors(world.C, errors) if sample else Prior()
        made = plan("handicap", world.C, epsilon=EPSILON, delta=DELTA, rho=RHO, pool="finite", prior=prior)
        one = audit(learner_for(made), world, seed=f"check {pair}", pairs=1)
        found.append([one.labels_mean, one.certified_fraction or 0.0, one.agreement, one.excess_error_mean])
    labels, certified, agreement, excess = np.mean(found, axis=0).tolist()
    return [labels, float(np.median([each[0] for each in found])), certified, agreement, excess]


def main() -> None:
    """Both orders."""
    parser = argparse.ArgumentParser(description="What a public order saves handicap.")
    for name, default in (("items", 2000), ("pairs", 200), ("sample", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    print("order   labels  median  certified  agree  excess")
    for kind, sample in (("random", 0), ("public", given.sample)):
        labels, median, certified, agree, excess = measure(given.items, given.pairs, sample)
        print(f"{kind}  {labels:6.0f}  {median:6.0f}  {certified:9.3f}  {agree:5.3f}  {excess:.4f}", flush=True)


if __name__ == "__main__":
    main()

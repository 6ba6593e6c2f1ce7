"""Pairs a second: Rounded(CAL) on thresholds:1000 with pools of 100,000 items, beside the same in plain NumPy.

Both run on the same number of processes, on the same pools and strings. Starting the processes is not counted; each
process runs some pairs first. The plain version (tests/support/vectorised.py) is checked against the library by
tests/contract/test_vectorised.py.

    python benchmarks/throughput.py [--pairs 3000] [--workers 2]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from replical import PrivateRandomness, SharedRandomness, Thresholds, World, plan
from replical.core.parallel import ordered_map
from replical.learners.planning import learner_for
from replical.worlds.audit import pair_string, run_pair, summarise

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.vectorised import lab

N, ITEMS, SEED = 1000, 100_000, "throughput"
PUBLIC = {"epsilon": 0.05, "delta": 0.05, "rho": 0.1}
C = Thresholds(N)
PLAN = plan("rounded-cal", C, pool="finite", items=ITEMS, **PUBLIC)
WORLD = World(C=C, pool_size=ITEMS)


@dataclass(frozen=True)
class Library:
    """A pair with the library, as an audit runs it."""

    def __call__(self, number: int) -> tuple[int, int]:
        population, labs = run_pair(learner_for(PLAN), WORLD, SEED, number)
        pair = summarise(number, population, labs)
        return sum(pair.labels), int(pair.agree)


@dataclass(frozen=True)
class Plain:
    """The same pair in plain NumPy."""

    def __call__(self, number: int) -> tuple[int, int]:
        target = int(PrivateRandomness.simulated(SEED, number, "world").generator().integers(N))
        shared = SharedRandomness(pair_string(SEED, number))
        threshold, rank = PLAN.threshold(shared, ITEMS), shared.ranks("order", indices=np.arange(N))
        found = []
        for name in "AB":
            private = PrivateRandomness.simulated(SEED, number, name)
            drawn = private.generator("pool").integers(N - 1, size=ITEMS)
            found.append(lab(drawn, target, n=N, threshold=threshold, rank=rank, **PUBLIC))
        return found[0][1] + found[1][1], int(found[0][0] == found[1][0])


def measure(what: str, task: Callable[[int], Any], pairs: int, workers: int) -> float:
    """Pairs a second, after a tenth of them."""
    warm, done, started = max(workers, pairs // 10), [], 0.0
    for number, found in enumerate(ordered_map(task, range(pairs + warm), workers), 1):
        done.append(found)
        if number == warm:
            started = time.perf_counter()
    rate = pairs / (time.perf_counter() - started)
    labels, agreed = np.array(done).mean(axis=0)
    print(
        f"{what:<12} {rate:8.1f} pairs a second ({pairs} pairs; labels a lab {labels / 2:.2f}, agreement {agreed:.3f})"
    )
    return rate


def main() -> None:
    """Measure both and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    print(f"rounded-cal, thresholds:{N}, pools of {ITEMS} items, {given.workers} processes")
    library = measure("replical", Library(), given.pairs, given.workers)
    plain = measure("plain NumPy", Plain(), max(8, given.pairs // 300), given.workers)
    print(f"ratio {library / plain:.0f}")


if __name__ == "__main__":
    main()

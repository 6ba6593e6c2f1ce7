"""The core operations beside their plain versions, in one run: only the ratios are claims.

python benchmarks/core.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from replical import Intervals, Population, PrivateRandomness, SharedRandomness, Thresholds, VersionSpace
from replical.classes.predictions.line import LinePredictions
from replical.classes.predictions.packed import PackedPredictions

REPEATS = 5


def seconds(work: Callable[[], object]) -> float:
    """The best of a few repetitions, after one to warm up."""
    work()
    best = np.inf
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    table = Table(title="seconds, best of five; ratio = plain / ours")
    for column in ("operation", "plain version", "plain", "ours", "ratio"):
        table.add_column(column, justify="right" if column in ("plain", "ours", "ratio") else "left")

    def row(operation: str, versus: str, plain: Callable[[], object], ours: Callable[[], object]) -> None:
        a, b = seconds(plain), seconds(ours)
        table.add_row(operation, versus, f"{a:.5f}", f"{b:.5f}", f"{a / b:.1f}")

    generator = np.random.default_rng(0)
    C = Intervals(140)  # 9,871 hypotheses
    x = generator.integers(140, size=10_000)
    codes = C.codes(x, np.arange(len(C)))
    boolean = codes == 1
    packed = PackedPredictions(C, x)
    everyone, everything = np.arange(len(C)), np.arange(len(x))
    items = generator.integers(len(x), size=1000)
    counts = np.zeros((1000, 2), dtype=np.int64)
    counts[np.arange(1000), codes[77, items]] = 1
    row(
        f"DIS(C), {len(C)} × {len(x)}",
        "boolean any/all",
        lambda: boolean.any(axis=0) & ~boolean.all(axis=0),
        lambda: packed.disagreement(everyone, everything),
    )
    row(
        f"errors on 1,000 labels, {len(C)} hypotheses",
        "boolean fancy index",
        lambda: (boolean[:, items] != (counts[:, 1] == 1)).sum(axis=1),
        lambda: packed.errors(items, counts, everyone),
    )
    T = Thresholds(20_000)
    t = generator.integers(19_999, size=10_000)
    line, matrix = LinePredictions(T, t), PackedPredictions(T, t)
    alive = np.arange(len(T))
    row(
        f"DIS(C), {len(T)} thresholds × {len(t)}",
        "packed matrix",
        lambda: matrix.disagreement(alive, everything),
        lambda: line.disagreement(alive, everything),
    )
    row(
        f"errors on 1,000 labels, {len(T)} thresholds",
        "packed matrix",
        lambda: matrix.errors(items, counts, alive),
        lambda: line.errors(items, counts, alive),
    )
    world = Population(Thresholds(100_000), target=31_415)
    pool = world.pool("exact", PrivateRandomness.simulated("benchmark"))
    V = VersionSpace.whole(world.C, world.cells, world.weights)
    assert V.disagreement_weight
    row(
        "10¹⁷ exact draws from 99,999 cells",
        "10⁷ draws one by one",
        lambda: np.bincount(generator.integers(99_999, size=10**7), minlength=99_999),
        lambda: pool.scan().draw(V, 10**17),
    )
    shared = SharedRandomness("benchmark")
    row(
        "rank words of 10⁷ hypotheses",
        "NumPy's permutation of them",
        lambda: generator.permutation(10**7),
        lambda: shared.ranks("order", indices=np.arange(10**7)),
    )
    Console().print(table)


if __name__ == "__main__":
    main()

"""Each kernel beside plain NumPy and beside what the machine can do at most, on both back ends, measured in one run.

    python benchmarks/kernels.py [--json FILE] [--quick]

Limits: reading memory (GB/s, one thread and all of them) and counting bits (words a second). A second part learns a table
of 100,000 candidates on 100,000 items, each learner in a fresh process: peak memory, time between two labels. Times are
the best of a few on the wall clock (labels: median and worst); on a busy machine only the ratios mean something.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from replical import Pool, PredictionTable, SharedRandomness, learn, plan
from replical.classes.predictions.packed import PackedPredictions
from replical.core import bits
from replical.core.kernels import backend
from replical.core.kernels.matrices import Columns, add_wrong, disagreement, distances_from, tallies, transpose
from replical.learners.planning import learner_for
from replical.pools.query import Answers, Query

REPEATS = 5
BACK_ENDS = (backend.NUMPY, backend.NUMBA)  # of the processor; gpu.py has the other
RATES = 13  # candidates err on a half, a quarter, .. of the items
LEARNERS = {"cal": {"epsilon": 0.02}, "a2": {"epsilon": 0.05}, "handicap": {"epsilon": 0.05, "rho": 0.1}}
MOST_LABELS = 300  # of a run, after which it has shown what a label takes


def seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The best of a few repetitions, after one to warm up."""
    work()
    best = np.inf
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def limits() -> dict[str, float]:
    """What this machine does at most: bytes read a second, with one thread and with all."""
    block = np.ones(2**25, dtype=np.uint64)
    found = {"read_1": block.nbytes / seconds(lambda: np.bitwise_or.reduce(block))}
    count = backend.thread_count()
    with ThreadPoolExecutor(count) as pool:
        parts = np.array_split(block, count)
        found["read_all"] = block.nbytes / seconds(lambda: list(pool.map(np.bitwise_or.reduce, parts)))
    found["threads"] = count
    return found


def kernels(quick: bool) -> list[dict[str, Any]]:
    """Time of every kernel on every back end, and of plain NumPy on a matrix of truth values."""
    generator = np.random.Generator(np.random.SFC64(0))
    n, m = (10_000, 10_000) if quick else (10_000, 100_000)
    rows = []

    def row(
        name: str, size: str, read: int, ours: Callable[[], object], plain: Callable[[], object] | None, scale: int = 1
    ) -> None:
        """`plain` may do a part of the work: `scale` says which."""
        told: dict[str, Any] = {"kernel": name, "size": size, "bytes": read}
        told["plain"] = None if plain is None else scale * seconds(plain, 1)
        for back_end in BACK_ENDS:
            if back_end == backend.NUMPY or backend.trouble() is None:
                with backend.using(back_end):
                    told[back_end] = seconds(ours)
        rows.append(told)

    everyone, everything = np.arange(n), np.arange(m)
    words = bits.words_for(n)
    agreed = np.zeros((1, m, words), dtype=np.uint64)
    agreed[0] = np.where(generator.random(m) < 0.5, np.uint64(2**64 - 1), np.uint64(0))[:, None]
    agreed[0, :, -1] &= bits.pack(np.ones(n, dtype=np.bool_))[-1]
    part = bits.unpack(agreed[0, : m // 10], n).T.copy()  # hypotheses are rows, as one would write it down
    size = f"{n:,} × {m:,}"
    row("disagreement, all of it agreed", size, agreed.nbytes,
        lambda: disagreement(agreed, everything, Columns(everyone, n)),
        lambda: part.any(axis=0) & ~part.all(axis=0), 10)  # fmt: skip
    noise = generator.integers(0, 2**64, size=(1, m, words), dtype=np.uint64)
    noise[0, :, -1] &= agreed[0].max(axis=0)[-1]
    row("disagreement, early exit", size, 64 * m, lambda: disagreement(noise, everything, Columns(everyone, n)), None)
    some = np.arange(0, n, 2)
    row(
        "disagreement of half, early exit",
        size,
        64 * m,
        lambda: disagreement(noise, everything, Columns(some, n)),
        None,
    )
    row("votes", size, noise.nbytes, lambda: tallies(noise, everything, Columns(everyone, n), 2), None)
    centre = generator.integers(2, size=m)
    row("distances to a centre", size, noise.nbytes,
        lambda: add_wrong(np.zeros(64 * words, dtype=np.int64), noise, everything, centre), None)  # fmt: skip
    rows_turned = np.arange(1024)
    row("1,024 rows turned", f"{n:,}", 1024 * words * 8, lambda: transpose(noise, rows_turned, n), None)
    turned_planes = transpose(noise, rows_turned, n)
    row("distances from one", f"{n:,} × 1,024", turned_planes.nbytes, lambda: distances_from(turned_planes, 3), None)
    n, m, k = (20_000, 2_000, 1_000) if quick else (100_000, 20_000, 1_000)
    words = bits.words_for(n)
    planes = generator.integers(0, 2**64, size=(1, m, words), dtype=np.uint64)
    asked, labels = generator.integers(m, size=k), generator.integers(2, size=k)
    boolean = generator.integers(2, size=(n // 20, m), dtype=np.uint8).view(np.bool_)
    says = labels == 1
    row(f"errors on {k:,} labels", f"{n:,}", k * words * 8,
        lambda: add_wrong(np.zeros(64 * words, dtype=np.int64), planes, asked, labels),
        lambda: (boolean[:, asked] != says).sum(axis=1), 20)  # fmt: skip
    return rows


# ---- a whole run ----


def table(n: int, m: int) -> tuple[PackedPredictions, np.ndarray[Any, np.dtype[np.uint16]]]:
    """Candidates that err on a half, a quarter, .. of the items, in any order, and one that never does; the truth."""
    generator, words = np.random.Generator(np.random.SFC64(1)), bits.words_for(n)
    truth = generator.integers(2, size=m).astype(np.uint16)
    group = generator.permutation(words) * RATES // words
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(RATES))
    planes = np.zeros((1, m, words), dtype=np.uint64)
    step = max(1, 2**20 // words)
    for begin in range(0, m, step):
        block = planes[0, begin : begin + step]
        wrong = np.full(block.shape, 2**64 - 1, dtype=np.uint64)
        for start in starts:
            wrong[:, start:] &= generator.integers(0, 2**64, size=(len(block), words - start), dtype=np.uint64)
        block[:, order] = wrong
        block ^= np.where(truth[begin : begin + step] == 1, np.uint64(2**64 - 1), np.uint64(0))[:, None]
    word, bit = divmod(n // 3, 64)
    planes[0, :, word] &= ~np.uint64(1 << bit)
    planes[0, :, word] |= truth.astype(np.uint64) << np.uint64(bit)
    planes[0, :, -1] &= bits.pack(np.ones(n, dtype=np.bool_))[-1]
    return PackedPredictions.of(planes, n, 2), truth


class Enough(Exception):
    """So many labels show what a label takes."""


class Timed:
    """Labels from a column, with the time between an answer and the next question: how long it took, on how many cores."""

    def __init__(self, truth: np.ndarray[Any, np.dtype[np.uint16]]) -> None:
        self._truth, self.took, self.busy, self.survivors = truth, [], [], 0
        self._since, self._busy_since = time.perf_counter(), time.process_time()

    def answer(self, query: Query) -> Answers:
        self.took.append(time.perf_counter() - self._since)
        self.busy.append(time.process_time() - self._busy_since)
        self.survivors = query.survivors
        if len(self.took) > MOST_LABELS:
            raise Enough
        answers = Answers.unanimous(query, self._truth[query.items], 2)
        self._since, self._busy_since = time.perf_counter(), time.process_time()
        return answers


def one(learner: str, n: int, m: int, back_end: str | None) -> dict[str, Any]:
    """A run, in a process of its own."""
    predictions, truth = table(n, m)
    C = PredictionTable([f"c{i}" for i in range(n)])
    order = np.random.default_rng(2).permutation(m)
    pool = Pool.in_order(C, np.zeros((m, 0), dtype=np.uint16), np.arange(m), order, predictions)
    numbers = plan(learner, C, delta=0.05, pool="finite", **LEARNERS[learner])
    with nullcontext() if back_end is None else backend.using(back_end):
        warm_up()
        labels, ended = Timed(truth), True
        started = time.perf_counter()
        try:
            learn(learner_for(numbers), pool, labels, SharedRandomness("kernels"))
        except Enough:
            ended = False
    took = np.array(labels.took[1:]) * 1000
    return {
        "learner": learner,
        "kernels": back_end or "as chosen",
        "hypotheses": n,
        "items": m,
        "labels": len(labels.took),
        "ended": ended,
        "survivors": labels.survivors,
        "seconds": round(time.perf_counter() - started, 3),
        "first_ms": round(labels.took[0] * 1000, 2),
        "median_ms": round(float(np.median(took)), 3),
        "median_busy_ms": round(float(np.median(labels.busy[1:])) * 1000, 3),  # of all cores together
        "worst_ms": round(float(took.max()), 2),
        "peak_mb": peak(),
    }


def peak() -> int:
    """The most memory this process had; a child's maxrss starts with its parent's, so Linux is asked elsewhere."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def warm_up() -> None:
    """Load what is loaded once."""
    predictions, _ = table(2000, 64)
    V, rows = np.arange(2000), np.arange(64)
    predictions.disagreement(V, rows)
    predictions.disagreement(V[:2], rows)
    predictions.errors(rows, np.ones((64, 2), dtype=np.int64), V)
    predictions.votes(V, rows)
    predictions.nearness(rows).nearest_marks(V, rows[:3], V == 0)


def runs(quick: bool) -> list[dict[str, Any]]:
    """Every learner, each in a fresh process; on both back ends in the quick form."""
    n = m = 5_000 if quick else 100_000
    found = []
    for learner in LEARNERS:
        for back_end in BACK_ENDS if quick else (backend.in_use(),):
            words = [sys.executable, __file__, "--one", learner, str(n), str(m), back_end]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr)
            found.append(json.loads(done.stdout))
    return found


def show(told: dict[str, Any]) -> None:
    console, most = Console(), told["limits"]
    console.print(
        f"reading memory: {most['read_1'] / 1e9:.1f} GB/s with one thread, {most['read_all'] / 1e9:.1f} with "
        f"{most['threads']:.0f}"
    )
    view = Table(title="ms; % of reading with one thread; times plain NumPy")
    for column in ("kernel", "size", "plain", "numpy", "%", "×", "numba", "%", "×"):
        view.add_column(column, justify="left" if column in ("kernel", "size") else "right")
    for row in told["kernels"]:
        cells = [row["kernel"], row["size"], "" if row["plain"] is None else f"{row['plain'] * 1000:.1f}"]
        for back_end in BACK_ENDS:
            took = row.get(back_end)
            if took is None:
                cells += ["", "", ""]
                continue
            cells += [f"{took * 1000:.2f}", f"{100 * row['bytes'] / took / most['read_1']:.0f}"]
            cells.append("" if row["plain"] is None else f"{row['plain'] / took:.0f}")
        view.add_row(*cells)
    console.print(view)
    view = Table(title="whole runs, each in a fresh process (cut off after some labels where marked *)")
    names = (
        "learner",
        "kernels",
        "hypotheses",
        "items",
        "labels",
        "survivors",
        "first_ms",
        "median_ms",
        "worst_ms",
        "peak_mb",
    )
    for column in names:
        view.add_column(column, justify="left" if column in ("learner", "kernels") else "right")
    for run in told["runs"]:
        view.add_row(*[f"{run[name]}{'*' if name == 'labels' and not run['ended'] else ''}" for name in names])
    console.print(view)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.one:
        learner, n, m, back_end = words.one
        print(json.dumps(one(learner, int(n), int(m), back_end)))
        return
    told = {"limits": limits(), "kernels": kernels(words.quick), "runs": runs(words.quick)}
    show(told)
    if words.json:
        words.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

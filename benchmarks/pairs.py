"""Distances of all pairs, the disagreement coefficient and half-space predictions, beside their plain versions.

    python benchmarks/pairs.py [--quick] [--json FILE]

takes about a minute on a quiet machine. Seconds are the best of a few repetitions, of one thread those of the processor,
of several those of the clock; only ratios and shares are claims. The limit of all pairs is what the machine's own
instructions for XOR, counting bits and adding take on one core for as many words, measured in the same run. A row
marked ~ was measured on a part and scaled up.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from replical import HalfSpaces, Pool, PrivateRandomness, theta
from replical.classes.predictions.packed import PackedPredictions
from replical.core import bits
from replical.core.kernels import backend
from replical.core.kernels.pairs import Pairs, align
from replical.core.parallel import cores

HYPOTHESES, ITEMS = 10_000, 10_000
NET, POOL = 20_000, 5_000  # half-spaces, and items they are packed on
SOME = 32  # rows that plain versions are timed on


@contextmanager
def on(name: str, count: int) -> Iterator[None]:
    """This back end, so many threads."""
    before = backend.thread_count
    backend.thread_count = lambda: count
    backend._pool.cache_clear()
    try:
        with backend.using(name):
            yield
    finally:
        backend.thread_count = before
        backend._pool.cache_clear()


def seconds(work: Callable[[], object], repeats: int = 3, count: int = 1) -> float:
    """Of `count` threads: others may use the machine too, which the time of one thread does not see."""
    clock, best = time.thread_time if count == 1 else time.perf_counter, np.inf
    for _ in range(repeats):
        started = clock()
        work()
        best = min(best, clock() - started)
    return best


def back_ends() -> list[tuple[str, int]]:
    found = [(backend.NUMPY, 1)]
    if backend.trouble() is None:
        found += [(backend.NUMBA, count) for count in (1, 2) if count <= cores()]
    return found


def words_a_second() -> float:
    """XOR, count and add, as fast as one core does it in its registers."""
    from replical.core.kernels.numba_rows import kernel, popcount

    @kernel
    def passes(words: Any, times: int) -> int:
        total = np.uint64(0)
        for turn in range(times):
            a = np.uint64(turn) * np.uint64(0x9E3779B97F4A7C15)
            b, c, d = ~a, a + np.uint64(77), a ^ np.uint64(0xF0F0F0F0F0F0F0F0)
            e, f, g, h = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
            for w in range(len(words)):
                e += popcount(words[w] ^ a)
                f += popcount(words[w] ^ b)
                g += popcount(words[w] ^ c)
                h += popcount(words[w] ^ d)
            total += e + f + g + h
        return total

    words, times = align(np.arange(1024, dtype=np.uint64).reshape(1, 1, -1))[0, 0], 50_000
    passes(words, 1)
    return 4 * len(words) * times / seconds(lambda: passes(words, times), 7)


def all_pairs(planes: NDArray[np.uint64]) -> list[dict[str, Any]]:
    """Distances of all pairs of rows; the plain way is a XOR and a sum for each centre."""
    n, words = planes.shape[1:]
    plain = seconds(lambda: [np.bitwise_count(np.bitwise_or.reduce(planes ^ planes[:, i, None], axis=0)).sum(axis=1)
                             for i in range(SOME)]) * n / SOME  # fmt: skip
    rows: list[dict[str, Any]] = [{"back end": "plain", "threads": 1, "seconds": plain, "scaled": True}]
    found = Pairs(planes)
    limit = words_a_second() if backend.trouble() is None else None
    for name, count in back_ends():
        with on(name, count):
            if name == backend.NUMPY:
                some = np.arange(SOME)
                rows.append({"back end": name, "threads": count, "scaled": True,
                             "seconds": seconds(lambda some=some: found.distances(some)) * n / SOME / 2})  # fmt: skip
                continue
            found.distances(np.arange(2))  # compiles
            rows.append({"back end": name, "threads": count, "seconds": seconds(found.matrix, count=count)})
            if limit is not None:
                rows[-1]["share of the limit"] = n * (n + 1) / 2 * words / rows[-1]["seconds"] / limit
    return [{"operation": f"all pairs, {n} × {64 * words}", **row} for row in rows]


def coefficient(n: int, items: int) -> list[dict[str, Any]]:
    """Θ with everyone as centre, from items to answer."""
    C = HalfSpaces(3, n, seed="bench")
    pool = Pool(C, np.random.default_rng(1).normal(size=(items, 3)), PrivateRandomness.simulated("b"))
    planes = bits.pack(C.codes(pool.items, np.arange(n)) == 1)
    rows: list[dict[str, Any]] = [{"back end": "plain", "threads": 1, "scaled": True,
                                   "seconds": seconds(lambda: plain_coefficients(planes), 1) * n / SOME}]  # fmt: skip
    answers = set()
    for name, count in back_ends():
        with on(name, count):
            if name == backend.NUMBA:
                small = HalfSpaces(3, 100, seed="bench")
                theta(small, Pool(small, pool.items[:99], PrivateRandomness.simulated("b")))  # compiles
            found: list[Any] = []
            taken = seconds(lambda found=found: found.append(theta(C, pool)), 1 if name == backend.NUMPY else 3, count)
            rows.append({"back end": name, "threads": count, "seconds": taken})
            answers |= {(each.value, each.centre, each.radius, each.disagreement) for each in found}
    assert len(answers) == 1, "back ends differ"
    return [{"operation": f"theta, {n} half-spaces × {items}", **row} for row in rows]


def plain_coefficients(planes: NDArray[np.uint64]) -> float:
    """The first centres, one after the other, and every ball of each."""
    best = 0.0
    for centre in range(SOME):
        differs = planes ^ planes[centre]
        far = np.bitwise_count(differs).sum(axis=1, dtype=np.int64)
        order = np.argsort(far)
        disputed = np.bitwise_count(np.bitwise_or.accumulate(differs[order], axis=0)).sum(axis=1, dtype=np.int64)
        last = np.flatnonzero(np.diff(far[order], append=-1))[1:]  # all but radius 0
        best = max(best, float((disputed[last] / far[order][last]).max()))
    return best


def packing(n: int, items: int) -> list[dict[str, Any]]:
    """Half-space predictions packed; the plain way makes label codes first."""
    C, X = HalfSpaces(3, n, seed="bench"), np.random.default_rng(1).normal(size=(items, 3))
    everyone = np.arange(n)
    step = max(1, 2**23 // n)

    def plainly() -> NDArray[np.uint64]:
        blocks = [C.codes(X[at : at + step], everyone).T for at in range(0, items, step)]
        return np.concatenate([bits.pack(codes & 1 == 1) for codes in blocks])

    rows: list[dict[str, Any]] = [{"back end": "plain", "threads": 1, "seconds": seconds(plainly, 1)}]
    for name, count in back_ends():
        with on(name, count):
            PackedPredictions(C, X[:2])
            rows.append(
                {"back end": name, "threads": count, "seconds": seconds(lambda: PackedPredictions(C, X), 5, count)}
            )
    return [{"operation": f"packing {n} half-spaces × {items}", **row} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the hypotheses and items")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    given = parser.parse_args()
    part = 10 if given.quick else 1
    words = np.random.default_rng(0).integers(2**63, size=(1, HYPOTHESES // part, bits.words_for(ITEMS // part)))
    groups = [all_pairs(words.astype(np.uint64)), coefficient(HYPOTHESES // part, ITEMS // part),
              packing(NET // part, POOL // part)]  # fmt: skip
    table = Table(title="times faster: than the first row of the same operation")
    for column in ("operation", "back end", "threads", "seconds", "times faster", "share of the limit"):
        table.add_column(column, justify="left" if column in ("operation", "back end") else "right")
    for rows in groups:
        for row in rows:
            row["times faster"] = rows[0]["seconds"] / row["seconds"]
            share = row.get("share of the limit")
            table.add_row(row["operation"], row["back end"], str(row["threads"]),
                          f"{'~' if row.get('scaled') else ''}{row['seconds']:.3f}", f"{row['times faster']:.1f}",
                          "" if share is None else f"{share:.0%}")  # fmt: skip
    Console().print(table)
    if given.json is not None:
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        told = {"cores": cores(), "load": load, "rows": [row for rows in groups for row in rows]}
        given.json.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""How time and memory grow with the class, the pool and the pairs, one size after the other, each in a fresh process.

    python benchmarks/scale.py [--quick] [--largest] [--out benchmarks/results]

writes DIR/scale.json and DIR/scale.md. Times are seconds of one core a pair of labs, the class prepared; memory is the
largest the process had. The third table runs the same cells on one process, on all cores and on Dask; the last one is
`handicap` and `confirm` at their largest, beside what is promised of them, and with --largest it is printed alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from replical import PrivateRandomness, SharedRandomness, confirm
from replical.core.kernels import backend
from replical.core.parallel import cluster, cores, local
from replical.study.scheduler import Sweep
from replical.study.spec import Study
from replical.study.store import Piece, Store, work
from replical.worlds.experiment import Experiment, prepare
from replical.worlds.labs import run_lab

SEED, SECONDS = "scale", 5.0  # a size is measured for about so long
CLASSES = {
    "thresholds": [f"thresholds:{n}" for n in (10**3, 10**4, 10**5, 10**6, 10**7)],
    "half-planes": [f"halfspaces:2,{n}" for n in (1000, 4000, 16_000, 64_000)],
}
POOLS = [10**4, 10**5, 10**6, 10**7]
LINE, TABLE = 10**6, 10**5  # thresholds; candidates and items of a table
LABS, ITEMS = 5, 10_000


def one(spec: str, learner: str, pool: int, noise: str) -> dict[str, Any]:
    """Measure one size; called in a process of its own."""
    tried = Experiment(class_spec=spec, learner=learner, epsilon=0.1, pool_size=pool, noise=noise)
    started = time.perf_counter()
    ready = prepare(tried, seed=SEED)
    _ = ready.world.predictions
    prepared = time.perf_counter() - started
    first = work(
        Piece(cell="", experiment=tried, class_seed=SEED, seed=SEED, start=0, end=2)
    )  # loads what is loaded once
    pairs = round(min(max(SECONDS / max(first.seconds / 2, 1e-3), 4), 400))
    started = time.process_time()
    told = work(Piece(cell="", experiment=tried, class_seed=SEED, seed=SEED, start=2, end=2 + pairs))
    seconds = (time.process_time() - started) / pairs
    labels = told.rows["labels_a"] + told.rows["labels_b"]
    return {
        "class": spec,
        "learner": learner,
        "pool": pool,
        "noise": noise,
        "hypotheses": told.hypotheses,
        "labels": sum(labels) / max(1, len(labels)),
        "prepare_seconds": round(prepared, 3),
        "pair_seconds": round(seconds, 4),
        "memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "refused": told.refused,
    }


def apart(**size: Any) -> dict[str, Any]:
    """The same in a fresh process, so that memory is its own."""
    words = [sys.executable, __file__, "--one", json.dumps(size)]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    if found.returncode:
        return dict(size) | {"refused": (found.stderr.strip().splitlines() or ["killed"])[-1][:200]}
    told: dict[str, Any] = json.loads(found.stdout)
    print(f"{told['class']:<22} {told['learner']:<12} pool {told['pool']:>9,} {told['pair_seconds']:9.4f} s a pair, "
          f"{told['memory_mb']:>6} MB", flush=True)  # fmt: skip
    return told


def side_by_side(pairs: int) -> list[dict[str, Any]]:
    """One study on one process, on all cores, and on Dask."""
    grid = {"class": ["thresholds:1000", "thresholds:100000"], "learner": ["cal", "handicap"]}
    grid |= {"epsilon": [0.1, 0.05], "pool_size": [100_000]}
    study = Study.of(
        {"schema": "replical.study/1", "name": "scale", "seed": SEED, "grid": [grid], "stop": {"pairs": pairs}}
    )
    found = []
    for what, made in (
        ("1 process", local(1)),
        (f"{cores()} processes", local(cores())),
        (f"Dask, {cores()} processes", cluster(f"local:{cores()}")),
    ):
        with tempfile.TemporaryDirectory() as name, made as busy:
            started = time.perf_counter()
            kept = Sweep(study.cells(), Store(Path(name)), busy).run()
            seconds = time.perf_counter() - started
        done = sum(each.pairs for each in kept.values())
        found.append(
            {"workers": what, "pairs": done, "seconds": round(seconds, 1), "pairs_per_second": round(done / seconds, 1)}
        )
        print(found[-1], flush=True)
    return found


def labs(thresholds: int, noise: str) -> dict[str, Any]:
    """Labs of `handicap` and of `confirm`, each with a target and a string of its own; called in a process of its own."""
    tried = Experiment(
        class_spec=f"thresholds:{thresholds}", learner="handicap", epsilon=0.05, pool_size=ITEMS, noise=noise
    )
    ready = prepare(tried, seed=SEED)
    runs, checks, asked = [], [], []
    for number in range(LABS):
        private = PrivateRandomness.simulated(SEED, number)
        target = int(private.generator("target").integers(thresholds))
        population = ready.world.population(target)
        started = time.process_time()
        found = run_lab(ready.learner, population, ITEMS, SharedRandomness(f"{SEED}/{number}"), (SEED, number)).result
        runs.append(time.process_time() - started)
        asked.append(found.labels)
        pool = population.pool(ITEMS, private)
        started = time.process_time()
        confirm(target, pool, population.labels(pool, private), margin=0.05)
        checks.append(time.process_time() - started)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"run": median(runs), "confirm": median(checks), "labels": median(asked), "memory_mb": memory}


def largest(quick: bool) -> Iterator[dict[str, Any]]:
    """`handicap` and `confirm` on a line without a matrix, and `handicap` on a table."""
    line, side = (LINE // 100, TABLE // 50) if quick else (LINE, TABLE)
    here, columns = Path(__file__).parent, ("what", "hypotheses", "items", "labels", "measured", "goal", "memory_mb")
    for noise in ("0", "0.05"):
        words = [sys.executable, __file__, "--labs", str(line), noise]
        told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        for what, goal in (("run", "at most 3 s a lab"), ("confirm", "")):
            labels = told["labels"] if what == "run" else None
            cells = (f"{what}, noise {noise}", line, ITEMS, labels, f"{told[what]:.2f} s", goal, told["memory_mb"])
            yield dict(zip(columns, cells, strict=True))
    words = [sys.executable, str(here / "kernels.py"), "--one", "handicap", str(side), str(side), backend.in_use()]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    cells = (f"{told['median_busy_ms']:.2f} ms", "at most 3 ms a label, 2 GB", told["peak_mb"])
    yield dict(zip(columns, ("run, a table", side, side, told["labels"], *cells), strict=True))


def table(rows: list[dict[str, Any]], columns: list[str]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += [
        "| " + " | ".join("-" if row.get(name) is None else f"{row[name]}" for name in columns) + " |" for row in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--largest", action="store_true", help="print the last table alone")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--labs", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.labs:
        print(json.dumps(labs(int(given.labs[0]), given.labs[1])))
        return
    if given.largest:
        rows = list(largest(given.quick))
        print(table(rows, list(rows[0])), end="")
        return
    if given.one:
        print(json.dumps(one(**json.loads(given.one))))
        return
    few = 2 if given.quick else None
    classes = [
        apart(spec=spec, learner=learner, pool=100_000, noise="0")
        for specs in CLASSES.values()
        for spec in specs[:few]
        for learner in ("cal", "handicap")
    ]
    pools = [
        apart(spec="thresholds:20000", learner=learner, pool=pool, noise=noise)
        for learner, noise in (("handicap", "0"), ("handicap", "0.05"))
        for pool in POOLS[:few]
    ]
    together = side_by_side(20 if given.quick else 200)
    most = list(largest(given.quick))
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "scale.json").write_text(
        json.dumps({"classes": classes, "pools": pools, "workers": together, "largest": most}, indent=1)
    )
    sizes = [
        "class",
        "hypotheses",
        "learner",
        "pool",
        "noise",
        "labels",
        "prepare_seconds",
        "pair_seconds",
        "memory_mb",
        "refused",
    ]
    text = "\n".join(
        [table(classes, sizes), table(pools, sizes), table(together, list(together[0])), table(most, list(most[0]))]
    )
    (given.out / "scale.md").write_text(text)


if __name__ == "__main__":
    main()

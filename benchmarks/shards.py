"""A table larger than memory, in shards: seconds, memory and passes of each operation and of whole runs.

    python benchmarks/shards.py [--quick] [--table DIR] [--json FILE] [--ways one,two,dask]

10⁵ candidates on 10⁶ items, 12.5 GB of bits, are written into a temporary folder and taken away at the end; or into DIR,
where they are left, and used again if they are there. Candidates err
on 1/2, 1/4, .. 1/32 of the items, each by itself; on a fifth of the items nobody errs. Then each way, in processes of its
own: `one` process (with all cores where numba is installed), `two` processes, and `dask`, a cluster of two processes
started here. Memory is the sum over all processes of a way of what belongs to them alone (RssAnon of /proc: mapped files,
which the system may drop at any time, are not counted), looked at twenty times a second. Passes are rows looked at, as
multiples of all rows. Answers of all ways are compared, and with `--quick`, on a small table, with those of a table in
memory; the script ends with exit code 1 if any differs, or if more than 4 GB were held.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from replical import KnownLabels, Pool, PredictionTable, PrivateRandomness, SharedRandomness, learn, plan
from replical.classes.predictions.packed import PackedPredictions
from replical.classes.predictions.sharded import SIZE, Shard, ShardedPredictions, ShardedRows, ShardedTable, ShardWriter
from replical.core import bits
from replical.core.kernels import backend
from replical.core.parallel import Workers, cluster, cores, local
from replical.learners.planning import learner_for

FULL, QUICK = (100_000, 1_000_000), (2_000, 20_000)  # candidates, items
MOST = 4e9  # bytes that may be held
RATES = 5  # candidates err on 1/2, 1/4, .. of the items
EASY = 5  # on every fifth item nobody errs
WAYS = ("one", "two", "dask")
RUNS = {"handicap": {"max_labels": 1000, "batch": 8}, "a2": {"max_labels": 200, "batch": 8}}
SHARED = SharedRandomness("benchmarks/shards")

Answer = dict[str, Any]


def runs(candidates: int) -> dict[str, dict[str, int]]:
    """Whole runs: in the quick form one of A² too."""
    return {learner: options for learner, options in RUNS.items() if learner == "handicap" or candidates < FULL[0]}


def truth_of(items: int) -> np.ndarray:
    return np.random.default_rng(0).integers(2, size=items)


def make(folder: Path, candidates: int, items: int, size: int) -> float:
    """Write the table, shard after shard; the seconds that took."""
    started, words = time.perf_counter(), bits.words_for(candidates)
    truth = np.where(truth_of(items) == 1, np.uint64(2**64 - 1), np.uint64(0))
    writing = ShardWriter(folder, rows=items, planes=1, words=words, size=size)
    last = np.uint64(2 ** (candidates - 64 * (words - 1)) - 1) if candidates % 64 else np.uint64(2**64 - 1)
    step = max(1, 2**23 // words)
    for start in range(0, items, step):
        rows = np.arange(start, min(start + step, items))
        generator = np.random.Generator(np.random.SFC64(start))
        said = generator.integers(2**64, size=(len(rows), words), dtype=np.uint64)
        for level in range(1, RATES):
            for place in range(level, RATES):
                said[:, place::RATES] &= generator.integers(2**64, size=said[:, place::RATES].shape, dtype=np.uint64)
        said[rows % EASY == 0] = 0
        said ^= truth[rows, None]
        said[:, -1] &= last
        writing.write(rows, 0, said[None])
    shards = [vars(shard) for shard in writing.seal()]
    (folder / "shards.json").write_text(json.dumps(shards))
    return time.perf_counter() - started


def table_of(folder: Path, candidates: int, workers: Workers | None = None) -> ShardedTable:
    shards = [Shard(**each) for each in json.loads((folder / "shards.json").read_text())]
    return ShardedTable(shards=shards, size=candidates, labels=2, folder=folder, workers=workers)


def digest(*arrays: Any) -> str:
    state = hashlib.sha256()
    for each in arrays:
        state.update(np.ascontiguousarray(each).tobytes())
    return state.hexdigest()[:16]


def operations(predictions: Any, candidates: int, items: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What runs ask, in an order in which the first one also compares the checksums."""
    generator = np.random.default_rng(1)
    everyone, every = np.arange(candidates), np.arange(items)
    half = np.sort(generator.permutation(candidates)[: candidates // 2])
    few = np.sort(generator.permutation(candidates)[: max(1, candidates // 100)])
    asked = generator.permutation(items)[:1000]
    truth = truth_of(items)
    labels = np.eye(2, dtype=np.int64)[truth]
    seen = predictions.blank_memory(items)
    yield "first look at every item", lambda: predictions.disagreement(everyone, every, seen)
    yield "the same without checksums", lambda: predictions.disagreement(everyone, every)
    yield "a later look, half of the candidates left", lambda: predictions.disagreement(half, every, seen)
    yield "votes on every item", lambda: predictions.votes(everyone, every)
    yield "errors, a label for every item", lambda: predictions.errors(every, labels, everyone)
    yield "errors on 1,000 labels", lambda: predictions.errors(asked, labels[asked], everyone)
    yield "what one candidate says about every item", lambda: predictions.codes(candidates // 3)
    yield "what everyone says about one item", lambda: predictions.codes_of_item(int(asked[0]), everyone)
    yield "nearest rivals, on 1,024 items", lambda: predictions.nearness(asked).nearest(everyone, everyone[:9])
    yield "a compacted copy, 1% of the candidates", lambda: predictions.part(few, every).planes


def whole_run(learner: str, options: dict[str, int], predictions: Any, items: Any, candidates: int) -> Answer:
    count = len(items)
    C = PredictionTable([f"m{number}" for number in range(candidates)])
    order = PrivateRandomness.simulated("benchmarks/shards").permutation(count)
    pool = Pool.in_order(C, items, np.arange(count), order, predictions)
    promised = {"rho": 0.1} if learner == "handicap" else {}
    made = learner_for(plan(learner, C, epsilon=0.05, delta=0.05, pool="finite", **promised, **options))
    result = learn(made, pool, KnownLabels(C, truth_of(count)), SHARED)
    return {
        "hypothesis": result.hypothesis,
        "labels": result.labels,
        "survivors": result.V.size,
        "certified": result.proof is not None and result.proof.certified,
        "digest": digest(result.V.indices, result.V.disputed, np.array(repr(result.proof))),
    }


@contextmanager
def working(way: str) -> Iterator[Workers | None]:
    with {"one": nullcontext, "two": lambda: local(2), "dask": lambda: cluster("local:2")}[way]() as workers:
        yield workers


def one_way(way: str, folder: Path, candidates: int) -> Answer:
    """All operations and runs, in this process and those it starts."""
    found: Answer = {"operations": [], "runs": [], "load": os.getloadavg()[0]}
    with working(way) as workers:
        if workers is not None:  # numba is loaded, or not, before the clock runs
            warm = ShardedPredictions(table_of(folder, candidates, workers))
            warm.votes(np.arange(candidates), np.arange(10))
        table = table_of(folder, candidates, workers)
        predictions = ShardedPredictions(table)
        for name, act in operations(predictions, candidates, table.items):
            before, started = predictions.visited, time.perf_counter()
            answer = act()
            seconds = time.perf_counter() - started
            passes = (predictions.visited - before) / table.items
            found["operations"].append({"what": name, "seconds": seconds, "passes": passes, "digest": digest(answer)})
        for learner, options in runs(candidates).items():
            rows = ShardedRows(table)
            started = time.perf_counter()
            answer = whole_run(learner, options, rows.predictions, rows, candidates)
            told = {"seconds": time.perf_counter() - started, "passes": rows.predictions.passes}
            found["runs"].append({"learner": learner, **told, **answer})
    return found


def in_memory(folder: Path, candidates: int) -> Answer:
    """The same, from one array: what every way must find."""
    table = table_of(folder, candidates)
    rows = ShardedPredictions(table).rows(np.arange(table.items))
    packed = PackedPredictions.of(rows.planes, candidates, 2)
    return {
        "operations": [{"digest": digest(act())} for _, act in operations(packed, candidates, table.items)],
        "runs": [
            whole_run(learner, options, packed, rows, candidates) for learner, options in runs(candidates).items()
        ],
    }


def held(root: int) -> int:
    """Bytes that belong to a process and all it started, files not counted."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path("/proc", name, "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(name))
    total, ahead = 0, [root]
    while ahead:
        pid = ahead.pop()
        ahead += parents.get(pid, [])
        try:
            lines = Path("/proc", str(pid), "status").read_text().splitlines()
        except OSError:
            continue
        total += sum(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
    return total


def measured(way: str, folder: Path, candidates: int) -> Answer:
    """One way in a process of its own, watched."""
    words = [sys.executable, __file__, "--way", way, "--folder", str(folder), "--candidates", str(candidates)]
    forget(folder)
    with tempfile.TemporaryFile("w+") as out:
        process, peak = subprocess.Popen(words, stdout=out), 0
        while process.poll() is None:
            peak = max(peak, held(process.pid))
            time.sleep(0.05)
        if process.returncode:
            raise SystemExit(f"{way} ended with {process.returncode}")
        out.seek(0)
        return json.load(out) | {"way": way, "held": peak}


def forget(folder: Path) -> None:
    """Let the system drop what it holds of the files, so that everybody begins alike."""
    for file in folder.glob("*.bits"):
        with file.open("rb") as handle:
            os.fsync(handle.fileno())
            os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def same(found: list[Answer]) -> bool:
    """Do all ways tell the same?"""
    told = {
        json.dumps([
            [each["digest"] for each in way["operations"]],
            [{key: run[key] for key in ("hypothesis", "labels", "survivors", "digest")} for run in way["runs"]],
        ])
        for way in found
    }  # fmt: skip
    return len(told) == 1


def show(told: Answer) -> str:
    ways = told["ways"]
    head = " | ".join(f"{each['way']}, s" for each in ways)
    lines = [f"| what | passes | {head} |", "|---|---|" + "---|" * len(ways)]
    for number, row in enumerate(ways[0]["operations"]):
        times = " | ".join(f"{each['operations'][number]['seconds']:.3g}" for each in ways)
        lines.append(f"| {row['what']} | {row['passes']:.2g} | {times} |")
    for number, row in enumerate(ways[0]["runs"]):
        times = " | ".join(f"{each['runs'][number]['seconds']:.3g}" for each in ways)
        lines.append(f"| {row['learner']}, {row['labels']} labels | {row['passes']:.3g} | {times} |")
    lines.append("| most memory, GB | | " + " | ".join(f"{each['held'] / 1e9:.2f}" for each in ways) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--candidates", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        print(json.dumps(one_way(given.way, given.folder, given.candidates)))
        return 0
    candidates, items = QUICK if given.quick else FULL
    folder = given.table or Path(tempfile.mkdtemp(prefix="replical-shards-"))
    try:
        folder.mkdir(exist_ok=True)
        there = (folder / "shards.json").exists()
        written = 0.0 if there else make(folder, candidates, items, SIZE // 64 if given.quick else SIZE)
        size = sum(file.stat().st_size for file in folder.glob("*.bits"))
        print(
            f"{candidates:,} candidates on {items:,} items: {size / 1e9:.2f} GB, made in {written:.0f} s",
            file=sys.stderr,
        )
        ways = [measured(way, folder, candidates) for way in given.ways.split(",")]
        told = {
            "candidates": candidates,
            "items": items,
            "bytes": size,
            "made": written,
            "cores": cores(),
            "kernels": backend.in_use(),
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "ways": ways,
        }
        print(show(told))
        if given.json:
            given.json.write_text(json.dumps(told, indent=1) + "\n")
        agreed = same([*ways, in_memory(folder, candidates)] if given.quick else ways)
    finally:
        if given.table is None:
            shutil.rmtree(folder)
    most = max(way["held"] for way in ways)
    print(f"answers {'equal' if agreed else 'DIFFER'}; {most / 1e9:.2f} GB held at most", file=sys.stderr)
    return 0 if agreed and most <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())

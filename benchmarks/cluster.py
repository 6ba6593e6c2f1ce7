"""What 100 workers would do: messages and seconds measured here, the rest computed event by event.

    python benchmarks/cluster.py [--quick] [--out benchmarks/results] [--measured FILE]

writes DIR/cluster.json, .md (tables) and .svg/.png (figure). Measured: sizes of messages, seconds of the driver and of
Dask a piece, seconds of a pair of labs. Computed (`cluster_simulation.py`): a study and an audit, with 1 to 1000 workers.
Compared: what is computed for 1, 2, 3 and 8 local Dask workers with what they take, for pieces that wait instead of
computing, so that cores play no part, and for a real audit, given the seconds that its pieces took on the workers.
`--measured` computes again from an earlier cluster.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cloudpickle import dumps
from cluster_simulation import Driver, Network, Piece, dealt, seconds

from replical.core.parallel import ThisProcess, Workers, cluster, cores, ordered_map
from replical.study.store import Piece as StudyPiece
from replical.study.store import work
from replical.worlds.audit import audit, named_pair, run_pairs
from replical.worlds.experiment import Experiment, prepare

SEED = "cluster"
WORKERS = (1, 2, 3, 10, 20, 30, 50, 100, 300, 1000)
LATENCY = 0.0002
NETWORKS = {
    "1 Gbit/s": Network(bytes_a_second=1.25e8, latency=LATENCY),
    "10 Gbit/s": Network(bytes_a_second=1.25e9, latency=LATENCY),
}
LOOPBACK = Network(bytes_a_second=1e9)  # what is measured of a message here has the way of this machine in it
MESSAGE = 12_500  # bytes of a small message
PAIRS = 4000
AUDIT = Experiment(class_spec="thresholds:1000000", learner="handicap", epsilon=0.1, pool_size=100_000)
CHECKED = Experiment(class_spec="thresholds:100000", learner="handicap", epsilon=0.1, pool_size=100_000)


# ---- what is measured ----


def message_sizes() -> dict[str, int]:
    """Bytes of what goes to a worker and comes back, for pieces of a study and of an audit."""
    ready = prepare(AUDIT, seed=SEED)
    task = partial(named_pair, ready.learner, ready.world.light(), SEED, 2)
    tried = Experiment(class_spec="thresholds:1000", learner="handicap", epsilon=0.1, pool_size=10_000)
    piece = StudyPiece(cell="0" * 16, experiment=tried, class_seed=SEED, seed=SEED, start=0, end=50)
    small = prepare(tried, seed=SEED)
    pairs = partial(named_pair, small.learner, small.world, SEED, 2)
    with_held = _Recorder()
    list(ordered_map(pairs, range(12), with_held))  # as an audit on a cluster sends it
    return {
        "study_question": len(dumps((work, piece))),
        "study_answer": len(dumps(work(piece))),
        "study_answer_pairs": 50,
        "audit_question": with_held.question,
        "audit_answer": with_held.answer // 12,
        "audit_held": len(dumps(task)),
    }


class _Recorder(ThisProcess):
    """This process, which weighs what it is handed, the task aside, and what it answers."""

    question = answer = 0

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Any:
        done, (_, numbers) = super().submit(function, *args), args
        self.question = len(dumps((function, _NAMED, numbers)))
        self.answer += len(dumps(done.result()))
        return done


_NAMED = "replical-" + 32 * "0"  # what stands for the task in a message


def driver_costs(pieces: int) -> dict[str, float]:
    """Seconds the driver spends a piece (of its own processor), and those a piece takes there and back through Dask."""
    with cluster("local:1") as busy:
        for _ in range(50):
            busy.submit(_nothing, b"").result()
        trips = [_timed(lambda: busy.submit(_nothing, b"").result()) for _ in range(pieces // 5)]
        before = time.process_time()
        for future in [busy.submit(_nothing, b"") for _ in range(pieces)]:
            future.result()
        driver = (time.process_time() - before) / pieces
        weighed = {
            size: min(_timed(lambda: busy.submit(_nothing, bytes(size)).result()) for _ in range(20))  # noqa: B023
            for size in (MESSAGE, 100 * MESSAGE)
        }
    trip = statistics.quantiles(trips, n=10)[0]  # those that nobody else's work held up
    return {
        "driver": driver,
        "trip": trip,
        "overhead": max(0.0, trip - driver),
        "seconds_a_megabyte": max(0.0, (weighed[100 * MESSAGE] - weighed[MESSAGE]) / (99 * MESSAGE) * 1e6),
    }


def _nothing(_: bytes) -> None:
    """Only the message counts."""


def _timed(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def pair_seconds(experiment: Experiment, pairs: int) -> float:
    """Seconds of one core a pair, the class prepared."""
    ready = prepare(experiment, seed=SEED)
    audit(ready.learner, ready.world, seed="warm", pairs=2)
    before = time.process_time()
    audit(ready.learner, ready.world, seed=SEED, pairs=pairs)
    return (time.process_time() - before) / pairs


def study_pieces(timings: Path, sizes: dict[str, int]) -> list[Piece]:
    """The pieces of the published study, as its cells took: about a second each, at most 50 pairs."""
    from pyarrow import parquet

    found = []
    for cell in parquet.read_table(timings).to_pylist():
        each = cell["seconds"] / max(1, cell["pairs"])
        step, left = max(1, min(50, round(1 / max(each, 1e-9)))), cell["pairs"]
        while left:
            pairs = min(step, left)
            answer = sizes["study_answer"] * pairs / sizes["study_answer_pairs"]
            found.append(Piece(each * pairs, sizes["study_question"], answer))
            left -= pairs
    return found


# ---- what is compared ----


def checks(quick: bool, costs: dict[str, float]) -> list[dict[str, Any]]:
    """Computed and measured, for pieces that wait and for a real audit, on Dask workers of this machine."""
    waits = np.random.default_rng(7).lognormal(-2.5 if quick else -1.2, 0.7, 40 if quick else 80).tolist()
    pairs = 16 if quick else 200
    ready = prepare(CHECKED, seed=SEED)
    found = []
    for workers in (1, 2) if quick else (1, 2, 3, 8):
        with cluster(f"local:{workers}") as busy:
            list(_hear(busy, [0.01] * 4 * workers))
            took = _timed(lambda: list(_hear(busy, waits)))
            found.append(_compared("pieces that wait", workers, waits, took, costs))
            if workers <= 3:
                audit(ready.learner, ready.world, seed="warm", pairs=4 * workers, workers=busy)
                seen = _Watched(busy)
                took = _timed(lambda: list(run_pairs(ready.learner, ready.world, seed=SEED, pairs=pairs, workers=seen)))  # noqa: B023
                real = [future.result().seconds for future in seen.futures]
                found.append(_compared("a real audit", workers, real, took, costs))
        print(*found[-2:], sep="\n", flush=True)
    return found


class _Watched(Workers):
    """Workers whose answers are kept, in the order in which pieces were handed in."""

    def __init__(self, real: Workers) -> None:
        self.count, self.words, self.ahead, self.losses = real.count, real.words, real.ahead, real.losses
        self.hold, self.check = real.hold, real.check  # type: ignore[method-assign]
        self._real, self.futures = real, list[Any]()

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Any:
        self.futures.append(self._real.submit(function, *args))
        return self.futures[-1]


def _hear(busy: Workers, waits: Sequence[float]) -> Iterator[Any]:
    """The pieces one by one, twice as many handed in as there are workers, as studies and audits do."""
    from concurrent.futures import FIRST_COMPLETED, wait

    left, flying = list(reversed(waits)), set()
    while left or flying:
        while left and len(flying) < busy.count + busy.ahead:
            flying.add(busy.submit(time.sleep, left.pop()))
        done, flying = wait(flying, return_when=FIRST_COMPLETED)
        yield from done


def _compared(what: str, workers: int, each: Sequence[float], took: float, costs: dict[str, float]) -> dict[str, Any]:
    pieces = [Piece(seconds + costs["overhead"], 2000, 2000) for seconds in each]
    computed = seconds(pieces, workers, LOOPBACK, _driver(costs))
    return {
        "what": what,
        "workers": workers,
        "computed": round(computed, 2),
        "measured": round(took, 2),
        "off": round(computed / took - 1, 3),
    }


def _driver(costs: dict[str, float]) -> Driver:
    half = costs["driver"] / 2
    return Driver(hand_out=half, hear=half, a_byte=costs["seconds_a_megabyte"] / 1e6)


# ---- what is computed ----


def curves(found: dict[str, Any], timings: Path) -> list[dict[str, Any]]:
    """Seconds of the study and the audit, for every number of workers."""
    sizes, costs = found["sizes"], found["costs"]
    driver, overhead = _driver(costs), costs["overhead"]
    study = study_pieces(timings, sizes)
    rows = []
    for workers in WORKERS:
        pairs = dealt(found["audit_pairs"], found["audit_pair_seconds"], workers)
        row: dict[str, Any] = {"workers": workers}
        for name, network in NETWORKS.items():
            held = workers * sizes["audit_held"] / network.bytes_a_second
            row[f"study, {name}"] = seconds([_slower(each, overhead) for each in study], workers, network, driver)
            row[f"audit, {name}"] = held + seconds(
                [
                    Piece(
                        overhead + size * found["audit_pair_seconds"],
                        sizes["audit_question"],
                        sizes["audit_answer"] * size,
                    )
                    for size in pairs
                ],
                workers,
                network,
                driver,
            )
        rows.append(row)
    return rows


def _slower(piece: Piece, by: float) -> Piece:
    return replace(piece, seconds=piece.seconds + by)


# ---- what is written ----


def tables(found: dict[str, Any]) -> str:
    """All of it for people."""
    costs, sizes = found["costs"], found["sizes"]
    parts = [
        f"Measured on {found['machine']}: the driver spends {1e3 * costs['driver']:.2f} ms of its processor a piece; "
        f"a piece of no work takes {1e3 * costs['trip']:.1f} ms there and back through Dask, and "
        f"{1e3 * costs['seconds_a_megabyte']:.1f} ms more a megabyte. A pair of the audit: "
        f"{found['audit_pair_seconds']:.3f} s.",
        _table(
            ["message", "bytes"],
            [
                ["piece of a study, to the worker", f"{sizes['study_question']:,}"],
                ["piece of a study, 50 pairs, back", f"{sizes['study_answer']:,}"],
                ["piece of an audit, to the worker", f"{sizes['audit_question']:,}"],
                ["pair of an audit, back", f"{sizes['audit_answer']:,}"],
                ["what an audit sends to each worker once", f"{sizes['audit_held']:,}"],
            ],
        ),
        "Computed against measured:",
        _table(
            ["what", "workers", "computed, s", "measured, s", "off"],
            [
                [row["what"], row["workers"], row["computed"], row["measured"], f"{100 * row['off']:+.0f}%"]
                for row in found["checks"]
            ],
        ),
        f"Computed, seconds (network with {1e3 * LATENCY:g} ms latency; the study of this repository and an "
        f"audit of {found['audit_pairs']:,} pairs):",
        _table(
            list(found["curves"][0]),
            [[row["workers"], *(_short(row[name]) for name in list(row)[1:])] for row in found["curves"]],
        ),
    ]
    return "\n\n".join(each if each.startswith("|") else textwrap.fill(each, 120) for each in parts) + "\n"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def figure(found: dict[str, Any], path: Path) -> None:
    """How many times as fast as one worker a study and an audit are."""
    from bills_figure import legend_below

    from replical.study.pictures.style import log_ticks, new_figure, save, style

    rows = found["curves"]
    workers = [row["workers"] for row in rows]
    with style():
        drawn = new_figure(6, 5)
        axes = drawn.subplots()
        axes.plot(workers, workers, color="0.6", linewidth=1, linestyle=":", label="as many times as workers")
        for key, words, marker, colour in (
            ("study, 1 Gbit/s", "the study of this repository", "o", "#00507a"),
            ("audit, 1 Gbit/s", f"an audit of {found['audit_pairs']:,} pairs", "s", "#b35900"),
        ):
            speed = [rows[0][key] / row[key] for row in rows]
            axes.plot(workers, speed, marker=marker, markersize=4, color=colour, label=words)
        axes.set(title="Studies and audits, 1 Gbit/s", ylabel="times as fast as one worker (computed)")
        axes.set(xlabel="workers", xscale="log", yscale="log")
        log_ticks(axes.xaxis)
        log_ticks(axes.yaxis)
        legend_below(axes)
        for suffix in (".svg", ".png"):
            save(drawn, path.with_suffix(suffix))


def measured(quick: bool) -> dict[str, Any]:
    """Everything that is measured on this machine."""
    found: dict[str, Any] = {
        "machine": f"{cores()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}",
        "sizes": message_sizes(),
        "costs": driver_costs(200 if quick else 2000),
        "audit_pairs": PAIRS,
        "audit_pair_seconds": pair_seconds(AUDIT, 4 if quick else 40),
    }
    return found | {"checks": checks(quick, found["costs"])}


def main() -> None:
    """Measure, compute, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer of everything, in some seconds")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--timings", type=Path, default=Path("docs/explanation/study/timings.parquet"))
    parser.add_argument("--measured", type=Path, help="take what was measured from this cluster.json")
    given = parser.parse_args()
    found = measured(given.quick) if given.measured is None else json.loads(given.measured.read_text())
    found["curves"] = curves(found, given.timings)
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "cluster"
    path.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    path.with_suffix(".md").write_text(tables(found))
    figure(found, path)
    print(tables(found))


if __name__ == "__main__":
    main()

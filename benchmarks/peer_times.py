"""What one label costs, in time, beside what else people take: one pool, one run.

    pip install "replical[peers]"
    python benchmarks/peer_times.py [--labels 40] [--sizes ITEMSxMODELS ..] [--json FILE]

Everybody has the same pool of items with ten features, and the time of a label is that from giving it to knowing what to
ask next. There are 240 candidate models, as many as in benchmarks/peers.py, a thousand and, on fewer items, 10⁵.
scikit-activeml and modAL refit a logistic regression and ask for the item it is least sure of, or (with 240 models) the
one on which the candidates' votes differ most; Vowpal Wabbit reads on to the next item that it wants; Model Picker
(benchmarks/model_picker.py, written from its paper) and ours choose among the same candidate models. They do not answer the
same question: nobody else's answer is replicable, and some return a new model instead of one of yours. The table is about
time alone, that of the processor (what else the machine does disturbs it little); benchmarks/peers.py is about the answers.
A peer that is not installed is left out and named.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from model_picker import steps
from peer_askers import MELLOWNESS, Task, at_random, committee, modal, uncertain, vowpal
from threadpoolctl import threadpool_limits

from replical import AskTell, Pool, PredictionTable, PrivateRandomness, SharedRandomness, learner_for, plan

FEATURES, MODELS, FIRST = 10, 240, 20  # the peers start from so many labels
COMMITTEE = "scikit-activeml, committee"  # looks at every answer for each label: seconds with 240 models
SIZES = ((100_000, MODELS), (100_000, 1_000), (2_000, 100_000))  # items and models
SECONDS = 30.0  # nobody is timed longer than this
Steps = Iterator[int]  # how many labels each takes


class World:
    """Items with features, labels that one direction makes except for one in twenty, and half-spaces near it."""

    def __init__(self, items: int, models: int) -> None:
        generator = np.random.default_rng(0)
        self.X = generator.normal(size=(items, FEATURES))
        direction = generator.normal(size=FEATURES)
        self.y = ((self.X @ direction > 0) ^ (generator.random(items) < 0.05)).astype(np.uint8)
        near = direction[:, None] + generator.normal(size=(FEATURES, models)) * generator.uniform(0.1, 2, size=models)
        self.says = (self.X @ near > 0).astype(np.uint8)

    @cached_property
    def task(self) -> Task:
        """For those who train a model: the first items are labelled."""
        return Task(self.X[FIRST:], self.y[FIRST:], (self.X[:FIRST], self.y[:FIRST]))


def one_by_one(some: Iterable[object]) -> Steps:
    return (1 for _ in some)


def argmax(world: World) -> Steps:
    errors = np.zeros(world.says.shape[1], dtype=np.int64)
    for item in np.flatnonzero((world.says != world.says[:, :1]).any(axis=1)):
        errors += world.says[item] != world.y[item]
        errors.argmin()
        yield 1


def picker(world: World) -> Steps:
    return one_by_one(steps(world.says, world.y, np.random.default_rng(1).random(len(world.y))))


def ours(name: str, **more: Any) -> Callable[[World], Steps]:
    def run(world: World) -> Steps:
        C = PredictionTable([f"m{number}" for number in range(world.says.shape[1])])
        pool = Pool(C, world.says, PrivateRandomness.simulated("peers"))
        learner = learner_for(plan(name, C, epsilon=0.05, delta=0.05, pool="finite", **more))
        run = AskTell(learner, pool, SharedRandomness("peers"))
        while rows := run.open:
            run.tell({row: int(world.y[row]) for row in rows})
            yield len(rows)

    return run


RUNS: dict[str, Callable[[World], Steps]] = {
    "scikit-activeml, random": lambda world: one_by_one(at_random(world.task)),
    "scikit-activeml, uncertainty": lambda world: one_by_one(uncertain(world.task)),
    COMMITTEE: lambda world: one_by_one(committee(world.says, world.y)),
    "modAL, uncertainty": lambda world: one_by_one(modal(world.task)),
    "Vowpal Wabbit": lambda world: one_by_one(vowpal(world.task, MELLOWNESS)),
    "argmax": argmax,
    "Model Picker": picker,
    "replical a2": ours("a2"),
    "replical handicap": ours("handicap", rho=0.1),
}


def timed(steps: Steps, labels: int) -> list[float]:
    """Milliseconds of the processor a label; the first step is not counted, as it sets everything up."""
    times: list[float] = []
    next(steps, None)
    begun = started = time.process_time()
    while len(times) < labels and started - begun < SECONDS and (labelled := next(steps, None)) is not None:
        ended = time.process_time()
        times += [1000 * (ended - started) / labelled] * labelled
        started = ended
    return times


def measure(items: int, labels: int, models: int = MODELS) -> list[dict[str, Any]]:
    """Time everybody on one pool; of who is not installed there is only the name of what is missing."""
    world, rows = World(items, models), list[dict[str, Any]]()
    for who, run in RUNS.items():
        if who == COMMITTEE and models > MODELS:
            continue
        try:
            with threadpool_limits(limits=1):
                times = np.array(timed(run(world), labels))
        except ImportError as missing:
            rows.append({"who": who, "missing": missing.name})
            continue
        assert len(times), f"{who} asks for no second label"
        row: dict[str, Any] = {"who": who, "labels": len(times), "median_ms": float(np.median(times))}
        rows.append(row | {"mean_ms": float(times.mean()), "worst_ms": float(times.max())})
    return rows


def main() -> None:
    """Time everybody on each pool and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, default=40)
    parser.add_argument("--sizes", nargs="+", default=[f"{items}x{models}" for items, models in SIZES])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    found = []
    for items, models in (map(int, size.split("x")) for size in given.sizes):
        print(f"{items:,} items, {models:,} candidate models, milliseconds a label")
        print(f"{'':<30} {'labels':>7} {'median':>9} {'mean':>9} {'worst':>9}")
        rows = measure(items, given.labels, models)
        for row in rows:
            if "missing" in row:
                print(f"{row['who']:<30} not installed: {row['missing']}")
                continue
            figures = " ".join(f"{row[name]:>9.2f}" for name in ("median_ms", "mean_ms", "worst_ms"))
            print(f"{row['who']:<30} {row['labels']:>7} {figures}", flush=True)
        found.append({"items": items, "models": models, "peers": [row for row in rows if "missing" not in row]})
    if given.json:
        given.json.write_text(json.dumps({"sizes": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()

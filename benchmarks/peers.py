"""What one label costs, in time, beside what else people take: one pool, one run.

    pip install "replical[peers]"
    python benchmarks/peers.py [--items 100000] [--labels 40] [--json FILE]

Everybody stands before the same pool of items with ten features, and a label is what it takes from telling one to knowing
what to ask next. scikit-activeml and modAL refit a logistic regression and ask for the item it is least sure of; Model
Picker (benchmarks/model_picker.py, written from its paper) and ours choose among the same candidate models. They do not
answer the same question: nobody else's answer is replicable, and the first two return a new model instead of one of yours.
The table is about time alone. A peer that is not installed is left out and named.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from model_picker import pick
from sklearn.linear_model import LogisticRegression

from replical import AskTell, Pool, PredictionTable, PrivateRandomness, SharedRandomness, learner_for, plan

FEATURES, MODELS, FIRST = 10, 240, 20  # the peers start from so many labels
Times = list[float]


class World:
    """Items with features, labels that one direction makes except for one in twenty, and half-spaces near it."""

    def __init__(self, items: int) -> None:
        generator = np.random.default_rng(0)
        self.X = generator.normal(size=(items, FEATURES))
        direction = generator.normal(size=FEATURES)
        self.y = ((self.X @ direction > 0) ^ (generator.random(items) < 0.05)).astype(np.uint8)
        near = direction[:, None] + generator.normal(size=(FEATURES, MODELS)) * generator.uniform(0.1, 2, size=MODELS)
        self.says = (self.X @ near > 0).astype(np.uint8)


def modal(world: World, labels: int) -> Times:
    from modAL.models import ActiveLearner, learners

    # modAL 0.4.2 checks its input with an argument that scikit-learn has renamed since; the check is the same.
    check = learners.check_X_y
    learners.check_X_y = lambda X, y, *, force_all_finite, **how: check(X, y, ensure_all_finite=force_all_finite, **how)
    start = np.arange(FIRST)
    learner = ActiveLearner(LogisticRegression(), X_training=world.X[start], y_training=world.y[start])
    times, (item, _) = [], learner.query(world.X)
    for _ in range(labels):
        started = time.perf_counter()
        learner.teach(world.X[item], world.y[item])
        item, _ = learner.query(world.X)
        times.append(time.perf_counter() - started)
    return times


def skactiveml(world: World, labels: int) -> Times:
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling
    from skactiveml.utils import MISSING_LABEL

    known = np.full(len(world.y), MISSING_LABEL)
    known[:FIRST] = world.y[:FIRST]
    model, strategy = SklearnClassifier(LogisticRegression(), classes=[0, 1]), UncertaintySampling(random_state=0)
    times, item = [], strategy.query(X=world.X, y=known, clf=model)
    for _ in range(labels):
        started = time.perf_counter()
        known[item] = world.y[item]
        item = strategy.query(X=world.X, y=known, clf=model)
        times.append(time.perf_counter() - started)
    return times


def picker(world: World, labels: int) -> Times:
    coins = np.random.default_rng(1).random(len(world.y))
    started = time.perf_counter()
    _, asked = pick(world.says, world.y, coins, budget=labels)
    return [(time.perf_counter() - started) / asked] * asked  # it has no steps to time one by one


def ours(name: str, **more: Any) -> Callable[[World, int], Times]:
    def run(world: World, labels: int) -> Times:
        C = PredictionTable([f"m{number}" for number in range(MODELS)])
        pool = Pool(C, world.says, PrivateRandomness.simulated("peers"))
        learner = learner_for(plan(name, C, epsilon=0.05, delta=0.05, pool="finite", **more))
        run, times = AskTell(learner, pool, SharedRandomness("peers")), []
        while run.open and len(times) < labels:
            rows = run.open
            started = time.perf_counter()
            run.tell({row: int(world.y[row]) for row in rows})
            times += [(time.perf_counter() - started) / len(rows)] * len(rows)
        return times

    return run


RUNS = {
    "scikit-activeml, uncertainty": skactiveml,
    "modAL, uncertainty": modal,
    "Model Picker": picker,
    "replical a2": ours("a2"),
    "replical rounded-a2": ours("rounded-a2", rho=0.1),
    "replical settled": ours("settled", rho=0.1),
}


def main() -> None:
    """Time everybody on one pool and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--labels", type=int, default=40)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    world, rows = World(given.items), []
    print(f"{given.items:,} items, {MODELS} candidate models, milliseconds a label")
    print(f"{'':<30} {'labels':>7} {'median':>9} {'mean':>9} {'worst':>9}")
    for who, run in RUNS.items():
        try:
            times = 1000 * np.array(run(world, given.labels))
        except ImportError as missing:
            print(f"{who:<30} not installed: {missing.name}")
            continue
        row: dict[str, Any] = {"who": who, "labels": len(times), "median_ms": float(np.median(times))}
        row |= {"mean_ms": float(times.mean()), "worst_ms": float(times.max())}
        print(f"{who:<30} {len(times):>7} {row['median_ms']:>9.2f} {row['mean_ms']:>9.2f} {row['worst_ms']:>9.2f}")
        rows.append(row)
    if given.json:
        given.json.write_text(json.dumps({"items": given.items, "models": MODELS, "peers": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

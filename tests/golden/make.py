"""Write the golden files. Run it only when a published number is meant to change, and say so in CHANGELOG.md."""

import json
from pathlib import Path

import numpy as np

from replical import (
    CAL,
    ERM,
    Intervals,
    KnownLabels,
    Pool,
    PredictionTable,
    PrivateRandomness,
    RepliCAL,
    SharedRandomness,
    Star,
    Thresholds,
    learn,
    plan,
)

HERE = Path(__file__).parent
SEEDS = ["", "replical", "Zürich", "seed with\nnewline", "7 / pair 0"]
NAMES = [["threshold"], ["order"], ["centre", 3], ["a", "b", 10**20]]
INDICES = [0, 1, 3, 4, 1023, 10**9, 2**40]


def randomness():
    return [
        {"seed": seed, "name": name, "index": index, "word": SharedRandomness(seed).word(*name, index=index)}
        for seed in SEEDS
        for name in NAMES
        for index in INDICES
    ]


def derived():
    shared = SharedRandomness("replical")
    return {
        "uniform": shared.uniform("threshold", low=0.25, high=0.75).hex(),
        "integer": shared.integer("threshold", high=8_126_015),
        "first": shared.first("order", indices=np.arange(10**6)),
        "permutation": PrivateRandomness(b"sixteen bytes ok").permutation(20).tolist(),
    }


def fingerprints():
    made = {
        "thresholds:1000": Thresholds(1000),
        "thresholds with cuts": Thresholds(cuts=[0.01, 0.04, 1e-7 + 1], labels=("no", "yes")),
        "intervals:40": Intervals(40),
        "star:32": Star(32),
        "table": PredictionTable(["résnet", "vit"], labels=("benign", "malignant")),
    }
    return {name: C.fingerprint for name, C in made.items()}


def plans():
    written = {}
    for learner in ("erm", "cal", "cal-rounds", "replical"):
        for name in ("paper", "tight"):
            for pool in ("exact", "finite"):
                made = plan(learner, 1000, epsilon=0.01, delta=0.05, rho=0.1, theta=2.0, name=name, pool=pool)
                written[f"{learner} {name} {pool}"] = {number.name: str(number.value) for number in made.numbers}
    return written


def results():
    """One run a learner on a pool whose every random bit is frozen."""
    C = Thresholds(300)
    x = (np.arange(20_000, dtype=np.int64) * 7919) % 299
    pool = Pool(C, x, PrivateRandomness(b"golden private secret"))
    labels = KnownLabels(C, (x >= 123).astype(int))
    task = {"epsilon": 0.05, "delta": 0.1, "rho": 0.5, "theta": 2.0, "pool": "finite"}
    learners = {
        "erm": ERM(plan("erm", C, **task)),
        "cal": CAL(plan("cal", C, **task)),
        "cal-rounds": CAL(plan("cal-rounds", C, **task)),
        "replical paper": RepliCAL(plan("replical", C, **task, name="paper", k_loop=100, k_final=300)),
        "replical tight": RepliCAL(plan("replical", C, **task, k_loop=200, k_final=8000, max_labels=20_000)),
    }
    written = {}
    for name, learner in learners.items():
        pool_for = (
            pool if name != "replical tight" else Pool(C, np.tile(x, 3), PrivateRandomness(b"golden private secret"))
        )
        known = labels if name != "replical tight" else KnownLabels(C, (np.tile(x, 3) >= 123).astype(int))
        result = learn(learner, pool_for, known, SharedRandomness("golden"))
        written[name] = {
            "hypothesis": result.hypothesis,
            "unrounded": result.unrounded,
            "labels": result.labels,
            "survivors": result.V.indices.tolist(),
            "rounds": [[*each.disagreement, each.survivors, each.drawn, each.scanned] for each in result.rounds],
        }
    return written


GOLDEN = {
    "randomness": randomness,
    "derived": derived,
    "fingerprints": fingerprints,
    "plans": plans,
    "results": results,
}

if __name__ == "__main__":
    for name, make in GOLDEN.items():
        (HERE / f"{name}.json").write_text(json.dumps(make(), indent=1, ensure_ascii=False) + "\n")

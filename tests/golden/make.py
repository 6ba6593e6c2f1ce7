"""Write the golden files. Run it only when a published number is meant to change, and say so in CHANGELOG.md."""

import json
from pathlib import Path

import numpy as np

from replical import (
    Boxes,
    HalfSpaces,
    Intervals,
    KnownLabels,
    Linear,
    Pool,
    PredictionTable,
    Prior,
    PrivateRandomness,
    SharedRandomness,
    Star,
    Stumps,
    Thresholds,
    learn,
    plan,
)
from replical.learners.catalogue import find, of_lists
from replical.learners.paper.boosting import BoostedResult
from replical.learners.planning import learner_for

LEARNERS = [record.id for record in of_lists()]  # of those that choose from a list

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
    weighted = Prior.weights(Thresholds(1000), 1 + np.arange(1000) % 10)
    return {
        "weighted first": weighted.first(shared, "order", indices=np.arange(1000)),
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
        "stumps:5,40": Stumps(5, 40),
        "boxes:2,8": Boxes(2, 8),
        "halfspaces:2,20": HalfSpaces(2, 20, seed="golden"),
        "linear:3": Linear(3, step=0.1, seed="golden", intercept=1.0),
        "table": PredictionTable(["résnet", "vit"], labels=("benign", "malignant")),
    }
    return {name: C.fingerprint for name, C in made.items()}


def plans():
    written = {}
    for learner in LEARNERS:
        told = f"{learner} heavy-hitters" if find(learner).boosts else learner
        for name in ("paper", "tight"):
            if getattr(find(learner), name) is None:  # the paper does not have every learner
                continue
            for pool in ("exact", "finite"):
                nu = {"nu": 0.0 if find(learner).infers else 0.02} if find(learner).uses("nu") else {}
                task = {"epsilon": 0.01, "delta": 0.05, "rho": 0.1, "theta": 2.0} | nu
                made = plan(learner, 1000, name=name, pool=pool, **task)
                written[f"{told} {name} {pool}"] = {number.name: str(number.value) for number in made.numbers}
    return written


def halfspaces():
    """A net is published by its string; a moved coordinate would be another class under the same fingerprint."""
    C = HalfSpaces(2, 20, seed="golden")
    return {"normals": [w.hex() for w in C.normals.ravel()], "offsets": [b.hex() for b in C.offsets]}


def results():
    """One run a learner on a pool whose every random bit is frozen."""
    C = Thresholds(300)
    x = (np.arange(60_000, dtype=np.int64) * 7919) % 299
    clean = (x >= 123).astype(int)
    noisy = np.where(np.arange(60_000) % 23 == 0, 1 - clean, clean)
    quiet = np.where(np.arange(60_000) % 97 == 0, 1 - clean, clean)
    pool = Pool(C, x, PrivateRandomness(b"golden private secret"))
    task = {"epsilon": 0.05, "delta": 0.1, "rho": 0.5, "theta": 2.0, "pool": "finite"}
    nu, few, small = {"nu": 0.05}, {"strings": 3, "runs": 40}, {"theta": 1.0, "k_loop": 60, "k_final": 100}
    runs = {
        "erm": (clean, {}),
        "cal": (clean, {}),
        "cal-rounds": (clean, {}),
        "replical paper": (clean, {"name": "paper", "k_loop": 100, "k_final": 300}),
        "replical tight": (clean, {"k_loop": 200, "k_final": 8000}),
        "a2": (noisy, {}),
        "a2-rounds": (noisy, {**nu, "k_loop": 500, "k_final": 900}),
        "replicable-erm tight": (noisy, {**nu, "k_final": 5000}),
        "replica2 paper": (noisy, {**nu, "name": "paper", "k_loop": 500, "k_final": 900}),
        "replica2 tight": (noisy, {**nu, "k_loop": 500, "k_final": 900}),
        "replica2 tight rounds": (quiet, {"nu": 0.02, "epsilon": 0.02, "theta": 1.0, "k_loop": 40, "k_final": 9000}),
        "handicap": (noisy, {"max_labels": 400}),
        "handicap order": (noisy, {"prior": Prior.order(C, [*range(120, 300), *range(120)]), "max_labels": 400}),
        "handicap batch": (noisy, {"batch": 5, "max_labels": 300, "labs": 3}),
        "handicap noiseless": (clean, {"nu": 0}),
        "handicap weights": (clean, {"nu": 0, "prior": Prior.weights(C, 1 + np.arange(300) % 7)}),
        "boosted-replicable-erm heavy-hitters": (noisy, {**nu, **few, "k_final": 60}),
        "boosted-replica2 heavy-hitters": (noisy, {**nu, **few, **small, "name": "paper"}),
    }
    written = {}
    for name, (labels, sizes) in runs.items():
        learner = learner_for(plan(name.split()[0], C, **(task | sizes)))
        result = learn(learner, pool, KnownLabels(C, labels), SharedRandomness("golden"))
        written[name] = {
            "hypothesis": result.hypothesis,
            "unrounded": result.unrounded,
            "labels": result.labels,
            "survivors": result.V.indices.tolist(),
            "last rounds": [
                [*each.disagreement, each.survivors, each.drawn, each.scanned] for each in result.rounds[-5:]
            ],
        }
        if isinstance(result, BoostedResult):
            written[name]["boosting"] = [result.boosting.runs, result.boosting.strings, str(result.boosting.frequency)]
        if result.proof is not None:
            proof = result.proof
            written[name]["proof"] = [proof.certified, proof.doubt, proof.scanned, proof.excess_upper, proof.tolerance]
    return written


GOLDEN = {
    "randomness": randomness, "derived": derived, "fingerprints": fingerprints, "plans": plans,
    "halfspaces": halfspaces, "results": results,
}  # fmt: skip

if __name__ == "__main__":
    for name, make in GOLDEN.items():
        (HERE / f"{name}.json").write_text(json.dumps(make(), indent=1, ensure_ascii=False) + "\n")

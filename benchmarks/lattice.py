"""Half-spaces without a list: labels until the proof, how often labs differ, what rounding costs, time a label.

Three worlds: items with normal features where some half-space makes no error; the same with 5% of the labels wrong; and two
real tables, of which each lab has rows of its own. `ReplicableLinear` as it is, with one string for each group of labs.

    python benchmarks/lattice.py [--quick] [--real] [--groups N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.core.binomial import clopper_pearson
from replical.sklearn import ReplicableLinear

LABS = 4  # labs with one string: six pairs
# dimensions, items of a lab, share of wrong labels, epsilon (rounding costs about half of it), budget, groups
EASY = [
    (2, 20_000, 0.0, 0.04, None, 25),
    (10, 20_000, 0.0, 0.04, 120, 25),
    (10, 20_000, 0.0, 0.04, 160, 25),
    (10, 100_000, 0.0, 0.04, 240, 10),
    (50, 20_000, 0.0, 0.04, 820, 3),
    (10, 20_000, 0.05, 0.04, 150, 25),
    (10, 20_000, 0.05, 0.04, 250, 25),
    (10, 5_000, 0.05, 0.04, 250, 25),
]
QUICK = [(2, 3_000, 0.0, 0.1, None, 2), (4, 3_000, 0.05, 0.1, 60, 1)]
Floats = NDArray[np.float64]


def world(d: int, items: int, wrong: float, group: int, lab: int) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """One lab's items and labels, and the best direction, which its group shares."""
    best = np.random.default_rng([d, group]).normal(size=d)
    generator = np.random.default_rng([d, items, group, lab])
    X = generator.normal(size=(items, d))
    return X, (X @ best >= 0) ^ (generator.random(items) < wrong), best / np.linalg.norm(best)


def angle(w: Floats, best: Floats) -> float:
    """Share of normal items on which two directions differ."""
    return float(np.arccos(np.clip(w @ best / np.linalg.norm(w), -1, 1)) / np.pi)


def normal_world(d: int, items: int, wrong: float, epsilon: float, budget: int | None, groups: int) -> dict[str, Any]:
    """Groups of labs on items with normal features."""
    found, excess = [], []
    for group in range(groups):
        labs = []
        for lab in range(LABS):
            X, y, best = world(d, items, wrong, group, lab)
            model = ReplicableLinear(
                epsilon=epsilon,
                intercept=None,
                noisy=wrong > 0,
                max_labels=budget,
                seed=f"group {group}",
                random_state=lab,
            )
            labs.append(one(model, X, y))
            excess.append(angle(labs[-1]["model"].coef_[0], best))
        found.append(labs)
    return {"d": d, "items": items, "wrong": wrong, "epsilon": epsilon, "budget": budget} | row(found, excess)


def one(model: ReplicableLinear, X: Floats, y: NDArray[Any]) -> dict[str, Any]:
    """A fitted lab, and how long it took."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those not certified are counted below
        model.fit(X, y)
    return {"model": model, "seconds": time.perf_counter() - began}


def row(groups: list[list[dict[str, Any]]], excess: list[float]) -> dict[str, Any]:
    """What all groups of labs did."""
    models = [lab["model"] for labs in groups for lab in labs]
    pairs = [pair for labs in groups for pair in combinations([lab["model"] for lab in labs], 2)]
    differ = [a.hypothesis_ != b.hypothesis_ for a, b in pairs]
    sure = [a.hypothesis_ != b.hypothesis_ for a, b in pairs if a.certified_ and b.certified_]
    seconds = sum(lab["seconds"] for labs in groups for lab in labs)
    return {
        "labels": float(np.mean([model.n_labels_ for model in models])),
        "certified": float(np.mean([model.certified_ for model in models])),
        "enclosed": float(np.mean([model.result_.enclosing.enclosed for model in models])),
        "differ": float(np.mean(differ)),
        "differ_interval": clopper_pearson(sum(differ), len(differ)),
        "certified_differ": [sum(sure), len(sure)],
        "predicted": float(np.mean([model.rho_predicted_ for model in models])),
        "excess": float(np.mean(excess)),
        "ms_a_label": 1000 * seconds / sum(model.n_labels_ for model in models),
        "pairs": len(pairs),
    }


def real_tables() -> Iterator[tuple[str, Floats, NDArray[Any]]]:
    """Two tables of scikit-learn's, with two labels each."""
    from sklearn.datasets import load_breast_cancer, load_digits

    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", X, y
    X, y = load_digits(return_X_y=True)
    yield "digits, even or odd", X, y % 2


def real_world(directions: int, epsilon: float, budget: int, groups: int) -> Iterator[dict[str, Any]]:
    """Two labs share the rows that are not public; the public third gives scale, directions and a first model."""
    for name, X, y in real_tables():
        for way in ("principal", "discriminant"):
            found, errors = [], []
            for group in range(groups):
                order = np.random.default_rng([directions, group]).permutation(len(X))
                public, rest = order[: len(X) // 3], order[len(X) // 3 :]
                Z = projected(X, y, public, directions, way)
                labs = [
                    one(
                        ReplicableLinear(epsilon=epsilon, max_labels=budget, seed=f"group {group}", random_state=lab),
                        Z[rest[lab::2]],
                        y[rest[lab::2]],
                    )
                    for lab in range(2)
                ]
                errors += [float((each["model"].predict(Z[rest]) != y[rest]).mean()) for each in labs]
                found.append(labs)
            yield {"table": name, "way": way, "directions": directions, "epsilon": epsilon, "budget": budget} | row(
                found, errors
            )


def projected(X: Floats, y: NDArray[Any], public: NDArray[np.int64], directions: int, way: str) -> Floats:
    """Features along public directions: principal ones, or those in which a public model differs most from its peers."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scale = StandardScaler().fit(X[public])
    Z = scale.transform(X)
    if way == "principal":
        Z = PCA(directions, random_state=0).fit(Z[public]).transform(Z)
    else:
        draws = np.random.default_rng(0)
        normals = []
        for _ in range(directions):
            rows = draws.choice(public, len(public))
            normals.append(LogisticRegression(C=0.01, max_iter=1000).fit(Z[rows], y[rows]).coef_[0])
        basis = np.linalg.svd(np.array(normals), full_matrices=False)[2]
        Z = Z @ basis.T
    return np.asarray(Z / Z[public].std(axis=0))


def shown(rows: list[dict[str, Any]], first: list[str]) -> None:
    """A table in Markdown."""
    names = [*first, "labels", "certified", "certified and differ", "differ", "predicted", "excess", "ms a label"]
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for each in rows:
        low, high = each["differ_interval"]
        cells = [str(each[name]) for name in first]
        cells += [f"{each['labels']:.0f}", f"{each['certified']:.0%}", "{} of {}".format(*each["certified_differ"])]
        cells += [f"{each['differ']:.3f} [{low:.3f}, {high:.3f}]", f"{each['predicted']:.3f}", f"{each['excess']:.3f}"]
        print("| " + " | ".join([*cells, f"{each['ms_a_label']:.1f}"]) + " |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two small worlds")
    parser.add_argument("--real", action="store_true", help="the real tables alone")
    parser.add_argument("--groups", type=int, help="groups of labs, in place of those of each row")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    easy = (
        []
        if given.real
        else [normal_world(*each[:5], given.groups or each[5]) for each in (QUICK if given.quick else EASY)]
    )
    if easy:
        shown(easy, ["d", "items", "wrong", "budget"])
    real: list[dict[str, Any]] = []
    if not given.quick:
        for directions, epsilon in ((5, 0.04), (5, 0.2), (2, 0.2), (1, 0.2)):
            real += real_world(directions, epsilon, 150, given.groups or 30)
        print()
        shown(real, ["table", "way", "directions", "epsilon"])
    if given.json is not None:
        given.json.write_text(json.dumps({"normal": easy, "real": real}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Half-spaces without a list: labels until the proof, how often labs differ, what rounding costs, time a label.

Three worlds: items with normal features where some half-space makes no error; the same with 5% of the labels wrong; and two
real tables, of which each lab has rows of its own. `ReplicableLinear` as it is, one string a group of labs. Where
no lab is enclosed, its questions do not depend on the lattice, so how often labs differ is computed over fresh lattices too.

    python benchmarks/lattice.py [--quick] [--normal] [--real] [--row N] [--groups N] [--record]

On a quiet core ten minutes; `--record` adds a file to benchmarks/history/lattice.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.core.exact import clopper_pearson
from replical.lattice.linear import step_for
from replical.sklearn import ReplicableLinear

HISTORY = Path(__file__).parent / "history" / "lattice"
LABS = 4  # labs with one string: six pairs
LATTICES = 20  # fresh ones
# dimensions, items of a lab, share of wrong labels, epsilon (rounding costs about half of it), budget, groups
EASY: list[tuple[int, int, float, float, int | None, int]] = [
    (2, 20_000, 0.0, 0.04, None, 25),
    (10, 20_000, 0.0, 0.04, 120, 20),
    (10, 20_000, 0.0, 0.04, 180, 20),
    (50, 20_000, 0.0, 0.04, 820, 1),
    (50, 200_000, 0.0, 0.04, 820, 1),
    (10, 20_000, 0.05, 0.04, 150, 20),
    (10, 20_000, 0.05, 0.04, 250, 20),
    (10, 5_000, 0.05, 0.04, 250, 20),
]
QUICK: list[tuple[int, int, float, float, int | None, int]] = [
    (2, 3_000, 0.0, 0.1, None, 2),
    (4, 3_000, 0.05, 0.1, 60, 1),
]
# which public directions, how many, epsilon, are labels taken to be wrong from the start
REAL: list[tuple[str, int, float, bool]] = [
    ("principal", 5, 0.04, False),
    ("principal", 5, 0.04, True),
    ("principal", 5, 0.2, True),
    ("discriminant", 5, 0.2, False),
    ("discriminant", 5, 0.2, True),
    ("discriminant", 2, 0.2, False),
    ("discriminant", 2, 0.2, True),
    ("discriminant", 2, 0.4, True),
    ("regularised", 3, 0.2, True),
    ("discriminant", 1, 0.2, True),
    ("discriminant", 1, 0.1, True),
]
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
    found, excess, fresh = [], [], []
    for group in range(groups):
        labs, directions = [], []
        for lab in range(LABS):
            X, y, best = world(d, items, wrong, group, lab)
            common = {"intercept": None, "noisy": wrong > 0, "max_labels": budget, "seed": f"group {group}"}
            labs.append(one(ReplicableLinear(epsilon=epsilon, random_state=lab, **common), X, y))
            excess.append(angle(labs[-1]["model"].coef_[0], best))
            if wrong > 0:  # rounded to a millionth: the direction itself
                fine = one(ReplicableLinear(step=1e-6, random_state=lab, **common), X, y)["model"].coef_[0]
                directions.append(fine / np.linalg.norm(fine))
            else:
                directions.append(labs[-1]["model"].result_.V.direction)
        if not any(lab["model"].result_.proof.enclosed for lab in labs):
            fresh += [walls(a, b, step_for(epsilon, d)) for a, b in combinations(directions, 2)]
        found.append(labs)
    over = float(np.mean(fresh)) if len(fresh) == groups * len(list(combinations(range(LABS), 2))) else None
    given = {"d": d, "items": items, "wrong": wrong, "epsilon": epsilon, "budget": budget}
    return given | row(found, excess) | {"over_fresh_lattices": over}


def walls(a: Floats, b: Floats, step: float) -> float:
    """How often a wall lies between two directions, over fresh lattices."""
    generator = np.random.default_rng(0)
    clear = []
    for _ in range(LATTICES):
        axes = np.linalg.qr(generator.standard_normal((len(a), len(a))))[0]
        clear.append(np.prod(1 - np.minimum(1, np.abs(axes @ (a - b)) / step)))
    return float(1 - np.mean(clear))


def one(model: ReplicableLinear, X: Floats, y: NDArray[Any]) -> dict[str, Any]:
    """A fitted lab, and how much of a core it took."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those not certified are counted below
        model.fit(X, y)
    return {"model": model, "seconds": time.process_time() - began}


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
        "enclosed": float(np.mean([model.result_.proof.enclosed for model in models])),
        "differ": float(np.mean(differ)),
        "differ_interval": clopper_pearson(sum(differ), len(differ)),
        "certified_differ": [sum(sure), len(sure)],
        "crossings": float(np.median([model.result_.proof.crossings for model in models])),
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


def real_world(way: str, directions: int, epsilon: float, noisy: bool, groups: int) -> Iterator[dict[str, Any]]:
    """Two labs share the rows that are not public; the public third gives scale, directions and a first model.

    Where labels are taken to be wrong a lab asks for 9 in 10 of its rows: more labels there are none.
    """
    for name, X, y in real_tables():
        found, errors, public_errors = [], [], []
        for group in range(groups):
            order = np.random.default_rng([directions, group]).permutation(len(X))
            public, rest = order[: len(X) // 3], order[len(X) // 3 :]
            Z, first = projected(X, y, public, directions, way)
            labs = []
            for lab in range(2):
                rows = rest[lab::2]
                model = ReplicableLinear(
                    epsilon=epsilon,
                    noisy=noisy,
                    max_labels=len(rows) * 9 // 10,
                    seed=f"group {group}",
                    random_state=lab,
                )
                labs.append(one(model, Z[rows], y[rows]))
            errors += [float((each["model"].predict(Z[rest]) != y[rest]).mean()) for each in labs]
            public_errors.append(float((first[rest] != y[rest]).mean()))
            found.append(labs)
        given = {"table": name, "way": way, "directions": directions, "epsilon": epsilon, "noisy": noisy}
        yield given | row(found, errors) | {"public_model": float(np.mean(public_errors))}


def projected(
    X: Floats, y: NDArray[Any], public: NDArray[np.int64], directions: int, way: str
) -> tuple[Floats, NDArray[Any]]:
    """Features along public directions, and what a model that was fitted to the public rows says.

    Principal directions; those of several public models (discriminant); or one public model's score beside principal
    directions that are made three times as short (regularised).
    """
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    Z = StandardScaler().fit(X[public]).transform(X)
    model = LogisticRegression(C=0.01, max_iter=1000).fit(Z[public], y[public])
    says = model.predict(Z)
    if way == "principal":
        Z = PCA(directions, random_state=0).fit(Z[public]).transform(Z)
    elif way == "regularised":
        w = model.coef_[0] / np.linalg.norm(model.coef_[0])
        score, across = model.decision_function(Z), Z - np.outer(Z @ w, w)
        Z = PCA(directions - 1, random_state=0).fit(across[public]).transform(across)
        Z = np.column_stack([score, 0.3 * score[public].std() * Z / Z[public].std(axis=0)])
        return np.asarray(Z / score[public].std()), says
    else:
        draws = np.random.default_rng(0)
        normals = []
        for _ in range(directions):
            rows = draws.choice(public, len(public))
            normals.append(LogisticRegression(C=0.01, max_iter=1000).fit(Z[rows], y[rows]).coef_[0])
        Z = Z @ np.linalg.svd(np.array(normals), full_matrices=False)[2].T
    return np.asarray(Z / Z[public].std(axis=0)), says


def shown(rows: list[dict[str, Any]], first: list[str], last: str) -> None:
    """A table in Markdown."""
    names = [*first, "labels", "certified", "certified and differ", "differ", "predicted", "error", "ms a label", last]
    print("| " + " | ".join(names).replace("_", " ") + " |\n|" + "---|" * len(names))
    for each in rows:
        low, high = each["differ_interval"]
        cells = [str(each[name]) for name in first]
        cells += [f"{each['labels']:.0f}", f"{each['certified']:.0%}", "{} of {}".format(*each["certified_differ"])]
        cells += [f"{each['differ']:.3f} [{low:.3f}, {high:.3f}]", f"{each['predicted']:.3f}", f"{each['excess']:.3f}"]
        cells += [f"{each['ms_a_label']:.1f}", "" if each[last] is None else f"{each[last]:.3f}"]
        print("| " + " | ".join(cells) + " |", flush=True)


def wanted(rows: list[Any], which: list[int] | None) -> list[Any]:
    """The rows asked for."""
    return [row for number, row in enumerate(rows) if which is None or number in which]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two small worlds")
    parser.add_argument("--normal", action="store_true", help="without the real tables")
    parser.add_argument("--real", action="store_true", help="the real tables alone")
    parser.add_argument("--row", type=int, action="append", help="these rows of the tables alone, counted from 0")
    parser.add_argument("--groups", type=int, help="groups of labs, in place of those of each row")
    parser.add_argument("--record", action="store_true", help="add a file to benchmarks/history/lattice")
    given = parser.parse_args()
    easy: list[dict[str, Any]] = []
    for *each, groups in wanted([] if given.real else QUICK if given.quick else EASY, given.row):
        easy.append(normal_world(*each, given.groups or groups))
        shown(easy[-1:], ["d", "items", "wrong", "budget"], "over_fresh_lattices")
    real: list[dict[str, Any]] = []
    for table in wanted([] if given.quick or given.normal else REAL, given.row):
        real += real_world(*table, given.groups or 20)
        shown(real[-2:], ["table", "way", "directions", "epsilon", "noisy"], "public_model")
    if given.record:
        machine = {"cores": os.cpu_count(), "load": os.getloadavg()[0], "python": platform.python_version()}
        HISTORY.mkdir(exist_ok=True)
        file = HISTORY / f"{len(list(HISTORY.glob('0*.json'))) + 1:04d}.json"
        figures = {"machine": machine | {"numpy": np.__version__}, "normal": easy, "real": real}
        file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

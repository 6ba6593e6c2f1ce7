"""How far off is `rho_predicted_` of `ReplicableLinear` where labels may be wrong?

Worlds with one direction and several labs each. The labs' questions do not depend on the lattice, so how often two labs
differ is computed over many fresh lattices, not from one string: the probability of a wall between their directions. Labels
are wrong at random, or near the boundary, with probability 1/(1 + exp(|w.x|/.25)) (`blurred`).

    python benchmarks/lattice_prediction.py [--quick] [--worlds N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.lattice.linear import step_for
from replical.sklearn import ReplicableLinear

LABS, ITEMS, EPSILON, LATTICES, FINEST = 6, 20_000, 0.04, 20, 1e-6
# law of the items, dimensions, share of flipped labels (None: blurred), labels a dimension
ROWS: list[tuple[str, int, float | None, int]] = [
    *(("normal", d, flips, 25) for d in (2, 5, 10, 20) for flips in (0.0, 0.05, 0.1)),
    *(("uniform", d, 0.05, 25) for d in (5, 10)),
    *(("heavy", d, 0.05, 25) for d in (5, 10)),
    *(("normal", d, None, labels) for d, labels in ((2, 50), (5, 25), (5, 100), (10, 25), (10, 100))),
]
QUICK: list[tuple[str, int, float | None, int]] = [("normal", 2, 0.05, 25), ("normal", 5, None, 25)]
Floats = NDArray[np.float64]


def lab(law: str, d: int, flips: float | None, world: int, number: int) -> tuple[Floats, NDArray[np.bool_]]:
    """One lab's items and labels."""
    best = np.random.default_rng([d, world]).normal(size=d)
    generator = np.random.default_rng([d, world, number])
    draw = {"normal": generator.standard_normal, "uniform": lambda shape: generator.uniform(-1.7, 1.7, shape)}
    X = draw.get(law, lambda shape: generator.standard_t(3, shape))((ITEMS, d))
    heights = X @ best / np.linalg.norm(best)
    wrong = np.full(ITEMS, flips) if flips is not None else 1 / (1 + np.exp(np.abs(heights) / 0.25))
    return X, (heights >= 0) ^ (generator.random(ITEMS) < wrong)


def fit(X: Floats, y: NDArray[np.bool_], number: int, labels: int, step: float) -> ReplicableLinear:
    """A fitted lab; the step changes nothing but the rounding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing is certified where labels may be wrong
        return ReplicableLinear(
            intercept=None, noisy=True, max_labels=labels, step=step, seed="published", random_state=number
        ).fit(X, y)


def differ(a: Floats, b: Floats, step: float) -> float:
    """The probability of a wall between two directions, over lattices."""
    generator = np.random.default_rng(0)
    clear = []
    for _ in range(LATTICES):
        axes = np.linalg.qr(generator.standard_normal((len(a), len(a))))[0]
        clear.append(np.prod(1 - np.minimum(1, np.abs(axes @ (a - b)) / step)))
    return float(1 - np.mean(clear))


def row(law: str, d: int, flips: float | None, each: int, worlds: int) -> dict[str, Any]:
    """Several worlds of one kind."""
    step, measured, predicted = step_for(EPSILON, d), [], []
    for world in range(worlds):
        directions = []
        for number in range(LABS):
            X, y = lab(law, d, flips, world, number)
            w = fit(X, y, number, each * d, FINEST).coef_[0]  # rounded to a millionth: the direction itself
            directions.append(w / np.linalg.norm(w))
            predicted.append(fit(X, y, number, each * d, step).rho_predicted_)
        measured.append(float(np.mean([differ(a, b, step) for a, b in combinations(directions, 2)])))
    return {
        "law": law,
        "d": d,
        "flips": "blurred" if flips is None else flips,
        "labels": each * d,
        "measured": float(np.mean(measured)),
        "worlds": measured,
        "predicted": float(np.mean(predicted)),
        "tenth": float(np.quantile(predicted, 0.1)),
        "ninetieth": float(np.quantile(predicted, 0.9)),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two small rows")
    parser.add_argument("--worlds", type=int, default=3, help="directions a row, with six labs each")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    print("| items | d | wrong labels | labels | measured | predicted | tenth to ninetieth |\n|" + "---|" * 7)
    rows = []
    for each in QUICK if given.quick else ROWS:
        rows.append(found := row(*each, given.worlds))
        first = "| {law} | {d} | {flips} | {labels} | {measured:.3f} | {predicted:.3f} ".format(**found)
        print(first + "| {tenth:.3f} to {ninetieth:.3f} |".format(**found), flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

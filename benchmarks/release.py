"""Two consortia of hospitals publish one model each, privately: how often the same, how good, and what it tells of a lab.

240 models that tell even from odd digits (`even-odd-240` of model_sets.py). Two consortia of 20 labs share a string; each
lab draws 10,000 items of its own and asks for at most 200 labels. It votes for

- what `handicap` found (with exponentials, for 20 labs, β = .005),
- argmax: the fewest errors on its first 200 items on which models differ, of equally good ones the first in the order,
- everyone whom `handicap` left (approval).

A consortium releases one model with ε = 1. Chances of the noise are computed, not drawn: given the votes they are exact up
to rounding. Then the privacy of the release and of its mutants, from all ways in which coins can fall
(tests/support/release.py).

    python benchmarks/release.py [--strings N] [--items N] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from choosing import Labs
from model_sets import make
from numpy.typing import NDArray

from replical import plan
from replical.core.exact import clopper_pearson
from replical.lab.release import permute_and_flip

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.release import MUTANTS, worst_ratio

SET, ITEMS, LABELS, LABS, EPSILON = "even-odd-240", 10_000, 200, 20, 1.0
STRINGS = 20
NUMBERS = {"epsilon": 0.05, "delta": 0.05, "rho": 0.1, "max_labels": LABELS, "pool": "finite"}
SIZES = (5, 10, LABS)  # labs of a consortium: the first so many
WAYS = ("handicap", "argmax", "approval")

Floats = NDArray[np.float64]


def votes(labs: Labs, string: int, name: str) -> dict[str, list[int]]:
    """Whom one lab votes for, in each way."""
    C = labs.population.C
    found = labs.lab(plan("handicap", C, labs=LABS, **NUMBERS), string, name)
    return {
        "handicap": [found.hypothesis],
        "argmax": [labs.best(LABELS, np.zeros(len(C), dtype=np.int64), string, name)],
        "approval": found.V.indices.tolist(),
    }


def law(counts: Floats, epsilon: float) -> Floats:
    """Pr[h is released] = p_h times the integral of the product of 1-p_j(1-x) over the others, p = e^(-ε·votes short).

    The integrand is a polynomial, and so many nodes are exact for its degree.
    """
    p = np.exp(-epsilon * (counts.max() - counts))
    x, weights = np.polynomial.legendre.leggauss(len(counts) // 2 + 1)
    x, weights = (x + 1) / 2, weights / 2
    factors = 1 - p[:, None] * (1 - x)
    found: Floats = p * ((np.prod(factors, axis=0) * weights) / factors).sum(axis=1)
    return found


def consortia(labs: Labs, string: int, excess: Floats) -> list[dict[str, Any]]:
    """Two consortia with one string: how likely they release the same model, and how much it errs above the best."""
    heard = [[votes(labs, string, f"{side}{lab}") for lab in range(LABS)] for side in "AB"]
    found = []
    for way in WAYS:
        for size in SIZES:
            laws = []
            for side in heard:
                counts = np.zeros(len(excess))
                for each in side[:size]:
                    counts[each[way]] += 1
                laws.append(law(counts, EPSILON))
            one, two = laws
            figures = {"same": float(one @ two), "excess": float((one + two) @ excess / 2)}
            found.append({"string": string, "way": way, "labs": size, **figures})
    return found


def table(found: list[dict[str, Any]], strings: int) -> list[str]:
    """One row a way to vote: means over strings."""
    lines = [
        "| votes | "
        + " | ".join(f"{size} labs: same" for size in SIZES)
        + " | "
        + " | ".join(f"{s}: excess" for s in SIZES)
        + " |",
        "|---|" + "---|" * (2 * len(SIZES)),
    ]
    for way in WAYS:
        cells = []
        for key in ("same", "excess"):
            for size in SIZES:
                values = [each[key] for each in found if (each["way"], each["labs"]) == (way, size)]
                cells.append(f"{np.mean(values):.{2 if key == 'same' else 4}f}")
        lines.append(f"| {way} | {' | '.join(cells)} |")
    low = clopper_pearson(strings, strings)[0]
    return [*lines, f"{strings} strings: had all of them agreed, the 95% interval would begin at {low:.2f}."]


def privacy() -> list[str]:
    """The worst logarithm of a ratio, in units of ε, over small inputs: 1 is what is promised."""
    lines = ["| release | a lab more or less | a lab replaced |", "|---|---|---|"]
    for name, release in {"as it is": permute_and_flip, **MUTANTS}.items():
        cells = []
        for replaced in (False, True):
            ratio = worst_ratio(release, EPSILON, most=1 if replaced else 2, replaced=replaced)
            cells.append("without bound" if ratio is None else f"{math.log(ratio) / EPSILON:.3f} ε")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strings", type=int, default=STRINGS)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--out", type=Path, help="write what was found, as JSON")
    chosen = parser.parse_args()
    begin = time.monotonic()
    labs = Labs(make(SET), chosen.items)
    errors = labs.models.errors
    excess = (errors - errors.min()) / len(labs.models.truth)
    found = []
    for string in range(chosen.strings):
        found += consortia(labs, string, excess)
        print(f"string {string + 1} of {chosen.strings}, {time.monotonic() - begin:.0f} s", file=sys.stderr)
    print("\n".join(table(found, chosen.strings)))
    print()
    print("\n".join(privacy()))
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()

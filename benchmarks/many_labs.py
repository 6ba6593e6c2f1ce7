"""How often labs on their own pools differ, against what they prove: more labs than two.

    python benchmarks/many_labs.py            # the table, in Markdown
    python benchmarks/many_labs.py --groups 20

Thresholds on a line of 1,000, seen from the middle, [a, b] = [.09, .18], labels exhausted (κ = 0). *Measured* is
1 - E|∩|/|∪| over the balls of all K labs: how often they do not all agree, with every threshold and order. *Γ̂* is what a
lab adds its failures to, *proven* what it reports. docs/explanation/many-labs.md, docs/claims/many_labs.md.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from replical import plan
from replical.bounds.gamma import FINEST
from replical.bounds.ranks import agreement_bound
from replical.learners.rounded.proof import OwnBound

N, EPSILON, RHO = 1000, 0.2, 0.1
A, B = 0.09, 0.18
MIDDLE = N // 2
LABS = (2, 5, 10, 30, 100)


def measured(generator: np.random.Generator, U: int, labs: int, groups: int) -> float:
    """1 - E|∩|/|∪|, every threshold counted."""
    cells, apart = np.full(N - 1, 1 / (N - 1)), []
    for _ in range(groups):
        scores = np.stack([distances(generator.multinomial(U, cells)) for _ in range(labs)])
        apart.append(agreement_bound(scores.min(axis=0), scores.max(axis=0), (A * U, B * U)).exact)
    return float(np.mean(apart))


def distances(pool: NDArray[np.int64]) -> NDArray[np.int64]:
    """Items on which each threshold differs from the one in the middle."""
    reached = np.concatenate(([0], np.cumsum(pool)))
    away: NDArray[np.int64] = np.abs(reached - reached[MIDDLE])
    return away


def proven(U: int, labs: int) -> tuple[float, float]:
    """Γ̂ and rho_proven of a lab that measured every distance as expected."""
    made = plan("rounded-cal", N, epsilon=EPSILON, delta=0.05, rho=RHO, pool="finite", items=U, labs=labs, a=A, b=B)
    scores = np.rint(np.abs(np.arange(N) - MIDDLE) / (N - 1) * U).astype(np.int64)
    own = OwnBound(made, U)
    assert own.exact is not None, "the plan says how many items there are"
    return own.exact.bound(scores, 0, step=FINEST), own.rho(scores, 0, 1.0, FINEST)


def main() -> None:
    """Print a row for each number of items and labs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=200, help="groups of labs a row")
    groups = parser.parse_args().groups
    print("| U | K | measured | Γ̂ | proven |\n|---|---|---|---|---|")
    for U in (100_000, 10_000):
        for labs in LABS:
            found = measured(np.random.default_rng([U, labs, 0]), U, labs, groups)
            gamma, rho = proven(U, labs)
            print(f"| {U:,} | {labs} | {found:.4f} | {gamma:.4f} | {rho:.4f} |", flush=True)
            assert found <= gamma, "labs differ more often than they prove"


if __name__ == "__main__":
    main()

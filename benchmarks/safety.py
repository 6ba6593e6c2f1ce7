"""By which factor are sample sizes safe? Every sample of a plan is divided until two labs differ more often than ρ.

The worlds are those of tests/guarantees: thresholds so fine that at least 20 survive, and labs that share the order but not
the threshold differ more often than ρ. Distributions are known, so labels enter as counts and a run takes milliseconds.
Sizes are divided by 1, √10, 10, .. and the last factor with E[J] ≤ ρ, the Jaccard distance of what the labs keep, is told:
E[J] is how often two labs differ, over threshold and order. Every factor is a ratio of two plans on one world.

    python benchmarks/safety.py [--pairs 200] [--quick]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replical import Thresholds, World, audit, learner_for, plan
from replical.errors import EmptyVersionSpace
from replical.learners.base import Learner

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.mutants import divided

TASK = {"epsilon": 0.05, "delta": 0.05, "rho": 0.1}
CASES: dict[str, tuple[str, int, float, dict[str, Any]]] = {  # learner, hypotheses, noise, what else its plan needs
    "replical": ("replical", 10_000, 0.0, {"theta": 2.0}),
    "replicable-erm": ("replicable-erm", 1000, 0.0, {"nu": 0.0}),
    "replicable-erm agnostic": ("replicable-erm", 1000, 0.05, {"nu": 0.05}),
    "replica2": ("replica2", 1000, 0.05, {"theta": 2.0, "nu": 0.05}),
}
MOST = 26  # powers of ten


@dataclass(frozen=True)
class Step:
    """What happened with sizes divided by 10^power."""

    power: float
    differ: float
    distance: float
    survivors: float
    labels: float


def steps(case: str, name: str, pairs: int, start: float = 0.0) -> Iterator[Step]:
    """Half a decade at a time, until labs differ more often than ρ."""
    learner, n, noise, more = CASES[case]
    C, power = Thresholds(n), start
    whole = plan(learner, C, **TASK, **more, name=name)
    while power <= MOST:
        smaller, world = learner_for(divided(whole, 10**power)), World(C=C, noise=noise)
        found = [_pair(smaller, world, f"safety {case} {name} {number}") for number in range(pairs)]
        step = Step(power, *(sum(column) / pairs for column in zip(*found, strict=True)))
        yield step
        if step.distance > TASK["rho"]:
            return
        power += 0.5


def _pair(learner: Learner, world: World, seed: str) -> tuple[float, float, float, float]:
    """Do two labs differ, their Jaccard distance, survivors and labels; a run that keeps nobody differs from any other."""
    try:
        found = audit(learner, world, seed=seed, pairs=1)
    except EmptyVersionSpace:
        return 1.0, 1.0, 0.0, 0.0
    return 1 - found.agreement, found.expected_jaccard, found.survivors_mean, found.labels_mean


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=200, help="pairs of labs a step")
    parser.add_argument("--quick", action="store_true", help="tight plans only")
    given = parser.parse_args()
    print("| learner | plan | labels | safe up to | E[J] there | breaks at | E[J] there | differ | survivors |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in CASES:
        for name in ("tight",) if given.quick else ("tight", "paper"):
            walked = list(steps(case, name, given.pairs))
            kept, last = [each for each in walked if each.distance <= TASK["rho"]], walked[-1]
            broken = last.distance > TASK["rho"]
            ends = (f"10^{last.power:g}", f"{last.distance:.3f}", f"{last.differ:.2f}") if broken else ("-", "-", "-")
            print(
                f"| {case} | {name} | {walked[0].labels:.2g} | 10^{kept[-1].power:g} | {kept[-1].distance:.3f} | {ends[0]} "
                f"| {ends[1]} | {ends[2]} | {last.survivors:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Groups of labs that round on a public yardstick, beside the same labs on their own items.

    python benchmarks/yardstick.py [--labs 12] [--targets 4] [--small]

For each learner and pool size: labs certified and accurate, the share of strings with which a certified lab knows that all
others return its answer ("fixed"), labels per lab, and how often answers differ over the shared
threshold and the order, exactly: two labs on average, and all of a group at once. With a yardstick certified labs are
compared, on their own items all of them, since there are none.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from statistics import mean

import numpy as np

from replical import Population, Prior, SharedRandomness, Thresholds, Yardstick, agreement_bound, learner_for, plan
from replical.learners.result import Result, Rounding
from replical.learners.rounded.plan import RoundedPlan
from replical.worlds.audit import run_lab

TASK = {"epsilon": 0.05, "delta": 0.05, "rho": 0.1, "pool": "finite"}
# Learner, thresholds, noise, pool sizes.
CASES = (
    ("rounded-cal", 200_001, 0.0, (1000, 3000, 30_000)),
    ("rounded-a2", 20_000, 0.05, (3000, 10_000, 30_000)),
)
SMALL = (("rounded-cal", 2001, 0.0, (1000,)),)


def all_differ(group: list[Rounding]) -> float:
    """How often the answers of a group are not all the same: by the smallest and the largest score of each hypothesis."""
    scores = np.stack([each.scores for each in group])
    a, b = (end * group[0].items for end in group[0].range)
    return agreement_bound(scores.min(axis=0), scores.max(axis=0), (a, b)).exact


def groups(made: RoundedPlan, C: Thresholds, noise: float, U: int, labs: int, targets: int) -> list[list[Result]]:
    """The results of some groups of labs, each group with a target and a string of its own."""
    n, learner = len(C), made.learner
    predictions, found = Population(C, target=0).predictions, []
    for number in range(targets):
        target = int(np.random.default_rng(number).integers(n // 4, 3 * n // 4))
        world = Population(C, target=target, noise=noise, predictions=predictions)
        shared = SharedRandomness(f"benchmark {number}")
        found.append(
            [run_lab(learner_for(made), world, U, shared, (learner, U, number, lab)).result for lab in range(labs)]
        )
    return found


def fixed(made: RoundedPlan, result: Result) -> float:
    """With how many strings this lab knows the answer of all certified labs."""
    yardstick = made.yardstick
    assert yardstick is not None, "asked where there is one"
    public, scores = made.yardstick_bound(yardstick), result.rounding.scores
    return 1 - public.around(scores).lost(public.reach(result.V.indices, scores, float(made.rho_string) + 1e-9))


def row(learner: str, n: int, noise: float, U: int, labs: int, targets: int, *, public: bool) -> str:
    """One line of the table."""
    C = Thresholds(n)
    made = plan(learner, C, items=U, yardstick=Yardstick.cells(C) if public else None, **TASK)
    found = groups(made, C, noise, U, labs, targets)
    everybody = [result.rounding for group in found for result in group]
    compared = [[r.rounding for r in group if r.rounding.certified or not public] for group in found]
    compared = [group for group in compared if len(group) > 1]
    pair = [mean(one.difference(two, Prior()) for one, two in combinations(group, 2)) for group in compared]
    differ = f"{mean(pair):.4f} | {mean(map(all_differ, compared)):.4f}" if compared else "- | -"
    shares = [f"{mean(getattr(each, name) for each in everybody):.2f}" for name in ("certified", "accurate")]
    sure = [fixed(made, result) for group in found for result in group if public and result.rounding.certified]
    shares.append(f"{mean(sure):.2f}" if sure else "-")
    labels = mean(result.labels for group in found for result in group)
    items = "yardstick" if public else "own"
    return f"| {learner}, {n:,} | {U:,} | {items} | {' | '.join(shares)} | {labels:.1f} | {differ} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labs", type=int, default=12)
    parser.add_argument("--targets", type=int, default=4)
    parser.add_argument("--small", action="store_true", help="one small case, to see it work")
    given = parser.parse_args()
    print(
        "| learner, thresholds | items | measured on | certified | accurate | fixed | labels | two differ | all differ |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for learner, n, noise, sizes in SMALL if given.small else CASES:
        for U in sizes:
            for public in (True, False):
                print(row(learner, n, noise, U, given.labs, given.targets, public=public), flush=True)


if __name__ == "__main__":
    main()

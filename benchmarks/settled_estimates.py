"""What Settled estimates beside its proof: how often another lab agrees, and how many labels a proof still takes.

    python benchmarks/settled_estimates.py [--pairs 12]

Two candidate sets (digits, breast cancer), random order and a public order of 100 items, small pools and small budgets, so
that many labs end without a proof. For agreement a row has the mean estimate of the labs and the share of pairs that agree;
for labels left, runs cut at a budget are compared with the same runs to their end.
"""

from __future__ import annotations

import argparse

import numpy as np

from replical import Prior, PrivateRandomness, Result, Settled, SharedRandomness, World, learn, plan
from replical.worlds.datasets import real_world

SETTINGS = ((300, None), (1000, None), (2000, None), (4000, None), (20_000, 60), (20_000, 150))
BUDGETS, LONG, MOST = (40, 80, 160), 40_000, 4000


def lab(world: World, prior: Prior, budget: int | None, string: str, name: str) -> Result:
    """One lab's run with a string; its items and labels follow from its name."""
    made = plan("settled", world.C, epsilon=0.05, delta=0.05, rho=0.1, pool="finite", prior=prior, max_labels=budget)
    private, population = PrivateRandomness.simulated(name), world.population()
    assert isinstance(world.pool_size, int)
    pool = population.pool(world.pool_size, private)
    return learn(Settled(made), pool, population.labels(pool, private), SharedRandomness(string))


def public_order(world: World, number: int) -> Prior:
    """Candidates by errors on 100 items that no lab has."""
    truth = world.law[:, 1].astype(np.int64)
    rows = np.random.default_rng([number, 7]).integers(len(truth), size=100)
    return Prior.by_errors(world.C, (world.cells[rows] != truth[rows, None]).sum(axis=0))


def agreement(pairs: int) -> None:
    """Estimated and measured, a row for each setting."""
    print("set            order   items  budget  certified  estimate  agree")
    rows = []
    for name in ("digits", "breast_cancer"):
        for kind in ("random", "public"):
            for items, budget in SETTINGS:
                world, found = real_world(name, items), []
                for pair in range(pairs):
                    prior = public_order(world, pair) if kind == "public" else Prior()
                    words = f"{name} {kind} {items} {budget} {pair}"
                    both = [lab(world, prior, budget, f"estimates {pair}", f"{words} {each}") for each in "AB"]
                    same = both[0].hypothesis == both[1].hypothesis
                    ends = [each.settling for each in both if each.settling is not None]
                    found += [(each.certified, each.agreement_estimate, same) for each in ends]
                rows.append(np.mean(found, axis=0))
                certified, estimate, agree = rows[-1].tolist()
                print(
                    f"{name:13}  {kind}  {items:6,}  {budget or '-':>6}  {certified:9.2f}  {estimate:8.2f}  {agree:5.2f}",
                    flush=True,
                )
    _, estimate, agree = np.mean(rows, axis=0).tolist()
    print(f"mean of {len(rows)} settings: estimated {estimate:.3f}, agreed {agree:.3f}")


def labels_left(pairs: int) -> None:
    """How far off is it, for runs that a larger budget certifies?"""
    factors = []
    for name in ("digits", "breast_cancer"):
        world = real_world(name, LONG)
        for budget in BUDGETS:
            for number in range(pairs):
                words = f"left {number}", f"{name} {number}"
                part, whole = (lab(world, Prior(), each, *words) for each in (budget, MOST))
                cut, end = part.settling, whole.settling
                assert cut is not None
                assert end is not None
                if not cut.certified and end.certified and cut.labels_left is not None:
                    factors.append(cut.labels_left / (whole.labels - budget))
    off = np.exp(np.median(np.abs(np.log(factors))))
    within = [np.mean([1 / k <= each <= k for each in factors]) for k in (2, 4)]
    print(f"labels left: typically off by a factor {off:.1f}; {within[0]:.0%} within 2, {within[1]:.0%} within 4")


def main() -> None:
    """Both."""
    parser = argparse.ArgumentParser(description="What Settled estimates beside its proof.")
    parser.add_argument("--pairs", type=int, default=12)
    given = parser.parse_args()
    agreement(given.pairs)
    labels_left(given.pairs)


if __name__ == "__main__":
    main()

"""How many labels A² asks for, before and after: five equal stakes and opponents frozen for a batch, against what is used.

Side by side on the same pools: labels until Δ̂(V) ≤ ε = .05 with δ = .05; CAL at noise 0 for comparison.

    python benchmarks/elimination.py [--runs N]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from replical import A2, CAL, PrivateRandomness, SharedRandomness, World, learn, plan
from replical.classes.catalogue import parse
from replical.learners.base import Learner
from replical.learners.paper import a2
from replical.learners.paper.a2 import Betting, Mask
from replical.pools.query import Indices
from replical.pools.version_space import VersionSpace
from replical.worlds.world import parse_noise

WORLDS = ("thresholds:1000", "intervals:60", "stumps:10,50", "halfspaces:2,2000")
NOISES = ("0", "0.05", "0.2")
FIVE = tuple((Decimal(stake), Decimal(1) / 5) for stake in ("1", "0.85", "0.6", "0.35", "0.15"))
SHARED = SharedRandomness("elimination")


class Frozen(Betting):
    """Opponents chosen once a batch."""

    def after(self, V, S):  # type: ignore[no-untyped-def]
        self._fixed = None
        return super().after(V, S)

    def opponents(self, V: VersionSpace) -> Callable[[Mask], Mask]:
        if self._fixed is None:
            self._fixed = super().opponents(V)
        return self._fixed


@dataclass(frozen=True)
class Before(A2):
    """A² as it was."""

    def test(self, V: VersionSpace, tail: Indices) -> Betting:
        return Frozen(V, V.predictions.nearness(tail), self.plan)


@contextmanager
def stakes(used: tuple[tuple[Decimal, Decimal], ...]) -> Iterator[None]:
    kept, a2.STAKES = a2.STAKES, used
    try:
        yield
    finally:
        a2.STAKES = kept


def labels(learner: Learner, world: World, runs: int) -> float:
    """Mean labels over pools with a new target each."""
    asked = []
    for number in range(runs):
        private = PrivateRandomness.simulated("elimination", number)
        population = world.population(int(private.generator("target").integers(len(world.C))))
        pool = population.pool(world.pool_size, private)
        asked.append(learn(learner, pool, population.labels(pool, private), SHARED).labels)
    return float(np.mean(asked))


def made(name: str, world: World, **options):  # type: ignore[no-untyped-def]
    return plan(name, world.C, epsilon=0.05, delta=0.05, pool="finite", max_labels=3000, **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    print("| world | noise | CAL | A² before | after | ratio | batch 16 before | after | ratio |")
    print("|" + "---|" * 9)
    for spec in WORLDS:
        C, cells = parse(spec, seed="elimination")
        for noise in NOISES:
            world = World(C=C, cells=cells, noise=parse_noise(noise), pool_size=100_000)
            with stakes(FIVE):
                before, batch_before = (
                    labels(Before(made("a2", world, batch=batch)), world, runs) for batch in (1, 16)
                )
            after, batch_after = (labels(A2(made("a2", world, batch=batch)), world, runs) for batch in (1, 16))
            own = f"{labels(CAL(made('cal', world)), world, runs):.1f}" if noise == "0" else "-"
            print(
                f"| {spec} | {noise} | {own} | {before:.1f} | {after:.1f} | {after / before:.2f} | {batch_before:.1f} | "
                f"{batch_after:.1f} | {batch_after / batch_before:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

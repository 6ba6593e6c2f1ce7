"""Labels that a confirmation takes: a good answer, one near the margin, a bad one, on the packaged sets of fitted models.

    python benchmarks/confirm.py [--quick]

Answers are the candidates whose excess error on the population is nearest to a given one; each is checked by labs with
20,000 items of their own, and a budget. Randomness follows from names, so figures repeat.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.table import Table

from replical import PrivateRandomness, confirm
from replical.worlds.datasets import NAMES, real_world

EXCESS = (0.0, 0.01, 0.025, 0.04, 0.05, 0.06, 0.1, 0.2)
ITEMS, BUDGET, LEVEL = 20_000, 2000, 0.05


@dataclass(frozen=True, kw_only=True)
class Row:
    """One answer, checked by several labs."""

    name: str
    answer: str
    excess: float
    margin: float
    outcomes: tuple[str, ...]
    labels: tuple[int, ...]

    def share(self, outcome: str) -> str:
        """How many labs came to it."""
        return f"{self.outcomes.count(outcome)}/{len(self.outcomes)}"

    @property
    def range(self) -> str:
        """Median, fewest and most labels."""
        return f"{median(self.labels):.0f} ({min(self.labels)} to {max(self.labels)})"


def check(name: str, excess: float, margin: float, labs: int, budget: int = BUDGET) -> Row:
    """Labs check the candidate whose excess error is nearest to a given one."""
    population = real_world(name, ITEMS).population()
    errors = [float(population.error(h) - population.nu) for h in range(len(population.C))]
    h = min(range(len(errors)), key=lambda each: abs(errors[each] - excess))
    found = []
    for lab in range(labs):
        private = PrivateRandomness.simulated("confirm", name, h, lab)
        pool = population.pool(ITEMS, private)
        labels = population.labels(pool, private)
        found.append(confirm(h, pool, labels, margin=margin, level=LEVEL, max_labels=budget))
    return Row(
        name=name,
        answer=population.C.describe(h),
        excess=errors[h],
        margin=margin,
        outcomes=tuple(each.outcome for each in found),
        labels=tuple(each.asked for each in found),
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three answers, two labs each")
    quick = parser.parse_args().quick
    shown = Table(title=f"{ITEMS:,} items per lab, at most {BUDGET:,} labels, level {LEVEL:g}")
    for column in ("set", "answer", "excess", "margin", "confirmed", "refuted", "undecided", "labels"):
        shown.add_column(column, justify="left" if column in ("set", "answer") else "right")
    for name in NAMES[:1] if quick else NAMES:
        for margin in (0.05,) if quick else (0.05, 0.1):
            for excess in (0.0, 0.05, 0.2) if quick else EXCESS:
                row = check(name, excess, margin, 2 if quick else 20)
                shares = [row.share(outcome) for outcome in ("confirmed", "refuted", "undecided")]
                shown.add_row(row.name, row.answer, f"{row.excess:.4f}", f"{row.margin:g}", *shares, row.range)
    Console(width=140).print(shown)


if __name__ == "__main__":
    main()

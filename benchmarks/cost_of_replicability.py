"""What replicability costs: a learner that promises nothing, handicap, and the alternatives, side by side.

Every world is run in one go: pairs of labs with independent pools and one string. The parent is CAL where labels have no
noise and A² elsewhere, stopped at its own rule on the same pools; handicap has exponentials from the string, and infers
labels where they have no noise. A world counts unless labs agree whatever they do, in more than 80% of pairs: with strings
of their own, and if they take what errs least on as many labels as handicap asked for.

    python benchmarks/cost_of_replicability.py [--quick] [--out DIR]

writes DIR/cost-of-replicability.json, .md (table) and .svg/.png (figure).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from replical import World, audit, plan
from replical.classes.catalogue import parse
from replical.core.exact import clopper_pearson
from replical.errors import ReplicalError
from replical.learners.planning import learner_for
from replical.worlds.audit import audit_groups
from replical.worlds.datasets import real_world
from replical.worlds.world import parse_noise

SEED = "cost of replicability"
DELTA, RHO = 0.05, 0.1


@dataclass(frozen=True)
class Case:
    """One world and how much of it is run."""

    world: str
    noise: str = "0"
    epsilon: float = 0.05
    items: int = 100_000
    pairs: int = 100
    max_labels: int = 4000
    theta: float = 2.0  # public: any value keeps the promises of RepliCAL and ReplicA²

    @property
    def real(self) -> bool:
        return ":" not in self.world

    @property
    def realizable(self) -> bool:
        return self.noise == "0" and not self.real

    @property
    def name(self) -> str:
        noise = "" if self.noise == "0" else f", noise {self.noise}"
        return f"{self.world}{noise}, ε={self.epsilon:g}"


FULL = [
    Case("thresholds:1000000", pairs=20),
    Case("thresholds:1000000", epsilon=0.01, items=1_000_000, pairs=20),
    Case("thresholds:20000"),
    Case("intervals:200", theta=4),
    Case("stumps:10,200", pairs=60, theta=10),
    Case("halfspaces:2,20000", pairs=40, theta=8),
    Case("halfspaces:5,5000", epsilon=0.2, pairs=40, theta=20),
    Case("boxes:2,12", pairs=40, theta=8),
    Case("thresholds:1000000", "0.05", pairs=10),
    Case("thresholds:20000", "0.05", pairs=40),
    Case("thresholds:1000", "0.05", pairs=60),
    Case("intervals:200", "0.05", pairs=20, theta=4),
    Case("stumps:10,200", "0.05", pairs=20, theta=10),
    Case("halfspaces:2,20000", "0.05", pairs=20, theta=8),
    Case("halfspaces:5,5000", "0.05", epsilon=0.2, pairs=20, theta=20),
    Case("boxes:2,12", "0.05", pairs=20, theta=8),
    Case("thresholds:20000", "0.2", pairs=20),
    Case("stumps:10,200", "0.2", pairs=20, theta=10),
    Case("halfspaces:5,5000", "0.2", epsilon=0.2, pairs=20, theta=20),
    Case("digits", pairs=60),
    Case("breast_cancer", pairs=24),
]
QUICK = [
    Case("thresholds:20000", pairs=20),
    Case("thresholds:1000", "0.05", items=20_000, pairs=16),
    Case("digits", items=10_000, pairs=12),
]


def run(case: Case) -> dict[str, Any]:
    """All learners of one world."""
    started = time.perf_counter()
    world = _world(case)
    base = "cal" if case.realizable else "a2"
    options: dict[str, Any] = {"epsilon": case.epsilon, "delta": DELTA, "pool": "finite", "max_labels": case.max_labels}
    noiseless = {"nu": 0} if case.realizable else {}
    ours, theirs = plan("handicap", world.C, rho=RHO, **noiseless, **options), plan(base, world.C, **options)
    found, groups = audit_groups(learner_for(ours), world, seed=SEED, groups=case.pairs, labs=2, workers=None)
    parent = audit(learner_for(theirs), world, seed=SEED, pairs=case.pairs, workers=None)
    low, high = clopper_pearson(found.pairs - found.agreements, found.pairs)
    return {
        "case": asdict(case) | {"name": case.name},
        "pairs": case.pairs,
        "counted": not found.vacuous,
        "labels": {
            "parent": parent.labels_mean,
            "handicap": found.labels_mean,
            "ratio": found.labels_mean / parent.labels_mean,
            "difference": found.labels_mean - parent.labels_mean,
        },
        "disagreement": {
            "parent": 1 - parent.agreement,
            "fewest errors": 1 - (found.fewest_errors or 0),
            "handicap": 1 - found.agreement,
            "low": low,
            "high": high,
            "certified": groups.certified_differ,
        },
        "error": {"mean": found.excess_error_mean, "max": found.excess_error_max, "parent": parent.excess_error_mean},
        "certified": found.certified_fraction,
        "bills": _bills(case, len(world.C), agnostic=not case.realizable),
        "seconds": round(time.perf_counter() - started, 1),
    }


def _world(case: Case) -> World:
    if case.real:
        return real_world(case.world, case.items)
    C, cells = parse(case.world, seed=SEED)
    return World(C=C, cells=cells, noise=parse_noise(case.noise), pool_size=case.items)


def _bills(case: Case, n: int, *, agnostic: bool) -> dict[str, int | None]:
    """Labels that the other replicable learners ask for: known before any run, and nothing a lab would pay."""
    bills: dict[str, int | None] = {}
    for learner in ("replica2" if agnostic else "replical", "replicable-erm"):
        for name in ("tight", "paper"):
            options = {"epsilon": case.epsilon, "delta": DELTA, "rho": RHO, "theta": case.theta, "name": name}
            try:
                bills[f"{learner} {name}"] = plan(learner, n, nu=0.05 if agnostic else 0.0, **options).labels_most
            except ReplicalError:
                bills[f"{learner} {name}"] = None
    return bills


COLUMNS = (
    "world", "labels: parent", "handicap", "ratio", "more", "differ: parent", "fewest errors", "handicap ", "95%",
    "certified", "certified and different", "excess", "other",
)  # fmt: skip


def row(found: dict[str, Any]) -> list[str]:
    labels, apart = found["labels"], found["disagreement"]
    other = next(value for name, value in found["bills"].items() if name.startswith("replica") and "tight" in name)
    return [
        found["case"]["name"],
        f"{labels['parent']:.1f}",
        f"{labels['handicap']:.1f}",
        f"{labels['ratio']:.2f}",
        f"{labels['difference']:.0f}",
        f"{apart['parent']:.2f}",
        f"{apart['fewest errors']:.2f}",
        f"{apart['handicap']:.3f}",
        f"{apart['low']:.3f}-{apart['high']:.3f}",
        f"{100 * found['certified']:.0f}%",
        f"{100 * apart['certified']:.0f}%",
        f"{found['error']['mean']:.4f}",
        f"{other:.1e}" if other else "-",
    ]


def table(results: Iterable[dict[str, Any]]) -> str:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    return "\n".join([*lines, *("| " + " | ".join(row(found)) + " |" for found in results)]) + "\n"


def tables(results: list[dict[str, Any]]) -> str:
    """Worlds that count, and apart from them those in which labs agree anyway."""
    counted, others = ([each for each in results if each["counted"] == so] for so in (True, False))
    return table(counted) + (f"\n### Worlds that do not count\n\n{table(others)}" if others else "")


def figure(results: list[dict[str, Any]], path: Path) -> None:
    """Labels, and how often two labs differ, in each world that counts."""
    from matplotlib.lines import Line2D

    from replical.study.pictures.style import log_ticks, new_figure, save, style

    grey, blue, red = "#7d828b", "#1f6fb2", "#c44e52"
    shown = [found for found in results if found["counted"]]
    places = range(len(shown))[::-1]
    with style():
        drawn = new_figure(10, 0.36 * len(shown) + 2)
        left, right = drawn.subplots(1, 2, sharey=True)
        for place, found in zip(places, shown, strict=True):
            labels, apart = found["labels"], found["disagreement"]
            left.plot([labels["parent"], labels["handicap"]], [place, place], color=grey, lw=1, zorder=2)
            left.plot(labels["parent"], place, "o", color=grey, zorder=3)
            left.plot(labels["handicap"], place, "o", color=blue, zorder=3)
            right.plot(max(apart["fewest errors"], 1e-3), place, "x", color=red, zorder=3)
            right.plot([max(apart["low"], 1e-3), apart["high"]], [place, place], color=blue, lw=1.5, zorder=2)
            right.plot(max(apart["handicap"], 1e-3), place, "o", color=blue, zorder=3)
        right.axvline(RHO, color="black", ls=(0, (4, 3)), lw=0.8)
        left.set(xscale="log", xlabel="labels per lab")
        right.set(xscale="log", xlim=(8e-4, 1.2), xlabel="how often two labs differ (left edge: 0.001 or less)")
        left.set_yticks(list(places), [found["case"]["name"] for found in shown], fontsize=8)
        left.set_ylim(-0.6, len(shown) - 0.4)
        for axes in (left, right):
            axes.grid(visible=False, axis="y")
            log_ticks(axes.xaxis)
        entries = (
            Line2D([], [], color=grey, marker="o", ls="", label="parent at its own stop"),
            Line2D([], [], color=blue, marker="o", ls="", label="handicap"),
            Line2D([], [], color=blue, lw=1.5, label="95% interval"),
            Line2D([], [], color=red, marker="x", ls="", label="fewest errors on as many labels"),
            Line2D([], [], color="black", ls=(0, (4, 3)), lw=0.8, label=f"ρ = {RHO:g}"),
        )
        drawn.legend(handles=entries, loc="outside lower center", ncols=5, columnspacing=1.2)
        for kind in (".svg", ".png"):
            save(drawn, path.with_suffix(kind))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small worlds")
    parser.add_argument(
        "--out", type=Path, default=Path("benchmarks/results"), help="folder for table, figure and JSON"
    )
    given = parser.parse_args()
    cases, results, started = QUICK if given.quick else FULL, [], time.perf_counter()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "cost-of-replicability"
    for number, case in enumerate(cases, 1):
        results.append(run(case))
        print(f"[{number}/{len(cases)}]", " | ".join(row(results[-1])), f"({results[-1]['seconds']} s)", flush=True)
        found = {"seed": SEED, "delta": DELTA, "rho": RHO, "worlds": results}
        path.with_suffix(".json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    path.with_suffix(".md").write_text(tables(results))
    figure(results, path)
    print(f"wrote {path}.json, .md, .svg and .png; {time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()

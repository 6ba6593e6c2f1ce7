"""Which learner when: those that certify, on structured classes, pools and noise, with the same strings.

Every pair of labs has one string and a pool each; all learners of a row meet the same pairs. A cell ends after --pairs
pairs or --seconds, whichever comes first, but not before two pairs; the table says how many there were.

    python benchmarks/which_learner.py [--quick] [--out DIR] [--pairs 20] [--seconds 7] [--only TEXT ..]
                                       [--thin N]

writes DIR/which-learner.json, .md (tables) and .svg/.png (figure); the defaults take about twenty minutes on one core.
With --only it measures again the cells whose line of progress holds every TEXT, e.g. --only "10,000 items" "noise 0.05"
with more --seconds, and keeps the others that DIR has; with --thin N those of them that have fewer than N pairs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from replical.worlds.audit import run_pair
from replical.worlds.experiment import Experiment, prepare

SEED, EPSILON, DELTA, RHO = "which learner", 0.05, 0.05, 0.1
BUDGET = 3000  # labels per lab
NOISELESS = ("rounded-cal", "settled-cal")
ALWAYS = ("rounded-a2", "settled", "settled-distance")
CLASSES = ("thresholds:1000", "intervals:60", "halfspaces:2,2000", "stumps:5,40", "boxes:2,8")
POOLS, NOISES = (2000, 10_000, 100_000), ("0", "0.05", "0.2")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one learner did in one world; means over all labs, shares of pairs or labs."""

    world: str
    items: int
    noise: str
    learner: str
    pairs: int
    labels: float
    certified: float
    certified_pairs: int
    certified_differ: int
    agreement: float
    excess: float
    spent: int
    seconds: float


def measure(world: str, items: int, noise: str, learner: str, pairs: int, seconds: float) -> Cell:
    """Run pairs until there are enough, or time is up."""
    tried = Experiment(
        class_spec=world, learner=learner, epsilon=EPSILON, delta=DELTA, rho=RHO, pool_size=items, noise=noise,
        options={} if learner == "rounded-cal" else {"max_labels": BUDGET},
    )  # fmt: skip
    ready, started, labs, alike, both, differ = prepare(tried, seed=SEED), time.perf_counter(), [], 0, 0, 0
    while len(labs) < 2 * pairs and (len(labs) < 4 or time.perf_counter() - started < seconds):
        _, two = run_pair(ready.learner, ready.world, SEED, len(labs) // 2)
        proven = [each.result.proven is not None and each.result.proven.certified for each in two]
        same = two[0].result.hypothesis == two[1].result.hypothesis
        alike, both, differ = alike + same, both + all(proven), differ + (all(proven) and not same)
        labs += [(each.result.labels, sure, float(each.excess_error)) for each, sure in zip(two, proven, strict=True)]
    labels, certified, excess = np.mean(labs, axis=0).tolist()
    return Cell(
        world=world,
        items=items,
        noise=noise,
        learner=learner,
        pairs=len(labs) // 2,
        labels=labels,
        certified=certified,
        certified_pairs=both,
        certified_differ=differ,
        agreement=2 * alike / len(labs),
        excess=excess,
        spent=sum(each[0] >= BUDGET for each in labs),
        seconds=(time.perf_counter() - started) / len(labs),
    )


def rows(quick: bool) -> list[tuple[str, int, str, str]]:
    """World, items, noise and learner of every cell."""
    if quick:
        return [("thresholds:100", 1000, noise, each) for noise, each in (("0", "settled-cal"), ("0.05", "settled"))]
    grid = [*product(CLASSES, POOLS), ("thresholds:1000", 1_000_000)]
    return [
        (world, items, noise, learner)
        for world, items in grid
        for noise in NOISES
        for learner in (*(NOISELESS if noise == "0" else ()), *ALWAYS)
    ]


def table(cells: list[Cell]) -> str:
    """One line a pool and noise; of each learner labels a lab, certified labs, agreeing pairs, mean excess, pairs."""
    learners = [each for each in (*NOISELESS, *ALWAYS) if any(cell.learner == each for cell in cells)]
    lines = []
    for world in dict.fromkeys(each.world for each in cells):
        lines += [f"### {world}", "", f"| items | noise | {' | '.join(learners)} |", "|---" * (len(learners) + 2) + "|"]
        of_world = [each for each in cells if each.world == world]
        for items, noise in dict.fromkeys((each.items, each.noise) for each in of_world):
            told = {each.learner: _told(each) for each in of_world if (each.items, each.noise) == (items, noise)}
            lines.append(f"| {items:,} | {noise} | {' | '.join(told.get(each, '') for each in learners)} |")
        lines.append("")
    return "\n".join(lines)


def _told(cell: Cell) -> str:
    spent = f", budget spent by {cell.spent}" if cell.spent else ""
    differ = f", {cell.certified_differ} certified pairs differ" if cell.certified_differ else ""
    figures = f"**{cell.labels:.0f}** · {cell.certified:.2f} · {cell.agreement:.2f} · {cell.excess:.3f}"
    return f"{figures} ({cell.pairs}{spent}{differ})"


def draw(cells: list[Cell], out: Path) -> None:
    """Labels against the share of labs that is certified: one panel a pool and noise, one line a world."""
    from matplotlib.lines import Line2D

    from replical.study.pictures.style import colour, log_ticks, marker, marker_size, new_figure, save, style

    def look(learner: str) -> dict[str, Any]:
        return {"marker": marker(learner), "color": colour(learner), "markersize": marker_size(learner)}

    pools, noises = ([*dict.fromkeys(getattr(each, name) for each in cells)] for name in ("items", "noise"))
    learners = [*dict.fromkeys(each.learner for each in cells)]
    with style():
        figure = new_figure(3 * len(pools), 2.4 * len(noises) + 0.5)
        panels = figure.subplots(len(noises), len(pools), sharex=True, sharey=True, squeeze=False)
        for (row, noise), (column, items) in product(enumerate(noises), enumerate(pools)):
            axes = panels[row][column]
            for each in (cell for cell in cells if (cell.noise, cell.items) == (noise, items)):
                axes.plot(each.labels, each.certified, alpha=0.8, clip_on=False, zorder=3, **look(each.learner))
            axes.set(xscale="log", ylim=(-0.05, 1.05), title=f"{items:,} items, noise {noise}")
            log_ticks(axes.xaxis)
        for axes in panels[-1]:
            axes.set_xlabel("labels per lab")
        for axes in panels[:, 0]:
            axes.set_ylabel("certified labs")
        lines = [Line2D([], [], ls="", label=each, **look(each)) for each in learners]
        figure.legend(handles=lines, loc="outside upper center", ncols=len(learners))
        for suffix in ("svg", "png"):
            save(figure, out / f"which-learner.{suffix}")


def main() -> None:
    """Measure every cell, then write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two small cells")
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=7.0, help="time a cell, after two pairs")
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="measure these cells again")
    parser.add_argument("--thin", type=int, metavar="N", help="measure again what has fewer than N pairs")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    file, planned, started = given.out / "which-learner.json", rows(given.quick), time.perf_counter()
    again = given.only or given.thin
    known = json.loads(file.read_text())["cells"] if again else []
    cells = {_name(each.world, each.items, each.noise, each.learner): each for each in (Cell(**row) for row in known)}
    thin = {name for name, cell in cells.items() if given.thin is None or cell.pairs < given.thin}
    wanted = [each for each in planned if all(text in _name(*each) for text in given.only)]
    if again:
        wanted = [each for each in wanted if _name(*each) in thin or _name(*each) not in cells]
    for number, row in enumerate(wanted, start=1):
        each = measure(*row, 2 if given.quick else given.pairs, given.seconds)
        cells[_name(*row)] = each
        done = f"{number}/{len(wanted)} {time.perf_counter() - started:.0f} s: {_name(*row)}"
        found = f"{each.labels:.0f} labels, certified {each.certified:.2f}, {each.pairs} pairs"
        print(f"{done}: {found}", file=sys.stderr, flush=True)
        told: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "rho": RHO, "budget": BUDGET}
        told["cells"] = [asdict(cells[_name(*row)]) for row in planned if _name(*row) in cells]
        file.write_text(json.dumps(told, indent=1) + "\n")
    listed = [cells[_name(*row)] for row in planned if _name(*row) in cells]
    (given.out / "which-learner.md").write_text(table(listed), encoding="utf-8")
    draw(listed, given.out)


def _name(world: str, items: int, noise: str, learner: str) -> str:
    return f"{world}, {items:,} items, noise {noise}, {learner}"


if __name__ == "__main__":
    main()

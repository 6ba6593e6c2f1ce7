"""Which handicaps when: on structured classes, pools and kinds of labels, with the same strings.

Every pair of labs has one string and a pool each; all learners of a row meet the same pairs. `handicap` runs with no
handicaps at all (c = 0), with exponentials from the string, and with a public cover: at .8ε on 2,000 public unlabelled
items that no lab has. Labels are those of a random target without noise (then handicap knows that, nu = 0), with 5% of
them flipped, flipped with .45 within .03 of the target's boundary (near ties), or those of a truth outside the class: the
target's, turned round where the first feature lies in a band that holds a tenth of the population. A cell ends after
--pairs pairs or --seconds, whichever comes first, but not before two pairs; the table says how many there were.

    python benchmarks/which_handicaps.py [--quick] [--out DIR] [--pairs 20] [--seconds 5] [--only NAME ..] [--record]
    python benchmarks/which_handicaps.py --page  # the table of docs/explanation/which-handicaps.md, from the last record

writes DIR/which-handicaps.json, .md (tables) and .svg/.png (figure), the first anew after each cell; --record adds the cells
to benchmarks/history/which_handicaps, with the commit. With --only it measures these ways again and keeps the other cells
that DIR has: what a cell shows is of the commit it names.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from replical import Handicaps, PrivateRandomness, SharedRandomness, World, learner_for, plan
from replical.classes.catalogue import parse
from replical.classes.halfspaces import HalfSpaces
from replical.classes.thresholds import Thresholds
from replical.learners.base import Learner
from replical.worlds.labs import run_lab
from replical.worlds.world import Population, parse_noise

HISTORY = Path(__file__).parent / "history" / "which_handicaps"
SEED, EPSILON, DELTA, RHO = "one learner, rules", 0.05, 0.05, 0.1
BUDGET = 3000  # labels per lab
PUBLIC, RADIUS = 2000, 0.8 * EPSILON  # public items that a cover is made on, and how far everyone may be from it
OURS = ("c = 0", "exponentials", "cover")
CLASSES = ("thresholds:1000", "halfspaces:2,2000", "stumps:5,40")
NEAR_TIES = "boundary:0.45,0.03"
POOLS, LABELS = (2000, 10_000), {"0": "none", "0.05": ".05", NEAR_TIES: "near ties", "outside": "outside"}
LARGE = ("thresholds:1000000", 10_000)  # for the time it takes
TRUTHS, BAND = 5, 0.1  # so many truths outside the class; the share on which each is none of its rules
LOOKS = {"c = 0": ("#009E73", "^"), "exponentials": ("#111111", "o"), "cover": ("#D55E00", "*")}


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
    above: int  # labs whose answer errs more than ε above the best
    spent: int
    seconds: float
    commit: str = ""


@cache
def world_of(world: str, noise: str) -> World:
    """Class and population; the labels are left out where their truth is outside the class."""
    C, cells = parse(world, seed=SEED)
    return World(C=C, cells=cells, noise=0.0 if noise in ("outside", NEAR_TIES) else parse_noise(noise))


@cache
def population(world: str, noise: str, number: int) -> Population:
    """Where the labs of a pair live."""
    made, number = world_of(world, noise), number % TRUTHS if noise == "outside" else number
    draws = PrivateRandomness.simulated(SEED, world, number, "world").generator()
    plain = made.population(int(draws.integers(len(made.C))))
    if noise == NEAR_TIES:
        flips = np.where(margin(plain.C, plain.cells, plain.target) <= 0.03, 0.45, 0.0)
        right = plain.codes(plain.target)
        law = np.where(np.arange(2) == right[:, None], 1 - flips[:, None], flips[:, None])
        return Population(plain.C, cells=plain.cells, law=law, predictions=plain.predictions)
    if noise != "outside":
        return plain
    first = plain.cells if plain.cells.ndim == 1 else plain.cells[:, 0]
    ranks = np.argsort(np.argsort(first, kind="stable"), kind="stable") / len(first)
    start = draws.uniform(0.2, 0.7)
    codes = plain.codes(plain.target) ^ ((ranks >= start) & (ranks < start + BAND))
    return Population(plain.C, cells=plain.cells, law=np.eye(2)[codes], predictions=plain.predictions)


def margin(C: Any, items: Any, h: int) -> Any:
    """Distance of items from the boundary of rule `h`: cells of thresholds are mapped to [0, 1]."""
    if isinstance(C, Thresholds):
        return np.abs(items + 0.5 - h) / (len(C) - 1)
    if isinstance(C, HalfSpaces):
        return np.abs(items @ C.normals[h] - C.offsets[h])
    feature, cut = C._parts(np.array([h]))  # of a stump
    return np.abs(items[:, feature[0]] - cut[0])


def learner_of(name: str, world: str, noise: str, number: int) -> Learner:
    """The learner of a pair: a cover depends on its string and public items."""
    C = world_of(world, noise).C
    options: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "rho": RHO, "pool": "finite"}
    options["max_labels"] = BUDGET
    if name != "exponentials":
        options["handicaps"] = Handicaps.zero() if name == "c = 0" else cover(world, noise, number)
    if noise == "0":
        options["nu"] = 0
    return learner_for(plan("handicap", C, **options))


@cache
def cover(world: str, noise: str, number: int) -> Handicaps:
    """The public cover of a pair's string."""
    made = population(world, noise, number)
    draws = PrivateRandomness.simulated(SEED, world, number, "public").generator()
    items = made.cells[draws.integers(len(made.cells), size=PUBLIC)]
    return Handicaps.cover(made.C, items, radius=RADIUS, shared=string(number))


def string(number: int) -> SharedRandomness:
    return SharedRandomness(f"{SEED}/{number}")


def measure(world: str, items: int, noise: str, learner: str, pairs: int, seconds: float) -> Cell:
    """Run pairs until there are enough, or time is up."""
    labs: list[tuple[int, bool, float]] = []
    spent, alike, both, differ = 0.0, 0, 0, 0
    while len(labs) < 2 * pairs and (len(labs) < 4 or spent < seconds):
        number = len(labs) // 2
        place, active = population(world, noise, number), learner_of(learner, world, noise, number)
        started = time.perf_counter()
        two = [run_lab(active, place, items, string(number), (SEED, world, items, number, name)) for name in "AB"]
        spent += time.perf_counter() - started
        proven = [each.result.proof is not None and each.result.proof.certified for each in two]
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
        above=sum(each[2] > EPSILON for each in labs),
        spent=sum(each[0] >= BUDGET for each in labs),
        seconds=spent / len(labs),
    )


def rows(quick: bool) -> list[tuple[str, int, str, str]]:
    """World, items, noise and learner of every cell."""
    if quick:
        return [("thresholds:100", 500, *each) for each in product(("0", "outside"), OURS)]
    grid = [(*each, OURS) for each in product(CLASSES, POOLS, LABELS)]
    grid += [(*LARGE, noise, OURS[1:]) for noise in ("0", "0.05")]
    return [(world, items, noise, learner) for world, items, noise, learners in grid for learner in learners]


def table(cells: list[Cell]) -> str:
    """One line a world, pool and noise; of each way labels a lab, certified labs, agreeing pairs, mean excess, pairs."""
    lines = [f"| class | items | noise | {' | '.join(LOOKS)} |", "|---" * (len(LOOKS) + 3) + "|"]
    for world, items, noise in dict.fromkeys((each.world, each.items, each.noise) for each in cells):
        here = [each for each in cells if (each.world, each.items, each.noise) == (world, items, noise)]
        told = {each.learner: _told(each) for each in here}
        lines.append(f"| {world} | {items:,} | {LABELS[noise]} | {' | '.join(told.get(each, '') for each in LOOKS)} |")
    return "\n".join(lines) + "\n"


def recorded() -> list[Cell]:
    """The cells of the last record, of the ways that are there."""
    found = json.loads(sorted(HISTORY.glob("0*.json"))[-1].read_text(encoding="utf-8"))
    return [Cell(**cell) for cell in found["cells"] if cell["learner"] in LOOKS]


def _told(cell: Cell) -> str:
    spent = f", budget spent by {cell.spent}" if cell.spent else ""
    differ = f", {cell.certified_differ} certified pairs differ" if cell.certified_differ else ""
    above = f", {cell.above} labs above ε" if cell.above else ""
    figures = f"**{cell.labels:.0f}** · {cell.certified:.2f} · {cell.agreement:.2f} · {cell.excess:.3f}"
    return f"{figures} ({cell.pairs}{spent}{differ}{above})"


def draw(cells: list[Cell], out: Path) -> None:
    """Labels against the share of labs that is certified: one panel a pool and noise, one line a world."""
    from matplotlib.lines import Line2D

    from replical.study.pictures.style import log_ticks, new_figure, save, style

    def look(learner: str) -> dict[str, Any]:
        return {"color": LOOKS[learner][0], "marker": LOOKS[learner][1], "markersize": 8}

    cells = [each for each in cells if each.world != LARGE[0]]
    pools, noises = ([*dict.fromkeys(getattr(each, name) for each in cells)] for name in ("items", "noise"))
    learners = [each for each in LOOKS if any(cell.learner == each for cell in cells)]
    with style():
        figure = new_figure(4 * len(pools), 2.2 * len(noises) + 0.7)
        panels = figure.subplots(len(noises), len(pools), sharex=True, sharey=True, squeeze=False)
        for (row, noise), (column, items) in product(enumerate(noises), enumerate(pools)):
            axes = panels[row][column]
            for each in (cell for cell in cells if (cell.noise, cell.items) == (noise, items)):
                axes.plot(each.labels, each.certified, alpha=0.8, clip_on=False, zorder=3, **look(each.learner))
            axes.set(xscale="log", ylim=(-0.05, 1.05), title=f"{items:,} items, noise: {LABELS[noise]}")
            log_ticks(axes.xaxis)
        for axes in panels[-1]:
            axes.set_xlabel("labels per lab")
        for axes in panels[:, 0]:
            axes.set_ylabel("certified labs")
        lines = [Line2D([], [], ls="", label=each, **look(each)) for each in learners]
        figure.legend(handles=lines, loc="outside upper center", ncols=4)
        for suffix in ("svg", "png"):
            save(figure, out / f"which-handicaps.{suffix}")


def main() -> None:
    """Measure every cell, then write."""
    from choosing import commit, record

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few small cells")
    parser.add_argument("--page", action="store_true", help="print the table of the last record, run nothing")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=5.0, help="time a cell, after two pairs")
    parser.add_argument("--only", nargs="+", choices=list(LOOKS), metavar="NAME", help="measure these ways again")
    parser.add_argument("--record", action="store_true", help="add a file to benchmarks/history/which_handicaps")
    given = parser.parse_args()
    if given.page:
        print(table(recorded()), end="")
        return
    given.out.mkdir(parents=True, exist_ok=True)
    file, wanted, started = given.out / "which-handicaps.json", rows(given.quick), time.perf_counter()
    known = json.loads(file.read_text(encoding="utf-8"))["cells"] if given.only and file.exists() else []
    found: dict[str, Any] = {"seed": SEED, "epsilon": EPSILON, "delta": DELTA, "rho": RHO}
    found |= {"budget": BUDGET, "public_items": PUBLIC, "radius": RADIUS, "cells": []}
    order = {row: place for place, row in enumerate(rows(given.quick))}
    cells = {(each.world, each.items, each.noise, each.learner): each for each in (Cell(**cell) for cell in known)}
    wanted = [row for row in wanted if given.only is None or row[-1] in given.only]
    for number, row in enumerate(wanted, start=1):
        each = replace(measure(*row, 2 if given.quick else given.pairs, given.seconds), commit=commit())
        cells[row] = each
        done = f"{number}/{len(wanted)} {time.perf_counter() - started:.0f} s: {row}"
        figures = f"{each.labels:.0f} labels, certified {each.certified:.2f}, {each.pairs} pairs, {each.seconds:.2f} s"
        print(f"{done}: {figures}", file=sys.stderr, flush=True)
        cells = dict(sorted(cells.items(), key=lambda cell: order.get(cell[0], 10**6)))
        found["cells"] = [asdict(each) for each in cells.values()]
        file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (given.out / "which-handicaps.md").write_text(table([*cells.values()]), encoding="utf-8")
    draw([*cells.values()], given.out)
    if given.record:
        record(HISTORY, found)


if __name__ == "__main__":
    main()

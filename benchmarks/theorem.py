"""Theorems 1 and 2 at their own sizes: RepliCAL and ReplicA² with the labels that the paper's proofs ask for.

On a known distribution 10^17 labels cost no more than ten, because draws enter through multinomial counts. Three parts:

1. *Claims.* Every cell of a grid over (|C|, Θ, ε, ρ, ν): how often two labs differ, against ρ; errors, against ε; rounds,
   against N. Beside it controls at the same sizes: labs without a common string, labs with a common order and thresholds
   of their own, and labs that return what is best on as many labels. A cell counts only if the first differ in at least
   20% of pairs: otherwise a single hypothesis is left in the end and nothing is shown.
2. *Looseness.* The same runs with every size divided by powers of √10, until two labs differ more often than ρ.
3. *Exponents.* How the plans' labels grow with 1/ρ, ln |C|, Θ, log(1/ε) and ν/ε, by regression on a grid of plans; no runs.

    python benchmarks/theorem.py [--quick] [--workers W] [--out DIR]

writes DIR/theorem.json, .md (tables) and .svg/.png (figure).
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical import Intervals, PrivateRandomness, SharedRandomness, Star, Thresholds, World, audit, plan, theta
from replical.core.exact import clopper_pearson
from replical.errors import EmptyVersionSpace
from replical.learners.base import Learner
from replical.learners.plan import Plan
from replical.learners.planning import learner_for
from replical.worlds.audit import Pair, pair_string, run_lab, summarise

SEED = "theorem"
DELTA = 0.05
COUNTED = 0.2  # share of pairs that must differ where labs have no common string


# Worlds whose cells are fine enough that many hypotheses survive to the end


def world_of(name: str, nu: float) -> World:
    """A world by its name; `nu` is the rate of random flips, except in "misfit", whose labels no threshold fits."""
    kind, _, size = name.partition(":")
    count = int(size)
    match kind:
        case "thresholds":
            return World(C=Thresholds(count), noise=nu)
        case "star":
            return _star(count)
        case "intervals":
            return _intervals(count, nu)
        case "misfit":
            return _misfit(count)
    raise ValueError(name)


def _star(leaves: int) -> World:
    """The centre is the target; leaf i has mass proportional to i, 2% in all, and a last leaf the rest."""
    light = np.arange(1, leaves + 1)
    weights = np.append(light, 49 * light.sum())
    return World(C=Star(leaves + 1), weights=weights, law=_law(np.zeros(leaves + 1, dtype=np.int64), 0.0))


def _intervals(cells: int, nu: float) -> World:
    """The target is the middle half; around both of its ends cells are fine, elsewhere coarse."""
    ends, fine, coarse = (cells // 4, 3 * cells // 4), cells // 8, 12 if nu else 100
    weights = np.full(cells, coarse)
    for end in ends:
        weights[end - fine : end + fine] = 1
    inside = np.arange(cells)
    return World(
        C=Intervals(cells), weights=weights, law=_law(((inside >= ends[0]) & (inside < ends[1])).astype(np.int64), nu)
    )


def _misfit(n: int) -> World:
    """1 from .5 on, but 0 again from .53 to .555: the best threshold errs on 2.5%, another one on 3%."""
    x = (np.arange(n - 1) + 0.5) / (n - 1)
    return World(C=Thresholds(n), law=_law(((x >= 0.5) & ~((x >= 0.53) & (x < 0.555))).astype(np.int64), 0.0))


def _law(truth: NDArray[np.int64], flips: float) -> NDArray[np.float64]:
    law = np.full((len(truth), 2), flips)
    law[np.arange(len(truth)), truth] = 1 - flips
    return law


# Part 1: the claims


@dataclass(frozen=True)
class Cell:
    """One setting, and how much of it is run."""

    world: str
    epsilon: float
    rho: float = 0.1
    theta: float = 2.0  # public; the coefficient itself or any upper bound
    nu: float = 0.0
    agnostic: bool = False
    pairs: int = 300
    controls: int = 60

    @property
    def learner(self) -> str:
        return "replica2" if self.agnostic else "replical"

    @property
    def name(self) -> str:
        noise = f", ν={self.nu:g}" if self.agnostic else ""
        return f"{self.world}, Θ={self.theta:g}, ε={self.epsilon:g}{noise}, ρ={self.rho:g}"

    def plan(self, world: World, name: str, **sizes: int) -> Any:
        options: dict[str, Any] = {"epsilon": self.epsilon, "delta": DELTA, "rho": self.rho, "theta": self.theta}
        if self.agnostic:
            options["nu"] = self.nu
        return plan(self.learner, world.C, name=name, **options, **sizes)


class OwnThreshold(SharedRandomness):
    """Shared, except that the threshold comes from a string of the lab's own."""

    def __init__(self, seed: str, own: str) -> None:
        super().__init__(seed)
        self._own = SharedRandomness(own)

    def word(self, *name: str | int, index: int = 0) -> int:
        return (self._own if name[0] == "threshold" else super()).word(*name, index=index)


Strings = Callable[[str, str], SharedRandomness]


def common(string: str, lab: str) -> SharedRandomness:
    return SharedRandomness(string)


def own_string(string: str, lab: str) -> SharedRandomness:
    return SharedRandomness(f"{string}, {lab}")


def own_threshold(string: str, lab: str) -> SharedRandomness:
    return OwnThreshold(string, f"{string}, {lab}")


@dataclass(frozen=True)
class Outcome:
    """One pair of labs; no pair where a lab was left without a hypothesis."""

    pair: Pair | None
    rounds: int = 0

    @property
    def differ(self) -> bool:
        return self.pair is None or not self.pair.agree

    @property
    def distance(self) -> float:
        return 1.0 if self.pair is None else self.pair.jaccard_distance


def outcomes(learner: Learner, world: World, pairs: int, strings: Strings) -> Iterator[Outcome]:
    """As `audit` runs its pairs, with the strings of the labs to choose, and empty version spaces counted."""
    for number in range(pairs):
        target = int(PrivateRandomness.simulated(SEED, number, "world").generator().integers(len(world.C)))
        population, string = world.population(target), pair_string(SEED, number)
        try:
            one, two = (
                run_lab(learner, population, world.pool_size, strings(string, lab), (SEED, number, lab)) for lab in "AB"
            )
        except EmptyVersionSpace:
            yield Outcome(pair=None)
            continue
        asked = (lab.result.rounds for lab in (one, two))
        rounds = max(sum(Fraction(*each.disagreement) >= learner.plan.stop_mass for each in lab) for lab in asked)
        yield Outcome(pair=summarise(number, population, (one, two)), rounds=rounds)


def run_cell(cell: Cell) -> dict[str, Any]:
    """One cell at the paper's sizes, with its controls."""
    started = time.perf_counter()
    world = world_of(cell.world, cell.nu)
    made = cell.plan(world, "paper")
    learner = learner_for(made)
    found = audit(learner, world, seed=SEED, pairs=cell.pairs)
    apart = found.pairs - found.agreements
    low, high = clopper_pearson(apart, found.pairs)
    nothing = list(outcomes(learner, world, cell.controls, own_string))
    threshold = list(outcomes(learner, world, cell.controls, own_threshold))
    return {
        "cell": asdict(cell) | {"name": cell.name, "learner": cell.learner, "n": len(world.C)},
        "theta of the world": _coefficient(world, cell),
        "counted": share(nothing) >= COUNTED,
        "claimed": {
            "differ": cell.rho,
            "error": cell.epsilon,
            "rounds": made.rounds_most,
            "intervals": made.integer("m"),
            "labels per round": made.k,
            "labels": made.labels_most,
        },
        "measured": {
            "pairs": found.pairs,
            "apart": apart,
            "differ": apart / found.pairs,
            "low": low,
            "high": high,
            "E[J]": found.expected_jaccard,
            "error mean": found.excess_error_mean,
            "error max": found.excess_error_max,
            "labs above": found.excess_over_epsilon,
            "rounds": max(each.rounds for each in (*nothing, *threshold)),
            "labels mean": found.labels_mean,
            "labels max": found.labels_max,
            "survivors": found.survivors_mean,
            "capped": found.cap_reached,
        },
        "controls": {
            "pairs": cell.controls,
            "no common string": share(nothing),
            "own thresholds": share(threshold),
            "best on as many labels": best_apart(cell, world, found.labels_mean, cell.controls),
            "before the last filter": 1 - found.base_agreement,
        },
        "seconds": round(time.perf_counter() - started, 1),
    }


def best_apart(cell: Cell, world: World, labels: float, pairs: int) -> float:
    """How often two labs differ that return a hypothesis with fewest errors on so many labels, drawn anywhere."""
    passive = plan("erm", world.C, epsilon=cell.epsilon, delta=DELTA, nu=cell.nu, k_final=max(1, round(labels)))
    return 1 - audit(learner_for(passive), world, seed=SEED, pairs=pairs).agreement


def share(done: list[Outcome]) -> float:
    """How often two labs differ."""
    return sum(each.differ for each in done) / len(done)


def _coefficient(world: World, cell: Cell) -> float:
    """The disagreement coefficient itself, at the target (of all targets where they vary); 2 on a line of equal cells."""
    if cell.world.startswith(("thresholds", "misfit")):
        return 2.0
    population = world.population()
    return theta(world.C, population, centre=population.target).value


# Part 2: how much less would do


@dataclass(frozen=True)
class Curve:
    """A cell whose sizes are divided, half a decade at a time, from 10^start on."""

    cell: Cell
    plan: str
    start: float
    pairs: int = 100
    loop: bool = True  # is the loop's sample divided too?

    @property
    def name(self) -> str:
        return self.plan if self.loop else f"{self.plan}, last sample only"


LAST = ("final_scale", "k_final")


def divided(curve: Curve, world: World, factor: float) -> Plan:
    """A plan with its sample sizes divided by `factor`."""
    cell, name = curve.cell, curve.plan
    whole, by = cell.plan(world, name), Fraction(factor)
    k_loop = max(1, math.floor(whole.k / by)) if curve.loop else whole.k
    if not cell.agnostic:
        k_final = max(1, math.floor(whole.integer("k_final") / by))
        made: Plan = cell.plan(world, name, k_loop=k_loop, k_final=k_final)
        return made
    smaller = cell.plan(world, name, k_loop=k_loop)  # the paper's last sample is a multiple of Δ², which is divided
    numbers = (
        replace(number, value=type(number.value)(number.value / by)) if number.name in LAST else number
        for number in smaller.numbers
    )
    return replace(smaller, numbers=tuple(numbers))


def run_curve(curve: Curve) -> dict[str, Any]:
    """Divide until two labs differ more often than ρ."""
    started = time.perf_counter()
    cell, steps, power = curve.cell, [], curve.start
    world = world_of(cell.world, cell.nu)
    while True:
        made: Any = divided(curve, world, 10**power)
        done = list(outcomes(learner_for(made), world, curve.pairs, common))
        pairs = [each.pair for each in done if each.pair is not None]
        empty = len(done) - len(pairs)
        errors = [error for pair in pairs for error in pair.excess_errors]
        above = sum(error > made.epsilon for error in errors) + empty
        low, high = clopper_pearson(sum(each.differ for each in done), len(done))
        steps.append(
            {
                "power": power,
                "labels per round": made.k,
                "labels mean": sum(sum(pair.labels) for pair in pairs) / max(1, 2 * len(pairs)),
                "differ": share(done),
                "low": low,
                "high": high,
                "E[J]": sum(each.distance for each in done) / len(done),
                "before the last filter": sum(pair.unrounded[0] != pair.unrounded[1] for pair in pairs) / len(done),
                "labs above": above / (2 * len(done)),
                "capped": sum(sum(pair.stopped_short) for pair in pairs) / (2 * len(done)),
                "empty": empty / len(done),
            }
        )
        if steps[-1]["E[J]"] >= cell.rho or made.k == 1:
            break
        power += 0.5
    crossing = _crossing(steps, cell.rho)
    left = _labels_there(steps, crossing)
    return {
        "cell": asdict(cell) | {"name": cell.name, "learner": cell.learner, "n": len(world.C)},
        "plan": curve.name,
        "pairs": curve.pairs,
        "steps": steps,
        "power": crossing,
        "labels there": left,
        "best on as many labels": best_apart(cell, world, left, curve.pairs),
        "labels planned": cell.plan(world, curve.plan).labels_most,
        "seconds": round(time.perf_counter() - started, 1),
    }


def _crossing(steps: list[dict[str, Any]], rho: float) -> float:
    """Where E[J] reaches ρ, between two steps by its logarithm."""
    last = steps[-1]
    if len(steps) == 1 or last["E[J]"] < rho:
        return float(last["power"])
    before = steps[-2]
    low, high = math.log(max(before["E[J]"], 1e-6)), math.log(last["E[J]"])
    return float(before["power"] + (last["power"] - before["power"]) * (math.log(rho) - low) / (high - low))


def _labels_there(steps: list[dict[str, Any]], power: float) -> float:
    return float(10 ** np.interp(power, [s["power"] for s in steps], [math.log10(s["labels mean"]) for s in steps]))


def ladder(cell: Cell, curves: list[dict[str, Any]]) -> dict[str, Any]:
    """From the paper's labels to what was enough: one coupling in place of one a round, our plan, the measurement."""
    world = world_of(cell.world, cell.nu)
    made = cell.plan(world, "paper")
    couplings = 2 * (made.rounds_most + 1) if cell.agnostic else made.rounds_most
    steps = {
        "paper": made.labels_most,
        "paper, one coupling": replace(cell, rho=cell.rho * couplings).plan(world, "paper").labels_most,
        "tight": cell.plan(world, "tight").labels_most,
    }
    for curve in curves:
        if curve["cell"]["name"] == cell.name and curve["plan"] == "paper":
            steps["enough, measured"] = curve["labels there"]
    return {"learner": cell.learner, "name": cell.name, "couplings": couplings, "labels": steps}


# Part 3: exponents


@dataclass(frozen=True)
class Fit:
    """A number of labels, and the exponents that are stated for it."""

    name: str
    plan: str
    stated: dict[str, float]
    labels: Callable[[dict[str, float]], float]
    formula: Callable[[dict[str, float]], float]  # what is stated, with its logarithms: the paper's O(.), or ours


def _made(learner: str, name: str, at: dict[str, float]) -> Any:
    options = {"epsilon": at["epsilon"], "delta": DELTA, "rho": at["rho"], "theta": at["theta"], "name": name}
    return plan(learner, int(at["n"]), **options, **({"nu": at["nu"]} if learner == "replica2" else {}))


def _last(made: Any) -> float:
    return float(made.labels_most - made.rounds_most * made.k)


def _printed(at: dict[str, float], B: float, outer: float) -> float:
    """log²|C| log(B/ρ) B⁴/ρ⁴ times what stands before it."""
    return outer * math.log(at["n"]) ** 2 * math.log(B / at["rho"]) * B**4 / at["rho"] ** 4


def _ranked(at: dict[str, float], outer: float) -> float:
    """ln²n/ρ² times what stands before it: Lemmas R and N."""
    return outer * math.log(at["n"]) ** 2 / at["rho"] ** 2


def _rounds_bound(at: dict[str, float]) -> float:
    return math.log(1 / (at["theta"] * at["nu"]))


REALIZABLE = {"rho": (0.3, 0.1, 0.03, 0.01, 0.003), "n": (1e3, 1e6, 1e9, 1e12), "theta": (2.0, 8.0, 32.0)}
EPSILONS = tuple(2.0**-power for power in (8, 16, 32, 64))
NOISES = tuple(2.0**-power for power in (16, 32, 64))
RATIOS = (1.0, 4.0, 16.0)
FITS = (
    Fit(
        "RepliCAL, all labels",
        "paper",
        {"1/ρ": 4, "ln n": 2, "Θ": 1, "log 1/ε": 5},
        lambda at: _made("replical", "paper", at).labels_most,
        lambda at: _printed(at, math.log(1 / at["epsilon"]), at["theta"] * math.log(1 / at["epsilon"])),
    ),
    Fit(
        "RepliCAL, all labels",
        "tight",
        {"1/ρ": 2, "ln n": 2, "Θ": 1, "log 1/ε": 0},
        lambda at: _made("replical", "tight", at).labels_most,
        lambda at: _ranked(at, at["theta"]),
    ),
    Fit(
        "ReplicA², loop",
        "paper",
        {"1/ρ": 4, "ln n": 2, "Θ": 2, "log 1/(Θν)": 5, "ν/ε": 0},
        lambda at: (made := _made("replica2", "paper", at)).k * made.rounds_most,
        lambda at: _printed(at, _rounds_bound(at), at["theta"] ** 2 * _rounds_bound(at)),
    ),
    Fit(
        "ReplicA², last sample",
        "paper",
        {"1/ρ": 4, "ln n": 2, "Θ": 2, "log 1/(Θν)": 4, "ν/ε": 2},
        lambda at: _last(_made("replica2", "paper", at)),
        lambda at: _printed(at, _rounds_bound(at), at["theta"] ** 2 * (at["nu"] / at["epsilon"]) ** 2),
    ),
    Fit(
        "ReplicA², last sample",
        "tight",
        {"1/ρ": 2, "ln n": 2, "Θ": 1, "log 1/(Θν)": 0, "ν/ε": 2},
        lambda at: _last(_made("replica2", "tight", at)),
        lambda at: _ranked(at, at["theta"] * (at["nu"] / at["epsilon"]) ** 2),
    ),
)


def grid(agnostic: bool) -> list[dict[str, float]]:
    """Settings of the regression; ε is a power of 1/2, so that rounds are whole."""
    common = [dict(zip(REALIZABLE, values, strict=True)) for values in product(*REALIZABLE.values())]
    if not agnostic:
        return [at | {"epsilon": epsilon} for at in common for epsilon in EPSILONS]
    return [at | {"nu": nu, "epsilon": nu / ratio} for at in common for nu in NOISES for ratio in RATIOS]


def exponents() -> list[dict[str, Any]]:
    """Least squares of log labels on the logarithms of what they are said to grow with."""
    found = []
    for fit in FITS:
        points = grid("ν/ε" in fit.stated)
        columns: dict[str, Callable[[dict[str, float]], float]] = {
            "1/ρ": lambda at: 1 / at["rho"],
            "ln n": lambda at: math.log(at["n"]),
            "Θ": lambda at: at["theta"],
            "log 1/ε": lambda at: math.log(1 / at["epsilon"]),
            "log 1/(Θν)": _rounds_bound,
            "ν/ε": lambda at: at["nu"] / at["epsilon"],
        }
        design = np.array([[1.0, *(math.log(columns[name](at)) for name in fit.stated)] for at in points])
        labels = np.array([math.log(fit.labels(at)) for at in points])
        fitted = np.linalg.lstsq(design, labels, rcond=None)[0][1:]
        shape = np.array([math.log(fit.formula(at)) for at in points])
        shaped = np.linalg.lstsq(design, shape, rcond=None)[0][1:]
        constant = np.exp(labels - shape)
        entry = {
            "labels": fit.name,
            "plan": fit.plan,
            "points": len(points),
            "stated": fit.stated,
            "fitted": dict(zip(fit.stated, fitted.tolist(), strict=True)),
            "fitted to the formula": dict(zip(fit.stated, shaped.tolist(), strict=True)),
            "constant": {"low": float(constant.min()), "high": float(constant.max())},
        }
        found.append(entry)
    return found


def against_rho() -> dict[str, Any]:
    """Labels of both plans as ρ falls: what the figure draws."""
    rhos = [float(rho) for rho in np.geomspace(0.5, 0.001, 12)]
    at = {"n": 1000.0, "epsilon": 0.01, "theta": 2.0, "nu": 0.01}
    labels = {
        f"{learner} {name}": [_made(learner, name, at | {"rho": rho}).labels_most for rho in rhos]
        for learner in ("replical", "replica2")
        for name in ("paper", "tight")
    }
    return {"setting": at, "rho": rhos, "labels": labels}


# What is run


T20, T100 = "thresholds:20000", "thresholds:100000"
REPLICAL = Cell(T20, 0.05)
REPLICA2 = Cell(T20, 0.05, nu=0.05, agnostic=True)
STAR = Cell("star:200", 0.1, theta=100.5)
INTERVALS = Cell("intervals:160", 0.05, theta=4.0, pairs=100, controls=20)
MISFIT = Cell("misfit:20000", 0.03, nu=0.03, agnostic=True, pairs=150)
FULL = [
    Cell("thresholds:2000", 0.2),
    replace(REPLICAL, rho=0.3),
    REPLICAL,
    replace(REPLICAL, rho=0.05),
    replace(REPLICAL, theta=8.0),
    Cell(T100, 0.05, pairs=100, controls=20),
    Cell(T100, 0.01, pairs=100, controls=20),
    STAR,
    INTERVALS,
    replace(REPLICA2, rho=0.3),
    REPLICA2,
    replace(REPLICA2, rho=0.05),
    replace(REPLICA2, epsilon=0.02),
    replace(REPLICA2, epsilon=0.01, nu=0.01, pairs=60, controls=10),
    replace(REPLICA2, epsilon=0.02, nu=0.02, theta=4.0),
    replace(REPLICA2, world=T100, pairs=100, controls=20),
    MISFIT,
    replace(INTERVALS, epsilon=0.025, nu=0.02, agnostic=True),
]
CURVES = [
    Curve(REPLICAL, "paper", 11.0, pairs=200),
    Curve(REPLICAL, "tight", 0.0, pairs=200),
    Curve(REPLICAL, "tight", 2.0, loop=False),
    Curve(STAR, "paper", 11.0, pairs=200),
    Curve(STAR, "tight", 0.0, pairs=200),
    Curve(STAR, "tight", 2.0, loop=False),
    Curve(INTERVALS, "paper", 12.0, pairs=60),
    Curve(INTERVALS, "tight", 1.0, pairs=60),
    Curve(REPLICA2, "paper", 12.0),
    Curve(REPLICA2, "tight", 0.0),
    Curve(REPLICA2, "tight", 2.0, loop=False),
    Curve(MISFIT, "paper", 13.0, pairs=60),
    Curve(MISFIT, "tight", 1.0, pairs=60),
]
QUICK = [
    replace(REPLICAL, pairs=40, controls=20),
    replace(STAR, pairs=40, controls=20),
    replace(REPLICA2, pairs=40, controls=20),
]
QUICK_CURVES = [Curve(REPLICAL, "paper", 13.0, pairs=40), Curve(REPLICAL, "tight", 2.0, pairs=40)]


def run(job: Cell | Curve) -> dict[str, Any]:
    return run_cell(job) if isinstance(job, Cell) else run_curve(job)


def results(jobs: list[Cell | Curve], workers: int) -> Iterator[dict[str, Any]]:
    """All jobs in order, on `workers` processes; figures do not depend on how many."""
    if workers == 1:
        yield from map(run, jobs)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(run, jobs)


# What is written


def size(number: float) -> str:
    """1.2e17 as in tables, small numbers as they are."""
    return f"{number:.0f}" if number < 1e4 else f"{number:.1e}".replace("e+", "e")


CLAIMS = ("learner", "world", "n", "Θ", "ε", "ν", "ρ", "differ", "95%", "E[J]", "own thresholds", "no common string", "best",
          "excess: mean", "largest", "rounds", "of N", "labels per lab", "survivors")  # fmt: skip
LOOSE = ("learner", "world", "plan", "labels planned", "divided by", "labels left", "best",
         "labs above ε", "capped")  # fmt: skip


def claim_row(found: dict[str, Any]) -> list[str]:
    cell, claimed, measured, controls = (found[part] for part in ("cell", "claimed", "measured", "controls"))
    return [
        "ReplicA²" if cell["agnostic"] else "RepliCAL",
        cell["world"],
        f"{cell['n']}",
        f"{cell['theta']:g}",
        f"{cell['epsilon']:g}",
        f"{cell['nu']:g}" if cell["agnostic"] else "-",
        f"{cell['rho']:g}",
        f"{measured['apart']}/{measured['pairs']}",
        f"{measured['low']:.3f}-{measured['high']:.3f}",
        f"{measured['E[J]']:.1g}",
        f"{controls['own thresholds']:.2f}",
        f"{controls['no common string']:.2f}",
        f"{controls['best on as many labels']:.2f}",
        f"{measured['error mean']:.2g}",
        f"{measured['error max']:.2g}",
        f"{measured['rounds']}",
        f"{claimed['rounds']}",
        size(measured["labels mean"]),
        f"{measured['survivors']:.0f}",
    ]


def loose_row(found: dict[str, Any]) -> list[str]:
    there = found["steps"][-1]
    return [
        "ReplicA²" if found["cell"]["agnostic"] else "RepliCAL",
        f"{found['cell']['world']}, Θ={found['cell']['theta']:g}, ε={found['cell']['epsilon']:g}",
        found["plan"],
        size(found["labels planned"]),
        f"10^{found['power']:.1f}",
        size(found["labels there"]),
        f"{found['best on as many labels']:.2f}",
        f"{there['labs above']:.3f}",
        f"{there['capped']:.2f}",
    ]


def ladder_rows(found: Iterable[dict[str, Any]]) -> Iterator[list[str]]:
    for entry in found:
        for step, labels in entry["labels"].items():
            yield ["ReplicA²" if entry["learner"] == "replica2" else "RepliCAL", entry["name"], step, size(labels)]


def exponent_rows(found: Iterable[dict[str, Any]]) -> Iterator[list[str]]:
    for entry in found:
        for name, stated in entry["stated"].items():
            yield [
                entry["labels"],
                entry["plan"],
                name,
                f"{stated:g}",
                f"{round(entry['fitted to the formula'][name], 2) + 0.0:.2f}",
                f"{round(entry['fitted'][name], 2) + 0.0:.2f}",
            ]


def table(columns: Iterable[str], rows: Iterable[list[str]]) -> str:
    columns = list(columns)
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def tables(found: dict[str, Any]) -> str:
    exponent_columns = ("labels", "plan", "in", "stated", "fitted to the formula", "fitted to the plan")
    return "\n".join(
        [
            "At the paper's sizes\n",
            table(CLAIMS, map(claim_row, found["cells"])),
            "Sizes divided until two labs differ more often than ρ\n",
            table(LOOSE, map(loose_row, found["curves"])),
            "Where the factor comes from\n",
            table(("learner", "world", "step", "labels"), ladder_rows(found["ladders"])),
            "Exponents\n",
            table(exponent_columns, exponent_rows(found["exponents"])),
        ]
    )


def _curve_label(cell: dict[str, Any]) -> str:
    return f"{'ReplicA²' if cell['agnostic'] else 'RepliCAL'} {cell['world']}"


_GREY, _BLUE, _RED, _GREEN = "#7d828b", "#1f6fb2", "#c44e52", "#3a8f5c"
_FLOOR = 1e-3  # of shares on an axis of logarithms


def figure(found: dict[str, Any], path: Path) -> None:
    """Claims above; looseness and growth below."""
    from replical.study.pictures.style import new_figure, save, style

    tall = 0.22 * len(found["cells"]) + 1.2
    with style():
        drawn = new_figure(10, tall + 4.6)
        above, under = drawn.subfigures(2, 1, height_ratios=(tall, 4.4))
        _claims(above.subplots(), found["cells"])
        left, right = under.subplots(1, 2)
        _looseness(left, found["curves"])
        _growth(right, found["against rho"])
        for kind in (".svg", ".png"):
            save(drawn, path.with_suffix(kind))


def _claims(axes: Any, cells: list[dict[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    from replical.study.pictures.style import log_ticks

    looks: tuple[dict[str, Any], ...] = (
        {"color": _BLUE, "marker": "o", "lw": 2, "ms": 5, "label": "measured, 95% interval"},
        {"color": _GREY, "marker": "|", "ls": "", "ms": 10, "mew": 1.5, "label": "claimed ρ"},
        {"color": _RED, "marker": "x", "ls": "", "ms": 5.5, "mew": 1.5, "label": "own thresholds"},
        {"color": _RED, "marker": "+", "ls": "", "ms": 7, "mew": 1.5, "label": "no common string"},
    )
    for place, each in zip(range(len(cells))[::-1], cells, strict=True):
        measured, controls = each["measured"], each["controls"]
        axes.plot([_FLOOR, measured["high"]], [place, place], color=_BLUE, lw=2, zorder=2)
        shares = (
            measured["differ"],
            each["claimed"]["differ"],
            controls["own thresholds"],
            controls["no common string"],
        )
        for share, look in zip(shares, looks, strict=True):
            axes.plot(max(share, _FLOOR), place, zorder=3, **{key: look[key] for key in look if key != "label"})
    names = [("ReplicA² " if c["cell"]["agnostic"] else "RepliCAL ") + c["cell"]["name"] for c in cells]
    axes.set_yticks(list(range(len(cells)))[::-1], names, fontsize=8)
    axes.set(xscale="log", xlim=(8e-4, 1.4), xlabel="how often two labs differ (left edge: 0.001 or less)")
    axes.set(ylim=(-0.6, len(cells) - 0.4), title="At the paper's sizes: claimed against measured")
    axes.grid(visible=False, axis="y")
    log_ticks(axes.xaxis)
    handles = [Line2D([], [], **look) for look in looks]
    axes.legend(handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _looseness(axes: Any, curves: list[dict[str, Any]]) -> None:
    from bills_figure import legend_below
    from matplotlib.lines import Line2D

    from replical.study.pictures.style import log_ticks

    worlds = dict.fromkeys(_curve_label(curve["cell"]) for curve in curves)
    shade = dict(zip(worlds, (_BLUE, _RED, _GREEN, "#8064a2", "#a67500"), strict=False))
    plans = {"paper": "-", "tight": "--", "tight, last sample only": ":"}
    for curve in curves:
        x = [10 ** step["power"] for step in curve["steps"]]
        y = [max(step["E[J]"], 2e-4) for step in curve["steps"]]
        dashes = plans.get(curve["plan"], ":")
        axes.plot(x, y, color=shade[_curve_label(curve["cell"])], ls=dashes, marker="o", ms=3, lw=1.2)
    axes.axhline(0.1, color=_GREY, ls="-.", lw=1)
    axes.set(xscale="log", yscale="log", ylim=(1.5e-4, 1), xlabel="sizes divided by", ylabel="E[J]")
    axes.set_title("How much less would do")
    log_ticks(axes.xaxis, most=7)
    log_ticks(axes.yaxis)
    lines = [Line2D([], [], color=colour, marker="o", ms=3, lw=1.2, label=name) for name, colour in shade.items()]
    lines += [Line2D([], [], color="black", ls=ls, lw=1.2, label=name) for name, ls in plans.items()]
    legend_below(axes, 2, [*lines, Line2D([], [], color=_GREY, ls="-.", lw=1, label="ρ = 0.1")])


def _growth(axes: Any, growth: dict[str, Any]) -> None:
    from bills_figure import legend_below

    from replical.study.pictures.style import log_ticks

    inverse = [1 / rho for rho in growth["rho"]]
    for key, labels in growth["labels"].items():
        learner, name = key.split()
        slope = np.polyfit(np.log(inverse), np.log(np.array(labels, dtype=float)), 1)[0]
        words = f"{'RepliCAL' if learner == 'replical' else 'ReplicA²'}, {name}: slope {slope:.2f}"
        shade, dashes = _BLUE if learner == "replical" else _GREEN, "-" if name == "paper" else "--"
        axes.plot(inverse, labels, color=shade, ls=dashes, lw=1.4, label=words)
    axes.axhline(2**68, color=_GREY, ls=":", lw=1, label="2⁶⁸, the most a round of a simulation can have")
    axes.set(xscale="log", yscale="log", xlabel="1/ρ", ylabel="labels a lab may ask for")
    axes.set_title("What the plans ask for\n(n = 1000, Θ = 2, ε = ν = 0.01, δ = 0.05)")
    log_ticks(axes.xaxis)
    log_ticks(axes.yaxis)
    legend_below(axes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three cells, two curves, all exponents, in half a minute")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes; every core if left out")
    parser.add_argument(
        "--out", type=Path, default=Path("benchmarks/results"), help="folder for tables, figure and JSON"
    )
    given = parser.parse_args()
    started = time.perf_counter()
    cells, curves = (QUICK, QUICK_CURVES) if given.quick else (FULL, CURVES)
    jobs: list[Cell | Curve] = [*cells, *curves]
    given.out.mkdir(parents=True, exist_ok=True)
    done: list[dict[str, Any]] = []
    for number, each in enumerate(results(jobs, given.workers), 1):
        done.append(each)
        row = claim_row(each) if number <= len(cells) else loose_row(each)
        print(f"[{number}/{len(jobs)}]", " | ".join(row), f"({each['seconds']} s)", flush=True)
    found = {
        "seed": SEED,
        "delta": DELTA,
        "cells": done[: len(cells)],
        "curves": done[len(cells) :],
        "ladders": [ladder(cell, done[len(cells) :]) for cell in (REPLICAL, REPLICA2)],
        "exponents": exponents(),
        "against rho": against_rho(),
    }
    path = given.out / "theorem"
    path.with_suffix(".json").write_text(json.dumps(found, indent=1))
    path.with_suffix(".md").write_text(tables(found))
    figure(found, path)
    print(f"wrote {path}.json, .md, .svg and .png; {time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()

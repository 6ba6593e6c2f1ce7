"""Does active learning pay if it has to be replicable? RepliCAL and ReplicA² beside the passive replicable learner.

Nothing is run: these are the sizes of the plans, as the target error ε falls, with the paper's constants written out and
with ours, at n = 1000, Θ = 2, δ = .05, ρ = .1 and, with noise, ν = ε. Each pair of curves has a crossing: below it the
active learner asks for fewer labels.

    python benchmarks/active_against_passive.py [--out DIR]

prints the table of docs/explanation/bills.md and writes DIR/active-against-passive.svg and .png.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bills_figure import legend_below
from matplotlib.axes import Axes

from replical import plan
from replical.study.pictures.style import colour, dashes, log_ticks, new_figure, save, style, tick_text

N, THETA, DELTA, RHO = 1000, 2, 0.05, 0.1
SHOWN = (0.1, 0.05, 0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-8)
SETTINGS = {"some hypothesis never errs": "replical", "noise ν = ε": "replica2"}
NAMES = {"replical": "RepliCAL", "replica2": "ReplicA²"}
PLANS = {"paper": "the paper's sizes", "tight": "ours"}


def labels(learner: str, name: str, epsilon: float, *, noisy: bool) -> int:
    """The most labels a lab is asked for."""
    nu = {"nu": epsilon} if noisy else {}
    if learner == "replicable-erm":
        made = plan(learner, N, epsilon=epsilon, delta=DELTA, rho=RHO, name=name, **({"nu": 0} | nu))
    else:
        made = plan(learner, N, epsilon=epsilon, delta=DELTA, rho=RHO, theta=THETA, name=name, **nu)
    assert made.labels_most is not None
    return made.labels_most


def ratio(active: str, name: str, epsilon: float) -> float:
    """Labels of the active learner over those of the passive one."""
    noisy = active == "replica2"
    return labels(active, name, epsilon, noisy=noisy) / labels("replicable-erm", name, epsilon, noisy=noisy)


@dataclass(frozen=True)
class Crossing:
    """Where the active learner begins to ask for fewer labels, as ε falls; 1 if it does so at once."""

    epsilon: float
    labels: float


def crossing(active: str, name: str) -> Crossing:
    """The largest ε below which the active learner stays ahead, to three digits."""
    grid = np.geomspace(0.2, 1e-10, 200).tolist()
    behind = [epsilon for epsilon in grid if ratio(active, name, epsilon) >= 1]
    noisy = active == "replica2"
    if not behind:
        return Crossing(1.0, math.nan)
    high, low = behind[-1], next(epsilon for epsilon in grid if epsilon < behind[-1])
    while high / low > 1.001:
        middle = math.sqrt(high * low)
        high, low = (middle, low) if ratio(active, name, middle) >= 1 else (high, middle)
    return Crossing(low, labels(active, name, low, noisy=noisy))


def table() -> str:
    """How many times the passive learner's labels the active one asks for."""
    heads = [f"{NAMES[each]}, {whose}" for each in NAMES for whose in PLANS.values()]
    lines = [f"| ε | {' | '.join(heads)} |", "|---" * 5 + "|"]
    for epsilon in SHOWN:
        cells = [f"{ratio(each, name, epsilon):.3g}" for each in NAMES for name in PLANS]
        lines.append(f"| {epsilon:g} | " + " | ".join(cells) + " |")
    found = [crossing(each, name).epsilon for each in NAMES for name in PLANS]
    lines.append("| fewer below | " + " | ".join("everywhere" if each == 1 else f"{each:.1e}" for each in found) + " |")
    return "\n".join(lines) + "\n"


def draw(out: Path) -> None:
    """Both settings beside each other."""
    with style():
        figure = new_figure(9.5, 5)
        panels = figure.subplots(1, 2, sharey=True)
        for axes, (setting, active) in zip(panels, SETTINGS.items(), strict=True):
            _panel(axes, active)
            axes.set(xlabel="target error ε", title=setting)
            log_ticks(axes.xaxis)
            axes.invert_xaxis()
            legend_below(axes)
        panels[0].set_ylabel("labels per lab, at most")
        log_ticks(panels[0].yaxis)
    for suffix in ("svg", "png"):
        save(figure, out / f"active-against-passive.{suffix}")


def _panel(axes: Axes, active: str) -> None:
    """Two pairs of curves, and where each crosses."""
    grid, noisy = np.geomspace(0.1, 1e-10, 73), active == "replica2"
    for name, whose in PLANS.items():
        for learner in (active, "replicable-erm"):
            who = NAMES.get(learner, "passive")
            asked = [labels(learner, name, epsilon, noisy=noisy) for epsilon in grid.tolist()]
            axes.loglog(grid, asked, dashes(learner, name), color=colour(learner), label=f"{who}, {whose}")
        here = crossing(active, name)
        if here.epsilon < 0.1:
            words, left = (
                f"active asks for fewer\nbelow ε = {tick_text(float(f'{here.epsilon:.2g}'))}",
                here.epsilon < 0.01,
            )
            axes.plot([here.epsilon], [here.labels], "o", color="black", markersize=5)
            axes.annotate(
                words, (here.epsilon, here.labels), xytext=(-6, 8) if left else (6, -6), textcoords="offset points",
                fontsize=8, ha="right" if left else "left", va="bottom" if left else "top",
            )  # fmt: skip


def main() -> None:
    """Print the table, write the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for the figure")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    sys.stdout.write(table())
    draw(out)


if __name__ == "__main__":
    main()

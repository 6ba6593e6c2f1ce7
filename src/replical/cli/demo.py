"""``replical demo``: two labs, one protocol; no input needed."""

from __future__ import annotations

import time

from rich.table import Table

from replical.auditing import Audit, Lab, World, audit, pair_string, run_pair
from replical.classes.thresholds import Thresholds
from replical.cli.output import amount, interval, progress, prose
from replical.learners.base import Learner
from replical.learners.catalogue import learner_for
from replical.plans import plan

SEED = "replical demo"
EPSILON, DELTA, RHO, THETA = 0.01, 0.05, 0.1, 2.0
HYPOTHESES, PAIRS = 100_000, 200


def demo_command() -> None:
    """Two labs with independent data and one published string: who ends with the identical hypothesis?"""
    started = time.perf_counter()
    C = Thresholds(HYPOTHESES)
    world = World(C=C)
    learners = {
        "passive ERM": _learner("erm", C),
        "CAL": _learner("cal", C),
        "RepliCAL": _learner("replical", C),
    }
    prose.print(
        f"[bold]Two labs look for one of {HYPOTHESES:,} thresholds.[/bold] Each draws its own items and asks for its own "
        f"labels; all they share is the published text {pair_string(SEED, 0)!r}. Wanted: error at most {EPSILON:g}, and the "
        f"identical threshold in both labs at least {100 * (1 - RHO):.0f}% of the time. ERM is passive, CAL asks only where "
        "survivors disagree, RepliCAL is the replicable CAL.\n"
    )
    prose.print(_one_pair(learners, world))
    figures: dict[str, Audit] = {}
    for name, learner in learners.items():
        with progress(f"{PAIRS} pairs of labs, {name}") as update:
            figures[name] = audit(learner, world, seed=SEED, pairs=PAIRS, workers=None, progress=update)
    prose.print()
    prose.print(_rates(figures))
    best = figures["RepliCAL"]
    prose.print(
        f"\nRepliCAL's two labs returned the identical hypothesis in {best.agreements} of {best.pairs} pairs; on average "
        f"{best.survivors_mean:.0f} hypotheses were still alive when it chose, so this is not because the data left only "
        f"one. Its labels are what the proof asks for, not what a lab would pay. ({time.perf_counter() - started:.0f} s)"
    )


def _learner(name: str, C: Thresholds) -> Learner:
    return learner_for(plan(name, C, epsilon=EPSILON, delta=DELTA, rho=RHO, theta=THETA))


def _one_pair(learners: dict[str, Learner], world: World) -> Table:
    table = Table(title="One pair of labs, A and B: labels asked for, threshold returned", title_justify="left")
    for column in ("learner", "A asked", "A got", "B asked", "B got", "same?"):
        table.add_column(column, justify="left" if column == "learner" else "right")
    for name, learner in learners.items():
        _, labs = run_pair(learner, world, SEED, 0)
        same = labs[0].result.hypothesis == labs[1].result.hypothesis
        table.add_row(
            name, *_asked_and_got(labs[0]), *_asked_and_got(labs[1]), "[green]yes[/]" if same else "[red]no[/]"
        )
    return table


def _asked_and_got(lab: Lab) -> tuple[str, str]:
    return amount(lab.result.labels), f"x >= {lab.result.hypothesis}"


def _rates(figures: dict[str, Audit]) -> Table:
    table = Table(title=f"{PAIRS} pairs of labs, a new string and target for each", title_justify="left")
    for column in ("learner", "identical", "95% interval", "labels a lab", "worst error"):
        table.add_column(column, justify="left" if column == "learner" else "right")
    for name, found in figures.items():
        table.add_row(
            name,
            f"{100 * found.agreement:.1f}%",
            interval(found.agreement_low, found.agreement_high),
            amount(found.labels_mean),
            f"{found.excess_error_max:.5f}",
        )
    return table

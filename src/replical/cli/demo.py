"""``replical demo``: two labs choose among real models; no input needed."""

from __future__ import annotations

import time

from rich.table import Table

from replical.cli.output import amount, interval, progress, prose
from replical.learners.base import Learner
from replical.learners.for_plan import learner_for
from replical.plans.plan import plan
from replical.worlds.audit import World, audit, pair_string, run_pair
from replical.worlds.datasets import real_world
from replical.worlds.figures import Audit

SEED = "replical demo"
EPSILON, DELTA, RHO = 0.05, 0.05, 0.1
ITEMS, SLACK, PAIRS = 100_000, 0.02, 60


def demo_command() -> None:
    """Two labs with independent data and one published string: who ends with the identical model?"""
    started = time.perf_counter()
    world = real_world("digits", ITEMS)
    prose.print(
        f"[bold]Two labs choose one of {len(world.C)} classifiers of handwritten digits (even or odd?).[/bold] The models "
        f"were fitted on public data. Each lab has {ITEMS:,} unlabelled digits of its own and asks its own experts; all "
        f"the labs share is the published text {pair_string(SEED, 0)!r}. Wanted: error within {EPSILON:g} of the best "
        "model, and the identical model in both labs.\n"
    )
    figures = {"A2, at its own stop": _run("A2", _learner("a2", world), world)}
    active = _learner("rounded-a2", world, rho=RHO, items=ITEMS, kappa=SLACK)
    rounded = _run("Rounded A2", active, world)
    budget = round(rounded.labels_mean)
    figures[f"best on {budget} labels"] = _run("argmax", _learner("erm", world, k_final=budget), world)
    figures["Rounded A2"] = rounded
    prose.print(_rates(figures))
    prose.print(_one_pair(active, world))
    gained = rounded.labels_mean - figures["A2, at its own stop"].labels_mean
    prose.print(
        f"\nRounding costs no labels; the {gained:.0f} labels more buy a version space small enough to round. At the same "
        f"stop, but unrounded, {100 * rounded.base_agreement:.0f}% would have agreed. Many of these models are nearly tied, "
        f"so the runs stop at slack {SLACK:g} and none claims to have proven {RHO:g}: what you see is measured. For a "
        "world where a lab proves it, with 15 labels, try:\n  replical audit --class thresholds:1000000 --learner "
        f"rounded-cal --epsilon .05 --pool-size 100000 --pairs 50 --seed 3\n({time.perf_counter() - started:.0f} s)"
    )


def _learner(name: str, world: World, **options: float) -> Learner:
    return learner_for(plan(name, world.C, epsilon=EPSILON, delta=DELTA, pool="finite", **options))  # type: ignore[arg-type]


def _run(name: str, learner: Learner, world: World) -> Audit:
    with progress(f"{PAIRS} pairs of labs, {name}") as update:
        return audit(learner, world, seed=SEED, pairs=PAIRS, workers=None, progress=update)


def _rates(figures: dict[str, Audit]) -> Table:
    table = Table(title=f"{PAIRS} pairs of labs, a new string for each", title_justify="left")
    for column in ("learner", "identical", "95% interval", "labels a lab", "mean excess error", "worst"):
        table.add_column(column, justify="left" if column == "learner" else "right")
    for name, outcome in figures.items():
        table.add_row(
            name,
            f"{100 * outcome.agreement:.0f}%",
            interval(outcome.agreement_low, outcome.agreement_high),
            amount(round(outcome.labels_mean)),
            f"{outcome.excess_error_mean:.4f}",
            f"{outcome.excess_error_max:.4f}",
        )
    return table


def _one_pair(learner: Learner, world: World) -> Table:
    _, labs = run_pair(learner, world, SEED, 0)
    table = Table(title="The first pair, Rounded A2", title_justify="left")
    for column in ("lab", "labels", "models still alive", "model chosen"):
        table.add_column(column, justify="right" if column in ("labels", "models still alive") else "left")
    for name, lab in zip("AB", labs, strict=True):
        result = lab.result
        table.add_row(name, str(result.labels), str(result.V.size), result.described(world.C))
    return table

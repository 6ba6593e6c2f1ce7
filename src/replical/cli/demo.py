"""``replical demo``: two labs choose among real models; no input needed."""

from __future__ import annotations

import time
from typing import Any

from rich.table import Table

from replical.classes.prior import Prior
from replical.cli.output import amount, interval, progress, prose
from replical.core.randomness import PrivateRandomness
from replical.learners.base import Learner
from replical.learners.for_plan import learner_for
from replical.plans.plan import plan
from replical.worlds.audit import audit, pair_string, run_pair
from replical.worlds.datasets import real_world
from replical.worlds.figures import Audit
from replical.worlds.supposed import order_from
from replical.worlds.world import World

SEED = "replical demo"
EPSILON, DELTA, RHO = 0.05, 0.05, 0.1
ITEMS, PUBLIC, PAIRS = 10_000, 100, 60


def demo_command() -> None:
    """Two labs with independent data and one published string: who ends with the identical model?"""
    started = time.perf_counter()
    world = real_world("digits", ITEMS)
    prose.print(
        f"[bold]Two labs choose one of {len(world.C)} classifiers of handwritten digits (even or odd?).[/bold] The models "
        f"were fitted on public data. Each lab has {ITEMS:,} unlabelled digits of its own and asks its own experts; all "
        f"the labs share is the published text {pair_string(SEED, 0)!r}, and a public order of the models by their errors "
        f"on {PUBLIC} labelled digits. Wanted: an error within {EPSILON:g} of the best model's, and the identical model in "
        "both labs.\n"
    )
    settled = _learner("settled", world, rho=RHO, prior=_public_order(world))
    main = _run("Settled, public order", settled, world)
    budget = round(main.labels_mean)
    figures = {
        "A2, at its own stop": _run("A2", _learner("a2", world), world),
        f"best on {budget} labels": _run("argmax", _learner("erm", world, k_final=budget), world),
        "Settled, random order": _run("Settled, random order", _learner("settled", world, rho=RHO), world),
        "Settled, public order": main,
    }
    prose.print(_rates(figures))
    prose.print(_one_pair(settled, world))
    prose.print(
        f"\n[bold]Proven[/bold] means: from its own labels this lab has proven that it found the one answer the published "
        f"text asks for. That two labs both prove it and yet differ has probability at most {RHO:g}, and the model errs at "
        f"most {EPSILON:g} more often than the best. What the text asks for is the first model in the order that is good "
        "enough, so near-ties among good models cost nothing. (Whoever takes the first of the public order unseen agrees "
        "too, and knows nothing of its error on the labs' own data.) Do it with models of your own:\n"
        f"  docs/how-to/choose-among-my-models.md\n({time.perf_counter() - started:.0f} s)"
    )


def _public_order(world: World) -> Prior:
    """The models by their errors on a few labelled items that no lab has."""
    population, public = world.population(), PrivateRandomness.simulated(SEED, "public")
    pool = population.pool(PUBLIC, public)
    return order_from(pool, population.labels(pool, public))


def _learner(name: str, world: World, **options: Any) -> Learner:
    return learner_for(plan(name, world.C, epsilon=EPSILON, delta=DELTA, pool="finite", **options))


def _run(name: str, learner: Learner, world: World) -> Audit:
    with progress(f"{PAIRS} pairs of labs, {name}") as update:
        return audit(learner, world, seed=SEED, pairs=PAIRS, workers=None, progress=update)


def _rates(figures: dict[str, Audit]) -> Table:
    title = f"{PAIRS} pairs of labs, a new text for each: labels a lab, mean excess error"
    table = Table(title=title, title_justify="left")
    table.add_column("learner", no_wrap=True)
    for column in ("identical", "95% interval", "proven", "labels", "excess"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, outcome in figures.items():
        proven = outcome.certified_fraction
        table.add_row(
            name,
            f"{100 * outcome.agreement:.0f}%",
            interval(outcome.agreement_low, outcome.agreement_high, 0),
            "-" if proven is None else f"{100 * proven:.0f}%",
            amount(round(outcome.labels_mean)),
            f"{outcome.excess_error_mean:.4f}",
        )
    return table


def _one_pair(learner: Learner, world: World) -> Table:
    _, labs = run_pair(learner, world, SEED, 0)
    table = Table(title="The first pair, Settled with a public order", title_justify="left")
    for column in ("lab", "labels", "items looked at", "model chosen", "proven"):
        table.add_column(column, justify="right" if column in ("labels", "items looked at") else "left")
    for name, lab in zip("AB", labs, strict=True):
        result = lab.result
        assert result.settling is not None, "Settled says so"
        row = (str(result.labels), f"{result.settling.scanned:,}", result.described(world.C))
        table.add_row(name, *row, "yes" if result.settling.certified else "no")
    return table

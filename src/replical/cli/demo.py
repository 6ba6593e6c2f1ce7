"""``replical demo``: three ways in which three labs choose among twelve models, or two labs' tables to try it on."""

from __future__ import annotations

import shlex
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from replical.cli.output import progress, prose
from replical.core.parallel import cores, ordered_map
from replical.core.randomness import PrivateRandomness
from replical.errors import BadUsage
from replical.worlds.baseline import WAYS, Comparison, Figures
from replical.worlds.datasets import flight_worlds, twelve

ITEMS, PUBLIC = 20_000, 100  # unlabelled items of a lab, and labelled ones that all of them see
_VALUES = ("even", "odd")
_RUN = "replical run protocol.toml --pool {0}.csv --public public.csv --labels {0}.csv:label"
COMMANDS = {  # and what each is for
    "replical init --pool a.csv --public public.csv:label": "a protocol, which all labs get before the first label",
    f"{_RUN.format('a')} --journal a.db --out a.json": (
        "lab a asks for labels where they decide something, and ends with a certificate"
    ),
    f"{_RUN.format('b')} --journal b.db --out b.json": "lab b does the same with its own items",
    "replical compare a.json b.json": "do both have the identical model?",
    "replical verify a.json --pool a.csv --journal a.db --public public.csv": "anyone can check a certificate",
}
SEED = "replical demo"
ALIKE = "1. The public flights are like those of the labs"
ELSEWHERE = "2. They are from elsewhere: half of them were late, of the labs' one in four"
TEXTS = 40  # published texts, each with a public hundred and three labs of its own


def _write(folder: Path) -> int:
    """The tables, in a folder that version control leaves alone; how many real rows stand behind them."""
    names, said, truth = twelve()
    folder.mkdir(parents=True)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    for who, count in (("a", ITEMS), ("b", ITEMS), ("public", PUBLIC)):
        rows = PrivateRandomness.simulated("replical quickstart", who).generator().integers(len(truth), size=count)
        columns = [np.take(_VALUES, each[rows].astype(np.int8)).tolist() for each in (truth, *said)]
        lines = zip((f"{who}{number:05d}" for number in range(count)), *columns, strict=True)
        text = "".join(f"{','.join(line)}\n" for line in (("id", "label", *names), *lines))
        (folder / f"{who}.csv").write_text(text, encoding="utf-8")
    return len(truth)


def demo_command(
    files: Annotated[Path | None, typer.Option(help="only make a folder with tables of two labs to try it on")] = None,
) -> None:
    """Three labs choose among twelve models, in three ways: do they choose the same one, is it good, and who can prove it?

    With --files the tables of two such labs are written, and the five commands from there to a proof are printed.
    """
    if files is not None:
        _make_files(files)
        return
    started = time.perf_counter()
    alike, elsewhere = trials()
    prose.print(_opening(alike))
    prose.print(_table(ALIKE, one := measure(alike)))
    prose.print(_table(ELSEWHERE, two := measure(elsewhere)))
    prose.print(_meaning(alike, one["handicap"], two))
    prose.print(f"({time.perf_counter() - started:.0f} s)")


def _make_files(folder: Path) -> None:
    """The tables of two labs, with twelve models each, and the commands that go with them."""
    if folder.exists():
        raise BadUsage(f"{folder} exists: go on there, or name another folder")
    rows = _write(folder)
    prose.say(
        f"Made the folder {folder}: a.csv and b.csv, the tables of two labs. One row per item, {ITEMS:,} of them, "
        f"drawn from {rows:,} real ones, with its id, what twelve models say about it (is this handwritten digit even or "
        "odd?), and in the column label the right answer, which a run reads only where it asks. public.csv has "
        f"{PUBLIC} labelled items that belong to no lab.\n"
    )
    prose.say(f"Go there (cd {shlex.quote(str(folder))}), and type:")
    for command, what in COMMANDS.items():
        prose.say(f"\n  # {what}", style="dim")
        prose.say(f"  {command}")
    prose.say("\nWith a table of your own, begin with: replical init --pool FILE")


def trials() -> tuple[Comparison, Comparison]:
    """Public flights like those of the labs, and public flights from elsewhere."""
    labs, alike, balanced = flight_worlds(ITEMS, PUBLIC)
    return Comparison(world=labs, public=alike, seed=SEED), Comparison(world=labs, public=balanced, seed=SEED)


def measure(trial: Comparison) -> dict[str, Figures]:
    """Every text: what each way comes to."""
    outcomes = []
    with (
        closing(ordered_map(trial, range(TEXTS), cores())) as running,
        progress(f"{TEXTS} texts, three new labs for each") as update,
    ):
        for outcome in running:
            outcomes.append(outcome)
            update(len(outcomes), TEXTS)
    return {way: Figures.of([getattr(outcome, way) for outcome in outcomes]) for way in WAYS}


def _opening(trial: Comparison) -> str:
    return (
        f"[bold]Three labs choose one of {len(trial.world.C)} models that say whether a flight will be late.[/bold] Each "
        f"lab has {ITEMS:,} flights of its own, drawn from 100,000 real ones that left New York in 2013, and learns whether "
        f"a flight was late only where it asks: a label. All labs share a published text and {PUBLIC} public flights with "
        "labels. Wanted: one model for all labs, which errs at most "
        f"{trial.epsilon:g} more often than the best. Three ways to choose:\n\n"
        "  favourite  the fewest errors on the public flights; the lab needs no labels\n"
        "  usual way  the fewest errors on the lab's labels and the public ones together\n"
        "  handicap   what replical does; the usual way gets as many labels\n\n"
        f"Everything is done {TEXTS} times, with a new text, new public flights and three new labs.\n"
    )


def _table(title: str, figures: dict[str, Figures]) -> Table:
    """One column for each way to choose."""
    table = Table(title=title, title_justify="left", min_width=len(title))
    table.add_column("")
    for way in WAYS:
        table.add_column(WAYS[way], justify="right")
    shown = figures.values()
    table.add_row("labels a lab asked for", *(f"{each.labels:.0f}" for each in shown))
    table.add_row("times all three chose one model", *(f"{each.same} of {each.texts}" for each in shown))
    table.add_row("labs that proved their answer", *(f"{each.proven} of {each.labs}" for each in shown))
    table.add_row("error above the best model's: mean", *(f"{each.mean:.4f}" for each in shown))
    table.add_row("the same: typical value (median)", *(f"{each.median:.4f}" for each in shown))
    return table


def _meaning(trial: Comparison, ours: Figures, elsewhere: dict[str, Figures]) -> str:
    """What labels buy, what was proven, and what to do next."""
    misled, found = elsewhere["favourite"], elsewhere["handicap"]
    return (
        "\n[bold]What labels buy.[/bold] Where public flights are like the labs', all who take the favourite have one "
        f"model, a good one, but nobody knows that. Labels buy the proof: {ours.proven} of {ours.labs} labs have one. Where "
        f"public flights are from elsewhere, the favourite errs {misled.mean:.3f} more than the best, and nothing says so. "
        f"There labels buy the answer: it errs {found.mean:.3f} more. {found.proven} of {found.labs} labs prove theirs; "
        "the others say that they have no proof, and name the few models that are left.\n\n"
        f"[bold]A proof[/bold] says that the lab's answer is the one the text asks for, and errs at most {trial.epsilon:g} "
        f"more than the best model. The chance that two of three labs have a proof and different models is at most "
        f"{trial.rho:g}.\n\n"
        "[bold]Next:[/bold] make the tables of two labs to try it on, and see the five commands from there to a proof.\n\n"
        "  replical demo --files replical-demo\n"
    )

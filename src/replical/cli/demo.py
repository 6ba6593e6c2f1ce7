"""``replical demo``: three labs choose among twelve models, or two labs' tables to try it on."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import fmean
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from replical.classes.base import HypothesisClass
from replical.cli.output import progress, prose
from replical.core.exact import clopper_pearson
from replical.core.parallel import cores, ordered_map
from replical.core.randomness import PrivateRandomness
from replical.core.text import interval
from replical.errors import BadUsage, MissingExtra
from replical.worlds.baseline import ArgmaxComparison, Choice, Outcome, identical
from replical.worlds.datasets import twelve, twelve_models

ITEMS, PUBLIC = 20_000, 100  # unlabelled items of a lab, and labelled ones that all of them see
_VALUES = ("even", "odd")
_RUN = "replical run protocol.toml --pool {0}.parquet --public public.parquet --labels {0}.parquet:label"
COMMANDS = (
    "replical init --pool a.parquet --public public.parquet:label",
    f"{_RUN.format('a')} --journal a.db --out a.json",
    f"{_RUN.format('b')} --journal b.db --out b.json",
    "replical compare a.json b.json",
    "replical verify a.json --pool a.parquet --journal a.db",
)
_WHAT = (
    "a protocol, which all labs get before the first label",
    "lab a asks for labels where they decide something, and ends with a certificate",
    "lab b does the same with its own items",
    "do both have the identical model?",
    "anyone can check a certificate",
)
SEED = "replical demo"
TEXTS = 60  # published texts, each with three labs of its own
_SHOWN = 3  # of them in full


def _write(folder: Path) -> None:
    """The tables, in a folder that version control leaves alone."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra(
            "tables are written with pyarrow: pip install 'replical[lab]', then replical demo --files"
        ) from error
    names, said, truth = twelve()
    folder.mkdir(parents=True)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    for who, count in (("a", ITEMS), ("b", ITEMS), ("public", PUBLIC)):
        rows = PrivateRandomness.simulated("replical quickstart", who).generator().integers(len(truth), size=count)
        codes = {"label": truth[rows]} | {name: each[rows] for name, each in zip(names, said, strict=True)}
        texts = {
            name: pa.DictionaryArray.from_arrays(each.astype(np.int8), list(_VALUES)) for name, each in codes.items()
        }
        ids = pa.array([f"{who}{number:05d}" for number in range(count)])
        parquet.write_table(pa.table({"id": ids, **texts}), folder / f"{who}.parquet")


def demo_command(
    files: Annotated[
        Path | None, typer.Option(help="make this folder, with the tables of two labs to try it on; watch nothing")
    ] = None,
) -> None:
    """Three labs with independent data and one published text: do they choose the identical model, and can they prove it?

    With --files the tables of two such labs are written, and the five commands from there to a proof are printed.
    """
    if files is not None:
        _make_files(files)
        return
    started = time.perf_counter()
    trial = ArgmaxComparison(world=twelve_models(ITEMS), seed=SEED, public=PUBLIC)
    prose.print(_opening(trial))
    outcomes = _outcomes(trial)
    prose.print(_figures(outcomes))
    prose.print(_headline(outcomes))
    prose.print(_meaning(trial))
    prose.print(f"({time.perf_counter() - started:.0f} s)")


def _make_files(folder: Path) -> None:
    """The tables of two labs, with twelve models each, and the commands that go with them."""
    if folder.exists():
        raise BadUsage(f"{folder} exists: go on there, or name another folder")
    _write(folder)
    prose.print(
        f"Made the folder {folder}: a.parquet and b.parquet, the tables of two labs. One row per item, {ITEMS:,} of them, "
        "with its id, what twelve models say about it (is this handwritten digit even or odd?), and in the column label "
        f"the right answer, which a run reads only where it asks. public.parquet has {PUBLIC} labelled items that belong "
        "to no lab.\n",
        markup=False,
    )
    prose.print(f"Go there (cd {shlex.quote(str(folder))}), and type:", markup=False, soft_wrap=True)
    for command, what in zip(COMMANDS, _WHAT, strict=True):
        prose.print(f"\n  # {what}", markup=False, style="dim", soft_wrap=True)
        prose.print(f"  {command}", markup=False, soft_wrap=True)
    prose.print("\nWith a table of your own, begin with: replical init --pool FILE", markup=False)


def _opening(trial: ArgmaxComparison) -> str:
    return (
        f"[bold]Three labs choose one of {len(trial.world.C)} models that tell even from odd handwritten digits.[/bold] "
        f"The models were fitted on public data. Each lab has {trial.world.pool_size:,} unlabelled digits of its own and "
        f"asks its own experts for labels. All that the labs share is a published text and {trial.public} labelled digits "
        "that belong to none of them, which put the models in an order. Wanted: the identical model in every lab, and at "
        f"most {trial.epsilon:g} more errors than the best model makes.\n"
    )


def _outcomes(trial: ArgmaxComparison) -> list[Outcome]:
    """Every text; the first ones are shown as they come."""
    done: list[Outcome] = []
    with closing(ordered_map(trial, range(TEXTS), cores())) as running:
        for outcome in running:
            _show(outcome, trial.world.C, len(done))
            done.append(outcome)
            if len(done) == min(_SHOWN, TEXTS):
                break
        prose.print("")
        with progress(f"{TEXTS} texts, three new labs for each") as update:
            for outcome in running:
                done.append(outcome)
                update(len(done), TEXTS)
    return done


def _show(outcome: Outcome, models: HypothesisClass, number: int) -> None:
    """Who chose what with one text."""
    *others, last = (str(choice.labels) for choice in outcome.handicap)
    proofs = sum(choice.certified for choice in outcome.handicap)
    prose.print(
        f"Text {number}: {', '.join(others)} and {last} labels, {_of(proofs, outcome.handicap)} labs prove their answer"
    )
    for what, choices in (("handicap", outcome.handicap), ("fewest errors", outcome.argmax)):
        prose.print(f"  {what:16}" + "".join(f"{_name(choice, models):14}" for choice in choices), markup=False)


def _of(count: int, everyone: Sequence[object]) -> str:
    return f"{count} of {len(everyone)}"


def _name(choice: Choice, models: HypothesisClass) -> str:
    return "no answer" if choice.model is None else models.describe(choice.model)


def _figures(outcomes: list[Outcome]) -> Table:
    """One column for each way to choose."""
    ways = [[getattr(outcome, way) for outcome in outcomes] for way in ("handicap", "argmax", "in_order")]
    labs = [[choice for choices in way for choice in choices] for way in ways]
    table = Table(title=f"{len(outcomes)} texts, with {len(ways[0][0])} labs each", title_justify="left")
    table.add_column("")
    for column in ("handicap", "fewest errors on as many labels", "the same, ties in the shared order"):
        table.add_column(column, justify="right", max_width=16)
    table.add_row("all labs identical", *(_of(sum(map(identical, way)), way) for way in ways))
    table.add_row("labs with a proof", _of(sum(choice.certified for choice in labs[0]), labs[0]), "none", "none")
    table.add_row("labels per lab", *(f"{fmean(choice.labels for choice in way):.0f}" for way in labs))
    table.add_row("errors above the best", *(f"{fmean(choice.excess_error for choice in way):.4f}" for way in labs))
    return table


def _headline(outcomes: list[Outcome]) -> str:
    proven = sum(outcome.proven for outcome in outcomes)
    same = sum(identical(outcome.argmax) for outcome in outcomes)
    return (
        f"[bold]{_of(proven, outcomes)} texts ended with every lab certified and all three labs with the identical "
        f"model[/bold] (95% interval: {interval(*clopper_pearson(proven, len(outcomes)), 0)}). Labs that took the model "
        f"with the fewest errors on as many labels agreed in {_of(same, outcomes)} cases, and could prove nothing.\n"
    )


def _meaning(trial: ArgmaxComparison) -> str:
    """What was proven, what cannot always be, and what to do next."""
    return (
        "[bold]Certified[/bold] means: the lab's own labels prove that it found the one answer the text asks for. Every "
        f"model has a small public handicap, at most {trial.epsilon:g}, and the answer is the model with the smallest error "
        "plus handicap; so near-ties among good models do not matter. The chance that two of three labs are both certified "
        f"and have different models is at most {trial.rho:g}. (Whoever takes the first model of the public order without "
        "any label has the same model too, and knows nothing of its errors on the lab's own items.)\n\n"
        "[bold]Not everything can be proven.[/bold] Two models may be so close that a lab's items end before its proof "
        "does. The lab is then left with a short list that is proven to contain the answer, and is told why and what would "
        "help.\n\n"
        "[bold]Next:[/bold] make the tables of two labs to try it on, and see the five commands from there to a proof.\n\n"
        "  replical demo --files replical-demo\n"
    )

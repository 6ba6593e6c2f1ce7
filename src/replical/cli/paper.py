"""To study the paper: ``replical paper study``, a grid of audits from one file, and ``replical paper theta``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from replical.classes.base import HypothesisClass, Items
from replical.classes.catalogue import parse
from replical.classes.dimensions import littlestone, vc
from replical.cli.inputs import CLASSES, Cluster, Device, NetSeed, items_from, number, whole
from replical.cli.output import AsJson, answer, notes, progress, prose
from replical.core.parallel import cluster, local
from replical.core.randomness import PrivateRandomness
from replical.core.text import plural
from replical.errors import ValueOutOfRange
from replical.gpu.device import use
from replical.study.report.findings import TERMS
from replical.study.run import StudyRun, run_study
from replical.study.scheduler import Progress
from replical.study.spec import Study
from replical.worlds.theta import theta, theta_bound
from replical.worlds.world import Population

_EVERY = 10.0  # seconds between lines where there is no terminal
_MOST_WORKERS = 1000


def study_command(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="the study file")],
    out: Annotated[Path, typer.Option(help="folder for cells, tables, figures and the report")],
    quick: Annotated[bool, typer.Option("--quick", help="the short version the file describes")] = False,
    workers: Annotated[int | None, typer.Option(parser=whole, help="processes; every core if left out")] = None,
    at: Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Run a study, or go on with one that was stopped: what is complete in the folder is not run again."""
    if workers is not None and not 1 <= workers <= _MOST_WORKERS:
        raise ValueOutOfRange(f"--workers must be from 1 to {_MOST_WORKERS}, got {workers}")
    if workers is not None and at is not None:
        raise ValueOutOfRange("--workers counts processes of this machine: leave it out with --cluster")
    read = Study.read(study)
    with cluster(at) if at is not None else local(workers) as busy, _progress_bar(read.name) as update:
        notes.say(f"workers: {busy.words}")
        done = run_study(read, out, quick=quick, workers=busy, progress=update)
    if as_json:
        answer({"schema": "replical.study-answer/1", "name": read.name, "quick": quick, **done.answer()})
    else:
        _tell(done)


@contextmanager
def _progress_bar(name: str) -> Iterator[Callable[[Progress], None]]:
    """A bar with cells, pairs and time left; a line now and then where there is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
    last = [0.0]
    with Bar(*columns, console=notes.console, transient=True, disable=not notes.is_terminal) as bar:
        task = bar.add_task(escape(name), total=None, words="")

        def update(far: Progress) -> None:
            words = (
                f"{far.cells_done} of {far.cells} cells, {far.pairs_done} of {far.pairs} pairs{_rest(far.seconds_left)}"
            )
            bar.update(task, completed=far.pairs_done, total=far.pairs, words=words)
            now = time.monotonic()
            if not notes.is_terminal and now - last[0] >= _EVERY:
                last[0] = now
                notes.say(f"{words}{'; now ' + far.now if far.now else ''}")

        yield update


def _rest(seconds: float | None) -> str:
    """How long it still takes, as roughly as it is known."""
    if not seconds:  # nothing to go by, or nothing left to run
        return ""
    if seconds < 90:
        return f", about {max(1, round(seconds)):d} s left"
    return f", about {seconds / 60:.0f} min left" if seconds < 5400 else f", about {seconds / 3600:.1f} h left"


def _tell(done: StudyRun) -> None:
    prose.say(done.sentence)
    prose.say(TERMS)
    for reason, count in done.refusals.items():
        prose.say(f"Not run, {count} {plural(count, 'cell')}: {reason}")
    tables = f"{done.folder / 'results.parquet'}, results.csv"
    prose.say(f"Tables: {tables}; report: {done.folder / 'report.html'}")


def theta_command(
    class_spec: Annotated[str, typer.Option("--class", help=CLASSES)],
    pool: Annotated[Path | None, typer.Option(help="CSV of items to measure on; uniform if left out")] = None,
    centre: Annotated[int | None, typer.Option(parser=whole, help="one hypothesis; the maximum if left out")] = None,
    seed: NetSeed = None,
    r0: Annotated[float, typer.Option(parser=number, help="smallest radius that matters")] = 0.0,
    device: Device = None,
    as_json: AsJson = False,
) -> None:
    """Compute the disagreement coefficient of a class from unlabelled items, and its dimensions where that is feasible."""
    use(device)
    C, cells = parse(class_spec, seed=seed)
    private = PrivateRandomness.fresh()  # the coefficient does not depend on the order of the items
    items = None if pool is None else items_from(C, pool, private)
    over = Population(C, target=0, cells=cells) if items is None else items
    with progress("centres") as update:
        coefficient = theta(C, over, centre=centre, r0=r0, progress=update)
    bound = None
    if items is not None:
        with progress("centres, for the bound") as update:
            bound = theta_bound(C, items, centre=centre, r0=r0, progress=update)
    points = len(cells) if items is None else len(items)
    deep, why = _dimensions(C, cells if items is None else items.items)
    if as_json:
        payload = {"schema": "replical.theta/1", "class": class_spec, "hypotheses": len(C), "points": points, "r0": r0}
        payload |= {"theta" if name == "value" else name: each for name, each in asdict(coefficient).items()}
        payload |= {name: getattr(bound, of, None) for name, of in (("upper", "value"), ("confidence", "confidence"))}
        answer(payload | deep)
        return
    (near, of), (disputed, total) = coefficient.radius, coefficient.disagreement
    prose.say(
        f"theta = {coefficient.value:g}: within distance {near}/{of} of hypothesis {coefficient.centre} "
        f"({C.describe(coefficient.centre)}), hypotheses disagree on {disputed}/{total} of {points} points."
    )
    if bound is not None:
        radii = f" at radii from {r0:g} on" if r0 else ""
        prose.say(
            f"That is theta of these items. If they are an independent sample, theta of the population{radii} is at most "
            f"{bound.value:.4g}, with {bound.confidence:.0%} confidence."
        )
    dimensions = [f"{words} {deep[name]}" for name, words in _DIMENSIONS.items() if deep[name] is not None]
    prose.say(f"On these points: {', '.join(dimensions) or 'no dimension'}{'; ' + why if why else ''}.")


_DIMENSIONS = {"littlestone": "Littlestone dimension", "vc": "VC dimension"}


def _dimensions(C: HypothesisClass, items: Items) -> tuple[dict[str, int | None], str]:
    """Both dimensions, None where an exact one is not feasible; and why it is not."""
    found: dict[str, int | None] = {}
    why = ""
    for name, dimension in (("littlestone", littlestone), ("vc", vc)):
        try:
            found[name] = dimension(C, items)
        except ValueOutOfRange as error:
            found[name], why = None, str(error)
    return found, why

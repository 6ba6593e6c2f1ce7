"""``replical study``: a grid of audits from one file, with tables, figures and a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from replical.cli.inputs import Cluster
from replical.cli.output import answer, notes, prose, whole
from replical.core.parallel import cluster, local
from replical.core.text import plural
from replical.errors import ValueOutOfRange
from replical.study.report.findings import TERMS
from replical.study.run import StudyRun, run_study
from replical.study.scheduler import Progress
from replical.study.spec import Study

_EVERY = 10.0  # seconds between lines where there is no terminal
_MOST_WORKERS = 1000


def study_command(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="the study file")],
    out: Annotated[Path, typer.Option(help="folder for cells, tables, figures and the report")],
    quick: Annotated[bool, typer.Option("--quick", help="the short version the file describes")] = False,
    workers: Annotated[int | None, typer.Option(parser=whole, help="processes; every core if left out")] = None,
    at: Cluster = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Run a study, or go on with one that was stopped: what is complete in the folder is not run again."""
    if workers is not None and not 1 <= workers <= _MOST_WORKERS:
        raise ValueOutOfRange(f"--workers must be from 1 to {_MOST_WORKERS}, got {workers}")
    if workers is not None and at is not None:
        raise ValueOutOfRange("--workers counts processes of this machine: leave it out with --cluster")
    read = Study.read(study)
    with cluster(at) if at is not None else local(workers) as busy, _progress_bar(read.name) as update:
        notes.print(f"workers: {busy.words}", markup=False)
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
                f"{far.cells_done} of {far.cells} cells, {far.pairs_done} of {far.pairs} pairs{_left(far.seconds_left)}"
            )
            bar.update(task, completed=far.pairs_done, total=far.pairs, words=words)
            now = time.monotonic()
            if not notes.is_terminal and now - last[0] >= _EVERY:
                last[0] = now
                notes.print(f"{words}{'; now ' + far.now if far.now else ''}", markup=False, soft_wrap=True)

        yield update


def _left(seconds: float | None) -> str:
    """How long it still takes, as roughly as it is known."""
    if not seconds:  # nothing to go by, or nothing left to run
        return ""
    if seconds < 90:
        return f", about {max(1, round(seconds)):d} s left"
    return f", about {seconds / 60:.0f} min left" if seconds < 5400 else f", about {seconds / 3600:.1f} h left"


def _tell(done: StudyRun) -> None:
    prose.print(done.sentence, markup=False)
    prose.print(TERMS, markup=False)
    for reason, count in done.refusals.items():
        prose.print(f"Not run, {count} {plural(count, 'cell')}: {reason}", markup=False)
    tables = f"{done.folder / 'results.parquet'}, results.csv"
    prose.print(f"Tables: {tables}; report: {done.folder / 'report.html'}", markup=False)

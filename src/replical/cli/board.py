"""``replical board``: a leaderboard that says what it knows."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from replical.classes.table import PredictionTable
from replical.cli.inputs import IdColumn, Prefer, never_over, number, read_prior, whole
from replical.cli.output import AsJson, answer, progress, prose, reading
from replical.core.exact import round_down, round_up
from replical.core.files import write_whole
from replical.errors import BadUsage
from replical.evals.board import Board, Choice, board, choose
from replical.evals.page import page, picture, sentences
from replical.evals.tables import read_losses

_SHOWN = 20  # models in the terminal
_LARGE = 10**7  # cells that take seconds


def board_command(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="a row an item, a column a model: .parquet or .csv")],
    labels: Annotated[str, typer.Option(help="the column with the right answers")] = "label",
    scores: Annotated[str | None, typer.Option(metavar="LOW:HIGH", help="scores from LOW, the worst, to HIGH")] = None,
    models: Annotated[list[str] | None, typer.Option("--model", help="a model's column; all if left out")] = None,
    without: Annotated[list[str] | None, typer.Option(help="a column that is no model")] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(parser=number, help="also name the answer within so much of the best that --string gives"),
    ] = None,
    string: Annotated[str | None, typer.Option(help="a text that was published before anybody saw the scores")] = None,
    prefer: Prefer = None,
    level: Annotated[float, typer.Option(parser=number, help="how often a statement may be wrong")] = 0.05,
    html: Annotated[Path | None, typer.Option(help="the page to write")] = None,
    figure: Annotated[Path | None, typer.Option("--picture", help="the picture to write, as SVG")] = None,
    top: Annotated[int, typer.Option(parser=whole, help="how many models to print")] = _SHOWN,
    id_column: IdColumn = "id",
    as_json: AsJson = False,
) -> None:
    """Who is first, is that proven, how far behind is everybody, and would another draw of the items say the same?

    The items count as independent draws of the questions one might have asked.
    """
    if (tolerance is None) != (string is None):
        raise BadUsage("--tolerance and --string are given together, or neither is")
    if prefer is not None and tolerance is None:
        raise BadUsage(
            "--prefer says who is preferred among models within a tolerance: give --tolerance and --string too"
        )
    never_over({"--html": html, "--picture": figure}, {"the table": table})
    with reading(table) as update:
        names, losses = read_losses(
            table, labels=labels, scores=scores, models=models, without=[id_column, *(without or ())], progress=update
        )
    C = PredictionTable(names)  # refuses names that are not all seen
    with progress("bets") if losses.size > _LARGE else nullcontext() as update:
        found = board(names, losses, level=level, progress=update)
    chosen = None
    if tolerance is not None and string is not None:
        prior = read_prior(C, prefer)
        chosen = choose(names, losses, tolerance=tolerance, string=string, prior=prior, level=level)
    if html is not None:
        write_whole(html, page(found, chosen, tolerance, title=table.stem), what="the page", refuse=BadUsage)
    if figure is not None:
        write_whole(figure, picture(found, alone=True), what="the picture", refuse=BadUsage)
    written = {"page": html, "picture": figure}
    if as_json:
        answer(payload(found, chosen, tolerance) | {name: path and str(path) for name, path in written.items()})
        return
    _show(found, chosen, tolerance, top)
    if html is not None or figure is not None:
        files = ", ".join(str(path) for path in written.values() if path is not None)
        prose.say(f"Written: {files}.")


def payload(found: Board, chosen: Choice | None, tolerance: float | None) -> dict[str, Any]:
    """A board as JSON tells it."""
    rows = [
        {
            "model": found.models[h], "loss": float(found.losses[h]), "behind_low": float(found.low[h]),
            "behind_high": float(found.high[h]), "may_be_best": h in found.survivors, "better_than_next": better,
        }
        for h, better in zip(found.order.tolist(), found.better_than_next.tolist(), strict=True)
    ]  # fmt: skip
    choice: dict[str, Any] | None = None
    if chosen is not None:
        choice = {"answer": chosen.answer, "tolerance": tolerance, "proven": chosen.proven}
        choice |= {"survivors": list(chosen.survivors), "first_again": chosen.again}
    return {
        "schema": "replical.board/1", "items": found.items, "level": found.level, "first": found.first,
        "proven": found.proven, "first_again": found.again, "neighbours_apart": int(found.better_than_next.sum()),
        "models": rows, "choice": choice,
    }  # fmt: skip


def _show(found: Board, chosen: Choice | None, tolerance: float | None, top: int) -> None:
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("", "model", "mean loss", "behind the best", ""):
        grid.add_column(
            column, justify="right" if column == "mean loss" else "left", no_wrap=column != "model", overflow="fold"
        )
    for place, h in enumerate(found.order[:top].tolist(), 1):
        gap = f"{round_down(found.low[h], 4)} to {round_up(found.high[h], 4)}"
        name, best = Text(found.models[h]), "may be the best" if h in found.survivors else ""
        grid.add_row(str(place), name, f"{found.losses[h]:.4f}", gap, best)
    prose.print(grid)
    if len(found.models) > top:
        prose.say(f".. and {len(found.models) - top} more (--top {len(found.models)}, --html PAGE, --json).")
    for sentence in sentences(found, chosen, tolerance):
        prose.say(sentence)

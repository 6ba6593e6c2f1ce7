"""Evaluations: ``replical board``, a leaderboard that says what it knows, and ``replical data import``, logs as a table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from replical.classes.table import PredictionTable
from replical.cli.inputs import Prefer, never_over, number, read_prior, whole
from replical.cli.labels import IdColumn
from replical.cli.output import answer, progress, prose, reading, warn
from replical.core.exact import round_down, round_up
from replical.core.files import write_whole
from replical.core.text import count
from replical.errors import BadTable, BadUsage
from replical.evals.board import Board, Choice, Floats, board, choose
from replical.evals.logs import FORMS, Form, What, join
from replical.evals.page import page, picture, sentences

_SHOWN = 20  # models in the terminal
_LARGE = 10**7  # cells that take seconds


def board_command(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="one row an item, one column a model: .parquet or .csv")
    ],
    labels: Annotated[str, typer.Option(help="the column with the right answers")] = "label",
    scores: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="columns hold scores from LOW, the worst, to HIGH, e.g. 0:1")
    ] = None,
    models: Annotated[
        list[str] | None, typer.Option("--model", help="a model's column; all others if left out")
    ] = None,
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
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
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
    names, losses = _read(table, labels, scores, models, [id_column, *(without or ())])
    with progress("bets") if losses.size > _LARGE else nullcontext() as update:
        found = board(names, losses, level=level, progress=update)
    chosen = None
    if tolerance is not None and string is not None:
        prior = read_prior(PredictionTable(names), prefer)
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
            "behind_high": float(found.high[h]), "may_be_best": h in set(found.survivors.tolist()),
        }
        for h in found.order.tolist()
    ]  # fmt: skip
    choice: dict[str, Any] | None = None
    if chosen is not None:
        choice = {"answer": chosen.answer, "tolerance": tolerance, "proven": chosen.proven}
        choice |= {"survivors": list(chosen.survivors), "first_again": chosen.again}
    return {
        "schema": "replical.board/1", "items": found.items, "level": found.level, "first": found.first,
        "proven": found.proven, "first_again": found.again, "neighbours_apart": found.separations, "models": rows,
        "choice": choice,
    }  # fmt: skip


def _show(found: Board, chosen: Choice | None, tolerance: float | None, top: int) -> None:
    from rich.table import Table
    from rich.text import Text

    grid, alive = Table(box=None, padding=(0, 2, 0, 0)), set(found.survivors.tolist())
    for column in ("", "model", "mean loss", "behind the best", ""):
        grid.add_column(
            column, justify="right" if column == "mean loss" else "left", no_wrap=column != "model", overflow="fold"
        )
    for place, h in enumerate(found.order[:top].tolist(), 1):
        gap = f"{round_down(found.low[h], 4)} to {round_up(found.high[h], 4)}"
        name, best = Text(found.models[h]), "may be the best" if h in alive else ""
        grid.add_row(str(place), name, f"{found.losses[h]:.4f}", gap, best)
    prose.print(grid)
    if len(found.models) > top:
        prose.say(f".. and {len(found.models) - top} more (--top {len(found.models)}, --html PAGE, --json).")
    for sentence in sentences(found, chosen, tolerance):
        prose.say(sentence)


def _read(
    table: Path, labels: str, scores: str | None, models: list[str] | None, without: list[str]
) -> tuple[list[str], Floats]:
    """The models of a table, and what each loses on each item."""
    from replical.lab.columns import names_of, open_table

    least, most = _range(scores)
    names = names_of(table)
    wanted = models or [name for name in names if name not in (*without, labels)]
    if scores is None and labels not in names:
        raise BadUsage(f"{table} has no column {labels!r}: name the right answers with --labels, or give --scores 0:1")
    columns = [*wanted, *([] if scores else [labels])]
    parts: list[Floats] = []
    with reading(table) as update, open_table(table, columns, texts=columns) as rows:
        for block in rows.blocks(columns, together=True):
            update(block.start + block.rows, rows.rows or block.start + block.rows)
            parts.append(_losses(block, wanted, None if scores else labels, least, most, table))
    if not parts:
        raise BadTable(f"{table} holds no items: write one row an item")
    return wanted, np.concatenate(parts)


def _range(scores: str | None) -> tuple[float, float]:
    if scores is None:
        return 0.0, 1.0
    low, colon, high = scores.partition(":")
    try:
        least, most = float(low), float(high)
    except ValueError:
        least = most = 0.0
    if not colon or least == most or not np.isfinite([least, most]).all():
        raise BadUsage(
            f"--scores says from where to where they go, e.g. 0:1 or 5:1 if low ones are good, got {scores!r}"
        )
    return least, most


def _losses(block: Any, wanted: list[str], labels: str | None, least: float, most: float, table: Path) -> Floats:
    """One block: wrong or right, or how far a score is from the best one."""
    from pyarrow import compute

    def where(rows: Sequence[bool] | NDArray[np.bool_]) -> tuple[int, str]:
        row = int(np.argmax(rows))
        return row, f"{table}, row {block.start + row + 1}"

    said, right = [], None if labels is None else block.columns[labels].cast("string")
    for name in wanted if labels is None else [labels, *wanted]:
        column = block.columns[name]
        if column.null_count:
            _, place = where(column.is_null().to_numpy(zero_copy_only=False))
            raise BadTable(
                f"{place}: {name!r} has no value, and a board takes items that are all answered and labelled"
            )
    for name in wanted:
        column = block.columns[name]
        if right is not None:
            wrong = compute.not_equal(column.cast("string"), right).to_numpy(zero_copy_only=False)
            said.append(wrong.astype(np.float32))
            continue
        try:
            plain = column.dictionary_decode() if hasattr(column, "dictionary") else column
            cells = np.asarray(plain.cast("float64").to_numpy(zero_copy_only=False), dtype=np.float64)
        except ValueError as error:
            values = column.to_pylist()
            row, place = where([not _is_number(value) for value in values])
            raise BadTable(
                f"{place}: {name!r} has {values[row]!r:.40}, which is no score; a column that is no model, leave out with "
                "--without"
            ) from error
        loss = (most - cells) / (most - least)
        if not ((loss >= 0) & (loss <= 1)).all():
            row, place = where(~((loss >= 0) & (loss <= 1)))
            raise BadTable(
                f"{place}: {name!r} has the score {cells[row]:g}, and scores go from {least:g} to {most:g}: correct it, or "
                "--scores"
            )
        said.append(loss.astype(np.float32))
    return np.stack(said, axis=1)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def import_command(
    logs: Annotated[
        list[str], typer.Argument(metavar="LOG..", help="a log, NAME=LOG to name its model, or a folder of logs")
    ],
    out: Annotated[Path, typer.Option(help="the table to write: .parquet or .csv")],
    what: Annotated[str, typer.Option(help="the cells: outputs, or scores")] = "outputs",
    answers: Annotated[str, typer.Option(help="what is kept of outputs: plain, text or number")] = "plain",
    metric: Annotated[
        str | None, typer.Option(help="which score of lm-evaluation-harness; its first if left out")
    ] = None,
    task: Annotated[str | None, typer.Option(help="which task, if the logs hold several")] = None,
    reader: Annotated[
        str | None, typer.Option(help="for other formats: the name of a reader that some installed package has")
    ] = None,
    common: Annotated[bool, typer.Option("--common", help="leave out items that some model has not answered")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object on standard output")] = False,
) -> None:
    """Write logs of evaluations as one table: a row an item, a column a model, the right answers as label.

    It reads samples of lm-evaluation-harness, instances of Every Eval Ever (Inspect and HELM can be converted to these),
    and JSONL or CSV with item, model, output, score, gold.
    """
    if what not in ("outputs", "scores"):
        raise BadUsage(f"--what is outputs or scores, got {what!r}")
    if answers not in FORMS:
        raise BadUsage(f"--answers is {', '.join(FORMS[:-1])} or {FORMS[-1]}, got {answers!r}")
    if out.suffix not in (".parquet", ".csv"):
        raise BadUsage(f"a table ends in .parquet or .csv, got {out}")
    files = _files(logs, "*" if reader else "*.jsonl")
    never_over({"--out": out}, {str(path): path for _, path in files})
    form: Form = answers  # type: ignore[assignment]
    cells: What = what  # type: ignore[assignment]
    with progress("bytes") as update:
        joined = join(files, what=cells, form=form, metric=metric, task=task, reader=reader, progress=update)
    columns = joined.columns(common=common)
    _write(columns, out)
    if joined.against:
        warn(
            f"of {count(joined.against, 'output')} the log's own score says otherwise than the right answer, first in "
            f"{joined.first}: --what scores takes the scores, --answers another form of outputs"
        )
    items, left_out = len(columns["id"]), len(joined.items) - len(columns["id"])
    if as_json:
        told = {"items": items, "left_out": left_out, "models": list(joined.cells), "labelled": "label" in columns}
        answer({"schema": "replical.import/1", **told, "against_score": joined.against, "table": str(out)})
        return
    labelled = ", with the right answers" if "label" in columns else ""
    without = f" ({count(left_out, 'item')} left out)" if left_out else ""
    words = f"{count(items, 'item')}{without}, {count(len(joined.cells), 'model')}{labelled}: {out}"
    prose.say(words)
    then = f"replical board {out}" + ("" if what == "outputs" else " --scores 0:1")
    if "label" in columns or what == "scores":
        prose.say(f"Next: {then}")


def _files(logs: list[str], pattern: str) -> list[tuple[str | None, Path]]:
    found: list[tuple[str | None, Path]] = []
    for each in logs:
        name, equals, rest = each.partition("=")
        path = Path(rest if equals and not Path(each).exists() else each)
        if path.is_dir():
            inside = sorted(path.rglob("samples_*.jsonl")) or [
                each for each in sorted(path.rglob(pattern)) if each.is_file()
            ]
            if not inside:
                raise BadUsage(f"{path} holds no logs: they are called samples_*.jsonl, or end in .jsonl")
            found += [(None, log) for log in inside]
        else:
            found.append((name if equals and path == Path(rest) else None, path))
    return found


def _write(columns: dict[str, list[Any]], out: Path) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    if out.suffix == ".csv":
        write_whole(out, lambda part: csv.write_csv(table, part), what="the table", refuse=BadTable)
    else:
        write_whole(out, lambda part: parquet.write_table(table, part), what="the table", refuse=BadTable)

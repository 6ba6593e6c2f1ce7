"""Tables of evaluations: written from what logs hold, and read as what every model loses on every item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.core.files import write_whole
from replical.errors import BadTable, BadUsage
from replical.evals.board import Floats
from replical.lab.columns import ColumnBlock, names_of, open_table

LossTable = NDArray[Any]  # of 0 and 1, or scores; a byte each, where they are errors


def write(columns: dict[str, list[Any]], out: Path) -> None:
    """Columns as a file, Parquet or CSV."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    table, to_csv = pa.table({name: pa.array(column) for name, column in columns.items()}), out.suffix == ".csv"
    save = csv.write_csv if to_csv else parquet.write_table
    write_whole(out, lambda part: save(table, part), what="the table", refuse=BadTable)


def read_losses(
    path: Path,
    *,
    labels: str,
    scores: str | None,
    models: Sequence[str] | None,
    without: Sequence[str],
    progress: Callable[[int, int], None],
) -> tuple[list[str], LossTable]:
    """The models of a table, and their losses: wrong or right by the column `labels`, or how far `scores` are from the best.

    Raises
    ------
    BadTable, BadUsage
        For a cell that is missing, no score or out of range, with its row, and a table without models or right answers.
    """
    least, most = _range(scores)
    names = names_of(path)
    wanted = list(dict.fromkeys(models or (name for name in names if name not in (*without, labels))))
    if scores is None and labels not in names:
        raise BadUsage(f"{path} has no column {labels!r}: name the right answers with --labels, or give --scores 0:1")
    columns = wanted if scores else [*wanted, labels]
    parts: list[LossTable] = []
    with open_table(path, columns, texts=columns) as table:
        for block in table.blocks(columns, together=True):
            progress(block.start + block.rows, table.rows or block.start + block.rows)
            for name in columns:
                if block.columns[name].null_count:
                    _, place = _find(block.columns[name].is_null().to_pylist(), block, path)
                    raise BadTable(
                        f"{place}: {name!r} has no value, and a board takes items that are all answered and labelled"
                    )
            losses = (
                [_wrong(block, name, labels) for name in wanted]
                if scores is None
                else [_distance(block, name, least, most, path) for name in wanted]
            )
            parts.append(np.stack(losses, axis=1))
    if not parts:
        raise BadTable(f"{path} holds no items: write one row an item")
    return wanted, np.concatenate(parts)


def _range(scores: str | None) -> tuple[float, float]:
    if scores is None:
        return 0.0, 1.0
    low, colon, high = scores.partition(":")
    with suppress(ValueError):
        least, most = float(low), float(high)
        if colon and least != most and np.isfinite([least, most]).all():
            return least, most
    raise BadUsage(f"--scores says from where to where they go, e.g. 0:1 or 5:1 if low ones are good, got {scores!r}")


def _find(rows: Sequence[bool] | NDArray[np.bool_], block: ColumnBlock, path: Path) -> tuple[int, str]:
    """The first of some rows, and where it is."""
    row = int(np.argmax(rows))
    return row, f"{path}, row {block.start + row + 1}"


def _wrong(block: ColumnBlock, name: str, labels: str) -> NDArray[np.bool_]:
    from pyarrow import compute

    said, right = (block.columns[each].cast("string") for each in (name, labels))
    wrong: NDArray[np.bool_] = compute.not_equal(said, right).to_numpy(zero_copy_only=False)
    return wrong


def _distance(block: ColumnBlock, name: str, least: float, most: float, path: Path) -> Floats:
    column = block.columns[name]
    try:
        plain = column.dictionary_decode() if hasattr(column, "dictionary") else column
        cells: Floats = plain.cast("float64").to_numpy(zero_copy_only=False)
    except ValueError as error:
        values = column.to_pylist()
        row, place = _find([not _is_number(value) for value in values], block, path)
        raise BadTable(
            f"{place}: {name!r} has {values[row]!r:.40}, which is no score; a column that is no model, leave out with "
            "--without"
        ) from error
    loss = (most - cells) / (most - least)
    if not ((loss >= 0) & (loss <= 1)).all():
        row, place = _find(~((loss >= 0) & (loss <= 1)), block, path)
        raise BadTable(
            f"{place}: {name!r} has the score {cells[row]:g}, and scores go from {least:g} to {most:g}: correct it, or "
            "--scores"
        )
    return loss.astype(np.float32)


def _is_number(value: Any) -> bool:
    with suppress(TypeError, ValueError):
        return bool(np.isfinite(float(value)))
    return False

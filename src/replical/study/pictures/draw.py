"""Pictures of a study."""

from __future__ import annotations

from pathlib import Path

from replical.errors import BadStudy
from replical.study.pictures.costs import costs
from replical.study.pictures.curves import curves, difference_scatter, estimate_scatter
from replical.study.pictures.headline import headline
from replical.study.pictures.style import Picture, style
from replical.study.results import Row, fill_columns
from replical.study.spec import Cell


def draw(cells: list[Cell], rows: list[Row], folder: Path) -> list[Picture]:
    """Draw every picture the study has data for, the headline first; the same rows give the same bytes."""
    rows = fill_columns(rows)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadStudy(f"cannot write to the folder {folder}: {error.strerror or error}") from error
    with style():
        return [
            *headline(rows, folder),
            *costs(cells, rows, folder),
            *difference_scatter(rows, folder),
            *curves(rows, folder),
            *estimate_scatter(rows, folder),
        ]

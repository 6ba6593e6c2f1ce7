"""Figures of a study."""

from __future__ import annotations

from pathlib import Path

from replical.study.results import Row
from replical.study.spec import Cell, Study


def draw(study: Study, cells: list[Cell], rows: list[Row], folder: Path) -> list[tuple[str, Path]]:
    """Draw every figure the study has data for."""
    return []

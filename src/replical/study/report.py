"""The report of a study: one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from replical.study.results import Row
from replical.study.spec import Study


def report(study: Study, rows: list[Row], pictures: list[tuple[str, Path]], facts: dict[str, Any]) -> str:
    """The page."""
    return "<!doctype html><title>report</title>"

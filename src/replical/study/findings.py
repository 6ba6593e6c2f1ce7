"""What a study shows and does not show, in sentences made from its rows."""

from __future__ import annotations

from replical.study.results import Row


def summary_sentence(rows: list[Row]) -> str:
    """The study in a sentence."""
    done = [row for row in rows if row["status"] == "done"]
    return f"{len(done)} cells, {sum(row['pairs'] for row in done)} pairs of labs."

"""Labelling by file: the open items as a CSV and as Label Studio tasks, and answers read back from either.

Whoever labels sees what the lab chose to show of an item and nothing else: no predictions, no other labels, no survivors.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from replical.classes.grading import Answering, Gold, Scores
from replical.core.files import read_csv, read_text, write_whole
from replical.core.text import escape_formula, unescape_formula
from replical.errors import BadLabel, BadTable
from replical.lab.sessions.label_studio import SKIP, Question, Reply, code_of, of_code, read_export, task_data, template

_SEPARATORS = (",", ";", "\t")  # a spreadsheet writes semicolons where the comma is the decimal point
_OWN = ("id", "label", "annotator", "annotation_id")  # columns of a batch, or of Label Studio's, and not of the pool


def write_batch(
    folder: Path, number: int, asked: Sequence[Question], fields: Mapping[str, Mapping[str, str]], answers: Answering
) -> Path:
    """Write ``batch-NNNN.csv`` to fill in, the same as Label Studio tasks, and the labelling config for them."""
    columns = list(dict.fromkeys(column for each in fields.values() for column in each))
    judged = _judged_columns(answers)
    for column in columns:
        if column in (*_OWN, *judged):
            raise BadTable(
                f"a batch has a column {column!r} of its own: show that column of the pool under another name"
            )
    configuration = template(columns, answers)
    path, rows = folder / f"batch-{number:04d}.csv", io.StringIO(newline="")
    writer = csv.writer(rows)
    writer.writerow(["id", *map(escape_formula, columns), *judged, "label"])
    for each in asked:
        shown = (fields.get(each.item, {}).get(column, "") for column in columns)
        writer.writerow([*map(escape_formula, (each.item, *shown, *each.outputs)), ""])
    tasks = [{"data": task_data(each, fields.get(each.item, {}), columns)} for each in asked]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    except OSError as error:
        raise BadTable(f"cannot write the batch {path}: {error.strerror or error}") from error
    # The table last: where there is one, the tasks for Label Studio are there too, whatever happened meanwhile.
    for file, text in (
        (folder / "label-studio.xml", configuration),
        (path.with_suffix(".json"), json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"),
        (path, rows.getvalue()),
    ):
        write_whole(file, text, what="the batch", refuse=BadTable)
    return path


def _judged_columns(answers: Answering) -> tuple[str, ...]:
    """Columns of a batch with what is to be judged: an output that is scored, or two that duel."""
    if isinstance(answers, tuple) or not answers.choices:
        return ()
    return ("output",) if isinstance(answers, Scores) else ("first", "second")


def questions_of(path: Path, answers: Answering) -> frozenset[Question]:
    """What a batch asks about, answered or not."""
    text = read_text(path, what="the batch", refuse=BadTable)
    return frozenset(_question(path, row, answers) for row in _rows(path, text))


def _question(path: Path, row: Mapping[str, str], answers: Answering) -> Question:
    """What a row asks."""
    judged = _judged_columns(answers)
    if missing := [column for column in judged if column not in row]:
        raise BadTable(f"{path} has no column {missing[0]!r}, which is what was to be judged: give it back its name")
    outputs = tuple(cast(Gold, answers).normal(unescape_formula(row[column])) for column in judged)
    return Question(item=unescape_formula(row["id"]), outputs=outputs)


def read_batch(path: Path, labels: Answering) -> list[Reply]:
    """Answers from a filled-in CSV or a Label Studio export; rows without a label are not answered yet."""
    text = read_text(path, what="the answers", refuse=BadTable)
    replies = read_export(text, path, labels) if path.suffix.lower() == ".json" else _from_csv(path, text, labels)
    by_item: dict[str, Reply] = {}
    for reply in replies:
        before = by_item.get(reply.item, reply).code
        if of_code(before, reply.code) not in (reply.code, {}):
            raise BadTable(
                f"{path} answers the item {reply.item!r} twice, and differently: decide, and leave one answer there"
            )
        both = (
            {**before, **reply.code} if isinstance(before, Mapping) and isinstance(reply.code, Mapping) else reply.code
        )
        by_item[reply.item] = replace(reply, code=both)
    return list(by_item.values())


def _rows(path: Path, text: str) -> list[dict[str, str]]:
    for separator in _SEPARATORS:
        if {"id", "label"} <= set(_header_line(text, separator)):
            table = read_csv(text, path, what="the answers", refuse=BadTable, separator=separator, strict=False)
            break
    else:
        begins = next(iter(text.splitlines()), "")
        raise BadTable(
            f"{path} needs the columns id and label, but begins with {begins!r:.60}: give it its first line back"
        )
    if "annotation_id" in table.header:
        raise BadTable(
            f"{path} is a CSV export of Label Studio, whose ids may be its own: export as JSON or JSON-MIN there"
        )
    return table.dicts()


def _header_line(text: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True), [])
    except csv.Error:  # its quotes belong to another separator
        return []


def _from_csv(path: Path, text: str, labels: Answering) -> list[Reply]:
    replies = []
    for row in _rows(path, text):
        item, value = unescape_formula(row["id"]), row["label"]
        if not item:
            raise BadTable(f"{path}: a row has no id")
        if value.strip():
            value = value if isinstance(labels, tuple) and value in labels else value.strip()
            question = _question(path, row, labels)
            if value == SKIP and question.outputs:
                raise BadLabel(
                    f"{path} skips the item {item!r}, whose outputs it shows, and an item is skipped before they are: judge "
                    "them"
                )
            replies.append(
                Reply(item=item, code=code_of(value, question, labels, path), annotator=row.get("annotator") or None)
            )
    return replies

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
from pathlib import Path

from replical.classes.grading import Answering
from replical.core.files import read_bytes, read_csv, write_whole
from replical.errors import BadTable
from replical.lab.columns import said_code
from replical.lab.sessions.label_studio import SKIP, Question, Reply, read_export, task_data, template

_SEPARATORS = (",", ";", "\t")  # a spreadsheet writes semicolons where the comma is the decimal point
_OWN = (
    "id",
    "label",
    "annotator",
    "annotation_id",
)  # columns of a batch, or of Label Studio's, that are not the pool's
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run a cell that begins so


def write_batch(
    folder: Path, number: int, items: Sequence[str], fields: Mapping[str, Mapping[str, str]], labels: Answering
) -> Path:
    """Write ``batch-NNNN.csv`` to fill in, the same as Label Studio tasks, and the labelling config for them."""
    columns = list(dict.fromkeys(column for each in fields.values() for column in each))
    for column in columns:
        if column in _OWN:
            raise BadTable(
                f"a batch has a column {column!r} of its own: show that column of the pool under another name"
            )
    configuration = template(columns, labels)
    path, rows = folder / f"batch-{number:04d}.csv", io.StringIO(newline="")
    writer = csv.writer(rows)
    writer.writerow(["id", *map(_escape_formula, columns), "label"])
    for item in items:
        shown = (_escape_formula(fields.get(item, {}).get(column, "")) for column in columns)
        writer.writerow([_escape_formula(item), *shown, ""])
    tasks = [{"data": task_data(Question(item=item), fields.get(item, {}), columns)} for item in items]
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


def items_of(path: Path) -> frozenset[str]:
    """The items a batch asks about, answered or not."""
    return frozenset(_unescape_formula(row["id"]) for row in _rows(path, _text(path, "batch")))


def _escape_formula(text: str) -> str:
    return "'" + text if text.lstrip("'").startswith(_FORMULA) else text


def _unescape_formula(text: str) -> str:
    """Without the apostrophe that made it harmless."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(_FORMULA) else text


def read_batch(path: Path, labels: Answering) -> list[Reply]:
    """Answers from a filled-in CSV or a Label Studio export; rows without a label are not answered yet."""
    text = _text(path, "answers")
    replies = read_export(text, path, labels) if path.suffix.lower() == ".json" else _from_csv(path, text, labels)
    by_item: dict[str, Reply] = {}
    for reply in replies:
        if reply.item in by_item and by_item[reply.item].code != reply.code:
            raise BadTable(
                f"{path} answers the item {reply.item!r} twice, and differently: decide, and leave one answer there"
            )
        by_item[reply.item] = reply
    return list(by_item.values())


def _text(path: Path, what: str) -> str:
    content = read_bytes(path, what=f"the {what}", refuse=BadTable)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadTable(f"cannot read the {what} {path}: it is not UTF-8 text, so save it as CSV UTF-8") from error


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
        item, value = _unescape_formula(row["id"]), row["label"]
        if not item:
            raise BadTable(f"{path}: a row has no id")
        if value.strip():
            value = value if isinstance(labels, tuple) and value in labels else value.strip()
            replies.append(_reply(item, value, labels, path, row.get("annotator") or None))
    return replies


def _reply(item: str, value: str, labels: Answering, path: Path, annotator: str | None) -> Reply:
    code = None if value == SKIP else said_code(value, labels, f"the label of the item {item!r} in {path}")
    return Reply(item=item, code=code, annotator=annotator)

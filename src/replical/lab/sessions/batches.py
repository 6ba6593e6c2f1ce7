"""Labelling by file: the open items as a CSV and as Label Studio tasks, and answers read back from either.

Label Studio's own formats: labelstud.io/guide/tasks (tasks), /tags/choices (configuration), /guide/export (JSON, JSON-MIN).
Whoever labels sees what the lab chose to show of an item and nothing else: no predictions, no other labels, no survivors.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from xml.sax.saxutils import escape, quoteattr

from replical.classes.base import Label
from replical.classes.grading import Answering, Gold, Said, Scores
from replical.core.files import read_bytes, read_csv, write_whole
from replical.errors import BadLabel, BadTable
from replical.lab.columns import said_code

SKIP = "?"  # what an annotator writes who cannot say
_SEPARATORS = (",", ";", "\t")  # a spreadsheet writes semicolons where the comma is the decimal point
_OWN = (
    "id",
    "label",
    "annotator",
    "annotation_id",
)  # columns of a batch, or of Label Studio's, that are not the pool's
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run a cell that begins so
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not in any XML file, escaped or not


Task = tuple[str, tuple[str, ...]]  # an item, and its outputs that are to be judged, if they are


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back for one item: a label code, a gold answer, scores, or None for "cannot say"."""

    item: str
    code: Said | None
    annotator: str | None = None


def write_batch(
    folder: Path, number: int, tasks: Sequence[Task], fields: Mapping[str, Mapping[str, str]], answers: Answering
) -> Path:
    """Write ``batch-NNNN.csv`` to fill in, the same as Label Studio tasks, and the labelling config for them."""
    columns = list(dict.fromkeys(column for each in fields.values() for column in each))
    judged, labels = judged_columns(answers), answers if isinstance(answers, tuple) else answers.choices
    for column in columns:
        if column in (*_OWN, *judged):
            raise BadTable(
                f"a batch has a column {column!r} of its own: show that column of the pool under another name"
            )
    for label in labels:
        if not str(label).strip() or _NOT_XML.search(str(label)):
            raise BadLabel(
                f"the label {label!r} cannot be written into a file to fill in: label at the page (--ask page) or from a "
                "column (--labels FILE:COLUMN)"
            )
    path, rows = folder / f"batch-{number:04d}.csv", io.StringIO(newline="")
    writer = csv.writer(rows)
    writer.writerow(["id", *map(_escape_formula, columns), *judged, "label"])
    for item, outputs in tasks:
        shown = (fields.get(item, {}).get(column, "") for column in columns)
        writer.writerow([*map(_escape_formula, (item, *shown, *outputs)), ""])
    data = [
        {"data": _data(item, fields.get(item, {}), columns) | {f"output_{n}": text for n, text in enumerate(outputs)}}
        for item, outputs in tasks
    ]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    except OSError as error:
        raise BadTable(f"cannot write the batch {path}: {error.strerror or error}") from error
    # The table last: where there is one, the tasks for Label Studio are there too, whatever happened meanwhile.
    for file, text in (
        (folder / "label-studio.xml", config(columns, labels, judged)),
        (path.with_suffix(".json"), json.dumps(data, ensure_ascii=False, indent=1) + "\n"),
        (path, rows.getvalue()),
    ):
        write_whole(file, text, what="the batch", refuse=BadTable)
    return path


def _data(item: str, fields: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    """What a task holds: every variable of the config, and the item twice, for JSON-MIN puts a number of its own at id."""
    return {"id": item, "item": item} | {f"show_{number}": fields.get(name, "") for number, name in enumerate(columns)}


def judged_columns(answers: Answering) -> tuple[str, ...]:
    """Columns of a batch with what is to be judged: an output that is scored, or two that duel."""
    if isinstance(answers, tuple) or not answers.choices:
        return ()
    return ("output",) if isinstance(answers, Scores) else ("first", "second")


def tasks_of(path: Path, answers: Answering) -> frozenset[Task]:
    """What a batch asks about, answered or not."""
    judged = judged_columns(answers)
    return frozenset(
        (_unescape_formula(row["id"]), _outputs(path, row, judged, answers))
        for row in _rows(path, _text(path, "batch"))
    )


def _outputs(path: Path, row: Mapping[str, Any], judged: Sequence[str], answers: Answering) -> tuple[str, ...]:
    """The outputs that are judged in a row, or in the data of a task."""
    if "output_0" in row:  # of Label Studio
        row = {column: row.get(f"output_{number}") for number, column in enumerate(judged)}
    if missing := [column for column in judged if not isinstance(row.get(column), str)]:
        raise BadTable(f"{path} has no {missing[0]!r}, which is what was to be judged: give the column back its name")
    return tuple(cast(Gold, answers).normal(_unescape_formula(row[column])) for column in judged)


def _escape_formula(text: str) -> str:
    return "'" + text if text.lstrip("'").startswith(_FORMULA) else text


def _unescape_formula(text: str) -> str:
    """Without the apostrophe that made it harmless."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(_FORMULA) else text


def config(columns: Sequence[str], labels: Sequence[Label], judged: Sequence[str] = ()) -> str:
    """A Label Studio labelling config: the shown columns, what is to be `judged`, and one choice among the labels."""
    headers = "".join(
        f'  <Header value={_header(column)}/>\n  <Text name="text_{number}" value="$show_{number}"/>\n'
        for number, column in enumerate(columns)
    )
    headers += "".join(
        f'  <Header value="{name}"/>\n  <Text name="output_{number}" value="$output_{number}"/>\n'
        for number, name in enumerate(judged)
    )
    subject = "output_0" if judged else "text_0" if columns else "text_id"
    head = headers or '  <Text name="text_id" value="$id"/>\n'
    choices = "".join(_choice(str(label)) for label in labels)
    return (
        f'<View>\n{head}  <Choices name="label" toName="{subject}" choice="single" required="true">\n'
        f"{choices}  </Choices>\n</View>\n"
    )


def _header(column: str) -> str:
    """A name to show; a dollar sign begins a variable unless an invisible character follows it."""
    return quoteattr(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", column).replace("$", "$\N{WORD JOINER}"))


def _choice(label: str) -> str:
    """A label to choose; where a dollar sign would begin a variable, `html` is what is shown and `alias` what comes back."""
    literal = f" alias={quoteattr(label)} html={quoteattr(escape(label))}" if "$" in label else ""
    return f"    <Choice value={quoteattr(label)}{literal}/>\n"


def read_batch(path: Path, labels: Answering) -> list[Reply]:
    """Answers from a filled-in CSV or a Label Studio export; rows without a label are not answered yet."""
    text = _text(path, "answers")
    replies = (
        _from_label_studio(path, text, labels) if path.suffix.lower() == ".json" else _from_csv(path, text, labels)
    )
    by_item: dict[str, Reply] = {}
    for reply in replies:
        before = by_item.get(reply.item, reply).code
        if contradicts(before, reply.code):
            raise BadTable(
                f"{path} answers the item {reply.item!r} twice, and differently: decide, and leave one answer there"
            )
        if isinstance(before, Mapping) and isinstance(reply.code, Mapping):
            reply = replace(reply, code={**before, **reply.code})
        by_item[reply.item] = reply
    return list(by_item.values())


def contradicts(one: Said | None, other: Said | None) -> bool:
    """Do two answers about an item differ, or two scores of one output?"""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return any(one.get(output, score) != score for output, score in other.items())
    return one != other


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
            replies.append(_reply(item, value, labels, path, row, row.get("annotator") or None))
    return replies


def _reply(
    item: str, value: str | None, labels: Answering, path: Path, row: Mapping[str, Any], annotator: str | None
) -> Reply:
    """What a row, or the data of a task, has for its item; nothing, or ``?``, skips it."""
    skips = value is None or value == SKIP
    if judged := judged_columns(labels):
        if skips:
            raise BadLabel(
                f"{path} skips the item {item!r} and shows what is to be judged: an item is skipped before its outputs are "
                "seen, so judge them"
            )
        outputs = _outputs(path, row, judged, labels)
        try:
            return Reply(item=item, code=cast(Gold, labels).judged(str(value), outputs), annotator=annotator)
        except BadLabel as error:
            raise BadLabel(f"the label of the item {item!r} in {path}: {error}") from error
    code = None if skips else said_code(value, labels, f"the label of the item {item!r} in {path}")
    return Reply(item=item, code=code, annotator=annotator)


def _from_label_studio(path: Path, text: str, labels: Answering) -> list[Reply]:
    """Its export as JSON or JSON-MIN. An item that one person skipped and another labelled is labelled."""
    try:
        tasks = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadTable(f"{path} is not valid JSON ({error}): export it again") from error
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise BadTable(
            f"{path} is no Label Studio export: it should be a list of tasks, so export the project as JSON or JSON-MIN"
        )
    replies = [reply for number, task in enumerate(tasks) for reply in _task(task, number, labels, path)]
    labelled = {reply.item for reply in replies if reply.code is not None}
    return [reply for reply in replies if reply.code is not None or reply.item not in labelled]


def _task(task: dict[str, Any], number: int, labels: Answering, path: Path) -> list[Reply]:
    """JSON: a task, with its data and a list of annotations. JSON-MIN: data and one annotation, all in one."""
    whole = "data" in task
    data = task["data"] if whole else task
    item = data.get("item", data.get("id") if whole else None) if isinstance(data, dict) else None
    if not isinstance(item, str | int) or isinstance(item, bool):
        raise BadTable(
            f"{path}: task {number} has no id in its data: import the tasks of a batch there, and export them as JSON"
        )
    if whole:
        annotations = task.get("annotations") or []
    elif "label" in task or task.get("annotation_id") is not None:
        label = task.get("label")
        value = label if isinstance(label, dict) else {"choices": [label]}
        annotations = [{"result": [{"value": value}], "completed_by": task.get("annotator")}]
    else:
        annotations = []
    if not isinstance(annotations, list):
        raise BadTable(f"{path}: the annotations of the item {str(item)!r} are no list: export it again")
    return [_annotation(annotation, str(item), labels, path, data) for annotation in annotations]


def _annotation(annotation: Any, item: str, labels: Answering, path: Path, data: Mapping[str, Any]) -> Reply:
    """One person's answer; a cancelled annotation is a skip, and what other controls than `label` say does not count."""
    if not isinstance(annotation, dict):
        raise BadTable(f"{path}: an annotation of the item {item!r} is damaged: export it again")
    who = annotation.get("completed_by")
    known = who.get("email") if isinstance(who, dict) else who
    name = None if known in (None, "") else str(known).encode("utf-8", "replace").decode()
    if annotation.get("was_cancelled"):
        return _reply(item, None, labels, path, data, name)
    try:
        values = [each.get("value", {}) for each in annotation["result"] if each.get("from_name", "label") == "label"]
        chosen = [value["choices"] for value in values if "choices" in value]
    except (AttributeError, KeyError, TypeError):
        chosen = []
    match chosen:
        case [[str() | int() as value]] if not isinstance(value, bool):
            return _reply(item, str(value), labels, path, data, name)
    raise BadLabel(
        f"{path}: the annotation of the item {item!r} is not a single choice under the name label: label it with the "
        "configuration of the batch, or delete the annotation there"
    )

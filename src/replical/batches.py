"""Labelling by file: the open items as a CSV and as Label Studio tasks, and answers read back from either.

Whoever labels sees what the lab chose to show of an item and nothing else: no predictions, no other labels, no survivors.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from replical.classes.base import Label
from replical.errors import BadLabel, BadTable
from replical.tables import label_code

SKIP = "?"  # what an annotator writes who cannot say
_OWN = ("id", "label", "annotator")  # columns of a batch that are not the pool's
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run a cell that begins so


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back for one item: a label code, or None for "cannot say"."""

    item: str
    code: int | None
    annotator: str | None = None


def write_batch(
    folder: Path, number: int, items: Sequence[str], shown: Mapping[str, Mapping[str, str]], labels: Sequence[Label]
) -> Path:
    """Write ``batch-NNNN.csv`` to fill in, the same as Label Studio tasks, and the labelling config for them."""
    columns = list(dict.fromkeys(column for each in shown.values() for column in each))
    for column in columns:
        if column in _OWN:
            raise BadTable(
                f"a batch has a column {column!r} of its own: show that column of the pool under another name"
            )
    path = folder / f"batch-{number:04d}.csv"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["id", *map(_harmless, columns), "label"])
            for item in items:
                writer.writerow(
                    [_harmless(item), *(_harmless(shown.get(item, {}).get(column, "")) for column in columns), ""]
                )
        keys = {
            column: f"show_{number}" for number, column in enumerate(columns)
        }  # its variables are letters and digits
        tasks = [
            {"data": {"id": item, **{keys[column]: text for column, text in shown.get(item, {}).items()}}}
            for item in items
        ]
        path.with_suffix(".json").write_text(json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        (folder / "label-studio.xml").write_text(config(columns, labels), encoding="utf-8")
    except OSError as error:
        raise BadTable(f"cannot write the batch {path}: {error.strerror or error}") from error
    return path


def items_of(path: Path) -> frozenset[str]:
    """The items a batch asks about, answered or not."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return frozenset(_as_it_was(row.get("id") or "") for row in csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise BadTable(f"cannot read the batch {path}: {error}") from error


def _harmless(text: str) -> str:
    return "'" + text if text.lstrip("'").startswith(_FORMULA) else text


def _as_it_was(text: str) -> str:
    """Without the apostrophe that made it harmless."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(_FORMULA) else text


def config(columns: Sequence[str], labels: Sequence[Label]) -> str:
    """A Label Studio labelling config: the shown columns, and one choice among the labels."""
    shown = "".join(
        f'  <Header value={quoteattr(column)}/>\n  <Text name="text_{number}" value="$show_{number}"/>\n'
        for number, column in enumerate(columns)
    )
    subject = "text_0" if columns else "text_id"
    head = shown or '  <Text name="text_id" value="$id"/>\n'
    choices = "".join(f"    <Choice value={quoteattr(str(label))}/>\n" for label in labels)
    return (
        f'<View>\n{head}  <Choices name="label" toName="{subject}" choice="single" required="true">\n'
        f"{choices}  </Choices>\n</View>\n"
    )


def read_batch(path: Path, labels: tuple[Label, ...]) -> list[Reply]:
    """Answers from a filled-in CSV or a Label Studio export; rows without a label are not answered yet."""
    text = _text(path)
    replies = _from_label_studio(path, text, labels) if path.suffix == ".json" else _from_csv(path, text, labels)
    seen: dict[str, Reply] = {}
    for reply in replies:
        if reply.item in seen and seen[reply.item].code != reply.code:
            raise BadTable(f"{path} answers the item {reply.item!r} twice, and differently")
        seen[reply.item] = reply
    return list(seen.values())


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise BadTable(f"cannot read the answers {path}: {error}") from error


def _rows(path: Path, text: str) -> list[dict[str, str | None]]:
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise BadTable(f"{path} is no CSV file: {error}") from error
    if not rows or "id" not in rows[0] or "label" not in rows[0]:
        raise BadTable(f"{path} needs the columns id and label")
    return rows


def _from_csv(path: Path, text: str, labels: tuple[Label, ...]) -> list[Reply]:
    replies = []
    for row in _rows(path, text):
        item, value = _as_it_was(row["id"] or ""), (row["label"] or "").strip()
        if not item:
            raise BadTable(f"{path}: a row has no id")
        if value:
            replies.append(_reply(item, value, labels, path, row.get("annotator") or None))
    return replies


def _reply(item: str, value: str, labels: tuple[Label, ...], path: Path, annotator: str | None) -> Reply:
    code = None if value == SKIP else label_code(value, labels, f"the label of the item {item!r} in {path}")
    return Reply(item=item, code=code, annotator=annotator)


def _from_label_studio(path: Path, text: str, labels: tuple[Label, ...]) -> list[Reply]:
    """Its JSON export: tasks with their data and annotations; a cancelled annotation is a skip."""
    try:
        tasks = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadTable(f"{path} is not valid JSON: {error}") from error
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise BadTable(f"{path} is no Label Studio export: it should be a list of tasks")
    replies = []
    for number, task in enumerate(tasks):
        data = task.get("data")
        item = data.get("id") if isinstance(data, dict) else None
        if not isinstance(item, str | int) or isinstance(item, bool):
            raise BadTable(f"{path}: task {number} has no id in its data")
        annotations = task.get("annotations") or []
        if not isinstance(annotations, list):
            raise BadTable(f"{path}: the annotations of the item {str(item)!r} are no list")
        replies += [_annotation(annotation, str(item), labels, path) for annotation in annotations]
    return replies


def _annotation(annotation: Any, item: str, labels: tuple[Label, ...], path: Path) -> Reply:
    if not isinstance(annotation, dict):
        raise BadTable(f"{path}: an annotation of the item {item!r} is damaged")
    who = annotation.get("completed_by")
    known = who.get("email") if isinstance(who, dict) else who
    name = None if known is None else str(known)
    if annotation.get("was_cancelled"):
        return Reply(item=item, code=None, annotator=name)
    try:
        chosen = [each["value"]["choices"] for each in annotation["result"] if "choices" in each["value"]]
        ((value,),) = chosen
    except (KeyError, TypeError, ValueError) as error:
        raise BadLabel(f"{path}: the annotation of the item {item!r} is not a single choice") from error
    return _reply(item, str(value), labels, path, name)

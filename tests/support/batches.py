"""What people do with a batch: fill in its table, or export it from Label Studio."""

import csv
import json

from replical.lab.sessions.batches import questions_of, write_batch
from replical.lab.sessions.label_studio import Question

LABELS = ("no", "yes")


def fill(path, answers, annotator=None):
    """Do what a person with a spreadsheet does; the tasks beside the file say which item stands in which row."""
    tasks = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*header, "annotator"] if annotator else header)
        for row, task in zip(rows, tasks, strict=True):
            writer.writerow([*row[:-1], answers.get(task["data"]["id"], ""), *([annotator] if annotator else [])])
    return path


def export(path, annotations):
    """Do what Label Studio does: its export holds the tasks as they were imported, with annotations."""
    tasks = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    for number, task in enumerate(tasks):
        task |= {"id": number + 100, "annotations": annotations.get(task["data"]["id"], [])}
    file = path.with_name("export.json")
    file.write_text(json.dumps(tasks), encoding="utf-8")
    return file


def chose(*values, who=None):
    result = [{"from_name": "label", "type": "choices", "value": {"choices": list(values)}}]
    return {"id": 7, "result": result, "was_cancelled": False, "completed_by": who}


def written(folder, number, items, fields, labels):
    """A batch that asks for labels of these items."""
    return write_batch(folder, number, [Question(item=item) for item in items], fields, labels)


def items_of(path):
    """The items that a batch asks about."""
    return {each.item for each in questions_of(path, LABELS)}

"""A Label Studio project as its documentation describes it: tasks come in by file, exports go out.

Tasks to import: labelstud.io/guide/tasks. Configuration: labelstud.io/tags/choices, /choice, /text, /header. Exports as JSON and
JSON-MIN: labelstud.io/guide/export and /guide/task_format. `Project` below does what those pages say.
"""

import html
import json
import re
from itertools import count
from xml.etree import ElementTree

import pytest

from support.batches import written

LABELS = ("no", "yes")
VARIABLE = re.compile(r"\$[\w.\[\]{}]+", re.ASCII)  # $name, $name.part, $name[0] stand for data of the task


def filled(text, data):
    return VARIABLE.sub(lambda found: str(data.get(found[0][1:], "")), text)


class Project:
    """A Label Studio project: tasks come in by file, people choose what they see, exports go out."""

    def __init__(self, configuration):
        self.view = ElementTree.fromstring(configuration)
        (self.control,) = [each for each in self.view.iter() if each.tag in ("Choices", "TextArea")]
        self.objects = [each for each in self.view.iter() if each.get("name") and each is not self.control]
        names = [each.get("name") for each in self.view.iter() if each.get("name")]
        assert self.view.tag == "View"
        assert len(names) == len(set(names))
        assert self.control.get("toName") in [each.get("name") for each in self.objects]
        assert self.control.get("choice") == ("single" if self.control.tag == "Choices" else None)
        assert self.control.get("required") == "true"
        assert all(choice.get("value") for choice in self.control)
        self.tasks, self.numbers = [], count(1)

    def load(self, path):
        """Import a file of tasks: an id outside `data` would be lost, and every variable must be in `data`."""
        tasks = json.loads(path.read_text(encoding="utf-8"))
        assert tasks
        for task in tasks:
            assert set(task) == {"data"}
            assert self.missing(task["data"]) is None
            self.add(task["data"])

    def missing(self, data):
        """A variable of the labelling interface that the data of a task lack."""
        names = [each.get("value").removeprefix("$") for each in self.objects]
        return next((name for name in names if not isinstance(data.get(name), str)), None)

    def add(self, data):
        """One more task."""
        self.tasks.append({"id": next(self.numbers), "data": data, "annotations": []})
        return self.tasks[-1]

    def headers(self, task):
        return [filled(each.get("value"), task["data"]) for each in self.view.iter("Header")]

    def shown(self, task):
        """What a person can choose, and what comes back for it."""
        values = {choice: filled(choice.get("value"), task["data"]) for choice in self.control}
        return {
            html.unescape(choice.get("html", html.escape(value))): choice.get("alias", value)
            for choice, value in values.items()
        }

    def annotate(self, task, label, who=1, **more):
        """Submit a choice, or a text; None is the button Skip."""
        free = self.control.tag == "TextArea"
        chosen = [] if label is None else [label if free else self.shown(task)[label]]
        kind = ("textarea", "text") if free else ("choices", "choices")
        result = {"id": "Dx_aB91ISN", "from_name": "label", "to_name": self.control.get("toName"), "type": kind[0]}
        result |= {"origin": "manual", "value": {kind[1]: chosen}}
        made = {"id": next(self.numbers), "completed_by": who, "result": [result] if chosen else [], "prediction": {}}
        made |= {"was_cancelled": label is None, "ground_truth": False, "result_count": 0, "task": task["id"]}
        made |= {"created_at": f"2021-03-09T22:16:08.{made['id']:06}Z", "updated_at": "2021-03-09T22:16:08.728378Z"}
        task["annotations"].append(made | {"draft_created_at": None, "lead_time": 4.288} | more)

    def as_json(self):
        """Everything, skipped annotations too; drafts and predictions lie beside the annotations."""
        found, beside = [], {"drafts": [], "predictions": [], "meta": {}, "project": 83}
        for number, task in enumerate(self.tasks, start=1):
            cancelled = sum(each["was_cancelled"] for each in task["annotations"])
            counts = {"total_annotations": len(task["annotations"]) - cancelled, "cancelled_annotations": cancelled}
            found.append(task | beside | counts | {"inner_id": number, "created_at": "2021-03-09T21:52:49.513742Z"})
        return found

    def as_json_min(self):
        """A row for each annotation that is not skipped, and for tasks without any: data, then Label Studio's number as id."""
        rows = []
        for task in self.tasks:
            for each in [one for one in task["annotations"] if not one["was_cancelled"]]:
                chosen = {one["from_name"]: next(iter(one["value"].values())) for one in each["result"]}
                row = task["data"] | {"id": task["id"]}
                row |= {name: said[0] if len(said) == 1 else {"choices": said} for name, said in chosen.items()}
                who = each["completed_by"]
                row |= {"annotator": who["email"] if isinstance(who, dict) else who, "annotation_id": each["id"]}
                rows.append(row | {key: each[key] for key in ("created_at", "updated_at", "lead_time")})
            if not task["annotations"]:
                row = task["data"] | {"id": task["id"], "annotator": "", "annotation_id": None}
                rows.append(row | {"created_at": None, "updated_at": None, "lead_time": None})
        return rows

    def export(self, path, kind="JSON"):
        tasks = self.as_json() if kind == "JSON" else self.as_json_min()
        path.write_text(json.dumps(tasks, ensure_ascii=False), encoding="utf-8")
        return path


def project(folder, items, shown=None, labels=LABELS):
    """A project that has imported one batch."""
    path = written(folder, 1, items, shown or {}, labels)
    made = Project(path.with_name("label-studio.xml").read_text(encoding="utf-8"))
    made.load(path.with_suffix(".json"))
    return made


KINDS = pytest.mark.parametrize("kind", ["JSON", "JSON_MIN"])

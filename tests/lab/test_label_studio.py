"""To Label Studio and back, held against the formats it documents.

Tasks to import: labelstud.io/guide/tasks. Configuration: labelstud.io/tags/choices, /choice, /text, /header. Exports as JSON and
JSON-MIN: labelstud.io/guide/export and /guide/task_format. `Project` below does what those pages say.
"""

import csv
import html
import json
import re
from itertools import count
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.cli import main
from replical.errors import BadLabel, BadTable, ReplicalError
from replical.lab import journal as journal_module
from replical.lab.batches import SKIP, Reply, config, read_batch, write_batch
from replical.lab.certificate.file import read
from replical.lab.protocol import Protocol
from support.lab import content, private, world

LABELS = ("no", "yes")
VARIABLE = re.compile(r"\$[\w.\[\]{}]+", re.ASCII)  # $name, $name.part, $name[0] stand for data of the task


def filled(text, data):
    return VARIABLE.sub(lambda found: str(data.get(found[0][1:], "")), text)


class Project:
    """A Label Studio project: tasks come in by file, people choose what they see, exports go out."""

    def __init__(self, configuration):
        self.view = ElementTree.fromstring(configuration)
        (self.control,) = self.view.iter("Choices")
        self.objects = [each for each in self.view.iter() if each.get("name") and each is not self.control]
        names = [each.get("name") for each in self.view.iter() if each.get("name")]
        assert self.view.tag == "View"
        assert len(names) == len(set(names))
        assert self.control.get("toName") in [each.get("name") for each in self.objects]
        assert self.control.get("choice") == "single"
        assert self.control.get("required") == "true"
        assert all(choice.get("value") for choice in self.control)
        self.tasks, self.numbers = [], count(1)

    def load(self, path):
        """Import a file of tasks: an id outside `data` would be lost, and every variable must be in `data`."""
        tasks = json.loads(path.read_text(encoding="utf-8"))
        assert tasks
        for task in tasks:
            assert set(task) == {"data"}
            for each in self.objects:
                assert isinstance(task["data"][each.get("value").removeprefix("$")], str)
            self.tasks.append({"id": next(self.numbers), "data": task["data"], "annotations": []})

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
        """Submit a choice; None is the button Skip."""
        chosen = [] if label is None else [self.shown(task)[label]]
        result = {
            "id": "Dx_aB91ISN",
            "from_name": "label",
            "to_name": self.control.get("toName"),
            "type": "choices",
            "origin": "manual",
        }
        task["annotations"].append(
            {
                "id": next(self.numbers),
                "completed_by": who,
                "result": [result | {"value": {"choices": chosen}}] if chosen else [],
                "was_cancelled": label is None,
                "ground_truth": False,
                "created_at": "2021-03-09T22:16:08.728353Z",
                "updated_at": "2021-03-09T22:16:08.728378Z",
                "draft_created_at": None,
                "lead_time": 4.288,
                "prediction": {},
                "result_count": 0,
                "task": task["id"],
            }
            | more
        )

    def as_json(self):
        """Everything, skipped annotations too; drafts and predictions lie beside the annotations."""
        return [
            task
            | {
                "drafts": [],
                "predictions": [],
                "meta": {},
                "inner_id": number + 1,
                "total_annotations": sum(not each["was_cancelled"] for each in task["annotations"]),
                "cancelled_annotations": sum(each["was_cancelled"] for each in task["annotations"]),
                "created_at": "2021-03-09T21:52:49.513742Z",
                "project": 83,
            }
            for number, task in enumerate(self.tasks)
        ]

    def as_json_min(self):
        """A row for each annotation that is not skipped, and for tasks without any: data, then Label Studio's number as id."""
        rows = []
        for task in self.tasks:
            for each in [one for one in task["annotations"] if not one["was_cancelled"]]:
                chosen = {one["from_name"]: one["value"]["choices"] for one in each["result"]}
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
    path = write_batch(folder, 1, items, shown or {}, labels)
    made = Project(path.with_name("label-studio.xml").read_text(encoding="utf-8"))
    made.load(path.with_suffix(".json"))
    return made


KINDS = pytest.mark.parametrize("kind", ["JSON", "JSON_MIN"])


# ---- whatever it is called ----

legal = st.characters(exclude_categories=["Cs", "Cc", "Cn"], include_characters="\n\t")
words = st.one_of(st.text(legal, min_size=1, max_size=8), st.sampled_from(
    ["$5", "$show_0", "cost: $id", "$", "$$x", "true", "0", "None", "a & b", '"<x/>"', "it's", "{{idx}}", "&lt;", "ja ", "是", "\u202eab"]))  # fmt: skip
label_sets = st.lists(
    words.filter(lambda text: text.strip() and text != SKIP), min_size=2, max_size=4, unique=True
).map(tuple)


@settings(max_examples=150)
@given(
    label_sets,
    st.lists(
        words.filter(lambda name: name not in ("id", "label", "annotator", "annotation_id")), unique=True, max_size=3
    ),
    st.dictionaries(words, st.tuples(words, st.integers(0, 4)), min_size=1, max_size=5),
)
def test_every_label_of_every_item_comes_back_from_both_exports(tmp_path_factory, labels, columns, answers):
    """Any alphabet, quotes, markup, dollar signs and words that other programs take for numbers or truth values."""
    shown = {
        item: dict.fromkeys(columns[number % 2 :], text) for number, (item, (text, _)) in enumerate(answers.items())
    }
    folder = tmp_path_factory.mktemp("project")
    made = project(folder, list(answers), shown, labels)
    expected = []
    for task, (item, (_, code)) in zip(made.tasks, answers.items(), strict=True):
        assert list(made.shown(task)) == list(labels)
        if code < len(labels):
            made.annotate(task, labels[code], who=7)
            expected.append(Reply(item=item, code=code, annotator="7"))
    for kind in ("JSON", "JSON_MIN"):
        assert read_batch(made.export(folder / "export.json", kind), labels) == expected


@settings(max_examples=60)
@given(st.lists(words | st.text(max_size=6), unique=True, max_size=3), label_sets)
def test_the_configuration_is_well_formed_and_its_headings_are_the_columns(columns, labels):
    """What XML cannot hold is shown as a replacement character; a dollar sign is not the beginning of a variable."""
    columns = [column.encode("utf-8", "replace").decode() for column in columns]
    made = Project(config(columns, labels))
    headings = [text.replace("\N{WORD JOINER}", "") for text in made.headers({"data": {}})]
    legal_ones = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
    assert headings == [legal_ones.sub("\ufffd", column).replace("\N{WORD JOINER}", "") for column in columns]


@pytest.mark.parametrize("label", ["", "  ", "a\x00b", "\x1b[1m", "\ufffe"])
def test_a_label_that_no_file_can_hold_is_refused_before_anything_is_written(tmp_path, label):
    with pytest.raises(BadLabel) as caught:
        write_batch(tmp_path / "new", 1, ["u"], {}, ("no", label))
    assert str(caught.value).startswith(f"the label {label!r} cannot be written into a file to fill in: ")
    assert "--ask page" in str(caught.value)
    assert not (tmp_path / "new").exists()


# ---- several people ----


@KINDS
@pytest.mark.parametrize(
    ("said", "code"),
    [(["yes"], 1), (["yes", "yes"], 1), (["no", "no", "no"], 0), ([None, "yes"], 1), (["no", None, None], 0)],
)
def test_people_who_agree_give_one_label_and_a_label_outweighs_a_skip(tmp_path, kind, said, code):
    """Label Studio shows a task that one person skipped to others."""
    made = project(tmp_path, ["u"])
    for who, label in enumerate(said):
        made.annotate(made.tasks[0], label, who={"id": who, "email": f"{who}@lab", "first_name": "", "last_name": ""})
    (reply,) = read_batch(made.export(tmp_path / "export.json", kind), LABELS)
    assert (reply.item, reply.code) == ("u", code)
    assert reply.annotator in {f"{who}@lab" for who, label in enumerate(said) if label}


@KINDS
def test_people_who_differ_are_refused(tmp_path, kind):
    made = project(tmp_path, ["u", "v"])
    for who, label in enumerate(["yes", "no", "yes"]):
        made.annotate(made.tasks[1], label, who)
    path = made.export(tmp_path / "export.json", kind)
    with pytest.raises(BadTable) as caught:
        read_batch(path, LABELS)
    assert (
        str(caught.value) == f"{path} answers the item 'v' twice, and differently: decide, and leave one answer there"
    )


def test_a_task_that_everybody_skipped_is_a_skip_and_json_min_says_nothing_of_it(tmp_path):
    made = project(tmp_path, ["u", "v"])
    for who in (3, 4):
        made.annotate(made.tasks[0], None, who)
    assert read_batch(made.export(tmp_path / "export.json"), LABELS) == [Reply(item="u", code=None, annotator="4")]
    assert read_batch(made.export(tmp_path / "export.json", "JSON_MIN"), LABELS) == []


@KINDS
def test_a_choice_for_those_who_cannot_say_is_a_skip_in_either_export(tmp_path, kind):
    made = project(tmp_path, ["u"])
    ElementTree.SubElement(made.control, "Choice", value=SKIP)
    made.annotate(made.tasks[0], SKIP)
    assert read_batch(made.export(tmp_path / "export.json", kind), LABELS) == [
        Reply(item="u", code=None, annotator="1")
    ]


@pytest.mark.parametrize(
    ("who", "name"),
    [
        (10, "10"),
        ({"id": 1, "email": "ä@lab"}, "ä@lab"),
        ({"id": 1}, None),
        (None, None),
        ("", None),
        ("a\ud800", "a?"),
    ],
)
def test_who_labelled(tmp_path, who, name):
    made = project(tmp_path, ["u"])
    made.annotate(made.tasks[0], "yes", who)
    (tmp_path / "export.json").write_text(json.dumps(made.as_json()))
    assert read_batch(tmp_path / "export.json", LABELS) == [Reply(item="u", code=1, annotator=name)]


# ---- what else an export holds ----


@KINDS
def test_drafts_predictions_and_other_controls_are_no_labels(tmp_path, kind):
    """A lab may ask more than the protocol does, under other names."""
    made = project(tmp_path, ["u", "v", "w"])
    made.annotate(made.tasks[0], "yes", ground_truth=True)
    sharp = {"id": "q", "from_name": "sharp", "to_name": "text_id", "type": "choices", "value": {"choices": ["no"]}}
    made.tasks[0]["annotations"][0]["result"].insert(0, sharp)
    draft = {"id": 5, "user": "ann@lab", "result": [sharp | {"from_name": "label"}], "was_postponed": True}
    exported = made.as_json() if kind == "JSON" else made.as_json_min()
    if kind == "JSON":
        exported[1] |= {"drafts": [draft], "predictions": [286]}
        exported[2] |= {"drafts": [6], "predictions": [{"result": draft["result"], "score": 0.9, "model_version": "m"}]}
        exported[0]["annotations"][0]["result"].append({"type": "relation", "from_id": "q", "to_id": "Dx_aB91ISN"})
    (tmp_path / "export.json").write_text(json.dumps(exported))
    assert read_batch(tmp_path / "export.json", LABELS) == [Reply(item="u", code=1, annotator="1")]


def test_json_min_numbers_are_never_taken_for_items(tmp_path):
    """Its id is a number of Label Studio's, and may well be the id of another item."""
    made = project(tmp_path, ["3", "1", "2"])
    made.annotate(made.tasks[0], "yes")
    rows = made.as_json_min()
    assert [row["id"] for row in rows] == [1, 2, 3]
    (tmp_path / "export.json").write_text(json.dumps(rows))
    assert read_batch(tmp_path / "export.json", LABELS) == [Reply(item="3", code=1, annotator="1")]
    del rows[0]["item"]
    (tmp_path / "export.json").write_text(json.dumps(rows))
    with pytest.raises(
        BadTable, match="task 0 has no id in its data: import the tasks of a batch there, and export them as"
    ):
        read_batch(tmp_path / "export.json", LABELS)


@pytest.mark.parametrize(
    "said", [{}, {"label": {"choices": ["no", "yes"]}}, {"label": [{"choices": ["no"]}]}, {"label": None}]
)
def test_a_row_of_json_min_that_is_not_one_choice_is_refused(tmp_path, said):
    row = {"id": 1, "item": "u", "annotator": 1, "annotation_id": 7, "lead_time": 4.288}
    (tmp_path / "export.json").write_text(json.dumps([row | said]))
    with pytest.raises(BadLabel, match="the annotation of the item 'u' is not a single choice under the name label"):
        read_batch(tmp_path / "export.json", LABELS)


def test_spaces_that_belong_to_a_label_are_kept_by_a_spreadsheet_too(tmp_path):
    (tmp_path / "batch.csv").write_text("id,label\nu,ja \nv, nein \n")
    assert read_batch(tmp_path / "batch.csv", ("ja ", "nein")) == [Reply(item="u", code=0), Reply(item="v", code=1)]


def test_its_csv_export_is_not_taken_for_a_batch(tmp_path):
    (tmp_path / "export.csv").write_text('"annotation_id","annotator","id","item","label"\n7,1,1,"3","yes"\n')
    with pytest.raises(
        BadTable, match="is a CSV export of Label Studio, whose ids may be its own: export as JSON or JSON-MIN"
    ):
        read_batch(tmp_path / "export.csv", LABELS)


def test_the_name_of_the_file_may_be_in_capitals(tmp_path):
    made = project(tmp_path, ["u"])
    made.annotate(made.tasks[0], "no")
    assert read_batch(made.export(tmp_path / "EXPORT.JSON"), LABELS) == [Reply(item="u", code=0, annotator="1")]


leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["u", "yes", "?", "choices", "\ud800"])
)
keys = ["data", "id", "item", "label", "annotations", "annotator", "annotation_id", "result", "value", "choices",
        "from_name", "completed_by", "was_cancelled"]  # fmt: skip
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(keys), inner, max_size=5),
    max_leaves=12,
)
rows = st.lists(
    st.fixed_dictionaries({}, optional={"item": leaves, "label": values, "annotation_id": leaves, "annotator": values})
    | st.fixed_dictionaries({"data": st.just({"item": "u"}), "annotations": values}),
    max_size=3,
)


@settings(max_examples=200)
@given(values | rows)
def test_no_export_gives_anything_but_answers_or_one_sentence(tmp_path_factory, tasks):
    path = tmp_path_factory.getbasetemp() / "fuzz.json"
    path.write_text(json.dumps(tasks))
    try:
        found = read_batch(path, LABELS)
    except ReplicalError as error:
        assert str(path) in str(error)
        assert "\n" not in str(error)
    else:
        assert all(reply.code in (None, 0, 1) for reply in found)
        assert all((reply.annotator or "").encode() is not None for reply in found)


# ---- the whole way, by commands ----


@pytest.fixture
def lab(tmp_path, monkeypatch, capsys):
    """A lab whose items are numbered as Label Studio numbers its tasks, from 1, but in another order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(journal_module.secrets, "token_hex", lambda size: private("label studio"))
    columns = world(seed=5, items=150)
    columns["id"] = [str(number) for number in range(150, 0, -1)]
    columns["$price"] = [f"{number} $id & <b>" for number in range(150)]
    with (tmp_path / "pool.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    (tmp_path / "p.toml").write_text(Protocol.of(content(batch=5)).toml())

    class Lab:
        folder, truth = tmp_path, dict(zip(columns["id"], columns["truth"], strict=True))

        def run(self, *words, code, name="lab"):
            found = main(["run", "p.toml", "--pool", "pool.csv", "--journal", f"{name}.db", "--out", f"{name}.json", "--truths",
                          "0", "--json", *words])  # fmt: skip
            out, err = capsys.readouterr()
            assert found in code, out + err
            return json.loads(out)

        def by_file(self, *words, code=(0, 3), **where):
            return self.run("--ask", "file", "--show", "text,$price", *words, code=code, **where)

        def project(self, name="lab"):
            return Project((tmp_path / f"{name}.batches/label-studio.xml").read_text(encoding="utf-8"))

        def history(self):
            main(["export", "lab.db"])
            return capsys.readouterr().out

    return Lab()


@KINDS
def test_labels_by_label_studio_give_the_result_of_labels_from_a_column(lab, kind):
    """One project from the first batch to the last: every export holds the earlier batches too."""
    whole = lab.run("--labels", "pool.csv:truth", code=[0], name="whole")
    told = lab.by_file()
    made = lab.project()
    for _ in range(60):
        if told["status"] == "done":
            break
        made.load(lab.folder / told["batch"].replace(".csv", ".json"))
        unlabelled = [task for task in made.tasks if not task["annotations"]]
        assert len(unlabelled) == told["pending"]
        for task in reversed(unlabelled):
            made.annotate(task, lab.truth[task["data"]["item"]], who={"id": 1, "email": "ann@lab"})
        made.export(lab.folder / "export.json", kind)
        told = lab.by_file("--answers", "export.json")
    assert told["status"] == "done"
    assert told["hypothesis"] == whole["hypothesis"]
    assert read(lab.folder / "lab.json")["body"] == read(lab.folder / "whole.json")["body"]
    assert lab.history().count("ann@lab") == whole["labels"]["answered"] == len(made.tasks)
    assert main(["verify", "lab.json", "--pool", "pool.csv", "--journal", "lab.db"]) == 0


def test_half_an_export_a_skip_and_the_same_export_again(lab):
    told = lab.by_file()
    made = lab.project()
    made.load(lab.folder / "lab.batches/batch-0001.json")
    made.annotate(made.tasks[0], None)
    made.annotate(made.tasks[1], lab.truth[made.tasks[1]["data"]["item"]])
    made.export(lab.folder / "export.json")
    for _ in range(2):
        told = lab.by_file("--answers", "export.json", code=[3])
        assert (told["labels"]["answered"], told["labels"]["skipped"], told["pending"]) == (1, 1, 4)
    made.annotate(made.tasks[0], "yes", who=2)  # too late: another item has taken its place
    made.export(lab.folder / "export.json")
    assert lab.by_file("--answers", "export.json", code=[3])["labels"] == told["labels"]


def spoil_unknown(tasks):
    tasks[1]["annotations"][0]["result"][0]["value"]["choices"] = ["Yes"]


def spoil_several(tasks):
    tasks[1]["annotations"][0]["result"][0]["value"]["choices"] = ["no", "yes"]


def spoil_nested(tasks):
    tasks[1]["annotations"][0]["result"][0]["value"]["choices"] = [["no"]]


def spoil_truth(tasks):
    tasks[1]["annotations"][0]["result"][0]["value"]["choices"] = [True]


def spoil_empty(tasks):
    tasks[1]["annotations"][0]["result"] = []


def spoil_name(tasks):
    tasks[1]["annotations"][0]["result"][0]["from_name"] = "sentiment"


def spoil_stranger(tasks):
    tasks[0]["data"] = {"id": "nobody", "item": "nobody"}


def spoil_foreign(tasks):
    tasks[0]["data"] = {"image": "https://example.com/1.jpg"}


SINGLE = "the annotation of the item {1!r} is not a single choice under the name label: label it with the configuration of the batch"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_unknown, "the label of the item {1!r} in export.json is 'Yes', which is none of ['no', 'yes']"),
        (spoil_several, SINGLE),
        (spoil_nested, SINGLE),
        (spoil_truth, SINGLE),
        (spoil_empty, SINGLE),
        (spoil_name, SINGLE),
        (spoil_stranger, "export.json answers the item 'nobody', which was never asked for"),
        (spoil_foreign, "export.json: task 0 has no id in its data: import the tasks of a batch there"),
        (lambda tasks: tasks[0], "export.json is no Label Studio export: it should be a list of tasks, so export the project"),
        (lambda tasks: "[" * 200_000, "export.json is not valid JSON (maximum recursion depth exceeded"),
        (lambda tasks: json.dumps(tasks)[:-9], "export.json is not valid JSON ("),
    ],
)  # fmt: skip
def test_a_bad_export_is_one_sentence_and_nothing_is_lost(lab, spoil, message):
    before = lab.by_file(code=[3])
    made = lab.project()
    made.load(lab.folder / before["batch"].replace(".csv", ".json"))
    items = [task["data"]["item"] for task in made.tasks]
    for task in made.tasks:
        made.annotate(task, lab.truth[task["data"]["item"]])
    good = json.dumps(made.as_json())
    tasks = json.loads(good)
    bad = spoil(tasks)
    text = bad if isinstance(bad, str) else json.dumps(tasks if bad is None else bad)
    (lab.folder / "export.json").write_text(text)
    told = lab.by_file("--answers", "export.json", code=[2])
    assert message.format(*items) in told["message"]
    assert "\n" not in told["message"]
    assert lab.by_file(code=[3]) == before
    (lab.folder / "export.json").write_text(good)
    assert lab.by_file("--answers", "export.json", code=[3])["labels"]["answered"] == 5

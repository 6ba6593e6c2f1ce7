"""Batches go out blind and come back whole: CSV for spreadsheets, tasks for Label Studio."""

import csv
import json
from xml.etree import ElementTree

import pytest

from replical.errors import BadLabel, BadTable, ReplicalError
from replical.lab.sessions.batches import read_batch
from replical.lab.sessions.label_studio import SKIP, Reply
from support.batches import LABELS, chose, export, fill, items_of, written
from support.label_studio import KINDS, project

ITEMS = ["u", "v", "w"]
SHOWN = {
    "u": {"text": "one, two", "age": "41"},
    "v": {"text": 'say "ä"', "age": ""},
    "w": {"text": "two\nlines", "age": "7"},
}


def refused(path, labels=LABELS):
    with pytest.raises(ReplicalError) as caught:
        read_batch(path, labels)
    assert str(path) in str(caught.value)
    return str(caught.value)


# ---- going out ----


def test_a_batch_is_a_table_to_fill_in_and_a_list_of_tasks(tmp_path):
    path = written(tmp_path / "new" / "folder", 3, ITEMS, SHOWN, LABELS)
    assert path.name == "batch-0003.csv"
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "batch-0003.csv",
        "batch-0003.json",
        "label-studio.xml",
    ]
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows == [{"id": item, **SHOWN[item], "label": ""} for item in ITEMS]
    tasks = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert tasks == [
        {"data": {"id": item, "item": item, "show_0": SHOWN[item]["text"], "show_1": SHOWN[item]["age"]}}
        for item in ITEMS
    ]


def test_a_batch_is_never_overwritten(tmp_path):
    """Somebody may be filling it in."""
    path = written(tmp_path, 1, ["u"], {}, LABELS)
    fill(path, {"u": "yes"})
    with pytest.raises(BadTable, match=r"cannot write the batch .*batch-0001.csv: File exists"):
        written(tmp_path, 1, ["v"], {}, LABELS)
    assert read_batch(path, LABELS) == [Reply(item="u", code=1)]
    (tmp_path / "file").write_text("")
    with pytest.raises(BadTable, match="cannot write the batch"):
        written(tmp_path / "file", 1, ["v"], {}, LABELS)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("x")'])
def test_cells_that_a_spreadsheet_would_run_are_defused(tmp_path, cell):
    path = written(tmp_path, 1, ["u"], {"u": {"text": cell, "more": f"x{cell}"}}, LABELS)
    with path.open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["text"] == f"'{cell}"
    assert row["more"] == f"x{cell}"
    assert (
        json.loads(path.with_suffix(".json").read_text())[0]["data"]["show_0"] == cell
    )  # no spreadsheet runs this one


def test_a_batch_tells_which_items_it_asks_about(tmp_path):
    path = written(tmp_path, 1, ITEMS, SHOWN, LABELS)
    assert items_of(path) == set(ITEMS)
    fill(path, {"u": "yes"})
    assert items_of(path) == set(ITEMS)
    with pytest.raises(BadTable, match=r"cannot read the batch .*nowhere.csv"):
        items_of(tmp_path / "nowhere.csv")


# ---- coming back ----


def test_answers_in_a_csv_file(tmp_path):
    path = fill(written(tmp_path, 1, ITEMS, SHOWN, LABELS), {"u": "yes", "w": " no "})
    assert read_batch(path, LABELS) == [Reply(item="u", code=1), Reply(item="w", code=0)]
    fill(path, {"v": SKIP}, annotator="Ann")
    assert read_batch(path, LABELS) == [Reply(item="v", code=None, annotator="Ann")]


@pytest.mark.parametrize(
    ("annotations", "reply"),
    [
        ([{"was_cancelled": True}], Reply(item="v", code=None)),
        (None, None),
    ],
)
def test_variants_of_an_export(tmp_path, annotations, reply):
    """A cancelled annotation that says nothing else, and a task without a list of them."""
    path = written(tmp_path, 1, ["v"], SHOWN, LABELS)
    assert read_batch(export(path, {"v": annotations}), LABELS) == ([] if reply is None else [reply])


def test_numbers_are_labels_in_either_form(tmp_path):
    path = fill(written(tmp_path, 1, ["5"], {}, (0, 1)), {"5": "1"})
    assert read_batch(path, (0, 1)) == [Reply(item="5", code=1)]
    tasks = [{"data": {"id": 5}, "annotations": [chose("1")]}, {"data": {"id": "6"}, "annotations": [chose(0)]}]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    assert read_batch(tmp_path / "export.json", (0, 1)) == [Reply(item="5", code=1), Reply(item="6", code=0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,label\nu,maybe\n", "the label of the item 'u' in"),
        ("id,label\nu,yes\nu,no\n", "answers the item 'u' twice, and differently"),
        ("id,label\nu,yes\nu,?\n", "answers the item 'u' twice, and differently"),
        ("id,label\n,yes\n", "a row has no id"),
        ("id,answer\nu,yes\n", "needs the columns id and label, but begins with 'id,answer': give it its first line back"),
        ("id|label\nu|yes\n", "needs the columns id and label, but begins with 'id|label'"),
        ('id;"label\nu;yes\n', "needs the columns id and label"),
        ("item,label\nu,yes\n", "needs the columns id and label"),
        ("", "needs the columns id and label"),
        ('id,label\n"u,yes\n', "is no CSV file"),
        ('id,label\n"u"x,yes\n', "is no CSV file"),
        ('id;label\n"u"x;yes\n', "is no CSV file"),
        ("id;label;annotation_id\nu;yes;1\n", "is a CSV export of Label Studio, whose ids may be its own: export as JSON or JSON-MIN"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_csv_file_is_named(tmp_path, text, message):
    path = tmp_path / "batch.csv"
    path.write_text(text)
    assert message in refused(path)


def test_a_spreadsheet_may_leave_its_marks(tmp_path):
    path = tmp_path / "batch.csv"
    path.write_bytes(b"\xef\xbb\xbfid,text,label,\r\nu,hm,yes,\r\nv,,,\r\nw\r\n")
    assert read_batch(path, LABELS) == [Reply(item="u", code=1)]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_spreadsheet_may_separate_otherwise(tmp_path, separator):
    """Where the comma is the decimal point, a spreadsheet saves "CSV" with semicolons."""
    path = tmp_path / "batch-0001.csv"
    rows = [["id", "text, with a comma", "label", "annotator"], ["u", "1,5", "yes", "Ann"], ["v", "a;b\tc", "", ""]]
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    assert items_of(path) == {"u", "v"}
    assert read_batch(path, LABELS) == [Reply(item="u", code=1, annotator="Ann")]


def test_a_batch_without_its_columns_is_not_passed_over(tmp_path):
    path = tmp_path / "batch-0001.csv"
    path.write_text("item,label\nu,yes\n")
    with pytest.raises(BadTable, match=r"batch-0001.csv needs the columns id and label"):
        items_of(path)
    path.write_text("id,label\n")
    assert items_of(path) == set()
    assert read_batch(path, LABELS) == []


def test_files_that_cannot_be_read_are_named(tmp_path):
    assert "cannot read the answers" in refused(tmp_path / "nowhere.csv")
    assert "cannot read the answers" in refused(tmp_path)
    (tmp_path / "latin.csv").write_bytes("id,label\nü,yes\n".encode("latin-1"))
    assert "latin.csv: it is not UTF-8 text; if it is the right file, save it so" in refused(tmp_path / "latin.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("1" * 5000, "is not valid JSON"),
        ("{}", "it should be a list of tasks"),
        ("[1]", "it should be a list of tasks"),
        ("[{}]", "task 0 has no id in its data"),
        ('[{"data": {"id": true}}]', "task 0 has no id in its data"),
        ('[{"data": {"id": "u"}}, {"data": {"id": null}}]', "task 1 has no id in its data"),
        ('[{"data": ["u"]}]', "task 0 has no id in its data"),
        ('[{"data": {"id": "u"}, "annotations": 5}]', "the annotations of the item 'u' are no list"),
        ('[{"data": {"id": "u"}, "annotations": [5]}]', "an annotation of the item 'u' is damaged"),
        ('[{"data": {"id": "u"}, "annotations": [{}]}]', "the annotation of the item 'u' is not a single choice"),
        ('[{"data": {"id": "u"}, "annotations": [{"result": [{"value": {"choices": []}}]}]}]', "not a single choice"),
        ('[{"data": {"id": "u"}, "annotations": [{"result": [{"value": {"choices": ["no", "yes"]}}]}]}]', "not a single choice"),
        ('[{"data": {"id": "u"}, "annotations": [{"result": [{"value": {"choices": ["maybe"]}}]}]}]', "is 'maybe', which is none of"),
        ('[{"data": {"id": "u"}, "annotations": [{"result": [{"value": {"choices": ["no"]}}, {"value": {"choices": ["no"]}}]}]}]',
         "not a single choice"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_export_is_named(tmp_path, text, message):
    path = tmp_path / "export.json"
    path.write_text(text)
    assert message in refused(path)


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_line_separators_in_a_text_do_not_swallow_its_label(tmp_path, mark):
    path = written(tmp_path, 1, ["u", "v"], {"u": {"text": f"one{mark}two"}, "v": {"text": "x"}}, LABELS)
    path.write_bytes(path.read_bytes().replace(b"two,", b"two,yes").replace(b"v,x,", b"v,x,no"))
    assert read_batch(path, LABELS) == [Reply(item="u", code=1), Reply(item="v", code=0)]


def test_ids_that_a_spreadsheet_would_run_are_defused_and_read_back(tmp_path):
    items = ["=1+1", "-5", "\rx", "'=2", "''=2", "'plain"]
    path = written(tmp_path, 1, items, {}, LABELS)
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert not any(row[0].startswith(("=", "-", "\r")) for row in rows)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *([row[0], "yes"] for row in rows)])
    assert [reply.item for reply in read_batch(path, LABELS)] == items


@pytest.mark.parametrize("column", ["id", "label", "annotator"])
def test_columns_of_a_batch_are_not_shown_twice(tmp_path, column):
    with pytest.raises(BadTable, match=f"a batch has a column '{column}' of its own"):
        written(tmp_path, 1, ["u"], {"u": {column: "x"}}, LABELS)


# ---- Label Studio ----


@pytest.mark.parametrize("label", ["", "  ", "a\x00b", "\x1b[1m", "\ufffe"])
def test_a_label_that_no_file_can_hold_is_refused_before_anything_is_written(tmp_path, label):
    with pytest.raises(BadLabel) as caught:
        written(tmp_path / "new", 1, ["u"], {}, ("no", label))
    assert str(caught.value).startswith(f"the label {label!r} cannot be written into a file to fill in: ")
    assert "--ask page" in str(caught.value)
    assert not (tmp_path / "new").exists()


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
    exported = made.export(tmp_path / "EXPORT.JSON", kind)  # some programs write names in capitals
    assert read_batch(exported, LABELS) == [Reply(item="u", code=None, annotator="1")]


@pytest.mark.parametrize(
    ("who", "name"),
    [
        (10, "10"),
        ({"id": 1, "email": "ä@lab"}, "ä@lab"),
        ({"id": 1}, None),
        ({"email": 5}, "5"),
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

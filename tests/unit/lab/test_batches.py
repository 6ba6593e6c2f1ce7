"""Batches go out blind and come back whole: CSV for spreadsheets, tasks for Label Studio."""

import csv
import json
from xml.etree import ElementTree

import pytest

from replical.errors import BadLabel, BadTable, ReplicalError
from replical.lab.sessions.batches import SKIP, Reply, config, items_of, read_batch, write_batch
from support.batches import LABELS, chose, export, fill

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
    path = write_batch(tmp_path / "new" / "folder", 3, ITEMS, SHOWN, LABELS)
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


def test_nothing_but_what_the_lab_chose_to_show_leaves_the_house(tmp_path):
    """No predictions, no labels given before: an annotator who sees them is no longer blind."""
    path = write_batch(tmp_path, 1, ["u"], {"u": {"text": "plain"}, "v": {"text": "another item"}}, LABELS)
    everything = path.read_text() + path.with_suffix(".json").read_text()
    assert path.read_text().splitlines() == ["id,text,label", "u,plain,"]
    assert not any(label in everything for label in LABELS)
    assert "predictions" not in everything
    assert "another item" not in everything


def test_a_batch_is_never_overwritten(tmp_path):
    """Somebody may be filling it in."""
    path = write_batch(tmp_path, 1, ["u"], {}, LABELS)
    fill(path, {"u": "yes"})
    with pytest.raises(BadTable, match=r"cannot write the batch .*batch-0001.csv: File exists"):
        write_batch(tmp_path, 1, ["v"], {}, LABELS)
    assert read_batch(path, LABELS) == [Reply(item="u", code=1)]
    (tmp_path / "file").write_text("")
    with pytest.raises(BadTable, match="cannot write the batch"):
        write_batch(tmp_path / "file", 1, ["v"], {}, LABELS)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("x")'])
def test_cells_that_a_spreadsheet_would_run_are_defused(tmp_path, cell):
    path = write_batch(tmp_path, 1, ["u"], {"u": {"text": cell, "more": f"x{cell}"}}, LABELS)
    with path.open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["text"] == f"'{cell}"
    assert row["more"] == f"x{cell}"
    assert (
        json.loads(path.with_suffix(".json").read_text())[0]["data"]["show_0"] == cell
    )  # no spreadsheet runs this one


def test_the_labelling_config_offers_every_label_and_shows_every_column(tmp_path):
    """Columns may be called anything: the tasks name them by number, the config says what they are."""
    columns, labels = ['a"b', "<c> & 'd'"], ("yes & no", '"<x>"', "it's")
    view = ElementTree.fromstring(config(columns, labels))
    assert [each.get("value") for each in view.iter("Header")] == columns
    assert [each.get("value") for each in view.iter("Text")] == ["$show_0", "$show_1"]
    (choices,) = view.iter("Choices")
    assert choices.get("toName") == next(view.iter("Text")).get("name")
    assert [each.get("value") for each in choices] == list(labels)
    assert ElementTree.fromstring(config([], (0, 1))).find("Text").get("value") == "$id"
    assert [each.get("value") for each in ElementTree.fromstring(config([], (0, 1))).iter("Choice")] == ["0", "1"]
    path = write_batch(tmp_path, 1, ["u"], {"u": dict.fromkeys(columns, "x")}, LABELS)
    assert path.with_name("label-studio.xml").read_text() == config(columns, LABELS)
    shown = {f"${name}" for name in json.loads(path.with_suffix(".json").read_text())[0]["data"]}
    assert {"$show_0", "$show_1"} <= shown


def test_a_batch_tells_which_items_it_asks_about(tmp_path):
    path = write_batch(tmp_path, 1, ITEMS, SHOWN, LABELS)
    assert items_of(path) == set(ITEMS)
    fill(path, {"u": "yes"})
    assert items_of(path) == set(ITEMS)
    with pytest.raises(BadTable, match=r"cannot read the batch .*nowhere.csv"):
        items_of(tmp_path / "nowhere.csv")


# ---- coming back ----


def test_answers_in_a_csv_file(tmp_path):
    path = fill(write_batch(tmp_path, 1, ITEMS, SHOWN, LABELS), {"u": "yes", "w": " no "})
    assert read_batch(path, LABELS) == [Reply(item="u", code=1), Reply(item="w", code=0)]
    fill(path, {"v": SKIP}, annotator="Ann")
    assert read_batch(path, LABELS) == [Reply(item="v", code=None, annotator="Ann")]


def test_an_untouched_batch_answers_nothing(tmp_path):
    path = write_batch(tmp_path, 1, ITEMS, SHOWN, LABELS)
    assert read_batch(path, LABELS) == []
    assert read_batch(path.with_suffix(".json"), LABELS) == []


def test_answers_in_a_label_studio_export(tmp_path):
    path = write_batch(tmp_path, 1, ITEMS, SHOWN, LABELS)
    found = read_batch(export(path, {"u": [chose("yes", who=3)], "w": [chose("no", who={"email": "ann@lab"})]}), LABELS)
    assert found == [Reply(item="u", code=1, annotator="3"), Reply(item="w", code=0, annotator="ann@lab")]


@pytest.mark.parametrize(
    ("annotations", "reply"),
    [
        ([chose("yes")], Reply(item="v", code=1)),
        ([chose("yes"), chose("yes", who=4)], Reply(item="v", code=1, annotator="4")),
        ([{"was_cancelled": True, "result": [], "completed_by": 5}], Reply(item="v", code=None, annotator="5")),
        ([{"was_cancelled": True}], Reply(item="v", code=None)),
        ([chose("yes", who={"id": 5})], Reply(item="v", code=1)),
        ([], None),
        (None, None),
    ],
)
def test_variants_of_an_export(tmp_path, annotations, reply):
    """Several people, cancelled annotations, and tasks that nobody opened."""
    path = write_batch(tmp_path, 1, ["v"], SHOWN, LABELS)
    assert read_batch(export(path, {"v": annotations}), LABELS) == ([] if reply is None else [reply])


def test_other_parts_of_an_annotation_do_not_count(tmp_path):
    """A comment beside the choice is no choice."""
    path = write_batch(tmp_path, 1, ["v"], SHOWN, LABELS)
    annotation = chose("no")
    annotation["result"].insert(0, {"from_name": "comment", "type": "textarea", "value": {"text": ["hm"]}})
    assert read_batch(export(path, {"v": [annotation]}), LABELS) == [Reply(item="v", code=0)]


def test_numbers_are_labels_in_either_form(tmp_path):
    path = fill(write_batch(tmp_path, 1, ["5"], {}, (0, 1)), {"5": "1"})
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
        (
            "id,answer\nu,yes\n",
            "needs the columns id and label, but begins with 'id,answer': give it its first line back",
        ),
        ("id|label\nu|yes\n", "needs the columns id and label, but begins with 'id|label'"),
        ('id;"label\nu;yes\n', "needs the columns id and label"),
        ("item,label\nu,yes\n", "needs the columns id and label"),
        ("", "needs the columns id and label"),
        ('id,label\n"u,yes\n', "is no CSV file"),
        ('id,label\n"u"x,yes\n', "is no CSV file"),
        ('id;label\n"u"x;yes\n', "is no CSV file"),
        ("id;label;annotation_id\nu;yes;1\n", "is a CSV export of Label Studio"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_named(tmp_path, text, message):
    path = tmp_path / "batch.csv"
    path.write_text(text)
    assert message in refused(path)


def test_the_same_answer_twice_is_one_answer(tmp_path):
    (tmp_path / "batch.csv").write_text("id,label\nu,yes\nu,yes\n")
    assert read_batch(tmp_path / "batch.csv", LABELS) == [Reply(item="u", code=1)]


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
    assert "latin.csv: it is not UTF-8 text, so save it as CSV UTF-8" in refused(tmp_path / "latin.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not valid JSON"),
        ("[", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("{}", "it should be a list of tasks"),
        ("[1]", "it should be a list of tasks"),
        ("[{}]", "task 0 has no id in its data"),
        ('[{"data": {"id": true}}]', "task 0 has no id in its data"),
        ('[{"data": {"id": "u"}}, {"data": {"id": null}}]', "task 1 has no id in its data"),
        ('[{"data": ["u"]}]', "task 0 has no id in its data"),
        ('[{"data": {"id": "u"}, "annotations": [5]}]', "an annotation of the item 'u' is damaged"),
        ('[{"data": {"id": "u"}, "annotations": [{}]}]', "the annotation of the item 'u' is not a single choice"),
        ('[{"data": {"id": "u"}, "annotations": [{"result": []}]}]', "not a single choice"),
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


def test_people_who_contradict_each_other_are_named(tmp_path):
    """Which of them is right is for the lab to say, not for the order of an export."""
    path = write_batch(tmp_path, 1, ["v"], SHOWN, LABELS)
    assert "answers the item 'v' twice, and differently" in refused(export(path, {"v": [chose("yes"), chose("no")]}))
    with pytest.raises(BadLabel):
        read_batch(export(path, {"v": [chose("Yes")]}), LABELS)


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_line_separators_in_a_text_do_not_swallow_its_label(tmp_path, mark):
    path = write_batch(tmp_path, 1, ["u", "v"], {"u": {"text": f"one{mark}two"}, "v": {"text": "x"}}, LABELS)
    path.write_bytes(path.read_bytes().replace(b"two,", b"two,yes").replace(b"v,x,", b"v,x,no"))
    assert read_batch(path, LABELS) == [Reply(item="u", code=1), Reply(item="v", code=0)]


def test_ids_that_a_spreadsheet_would_run_are_defused_and_read_back(tmp_path):
    items = ["=1+1", "-5", "\rx", "'=2", "''=2", "'plain"]
    path = write_batch(tmp_path, 1, items, {}, LABELS)
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert not any(row[0].startswith(("=", "-", "\r")) for row in rows)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *([row[0], "yes"] for row in rows)])
    assert [reply.item for reply in read_batch(path, LABELS)] == items


@pytest.mark.parametrize("column", ["id", "label", "annotator"])
def test_columns_of_a_batch_are_not_shown_twice(tmp_path, column):
    with pytest.raises(BadTable, match=f"a batch has a column '{column}' of its own"):
        write_batch(tmp_path, 1, ["u"], {"u": {column: "x"}}, LABELS)


def test_an_annotator_is_a_text(tmp_path):
    annotation = {"completed_by": {"email": 5}, "result": [{"value": {"choices": ["no"]}}]}
    (tmp_path / "export.json").write_text(json.dumps([{"data": {"id": "u"}, "annotations": [annotation]}]))
    assert read_batch(tmp_path / "export.json", LABELS) == [Reply(item="u", code=0, annotator="5")]

"""Exports of Label Studio: what counts as an answer, whose answer it is, and what is refused."""

import json
from xml.etree import ElementTree

import pytest

from replical.errors import BadLabel, BadTable
from replical.lab.sessions.batches import SKIP, Reply, read_batch, write_batch
from support.label_studio import KINDS, LABELS, project


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

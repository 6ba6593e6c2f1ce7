"""Damaged exports of Label Studio: answers or one sentence, never a traceback."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from replical.errors import ReplicalError
from replical.lab.sessions.batches import read_batch
from support.label_studio import LABELS

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

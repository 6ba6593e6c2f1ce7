"""To Label Studio and back: whatever labels and columns are called, every label of every item comes back."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from replical.lab.sessions.batches import SKIP, Reply, config, read_batch
from support.label_studio import Project, project

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

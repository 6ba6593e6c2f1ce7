"""Whatever labels, columns and answers are called, a batch goes out well-formed and comes back whole."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from replical.lab.sessions.batches import read_batch
from replical.lab.sessions.label_studio import SKIP, Reply, template
from support.batches import LABELS, chose, export, fill, written
from support.label_studio import Project, project

# ---- whatever is in it ----
ids = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=8).filter(
    lambda text: text == text.strip("\ufeff")
)
shown_texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], include_characters="\n\t"), max_size=12
)
answers = st.sampled_from([None, "no", "yes", SKIP])


@settings(max_examples=60)
@given(st.dictionaries(ids, st.tuples(shown_texts, answers), min_size=1, max_size=6))
def test_whatever_is_filled_in_comes_back(tmp_path_factory, items):
    """Commas, quotes, line breaks and every alphabet, by spreadsheet and by Label Studio alike."""
    folder = tmp_path_factory.mktemp("batch")
    path = written(folder, 1, list(items), {item: {"text": text} for item, (text, _) in items.items()}, LABELS)
    given_answers = {item: said for item, (_, said) in items.items() if said is not None}
    expected = [
        Reply(item=item, code=None if said == SKIP else LABELS.index(said)) for item, said in given_answers.items()
    ]
    annotations = {
        item: [{"was_cancelled": True} if said == SKIP else chose(said)] for item, said in given_answers.items()
    }
    assert read_batch(export(path, annotations), LABELS) == expected
    assert read_batch(fill(path, given_answers), LABELS) == expected


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
    made = Project(template(columns, labels))
    headings = [text.replace("\N{WORD JOINER}", "") for text in made.headers({"data": {}})]
    legal_ones = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
    assert headings == [legal_ones.sub("\ufffd", column).replace("\N{WORD JOINER}", "") for column in columns]

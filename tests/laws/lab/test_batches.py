"""Whatever labels, columns and answers are called, a batch goes out well-formed and comes back whole."""

from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from replical.lab.sessions.batches import SKIP, Reply, config, read_batch, write_batch
from support.batches import LABELS, chose, export, fill

texts = st.text(st.characters(exclude_categories=["Cc", "Cn", "Cs"]), min_size=1, max_size=6)


@settings(max_examples=50)
@given(st.lists(texts, max_size=3), st.lists(texts, min_size=2, max_size=4, unique=True))
def test_the_labelling_config_is_well_formed_whatever_labels_are_called(columns, labels):
    view = ElementTree.fromstring(config(columns, labels))
    assert [each.get("value") for each in view.iter("Choice")] == labels


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
    path = write_batch(folder, 1, list(items), {item: {"text": text} for item, (text, _) in items.items()}, LABELS)
    given_answers = {item: said for item, (_, said) in items.items() if said is not None}
    expected = [
        Reply(item=item, code=None if said == SKIP else LABELS.index(said)) for item, said in given_answers.items()
    ]
    annotations = {
        item: [{"was_cancelled": True} if said == SKIP else chose(said)] for item, said in given_answers.items()
    }
    assert read_batch(export(path, annotations), LABELS) == expected
    assert read_batch(fill(path, given_answers), LABELS) == expected

"""A public sample makes an order; what is wrong with it, or with a pool that holds some of it, is one sentence."""

import numpy as np
import pytest

from replical.classes.catalogue import recipe
from replical.errors import ReplicalError
from replical.lab.protocol import Protocol
from replical.lab.public import check_apart, read_public
from replical.lab.tables import read_pool
from support.lab import content
from support.protocols import SECTIONS

pytest.importorskip("pyarrow")
NAMES = ("m0", "m1", "m2")
MODELS = Protocol.of(content(candidates=3)).recipe
SAMPLE = {
    "id": ["p1", "p2", "p3"],
    "label": ["yes", "no", "yes"],
    "m0": ["no", "yes", "yes"],  # two errors
    "m1": ["yes", "no", "yes"],  # none
    "m2": ["yes", "yes", "no"],  # two
}


def published(**changes):
    """A protocol whose order was made from the sample."""
    said = content(candidates=3, **changes)
    return Protocol.of(said | {"handicap": {"from": "order"} | read_public(SAMPLE, "label", MODELS).section})


def test_a_sample_makes_an_order():
    sample = read_public(SAMPLE, "label", MODELS)
    assert (len(sample), sample.errors.tolist(), sample.section["order"]) == (3, [2, 0, 2], [1, 0, 2])
    assert sample.section["public"] == read_pool(SAMPLE, MODELS).fingerprint
    assert sample.section["public_items"] == 3
    protocol = published()
    assert protocol.public == sample.section["public"]
    assert protocol.prior.order_of(protocol.shared, "order", n=3).tolist() == [1, 0, 2]


@pytest.mark.parametrize("kind", ["thresholds", "intervals", "stumps", "boxes", "halfspaces", "star"])
def test_every_class_has_errors_on_a_sample(kind):
    """Counted one prediction at a time; hypotheses without names stay in their order where errors are equal."""
    generator = np.random.default_rng(5)
    table = {"id": list(range(30)), "dose": generator.uniform(0, 10, 30), "age": generator.uniform(20, 60, 30)}
    table |= {"cell": generator.integers(4, size=30), "label": generator.choice(["no", "yes"], 30)}
    made = recipe(SECTIONS[kind], ("no", "yes"), "seed")
    sample = read_public(table, "label", made)
    truth = [list(table["label"])[int(each)] for each in sample.items.ids]
    said = made.C.codes(sample.items.items, np.arange(len(made.C)))
    wrong = [sum(("no", "yes")[code] != label for code, label in zip(row, truth, strict=True)) for row in said]
    assert sample.errors.tolist() == wrong
    assert sample.section["order"] == sorted(range(len(made.C)), key=lambda h: (wrong[h], h))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": ["yes", None, "no"]}, "the dict has no label for the item 'p2' in the column 'label': label it, or take"),
        ({"label": ["yes", "", "no"]}, "the dict has no label for the item 'p2' in the column 'label'"),
        ({"label": ["yes", "maybe", "no"]}, "the label of the item 'p2' in the dict is 'maybe', which is none of ['no', 'yes']"),
        ({"label": None}, "the dict has no column 'label'; it has id, m0, m1, m2"),
        ({"m1": None}, "the dict has no column 'm1'; it has id, label, m0, m2"),
        ({"id": None}, "the dict has no column 'id'"),
        ({"id": ["p1", "p2", "p1"]}, "has the id 'p1' twice, in rows 1 and 3: every item has an id of its own"),
        ({"m1": ["yes", "no", "perhaps"]}, "item 'p3': a prediction of 'm1' is 'perhaps'"),
        ({name: [] for name in SAMPLE}, "the dict holds no items: write one row an item"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_sample_is_named(changes, message):
    table = {name: column for name, column in (SAMPLE | changes).items() if column is not None}
    with pytest.raises(ReplicalError) as caught:
        read_public(table, "label", MODELS)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_predictions_are_not_the_labels():
    with pytest.raises(ReplicalError, match="'m1' is a candidate, not the labels"):
        read_public(SAMPLE, "m1", MODELS)


def test_a_pool_apart_from_the_sample_is_fine():
    pool = read_pool(SAMPLE | {"id": ["a", "b", "c"]}, MODELS)
    check_apart(published(), SAMPLE, pool)
    check_apart(published(), {name: column[::-1] for name, column in SAMPLE.items()}, pool)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["p3", "b", "c"], "1 of 3 items of the pool is in the public table the dict, e.g. 'p3': take those rows out"),
        (
            ["p3", "b", "p2"],
            "2 of 3 items of the pool are in the public table the dict, e.g. 'p2': take those rows out",
        ),
    ],
)
def test_an_item_of_the_sample_is_no_item_of_a_lab(ids, message):
    with pytest.raises(ReplicalError) as caught:
        check_apart(published(), SAMPLE, read_pool(SAMPLE | {"id": ids}, MODELS))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_table_is_not_the_sample():
    pool = read_pool(SAMPLE | {"id": ["a", "b", "c"]}, MODELS)
    for other in ({"id": ["p1", "p2", "p4"]}, {"m0": ["no", "no", "no"]}):
        with pytest.raises(ReplicalError, match="is not the public table of the protocol: its fingerprint is sha256:"):
            check_apart(published(), SAMPLE | other, pool)


def test_an_order_from_elsewhere_has_no_sample():
    order = {"from": "order", "order": [2, 1, 0]}
    for said in (content(candidates=3), content(candidates=3, handicap=order)):
        with pytest.raises(ReplicalError, match="was not made from a public table, so there is nothing to check"):
            check_apart(Protocol.of(said), SAMPLE, read_pool(SAMPLE, MODELS))

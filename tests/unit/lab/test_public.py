"""A public sample makes an order; what is wrong with it, or with a pool that holds some of it, is one sentence."""

import numpy as np
import pytest

from replical.classes.catalogue import recipe
from replical.errors import ReplicalError
from replical.lab.protocol import Protocol
from replical.lab.public import check_apart, check_features, read_public, same_items
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
        ({"label": ["yes", None, "no"]}, "the dict has no label for the item 'p2' in the column 'label': label it, and keep its"),
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
        (["p3", "b", "p2"], "2 of 3 items of the pool are in the public table the dict, e.g. 'p2': take those rows out"),
    ],
)  # fmt: skip
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


TEXTS = {"id": ["p1", "p2", "p3"], "label": ["yes", "no", "yes"], "text": ["one", "two", "three"], "age": [7, 7, 9]}
LAB = {"id": ["a", "b", "c"], "label": ["no", "no", "no"], "text": ["four", "two", "five"], "age": [7, 7, 9]}
DOSES = recipe({"kind": "thresholds", "features": ["dose"], "cuts": [[1.0, 2.0]]}, ("no", "yes"), "seed")


def test_an_item_under_another_id_is_known_by_its_features():
    with pytest.raises(ReplicalError) as caught:
        check_features(MODELS, SAMPLE | TEXTS, {"m0": ["no", "no", "no"]} | LAB)
    assert str(caught.value) == (
        "1 of the rows of the dict is in the public table the dict too, by text, age: the item 'b' is 'p2' there; leave that "
        "row out of the pool, or use another public table"
    )
    with pytest.raises(ReplicalError, match="2 of the rows of the dict are .* leave those rows out of the pool"):
        check_features(MODELS, TEXTS, LAB | {"text": ["one", "two", "five"]})


@pytest.mark.parametrize(
    ("public", "pool"),
    [
        (SAMPLE, SAMPLE | {"id": ["a", "b", "c"]}),  # what models say may well be alike
        (SAMPLE | {"other": ["u", "v", "w"]}, LAB),  # no column in common
        (TEXTS, LAB | {"text": ["four", "six", "five"]}),
        (TEXTS, LAB | {"age": [7, 8, 9]}),  # another person said two
        (TEXTS | {"text": ["one", "two", "two"], "age": [7, 7, 7]}, LAB),  # alike within the public table
        (TEXTS, LAB | {"text": ["two", "two", "two"], "age": [7, 7, 7]}),  # alike within the pool
        ({"id": ["p1", "p2"], "row": [0, 1]}, {"id": ["a", "b"], "row": [0, 1]}),  # counts rows
        ({"id": ["p1", "p2"], "text": ["", ""]}, {"id": ["a", "b"], "text": [None, None]}),
    ],
)  # fmt: skip
def test_what_may_be_another_item_is_not_refused(public, pool):
    check_features(MODELS, public, pool)


def test_few_items_of_a_pool_may_be_alike_but_none_where_a_class_looks_at_coarse_numbers():
    public = {"id": ["p1", "p2"], "dose": [0.5, 1.5]}
    doses = [*(number + 0.25 for number in range(999)), 0.5]
    pool = {"id": list(range(1000)), "dose": doses}
    for made in (DOSES, MODELS):
        with pytest.raises(ReplicalError, match="the item '999' is 'p1' there"):
            check_features(made, public, pool)
    twice = pool | {"dose": [1.25, *doses[1:]]}
    check_features(DOSES, public, twice)
    with pytest.raises(ReplicalError, match="the item '999' is 'p1' there"):
        check_features(MODELS, public, twice)


def test_numbers_are_alike_however_they_are_written(tmp_path):
    import pyarrow as pa
    from pyarrow import csv, parquet

    numbers = {"id": [f"i{k}" for k in range(50)], "x": [k / 8 for k in range(50)], "n": [k * k for k in range(50)]}
    numbers["word"] = [f"{k}a" if k % 3 else "" for k in range(50)]
    table = pa.table(numbers)
    csv.write_csv(table, tmp_path / "mine.csv")
    parquet.write_table(table, tmp_path / "mine.parquet")
    coded = table.set_column(3, "word", table["word"].dictionary_encode())
    parquet.write_table(coded, tmp_path / "coded.parquet")
    public = {name: column[:9] for name, column in numbers.items()}
    for pool in (
        numbers,
        table,
        coded,
        *(tmp_path / f"{name}" for name in ("mine.csv", "mine.parquet", "coded.parquet")),
    ):
        found = same_items(public, pool, ids=("id", "id"))
        assert (found.rows, found.columns, found.pool_id, found.public_id) == (9, ["x", "n", "word"], "i0", "i0")


def test_only_columns_of_many_values_are_compared():
    generator = np.random.default_rng(3)
    pool = {"id": list(range(500))} | {f"x{j}": generator.normal(size=500).tolist() for j in range(6)}
    coarse = {f"c{j}": generator.integers(3, size=500).tolist() for j in range(6)}
    pool = coarse | pool
    public = {name: column[490:] for name, column in pool.items()} | {"id": list(range(10))}
    found = same_items(public, pool, ids=("id", "id"))
    assert found.columns == ["x0", "x1", "x2", "x3"]
    assert (found.rows, found.pool_id, found.public_id) == (10, "490", "0")

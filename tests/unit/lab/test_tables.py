"""A pool is what it holds, not how it is stored; and what is wrong with a table is said in one precise sentence."""

import numpy as np
import pytest

from replical.classes.catalogue import recipe
from replical.core.randomness import PrivateRandomness
from replical.errors import BadLabel, BadTable, ReplicalError
from replical.lab.columns import label_code
from replical.lab.tables import ItemColumns, read_labels, read_pool
from support.tables import GOOD, PREDICTS, TABLE, TEXTS, refused, write

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
NUMBERED = recipe(TABLE, (0, 1), "s")
FEATURES = recipe({"kind": "stumps", "features": ["dose", "age"], "cuts": [[1.5], [40.0]]}, TEXTS, "s")
LINE = recipe({"kind": "thresholds", "features": ["dose"], "cuts": [[0.5, 1.5]]}, TEXTS, "s")


# ---- one pool, many formats ----


@pytest.mark.parametrize("made", [PREDICTS, FEATURES, LINE], ids=["predictions", "features", "line"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_file_is_as_good_as_arrays(tmp_path, suffix, made):
    plain = read_pool({name: np.array(column) for name, column in GOOD.items()}, made)
    path = write(GOOD, tmp_path / f"pool{suffix}")
    for source in (path, str(path)):
        found = read_pool(source, made)
        assert found.fingerprint == plain.fingerprint
        assert found.ids == plain.ids == ("x1", "x2", "x3")
        assert found.items.tolist() == plain.items.tolist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_is_as_good_as_arrays(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame(GOOD)
    for made in (PREDICTS, FEATURES):
        assert read_pool(frame, made).fingerprint == read_pool(GOOD, made).fingerprint
    if library == "pandas":
        frame["a"] = frame["a"].astype("category")
        assert read_pool(frame, PREDICTS).fingerprint == read_pool(GOOD, PREDICTS).fingerprint


def test_whatever_speaks_arrow_is_a_table():
    table = pa.table(GOOD)
    readings = [read_pool(source, PREDICTS).fingerprint for source in (GOOD, table, table.to_batches()[0])]
    assert len(set(readings)) == 1
    encoded = table.set_column(2, "a", table["a"].dictionary_encode())
    assert read_pool(encoded, PREDICTS).fingerprint == readings[0]


def test_what_the_items_are():
    """Codes in the order of the candidates, features as numbers, whatever order the columns have."""
    turned = dict(reversed(GOOD.items()))
    assert read_pool(turned, PREDICTS).items.tolist() == [[1, 0], [1, 1], [0, 0]]
    assert read_pool(turned, FEATURES).items.tolist() == [[1.75, 39.5], [2.5, 41.25], [0.25, 40.5]]
    assert read_pool(turned, LINE).items.tolist() == [1.75, 2.5, 0.25]


def test_numbers_are_good_ids_and_their_order_is_that_of_texts():
    found = read_pool(GOOD | {"id": [10, 9, 1]}, LINE)
    assert found.ids == ("1", "10", "9")
    assert found.items.tolist() == [2.5, 0.25, 1.75]
    assert found.fingerprint == read_pool(GOOD | {"id": ["10", "9", "1"]}, LINE).fingerprint


def test_ids_may_stand_in_any_column():
    found = read_pool(GOOD | {"key": ["u", "v", "w"]}, LINE, id_column="key")
    assert found.ids == ("u", "v", "w")
    assert found.items.tolist() == GOOD["dose"]


def test_a_pool_is_scanned_in_the_lab_s_private_order():
    """Which items a lab asks about is its own affair: no published text decides it, and no order of rows."""
    said = [TEXTS[n % 2] for n in range(40)]
    columns = {"id": [f"i{n:02d}" for n in range(40)], "a": said, "b c": ["no"] * 40}
    for source in (columns, {name: column[::-1] for name, column in columns.items()}):
        lab = read_pool(source, PREDICTS)
        for seed in (b"a private seed of this lab", b"another private seed here"):
            private = PrivateRandomness(seed)
            pool = lab.pool(private)
            disputed = [item for item in private.permutation(40).tolist() if item % 2]
            assert pool.scan().draw(pool.version_space(), 20).items.tolist() == disputed
            assert [pool.predictions.codes(h).tolist() for h in range(2)] == lab.items.T.tolist()


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_tables_larger_than_a_batch(tmp_path, suffix):
    """Rows come in pieces, and an id that occurs in two of them is still found."""
    rows = 70_001
    columns = {
        "id": [f"i{n:06d}" for n in range(rows)],
        "a": [TEXTS[n % 2] for n in range(rows)],
        "b c": [TEXTS[n // 2 % 2] for n in range(rows)],
    }
    found = read_pool(write(columns, tmp_path / f"large{suffix}"), PREDICTS)
    assert len(found) == rows
    assert found.items[:, 0].tolist() == [n % 2 for n in range(rows)]
    assert found.items[-1].tolist() == [(rows - 1) % 2, (rows - 1) // 2 % 2]
    path = write(columns | {"id": [*columns["id"][:-1], "i000003"]}, tmp_path / f"twice{suffix}")
    assert f"has the id 'i000003' twice, in rows 4 and {rows}" in refused(path)
    missing = write(columns | {"id": [*columns["id"][:-1], None]}, tmp_path / f"missing{suffix}")
    assert f"row {rows}: the id in the column 'id' is missing" in refused(missing)
    assert len(read_labels(tmp_path / f"large{suffix}", "a", TEXTS)) == rows


# ---- what can be wrong ----


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": None}, "the dict has no column 'a'; it has id, text, b c, dose, age"),
        ({"id": None}, "the dict has no column 'id'"),
        ({"id": ["x3", None, "x2"]}, "the dict, row 2: the id in the column 'id' is missing"),
        ({"id": ["x3", "x1", ""]}, "the dict, row 3: the id in the column 'id' is missing"),
        ({"id": ["x3", "x1", "x3"]}, "the dict has the id 'x3' twice, in rows 1 and 3"),
        ({"id": [1.5, 2.5, 3.5]}, "ids are texts or whole numbers, got 1.5 in row 1"),
        ({"id": [True, False, True]}, "ids are texts or whole numbers, got True in row 1"),
        ({"a": ["no", "maybe", "yes"]}, "the dict, item 'x1': a prediction of 'a' is 'maybe', which is none of ['no', 'yes']"),
        ({"a": ["no", "Yes", "yes"]}, "item 'x1': a prediction of 'a' is 'Yes'"),
        ({"a": ["no", "yes", None]}, "the prediction of 'a' is missing for the item 'x2'"),
        ({"b c": ["no", "", "yes"]}, "item 'x1': a prediction of 'b c' is ''"),
        ({"a": [True, False, True]}, "item 'x3': a prediction of 'a' is True, which is none of ['no', 'yes']: it is a bool"),
        ({"a": [1, 0, 1]}, "item 'x3': a prediction of 'a' is 1, which is none of ['no', 'yes']"),
        ({"a": [0.9, 0.1, 0.8]}, "the column 'a' holds scores (double) where labels ['no', 'yes'] are expected"),
        ({"a": [b"no", b"yes", b"no"]}, "a prediction of 'a' is b'no'"),
        ({"a": ["no", "yes"]}, "the dict is no table: Column 2 named a expected length 3 but got length 2"),
        ({"a": [None, None, None]}, "the prediction of 'a' is missing for the item 'x3'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_predictions_is_named(changes, message):
    assert message in refused({name: column for name, column in (GOOD | changes).items() if column is not None})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": ["1", "0", "1"]}, None),  # files of texts may spell numbers
        ({"a": [1, 2, 0]}, "item 'x1': a prediction of 'a' is 2, which is none of [0, 1]"),
        ({"a": ["one", "0", "1"]}, "item 'x3': a prediction of 'a' is 'one', which is none of [0, 1]"),
        ({"a": ["1.0", "0", "1"]}, "a prediction of 'a' is '1.0'"),
        (
            {"a": [True, False, True]},
            "a prediction of 'a' is True, which is none of [0, 1]: it is a bool, write the label",
        ),
        (
            {"a": [1.0, 0.0, 1.0]},
            "the column 'a' holds scores (double) where labels [0, 1] are expected: decide on a label",
        ),
        ({"a": [1, None, 0]}, "the prediction of 'a' is missing for the item 'x1'"),
    ],
)
def test_labels_are_of_the_type_the_protocol_says(changes, message):
    pool = GOOD | {"a": [1, 0, 1], "b c": [0, 0, 1]}
    if message is None:
        assert read_pool(pool | changes, NUMBERED).fingerprint == read_pool(pool, NUMBERED).fingerprint
    else:
        assert message in refused(pool | changes, NUMBERED)


def test_a_number_is_no_text():
    texts = recipe(TABLE, ("0", "1"), "s")
    said = refused(GOOD | {"a": [1, 0, 1], "b c": ["0", "0", "1"]}, texts)
    assert "a prediction of 'a' is 1, which is none of ['0', '1']: it is a number, and the labels are texts" in said


@pytest.mark.parametrize(
    ("made", "changes", "message"),
    [
        (FEATURES, {"age": ["40", "39", "41"]}, "the dict: the feature 'age' must hold numbers, it holds string"),
        (FEATURES, {"age": [True, False, True]}, "the feature 'age' must hold numbers, it holds bool"),
        (FEATURES, {"age": [40.5, None, 41.0]}, "the dict: the feature 'age' is missing for the item 'x1'"),
        (FEATURES, {"dose": [1.0, float("inf"), 2.0]}, "the feature 'dose' is missing or infinite for the item 'x1'"),
        (FEATURES, {"dose": [1.0, float("nan"), 2.0]}, "missing or infinite for the item 'x1'"),
        (LINE, {"dose": [1.0, float("-inf"), 2.0]}, "missing or infinite for the item 'x1'"),
        (recipe({"kind": "star", "features": ["dose"], "count": 3}, TEXTS, "s"), {"dose": [0, 1, 3]}, "items must be cell numbers 0 to 2, got 3"),
        (
            recipe({"kind": "intervals", "features": ["dose"], "bins": 3}, TEXTS, "s"),
            {"dose": [0, -1, 2]},
            "items must be cell numbers 0 to 2, got -1",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_features_is_named(made, changes, message):
    assert message in refused(GOOD | changes, made)


def test_columns_that_occur_twice_are_refused(tmp_path):
    twice = pa.table([["u", "v"], ["no", "yes"], ["no", "no"], ["yes", "yes"]], names=["id", "a", "b c", "a"])
    for source in (twice, write(twice, tmp_path / "twice.parquet")):
        assert "has 2 columns named 'a'" in refused(source)
    (tmp_path / "twice.csv").write_text("id,a,b c,id\nu,no,no,v\n")
    assert "has 2 columns named 'id'" in refused(tmp_path / "twice.csv")


def test_a_table_with_many_columns_is_not_listed_in_full():
    wide = {"id": ["u"], **{f"column{n}": [0] for n in range(50)}}
    said = refused(wide)
    assert "has no column 'a'; it has id, column0" in said
    assert said.endswith("and more")


@pytest.mark.parametrize("name", ["pool.xlsx", "pool.txt", "pool", "pool.csv.gz", "pool.arrow", "pool.feather"])
def test_other_files_are_refused_by_their_name(tmp_path, name):
    path = tmp_path / name
    path.write_text("id,a,b c\n")
    helps = ": write it as Parquet or CSV" if path.suffix in (".arrow", ".feather") else ""
    assert refused(path) == f"a table is a file that ends in .parquet, .csv, got {path}{helps}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,a,b c\nx1,no\n", "Expected 3 columns, got 2"),
        ("id,a,b c\nx1,no,no,no\n", "Expected 3 columns, got 4"),
        ("id,a,b c\n,no,no\n", "row 1: the id in the column 'id' is missing"),
        ("id,a,b c\nx1,no,no\nx2,,no\n", "the prediction of 'a' is missing for the item 'x2'"),
        ("id,a,b c\nx1,true,no\n", "item 'x1': a prediction of 'a' is 'true'"),
        ("id,a,b c\nx1, no,no\n", "item 'x1': a prediction of 'a' is ' no'"),
        ("a,b c\nno,no\n", "has no column 'id'; it has a, b c"),
        ("id;a;b c\nx1;no;no\n", "has one column only, 'id;a;b c': save it with commas instead of ';'"),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_named(tmp_path, text, message):
    path = tmp_path / "pool.csv"
    path.write_text(text)
    assert message in refused(path)
    assert str(path) in refused(path)


def test_what_a_csv_file_may_look_like(tmp_path):
    """A mark of byte order, Windows line ends, quotes, accents; nothing of it changes the pool."""
    path = tmp_path / "pool.csv"
    path.write_text("id,a,b c\nä 1,no,yes\nb,yes,yes\n", encoding="utf-8")
    plain = read_pool(path, PREDICTS)
    assert plain.ids == ("b", "ä 1")
    path.write_bytes('\ufeff"id","b c","a"\r\n"b","yes","yes"\r\n"ä 1","yes","no"\r\n'.encode())
    assert read_pool(path, PREDICTS).fingerprint == plain.fingerprint


def test_texts_that_look_like_something_else_stay_texts(tmp_path):
    """Inference would turn these labels into truth values, dates and numbers."""
    path = tmp_path / "pool.csv"
    for labels in (("true", "false"), ("1", "0"), ("2020-01-01", "2020-01-02"), ("1.0", "1"), ("null", "NA")):
        rows = "".join(f"i{n},{labels[n % 2]},{labels[0]}\n" for n in range(4))
        path.write_text(f"id,a,b c\n{rows}")
        assert read_pool(path, recipe(TABLE, labels, "s")).items.tolist() == [[0, 0], [1, 0], [0, 0], [1, 0]]


@pytest.mark.parametrize("source", [None, 5, "pool", {"id": 5}, object(), {"id": ["a"], "a": np.zeros((1, 2))}])
def test_things_that_are_no_tables(source):
    with pytest.raises(BadTable, match=r"is no table|a table is a file"):
        read_pool(source, PREDICTS)


# ---- labels, columns and codes ----


def test_labels_by_id(tmp_path):
    rows = {"id": ["u", "v", "w"], "truth": ["yes", None, "no"]}
    for suffix in (".csv", ".parquet"):
        path = write(rows, tmp_path / f"labels{suffix}")
        assert read_labels(path, "truth", TEXTS) == {"u": 1, "w": 0}
    assert read_labels(rows, "truth", TEXTS) == {"u": 1, "w": 0}
    assert read_labels({"key": [7], "truth": [1]}, "truth", (0, 1), id_column="key") == {"7": 1}
    assert read_labels({"id": ["u"], "truth": [" 1"]}, "truth", (0, 1)) == {"u": 1}


@pytest.mark.parametrize(
    ("rows", "column", "message"),
    [
        ({"id": ["u", "u"], "truth": ["yes", "no"]}, "truth", "the dict has two labels for the item 'u'"),
        ({"id": ["u"], "truth": ["perhaps"]}, "truth", "the label of the item 'u' in the dict is 'perhaps', which is none of"),
        ({"id": ["u"], "truth": [1.0]}, "truth", "is 1.0, which is none of ['no', 'yes']: it is a float, write the label"),
        ({"id": ["u"], "truth": [True]}, "truth", "is True, which is none of ['no', 'yes']: it is a bool"),
        ({"id": ["u"], "truth": ["yes"]}, "label", "the dict has no column 'label'; it has id, truth"),
        ({"id": [None], "truth": ["yes"]}, "truth", "row 1: the id in the column 'id' is missing"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_labels_is_named(rows, column, message):
    with pytest.raises(ReplicalError) as caught:
        read_labels(rows, column, TEXTS)
    assert message in str(caught.value)


def test_a_row_without_a_label_may_occur_again():
    assert read_labels({"id": ["u", "u"], "truth": [None, "no"]}, "truth", TEXTS) == {"u": 0}


@pytest.mark.parametrize(
    ("value", "labels", "code"),
    [("yes", TEXTS, 1), (1, (0, 1), 1), ("1", (0, 1), 1), (" 0 ", (0, 1), 0), ("-1", (-1, 1), 0), ("1", ("0", "1"), 1),
     (True, (0, 1), None), (1.0, (0, 1), None), ("01", (0, 1), None), (1, ("0", "1"), None), (None, TEXTS, None),
     ("yes ", TEXTS, None)],
)  # fmt: skip
def test_label_codes(value, labels, code):
    """`1`, `"1"` and `True` are three values; only a file of texts may spell a number."""
    if code is None:
        with pytest.raises(BadLabel, match="which is none of"):
            label_code(value, labels, "it")
    else:
        assert label_code(value, labels, "it") == code


def test_what_people_are_shown(tmp_path):
    """The columns that were chosen, as texts, and nothing of items that nobody asked about."""
    path = write(GOOD, tmp_path / "pool.parquet")
    shown = ItemColumns(path, ["text", "dose"])(["x1", "x3", "nobody"])
    assert shown == {"x1": {"text": "eins", "dose": "1.75"}, "x3": {"text": "drei", "dose": "0.25"}}
    assert ItemColumns({"id": ["u"], "text": [None]}, ["text"])(["u"]) == {"u": {"text": ""}}
    assert ItemColumns({"key": [7], "text": ["x"]}, ["text"], id_column="key")(["7"]) == {"7": {"text": "x"}}
    assert ItemColumns(path, [])(["x2"]) == {}
    with pytest.raises(BadTable, match="has no column 'colour'"):
        ItemColumns(path, ["colour"])(["x1"])


def test_a_table_is_read_once_for_everyone_who_labels(tmp_path):
    path = write(GOOD, tmp_path / "pool.parquet")
    shown = ItemColumns(path, ["text"])
    assert shown(["x1"]) == {"x1": {"text": "eins"}}
    path.unlink()
    assert shown(["x2"]) == {"x2": {"text": "zwei"}}


ONE = recipe({"kind": "table", "candidates": [{"name": "a"}]}, TEXTS, "s")
CUTS = recipe({"kind": "thresholds", "features": ["x"], "cuts": [[0.5, 1.5]]}, TEXTS, "s")


# ---- tables ----


def test_ids_in_a_csv_file_are_what_is_written(tmp_path):
    """ "007" is not "7", and a date is a name like any other."""
    path = tmp_path / "pool.csv"
    for ids in (["007", "7"], ["2020-01-01", "2020-01-02"], ["true", "false"], ["1.0", "1"], ["1e5", "x"]):
        path.write_text("id,x,truth\n" + "".join(f"{each},{number},yes\n" for number, each in enumerate(ids)))
        found = read_pool(path, CUTS)
        assert sorted(found.ids) == sorted(ids)
        assert found.fingerprint == read_pool({"id": ids, "x": [0, 1]}, CUTS).fingerprint
        assert set(read_labels(path, "truth", TEXTS)) == set(ids)
        assert set(ItemColumns(path, ["truth"])(ids)) == set(ids)


def test_what_is_shown_of_a_csv_file_is_what_is_written(tmp_path):
    (tmp_path / "pool.csv").write_text("id,code\nu,007\n")
    assert ItemColumns(tmp_path / "pool.csv", ["code"])(["u"]) == {"u": {"code": "007"}}


def test_nobody_is_shown_the_text_of_another_item():
    with pytest.raises(BadTable, match="has the id 'a' twice, in rows 1 and 2"):
        ItemColumns({"id": ["a", "a", "b"], "text": ["one", "two", "three"]}, ["text"])(["b"])


def test_types_are_not_guessed_from_the_first_rows(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("id,x\n" + "".join(f"{n},1\n" for n in range(300_000)) + "last,0.5\n")
    found = read_pool(path, CUTS)
    assert len(found) == 300_001
    assert found.items[-1] == 0.5


def test_whole_numbers_are_whole_in_every_format(tmp_path):
    (tmp_path / "pool.csv").write_text("id,x\nu,1\nv,2\n")
    prints = {read_pool({"id": ["u", "v"], "x": x}, CUTS).fingerprint for x in ([1, 2], [1.0, 2.0])}
    assert prints == {read_pool(tmp_path / "pool.csv", CUTS).fingerprint}


def test_categories_without_items_are_no_labels():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["no", "yes", "unknown"]))
    assert read_pool(pa.table({"id": ["u", "v"], "a": column}), ONE).items.tolist() == [[0], [1]]
    used = pa.DictionaryArray.from_arrays(pa.array([0, 2]), pa.array(["no", "yes", "unknown"]))
    with pytest.raises(BadLabel, match="item 'v': a prediction of 'a' is 'unknown'"):
        read_pool(pa.table({"id": ["u", "v"], "a": used}), ONE)


def test_nested_columns_are_no_labels():
    for column in ([["no"], ["yes"]], [{"x": 1}, {"x": 2}]):
        with pytest.raises(BadLabel, match="the column 'a' holds"):
            read_pool({"id": ["u", "v"], "a": column}, ONE)


def test_rows_are_counted_from_the_beginning_of_the_table():
    """Also where a table comes in pieces and most rows have no label yet."""
    rows = 70_000
    with pytest.raises(BadTable, match=f"row {rows + 1}: the id"):
        read_labels({"id": [*map(str, range(rows)), None], "truth": [None] * (rows + 1)}, "truth", TEXTS)

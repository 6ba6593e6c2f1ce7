"""Which columns of a table are models: found among others, and never guessed where two guesses are as good."""

from itertools import permutations

import pytest

pytest.importorskip("pyarrow")

from hypothesis import given, settings
from hypothesis import strategies as st

from replical.errors import BadLabel, BadTable
from replical.lab.model_columns import model_columns

IDS = [f"i{n}" for n in range(8)]
labels = st.sampled_from([("no", "yes"), (0, 1), ("a,b", "c", "d"), (7, 8, 9, 10)])


@st.composite
def tables(draw):
    """Models among columns of every other kind, in any order; each label is said by somebody."""
    values = draw(labels)
    said = {
        f"m{k}": draw(st.lists(st.sampled_from(values), min_size=8, max_size=8)) for k in range(draw(st.integers(2, 5)))
    }
    said["m0"][: len(values)] = values
    others = {
        "age": list(range(30, 38)),
        "score": [n / 7 for n in range(8)],
        "hospital": ["north", "south"] * 4,
        "note": [f"text {n}" for n in range(8)],
        "seen": [True, False] * 4,
    }
    others |= draw(st.sampled_from([{}, {"label": [values[0], None] * 4}, {"Truth": [values[-1]] * 8}]))
    columns = draw(st.permutations([*said, *others]))
    return (
        values,
        [name for name in columns if name in said],
        {"id": IDS} | {name: (said | others)[name] for name in columns},
    )


@given(table=tables())
@settings(max_examples=30, deadline=None)
def test_models_are_found_among_everything_else(table):
    values, models, columns = table
    found = model_columns(columns)
    assert (list(found.models), found.values, found.rows) == (models, values, 8)
    assert found.truth == next((name for name in columns if name in ("label", "Truth")), None)
    assert {*found.models, *found.others, "id"} | ({found.truth} if found.truth else set()) == set(columns)


@given(table=tables(), kind=st.sampled_from(["csv", "parquet"]))
@settings(max_examples=15, deadline=None)
def test_every_kind_of_file_tells_the_same(table, kind, tmp_path_factory):
    import pyarrow as pa
    from pyarrow import csv, parquet

    _, _, columns = table
    file, made = tmp_path_factory.mktemp("table") / f"t.{kind}", pa.table(columns)
    write = {"csv": csv.write_csv, "parquet": parquet.write_table}[kind]
    write(made, file)
    assert model_columns(file) == model_columns(columns)


def test_a_model_that_says_few_of_many_labels_is_one_still():
    """One that always says the same, and two of ten that have nothing in common."""
    rows = list(range(10))
    table = {"id": rows, "all": rows, "few": [1, 2] * 5, "other": [3] * 10, "most": [9, *rows[1:]]}
    found = model_columns(table)
    assert (found.models, found.values) == (("all", "few", "other", "most"), tuple(rows))


def test_named_models_and_labels_are_taken():
    table = {"id": IDS, **{name: ["u", "v"] * 4 for name in ("a", "b", "c", "d")}}
    assert model_columns(table, models=["c", "a"]).models == ("c", "a")
    assert model_columns(table, values=["v", "u", "w"]).values == ("v", "u", "w")
    assert model_columns(table, without=["b"]).models == ("a", "c", "d")
    assert model_columns(table, truth="d").models == ("a", "b", "c")


def test_texts_that_spell_numbers_are_numbers_only_where_they_can_be_read_back():
    plain, padded = ({"id": IDS, "a": texts * 4, "b": texts * 4} for texts in (["1", "10"], ["01", "10"]))
    assert (model_columns(plain).values, model_columns(padded).values) == ((1, 10), ("01", "10"))


NO, YES = ["no", "no"], ["no", "yes"]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"m": YES}, {}, "has one model only, 'm': add a column for every other model, then replical init --pool the dict"),
        ({}, {}, "has no column that looks like a model: write one column per model"),
        ({"s": [0.5, 0.25]}, {}, "no column that looks like a model ('s' holds scores): write one column"),
        ({"t": [True, False]}, {}, "('t' holds true and false): write 0 and 1 instead, or words, then replical init"),
        ({"t": [1.0, 0.0]}, {}, "('t' holds numbers with a decimal point): write whole numbers instead, 1 and not 1.0"),
        ({"t": ["1.0", "0.0"]}, {}, "('t' holds numbers with a decimal point): write whole numbers instead, 1 and not 1.0"),
        ({"m": YES, "n": YES, "label": [1.0, None]}, {}, "'label' with the right answers holds numbers with a decimal point"),
        ({"m": YES, "n": YES, "label": [True, None]}, {}, "'label' with the right answers holds true and false"),
        ({"m": YES, "n": ["no", ""]}, {}, "the model 'n' says nothing about 1 item: fill in every"),
        ({"label": YES}, {}, "has no column that looks like a model"),
        ({"m": NO, "n": NO}, {}, "every model says 'no' about every item: name all labels with replical init"),
        ({"m": YES, "n": ["no", None]}, {}, "the model 'n' says nothing about 1 item: fill in every"),
        ({"m": YES, "n": YES, "u": ["a", "b"], "v": ["a", "b"]}, {}, "the models may be the columns m, n or the columns u, v"),
        ({"m": YES, "n": YES}, {"values": ["x", "y"]}, "no column of the dict is a model with the labels x, y; 'm' says no, yes"),
        ({"m": YES, "n": YES, "label": ["a", "b"]}, {}, "is a model with the labels a, b; 'm' says no, yes: write models and"),
        ({"m": YES, "n": YES}, {"values": ["no", "maybe"]}, "the model 'm' says 'yes', which is none of ['no', 'maybe']"),
        ({"m": YES, "s": [0.5, 0.25]}, {"models": ["m", "s"]}, "the column 's' holds scores, not the labels of a model"),
        ({"m": YES, "n": YES}, {"models": ["m", "o"]}, "has no column 'o'"),
        ({"m": YES, "n": YES}, {"id_column": "key"}, "has no column 'key' with the ids of its items; it has id, m, n: replical init --pool"),
        ({"m": YES, "n": YES}, {"truth": "gold"}, "has no column 'gold'"),
    ],
)  # fmt: skip
def test_what_cannot_be_found_is_one_sentence_with_a_remedy(columns, options, message):
    with pytest.raises((BadTable, BadLabel)) as refused:
        model_columns({"id": ["1", "2"], **columns}, **options)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_scores_of_a_csv_file_are_told_apart_from_other_columns(tmp_path):
    """So many different texts as there are items are scores if they spell such numbers."""
    rows = [f"{number},{number / 1000},t{number}" for number in range(300)]
    (tmp_path / "t.csv").write_text("\n".join(["id,s,t", *rows]))
    with pytest.raises(BadTable, match=r"'s' holds scores\).*replical init --candidates .*t.csv --cuts 0.5"):
        model_columns(tmp_path / "t.csv")


@pytest.mark.parametrize("mark", [";", "|"])
def test_a_table_without_commas_is_told(tmp_path, mark):
    (tmp_path / "t.csv").write_text(f"id{mark}m{mark}n\n1{mark}no{mark}yes\n")
    with pytest.raises(BadTable, match=r"has one column only, 'id.*write commas instead"):
        model_columns(tmp_path / "t.csv")


def test_a_feature_with_the_name_of_right_answers_is_left_alone():
    found = model_columns({"id": ["1", "2"], "m": YES, "n": YES, "y": [0.5, 0.25]})
    assert (found.models, found.truth, found.others) == (("m", "n"), None, ("y",))
    assert model_columns({"id": ["1", "2"], "m": YES, "n": YES, "gold": YES}).truth == "gold"
    assert model_columns({"id": ["1", "2"], "m": YES, "n": YES, "y": YES}, without=["y"]).truth is None


def test_what_no_right_answer_is_may_be_how_models_abstain():
    table = {"id": ["1", "2"], "m": ["no", "unsure"], "n": YES, "label": YES}
    assert model_columns(table).never == ("unsure",)
    assert model_columns(table | {"label": ["no", None]}).never == ("unsure", "yes")
    assert model_columns(table | {"label": [None, None]}).never == model_columns(table, without=["label"]).never == ()


def test_an_empty_table_holds_no_items():
    with pytest.raises(BadTable, match="holds no items"):
        model_columns({"id": [], "m": [], "n": []})


def test_groups_do_not_depend_on_the_order_of_columns():
    """Three columns share x and y, two share v."""
    sets = {"a": "xy", "b": "x", "c": "y", "d": "uv", "e": "v"}
    for order in list(permutations(sets))[::5]:
        table = {"id": list(range(4))} | {name: list(sets[name] * (4 // len(sets[name]))) for name in order}
        assert set(model_columns(table).models) == {"a", "b", "c"}

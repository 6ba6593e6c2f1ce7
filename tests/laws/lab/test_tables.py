"""A pool is what it holds, in whatever order its rows come."""

import csv
import sys
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replical.classes.catalogue import recipe
from replical.errors import ReplicalError
from replical.lab.columns import BlockIds, codes_of, feature_of, ids_of, labels_of, open_table, values_of
from replical.lab.model_columns import ColumnSummary
from replical.lab.public import same_items
from replical.lab.tables import read_pool

TEXTS = ("no", "yes")
TABLE = {"kind": "table", "candidates": [{"name": "a"}, {"name": "b c"}]}
PREDICTS = recipe(TABLE, TEXTS, "s")


@settings(max_examples=60)
@given(st.permutations(range(6)), st.lists(st.sampled_from(TEXTS), min_size=12, max_size=12))
def test_the_order_of_rows_does_not_count_and_everything_else_does(order, said):
    pool = {"id": [f"i{n}" for n in range(6)], "a": said[:6], "b c": said[6:]}
    turned = {name: [column[place] for place in order] for name, column in pool.items()}
    plain = read_pool(pool, PREDICTS)
    assert read_pool(turned, PREDICTS).fingerprint == plain.fingerprint
    assert read_pool(turned, PREDICTS).items.tolist() == plain.items.tolist()
    flipped = pool | {"a": [TEXTS[1 - TEXTS.index(said[0])], *said[1:6]]}
    renamed = pool | {"id": ["j", *pool["id"][1:]]}
    fewer = {name: column[1:] for name, column in pool.items()}
    prints = {read_pool(other, PREDICTS).fingerprint for other in (pool, flipped, renamed, fewer)}
    assert len(prints) == 4


CELLS = st.sampled_from(["no", "yes", "", "1", "0", "-2.5", "1e3", " 7 ", "1_0", "nan", "é", 'a "b", c', "0.1"])


def column(path, name, kind):
    """What whoever reads a column of a CSV file makes of it, or that it is refused."""
    try:
        with open_table(
            path, ["id", name], **({"texts": ["id"]} | {kind: ["id", name] if kind == "texts" else [name]})
        ) as table:
            (block,) = table.blocks(["id", name])
            ids = ids_of(block.columns["id"], "id", "", 0)
            cells, summary = block.columns[name], ColumnSummary()
            if kind == "numbers":
                return ids, feature_of(cells, name, BlockIds(ids, 0, "")).tolist()
            summary.add(cells, 3)
            said = list(labels_of(cells, name, (0, 1, "no", "yes"), ids, "")) if kind == "texts" else []
            codes = codes_of(cells, name, (0, 1, "no", "yes"), BlockIds(ids, 0, "")).tolist()
            return ids, values_of(cells, name, ""), summary, said, codes
    except ReplicalError as error:
        return type(error)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CELLS, min_size=1, max_size=8), st.booleans())
def test_a_csv_file_is_the_same_with_pyarrow_and_without(tmp_path, cells, marked):
    pytest.importorskip("pyarrow")
    path, other = tmp_path / "a.csv", tmp_path / "b.csv"
    with path.open("w", newline="", encoding="utf-8-sig" if marked else "utf-8") as file:
        csv.writer(file).writerows([["id", "m"], *([f"i{row}", cell] for row, cell in enumerate(cells))])
    other.write_text("id,m\np,yes\nq,1e3\n", encoding="utf-8")

    def look():
        columns = [column(path, "m", kind) for kind in ("texts", "categories", "numbers")]
        return columns, same_items(other, path, ids=("id", "id"))

    fast = look()
    with mock.patch.dict(sys.modules, {"pyarrow": None}):
        assert look() == fast


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"id,m\na\n", "row 1 has 1 values, and its first line 2"),
        (b"id,m\na,\xff\n", "not UTF-8 text"),
        (b"id;m\na;1\n", "one column only"),
        (b"id,m\na," + b"x" * 200_000, "line 2: field larger"),
        (b"id,m\na,x\n", "the column 'm' holds what is no number"),
    ],
)
def test_a_broken_csv_file_is_refused_without_pyarrow(tmp_path, content, words):
    (tmp_path / "a.csv").write_bytes(content)
    with (
        mock.patch.dict(sys.modules, {"pyarrow": None}),
        pytest.raises(ReplicalError, match=words) as caught,
        open_table(tmp_path / "a.csv", ["id", "m"], numbers=["m"]) as table,
    ):
        list(table.blocks(["id", "m"]))
    assert "\n" not in str(caught.value)

"""Damaged files where a table is expected: a pool or one sentence, never a traceback."""

import os
from unittest import mock

import numpy as np
import pytest

from replical.classes.catalogue import recipe
from replical.core import files as limits
from replical.core import memory
from replical.core.files import trusting_sizes
from replical.errors import ReplicalError
from replical.lab import columns
from replical.lab.tables import ItemColumns, read_labels, read_pool
from support.fuzz import replay
from support.tables import GOOD, PREDICTS, refused, write

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_files_that_are_no_tables(tmp_path, suffix):
    missing, empty, folder = (tmp_path / f"{name}{suffix}" for name in ("missing", "empty", "folder"))
    empty.write_bytes(b"")
    folder.mkdir()
    assert refused(missing) == f"there is no file {missing}"
    assert refused(empty).startswith(f"cannot read the table {empty}: ")
    assert refused(folder) == f"{folder} is a folder, and a table is a file that ends in .parquet, .csv"
    nothing = write({name: column[:0] for name, column in GOOD.items()}, tmp_path / f"nothing{suffix}")
    if suffix != ".csv":  # a header alone has no types
        nothing = write(pa.table(GOOD).slice(0, 0), nothing)
    assert refused(nothing) == f"{nothing} holds no items: write one row an item"


@pytest.mark.parametrize("part", [0.3, 0.9])
def test_truncated_and_damaged_files(tmp_path, part):
    path = write(GOOD, tmp_path / "pool.parquet")
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * part)])
    assert refused(path).startswith(f"cannot read the table {path}: ")
    path.write_bytes(b"id,a\n1,no\n")
    assert refused(path).startswith(f"cannot read the table {path}: ")


RESAVE = "save it as UTF-8 (a spreadsheet calls that CSV UTF-8)"


@pytest.mark.parametrize(
    ("encoding", "mark", "words"),
    [
        ("utf-16", ",", f"it is UTF-16 text; {RESAVE}"),
        ("latin-1", ",", f"it is not UTF-8 text; {RESAVE}"),
        ("utf-8", "\t", "has one column only, 'id\\ta\\tb c': save it with commas instead of '\\t'"),
    ],
)
def test_what_a_spreadsheet_writes_is_named(tmp_path, encoding, mark, words):
    path = tmp_path / "pool.csv"
    rows = [("id", "a", "b c"), ("é1", "no", "yes"), ("x2", "yes", "yes")]
    path.write_text("\n".join(map(mark.join, rows)) + "\n", encoding=encoding)
    assert refused(path).endswith(words)
    assert str(path) in refused(path)


# ---- files that change, and files that are too large ----
MANY = {"id": [f"i{n:05d}" for n in range(3000)], **{name: ["no", "yes"] * 1500 for name in ("a", "b c")}}


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("change", ["more", "less", "touched"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, suffix, change):
    """Whatever else would be said of it: half of a row is nobody's mistake but the writer's."""
    path = write(MANY, tmp_path / f"pool{suffix}")
    content = path.read_bytes()
    later = {"more": content + b"x,no", "less": content[: len(content) // 2], "touched": content}[change]

    def somebody_writes(done, total):
        path.write_bytes(later)
        os.utime(path, ns=(1, 1))

    with mock.patch.multiple(columns, _CELLS=8, _ROWS=1000, _BYTES=(2**12, 2**12)):
        said = refused(path, progress=somebody_writes)
    assert said == f"{path} was changed while it was read: run again when nobody writes to it"


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_table_that_is_too_large_is_refused_at_once_with_what_would_fit(tmp_path, suffix):
    path, looked = write(MANY, tmp_path / f"pool{suffix}"), []
    words = (
        "the packed predictions of 2 hypotheses on 3,000 items need 0.0 MiB, more than 0.0 MiB: use a smaller class or pool "
        "(1,000 of the items would fit)"
    )
    with mock.patch.object(memory, "MOST", 8000), mock.patch.object(columns, "_BYTES", (2**12, 2**12)):
        said = refused(path, progress=lambda done, total: looked.append(done))
    if suffix == ".csv":  # its length shows on the way
        assert "(1,000 of the items would fit)" in said
    else:
        assert said == words
        assert looked == []


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ""])
def test_an_id_that_comes_twice_is_found_before_the_predictions_are_read(tmp_path, suffix):
    twice = MANY | {"id": [*MANY["id"][:-1], "i00003"], "a": ["perhaps"] * 3000}
    said = refused(write(twice, tmp_path / f"pool{suffix}") if suffix else twice)
    if suffix == ".csv":  # read once, from the top
        assert "item 'i00000': a prediction of 'a' is 'perhaps'" in said
    else:
        assert "has the id 'i00003' twice, in rows 4 and 3000" in said


def test_columns_of_different_types_are_named():
    assert refused(GOOD | {"a": ["no", 1, "yes"]}).startswith(
        "the dict: the column 'a' holds values of different types: "
    )
    frame = pytest.importorskip("pandas").DataFrame(GOOD | {"a": ["no", 1, "yes"]})
    assert "the DataFrame is no table: " in refused(frame)
    assert "column a" in refused(frame)


def test_a_ragged_row_of_a_wide_file_is_not_quoted_in_full(tmp_path):
    (tmp_path / "wide.csv").write_text("id,a,b c\nx,no,yes\ny" + ",no" * 1000 + "\n")
    said = refused(tmp_path / "wide.csv")
    assert "Expected 3 columns, got 1001: y,no,no" in said
    assert len(said) < 300 + len(str(tmp_path))


# ---- made to do harm ----
REMEDY = "if you know where it comes from, say --trust-size"
ONE = recipe({"kind": "table", "candidates": [{"name": "a"}, {"name": "b"}]}, ("no", "yes"), "s")
FORMATS = ("parquet", "csv")
RAISED = [90, 464]  # of the first inputs with seed 2, these ended in a traceback while nothing was validated


def test_files_that_once_raised_are_refused():
    outcomes = replay(RAISED, 2, FORMATS)
    assert outcomes.found == []
    assert outcomes.all.total() == 2


def same(count, value="no"):
    """A column of one value, as short as a format can have it."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, dtype=np.int8)), [value])


def wide(count):
    return pa.table({"id": pa.array(np.zeros(count, dtype=np.int64)), "a": same(count), "b": same(count)})


def test_a_small_parquet_file_of_ten_million_rows(tmp_path):
    path = tmp_path / "pool.parquet"
    parquet.write_table(wide(10**7), path)
    size = path.stat().st_size
    assert size < 120_000
    said = refused(path, ONE)
    assert said == (
        f"{path} has {size / 1000:.1f} kB and says it holds 10,000,000 rows, more than the 1,048,576 that are believed: "
        f"{REMEDY}"
    )
    for read in (lambda: read_labels(path, "a", ("no", "yes")), lambda: ItemColumns(path, ["a"])(["0"])):
        with pytest.raises(ReplicalError) as caught:
            read()
        assert str(caught.value) == said


def test_one_large_text_in_many_rows_is_held_once(tmp_path):
    """A kilobyte of Parquet whose texts, written out, would be sixteen gigabytes."""
    path, text, count = tmp_path / "pool.parquet", "x" * 160_000, 10**5
    table = pa.table({"id": pa.array(np.arange(count)), "a": same(count), "b": same(count), "text": same(count, text)})
    parquet.write_table(table, path, compression="zstd", use_dictionary=["a", "b", "text"])
    before = pa.total_allocated_bytes()
    shown = ItemColumns(path, ["text"])
    assert shown(["0", "99999"]) == {"0": {"text": text}, "99999": {"text": text}}
    assert pa.default_memory_pool().max_memory() - before < 2**28
    texts = shown._rows[1]["text"]
    assert len(set(map(id, texts))) == 1
    assert "'xxxxxxx" in (said := refused(path, ONE, id_column="text"))
    assert len(said) < 300 + len(str(path))


def test_whoever_trusts_a_size_reads_the_file(tmp_path, monkeypatch):
    path = write(GOOD, tmp_path / "pool.parquet")
    known = read_pool(path, PREDICTS)
    monkeypatch.setattr(limits, "ROWS", 2)
    monkeypatch.setattr(limits, "ROWS_A_BYTE", 0)
    assert refused(path).endswith(REMEDY)
    shown = ItemColumns(path, ["text"])
    with trusting_sizes():
        assert read_pool(path, PREDICTS).fingerprint == known.fingerprint
        trusting = ItemColumns(path, ["text"])
    assert trusting(["x1"]) == {"x1": {"text": "eins"}}  # read later, as it was trusted when it was given
    with pytest.raises(ReplicalError, match="says it holds 3 rows"):
        shown(["x1"])


def test_names_and_values_that_are_no_sentence_are_quoted(tmp_path):
    path = write({"i\nd": ["x"], "\x1b[31m" * 100: ["no"]}, tmp_path / "pool.parquet")
    said = refused(path)
    assert "\\nd'" in said
    assert "\x1b" not in said
    assert len(said) < 300 + len(str(path))


def test_times_that_python_cannot_show_are_named():
    late = pa.array([2**62], pa.timestamp("s"))
    with pytest.raises(ReplicalError, match="the column 'when' holds a timestamp"):
        ItemColumns(pa.table({"id": ["x"], "when": late}), ["when"])(["x"])

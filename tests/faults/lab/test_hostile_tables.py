"""Tables that were made to do harm: they crash nobody, take no memory that their size does not make likely, and say why."""

import numpy as np
import pytest

from replical.classes.catalogue import recipe
from replical.core import files as limits
from replical.core.files import trusting_sizes
from replical.errors import ReplicalError
from replical.lab.tables import ItemColumns, read_labels, read_pool
from support.fuzz import fuzz, replay
from support.tables import GOOD, PREDICTS, refused, write

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

REMEDY = "if you know where it comes from, say --trust-size"
ONE = recipe({"kind": "table", "candidates": [{"name": "a"}, {"name": "b"}]}, ("no", "yes"), "s")
FORMATS = ("parquet", "csv")
RAISED = [90, 464]  # of the first inputs with seed 2, these ended in a traceback while nothing was validated


def test_files_that_once_raised_are_refused():
    counts = replay(RAISED, 2, FORMATS)
    assert counts.faults == 0, counts.found
    assert counts.inputs == counts.refused + counts.accepted == 2


@pytest.mark.slow
def test_four_thousand_damaged_tables():
    counts = fuzz(4000, 5, FORMATS)
    assert counts.faults == 0, counts.found
    assert counts.accepted > 100
    assert counts.refused > 2000


# ---- more than can be ----


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


def test_a_column_that_is_not_there_is_named_in_every_format(tmp_path):
    for suffix in (".parquet", ".csv"):
        path = write({"id": ["x"], "a": ["no"]}, tmp_path / f"pool{suffix}")
        assert refused(path) == f"{path} has no column 'b c'; it has id, a"
        with pytest.raises(ReplicalError, match="has no column 'truth'"):
            read_labels(path, "truth", ("no", "yes"))


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

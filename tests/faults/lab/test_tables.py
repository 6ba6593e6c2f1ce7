"""Damaged files where a table is expected: a pool or one sentence, never a traceback."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.classes.catalogue import recipe
from replical.errors import ReplicalError
from replical.lab.tables import read_labels, read_pool
from support.tables import GOOD, PREDICTS, TEXTS, refused, write

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")
COUNTED = recipe({"kind": "thresholds", "features": ["dose"], "count": 10}, TEXTS, "s")


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow", ".feather"])
def test_files_that_are_no_tables(tmp_path, suffix):
    missing, empty, folder = (tmp_path / f"{name}{suffix}" for name in ("missing", "empty", "folder"))
    empty.write_bytes(b"")
    folder.mkdir()
    assert refused(missing) == f"there is no file {missing}"
    assert refused(empty).startswith(f"cannot read the table {empty}: ")
    assert refused(folder).startswith(f"cannot read the table {folder}: ")
    assert "directory" in refused(folder)
    nothing = write({name: column[:0] for name, column in GOOD.items()}, tmp_path / f"nothing{suffix}")
    if suffix != ".csv":  # a header alone has no types
        nothing = write(pa.table(GOOD).slice(0, 0), nothing)
    assert refused(nothing) == f"{nothing} holds no items: write one row an item"


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
@pytest.mark.parametrize("part", [0.3, 0.9])
def test_truncated_and_damaged_files(tmp_path, suffix, part):
    path = write(GOOD, tmp_path / f"pool{suffix}")
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
        ("utf-8", ";", "has one column only, 'id;a;b c': save it with commas instead of ';'"),
        ("utf-8", "\t", "has one column only, 'id\\ta\\tb c': save it with commas instead of '\\t'"),
    ],
)
def test_what_a_spreadsheet_writes_is_named(tmp_path, encoding, mark, words):
    path = tmp_path / "pool.csv"
    rows = [("id", "a", "b c"), ("é1", "no", "yes"), ("x2", "yes", "yes")]
    path.write_text("\n".join(map(mark.join, rows)) + "\n", encoding=encoding)
    assert refused(path).endswith(words)
    assert str(path) in refused(path)


# ---- whatever a file holds ----
cells = st.text(st.sampled_from('ab,"\n\r;\t 01.-=yesno\x00é'), max_size=6)
tables_of_cells = st.lists(st.lists(cells, max_size=4), max_size=5)


@st.composite
def csv_texts(draw):
    if draw(st.booleans()):
        return draw(st.text(st.sampled_from('ida, bc,"\n\r01'), max_size=60))
    header = draw(st.sampled_from([["id", "a", "b c"], ["id", "dose"], ["id", "a"], ["id", "id", "a", "b c"]]))
    values = st.sampled_from(["no", "yes", "1", "0.5", "", "x1", "nan", "true", "2020-01-01", "007", "-1", "é"])
    rows = draw(st.lists(st.lists(values, min_size=len(header), max_size=len(header)), max_size=6))
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows, *draw(tables_of_cells)])
    return text.getvalue()


@settings(max_examples=150)
@given(csv_texts())
def test_no_csv_file_gives_anything_but_a_pool_or_a_sentence(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_text(text, encoding="utf-8", newline="")
    for made in (PREDICTS, COUNTED):
        try:
            pool = read_pool(path, made)
        except ReplicalError as error:
            assert str(error)
        else:
            assert len(pool) == len(set(pool.ids)) == len(pool.items) > 0
    try:
        labels = read_labels(path, "a", TEXTS)
    except ReplicalError as error:
        assert str(error)
    else:
        assert set(labels.values()) <= {0, 1}

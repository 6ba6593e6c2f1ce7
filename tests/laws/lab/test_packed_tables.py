"""A table that is packed as it is read holds the codes that were written, whatever format and blocks it came in."""

import hashlib
from importlib.util import find_spec
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.classes.catalogue import recipe
from replical.classes.predictions.packed import PackedPredictions
from replical.classes.table import PackedRows, PredictionTable
from replical.core.canonical import canonical
from replical.lab import columns
from replical.lab.tables import read_pool
from support.tables import write

pa = pytest.importorskip("pyarrow")

FORMS = [".parquet", ".csv", "arrow", "mapping", *(["pandas"] if find_spec("pandas") else [])]
TEXTS = ["no", "yes", "é", " ", "007", "None", "true", "1.0"]
LABELS = st.one_of(
    st.lists(st.sampled_from(TEXTS), min_size=2, max_size=8, unique=True),
    st.lists(st.integers(-3, 9), min_size=2, max_size=9, unique=True),
    st.lists(st.integers(-(2**40), 2**40), min_size=2, max_size=4, unique=True),
    st.just([f"label {number}" for number in range(300)]),
    st.just(list(range(300))),
)


@st.composite
def tables(draw):
    labels = tuple(draw(LABELS))
    rows, width = draw(st.integers(1, 9)), draw(st.sampled_from([1, 2, 8, 9, 17, 64, 65, 70, 130]))
    codes = np.random.default_rng(draw(st.integers(0, 99))).integers(len(labels), size=(rows, width))
    ids = draw(st.permutations([f"i{number}" for number in range(rows)]))
    return labels, list(ids), codes.astype(np.uint16)


def arrow(labels, ids, codes, kind):
    """The table as Arrow has it, in one of the ways a column of labels can be stored."""
    texts = isinstance(labels[0], str)

    def column(said):
        values = pa.array([labels[code] for code in said], pa.string() if texts else pa.int64())
        if kind == "dictionary":
            return values.dictionary_encode()
        if kind == "wide dictionary":  # categories that nobody uses, in another order
            every = pa.array([*reversed(labels)], values.type)
            return pa.DictionaryArray.from_arrays(pa.array([len(labels) - 1 - int(code) for code in said]), every)
        small = not texts and all(-128 <= label <= 127 for label in labels)
        return values.cast(pa.int8()) if kind == "small" and small else values

    return pa.table({"id": ids, **{f"m{place}": column(said) for place, said in enumerate(codes.T)}})


def as_ever(ids, codes):
    """The fingerprint as it is published: ids, then all codes as 16-bit little-endian numbers."""
    order = sorted(range(len(ids)), key=ids.__getitem__)
    about = {"ids": [ids[place] for place in order], "shape": list(codes.shape), "type": "u"}
    whole = canonical(about).encode() + codes[order].astype("<u2").tobytes()
    return f"sha256:{hashlib.sha256(whole).hexdigest()}", codes[order]


@settings(max_examples=60)
@given(
    tables(),
    st.sampled_from(FORMS),
    st.sampled_from(["plain", "dictionary", "wide dictionary", "small"]),
    st.sampled_from([(8, 1), (16, 2), (64, 3), (2**24, 2**17)]),
)
def test_packed_from_a_table_equals_packed_from_codes(tmp_path_factory, table, form, kind, sizes):
    labels, ids, codes = table
    made = recipe({"kind": "table", "candidates": [{"name": f"m{j}"} for j in range(codes.shape[1])]}, labels, "s")
    source = arrow(labels, ids, codes, kind)
    if form.startswith("."):
        source = write(source, tmp_path_factory.getbasetemp() / f"packed{form}")
    elif form == "mapping":
        source = {name: source[name].to_pylist() for name in source.column_names}
    elif form == "pandas":
        source = pytest.importorskip("pandas").DataFrame(
            {name: source[name].to_pylist() for name in source.column_names}
        )
    cells, rows = sizes
    octets = 2**11 if rows < 9 else 2**20  # of a CSV file: a few rows
    with mock.patch.multiple(columns, _CELLS=cells, _ROWS=rows, _BYTES=(octets, octets)):
        found = read_pool(source, made)
    fingerprint, expected = as_ever(ids, codes)
    assert found.fingerprint == fingerprint
    assert isinstance(found.items, PackedRows)
    assert np.asarray(found.items).tolist() == expected.tolist()
    from_codes = PackedPredictions(made.C, expected)  # class and codes, the way without a table
    assert np.array_equal(found.items.planes, from_codes._planes)
    direct = PredictionTable(made.C.candidates, labels=labels).items(np.array(labels, dtype=object)[expected])
    assert np.array_equal(direct.planes, found.items.planes)


@settings(max_examples=60)
@given(tables(), st.data())
def test_packed_rows_index_like_the_array_of_codes(table, data):
    labels, _, codes = table
    rows = PackedRows.blank(*codes.shape, labels=len(labels))
    first = 0
    while first < codes.shape[1]:  # some columns, then others, of some rows, then of others
        some = data.draw(st.integers(1, 70))
        cut = data.draw(st.integers(0, len(codes)))
        for at in (slice(0, cut), slice(cut, len(codes))):
            rows.write_columns(at, first, list(codes[at, first : first + some].T))
        first += some
    places = data.draw(st.lists(st.integers(0, len(codes) - 1), min_size=1, max_size=5))
    hypotheses = data.draw(st.lists(st.integers(0, codes.shape[1] - 1), min_size=1, max_size=codes.shape[1]))
    some, which = np.array(places), np.array(hypotheses)
    paired = np.resize(which, len(some))
    same = [
        (np.asarray(rows), codes), (rows[places[0]], codes[places[0]]), (rows[some], codes[some]),
        (rows[1:], codes[1:]), (rows[:, which], codes[:, which]), (rows[:, hypotheses[0]], codes[:, hypotheses[0]]),
        (rows[some, paired], codes[some, paired]), (rows[some, :], codes[some, :]),
        (rows[some, hypotheses[0]], codes[some, hypotheses[0]]), (rows.T, codes.T),
    ]  # fmt: skip
    for packed, plain in same:
        assert np.asarray(packed).tolist() == plain.tolist()
    halves = [rows[: len(codes) // 2], rows[len(codes) // 2 :]]
    assert np.array_equal(PackedRows.stack(halves).planes, rows.planes)
    order = np.random.default_rng(0).permutation(len(codes))
    rows.put_in_order(order)
    assert rows.tolist() == codes[order].tolist()

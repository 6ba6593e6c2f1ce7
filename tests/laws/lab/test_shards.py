"""Shards hold the pool that their tables hold: the same ids, items and fingerprint, whatever came in which order."""

import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.classes.catalogue import recipe
from replical.lab import columns, shards
from replical.lab.shards import write_shards
from replical.lab.tables import read_pool
from support.tables import write

pa = pytest.importorskip("pyarrow")


@st.composite
def tables(draw):
    labels = draw(st.sampled_from([("no", "yes"), (0, 1), ("a", "b", "c"), tuple(range(300))]))
    rows, width = draw(st.integers(1, 12)), draw(st.sampled_from([1, 2, 9, 64, 65, 130, 200]))
    codes = np.random.default_rng(draw(st.integers(0, 99))).integers(len(labels), size=(rows, width))
    ids = draw(st.permutations([f"i{number}" for number in range(rows)]))
    return labels, list(ids), codes


def arrow(labels, ids, codes):
    said = {f"m{place}": [labels[code] for code in column] for place, column in enumerate(codes.T)}
    return pa.table({"id": ids, **said})


def written(table, path, band):
    """A file whose rows are read `band` at a time."""
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=band)
        return path
    return write(table, path)


@pytest.mark.parametrize("examples", [12, pytest.param(150, marks=pytest.mark.slow)])
def test_shards_are_the_pool_of_their_tables(examples):
    forms = st.lists(st.sampled_from([".parquet", ".csv"]), min_size=3, max_size=3)
    settings(max_examples=examples, deadline=None)(given(tables(), forms, st.data())(shards_are_the_pool))()


def shards_are_the_pool(table, forms, data):
    import pyarrow.parquet  # noqa: F401

    labels, ids, codes = table
    made = recipe(
        {"kind": "table", "candidates": [{"name": f"m{place}"} for place in range(codes.shape[1])]}, labels, "s"
    )
    whole = arrow(labels, ids, codes)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(ids)), max_size=2)) - {len(ids)})
    band, cells, stripe, size = (
        data.draw(st.sampled_from(each)) for each in ([1, 3, 100], [1, 64, 2**24], [1, 16, 2**28], [1, 40, 2**26])
    )
    with (
        tempfile.TemporaryDirectory() as name,
        mock.patch.object(shards, "_BAND", stripe),
        mock.patch.object(columns, "_CELLS", cells),
    ):
        folder = Path(name)
        expected = read_pool(write(whole, folder / "whole.parquet"), made)
        bounds = [0, *cuts, len(ids)]
        parts = [
            written(whole.slice(low, high - low), folder / f"part{low}{form}", band)
            for low, high, form in zip(bounds, bounds[1:], forms, strict=False)
        ]
        found = [
            write_shards(parts, made, folder / "shards", size=size),
            read_pool(folder / "shards", made),
            read_pool(folder / "shards", made).recompute_fingerprint(),
        ]
        for each in found:
            assert (each.ids, each.fingerprint) == (expected.ids, expected.fingerprint)
            assert np.asarray(each.items).tolist() == np.asarray(expected.items).tolist()

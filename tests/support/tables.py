"""A small table, written in every format, and what is said of a bad one."""

import csv

import pytest

from replical.classes.catalogue import recipe
from replical.errors import ReplicalError
from replical.lab.tables import read_pool

TEXTS = ("no", "yes")


TABLE = {"kind": "table", "candidates": [{"name": "a"}, {"name": "b c"}]}


PREDICTS = recipe(TABLE, TEXTS, "s")


GOOD = {
    "id": ["x3", "x1", "x2"], "text": ["drei", "eins", "zwei"], "a": ["no", "yes", "yes"], "b c": ["no", "no", "yes"],
    "dose": [0.25, 1.75, 2.5], "age": [40.5, 39.5, 41.25],
}  # fmt: skip


def write(table, path):
    """The same table in the format of the file's name."""
    import pyarrow as pa
    from pyarrow import parquet

    table = table if isinstance(table, pa.Table) else pa.table(table)
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(table.column_names)
            writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    else:
        parquet.write_table(table, path)
    return path


def refused(source, made=PREDICTS, **options):
    with pytest.raises(ReplicalError) as caught:
        read_pool(source, made, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)

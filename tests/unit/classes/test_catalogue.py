"""Classes from a word of the command line, and tables from files."""

import pytest

from replical.classes.catalogue import parse
from replical.errors import BadSpec, BadTable, ReplicalError, ValueOutOfRange


@pytest.mark.parametrize(
    "spec",
    ["thresholds", "thresholds:", "thresholds:x", "thresholds:-1", "thresholds:1.5", "foo:3", "", "table:", "²:3"],
)
def test_malformed_specs(spec):
    with pytest.raises(BadSpec, match="unknown class|malformed class"):
        parse(spec)


def test_empty_class_from_a_spec():
    with pytest.raises(ValueOutOfRange, match="at least one hypothesis"):
        parse("thresholds:0")


def test_table_files(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("m1,m2\nyes,no\nno,no\n")
    C, items = parse(f"table:{file}")
    assert C.candidates == ("m1", "m2")
    assert C.labels == ("no", "yes")
    assert items.tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m1,m2\nyes,\n", "line 2: the prediction of 'm2' is missing"),
        ("m1,m2\nyes\n", "line 2: 1 values where the header names 2"),
        ("m1,m2\n", "at least one row"),
        ("m1,m2\nyes,yes\n", "single label"),
        ("m1,m1\nyes,no\n", "named twice"),
    ],
)
def test_bad_table_files(tmp_path, text, message):
    file = tmp_path / "t.csv"
    file.write_text(text)
    with pytest.raises(ReplicalError, match=message):
        parse(f"table:{file}")


def test_missing_table_file(tmp_path):
    with pytest.raises(BadTable, match="cannot read the table"):
        parse(f"table:{tmp_path / 'nowhere.csv'}")

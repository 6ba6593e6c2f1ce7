"""Thresholds, intervals, stars and tables by their definitions, and what they refuse."""

import numpy as np
import pytest

from replical import Intervals, PredictionTable, Star, Thresholds
from replical.errors import BadLabel, BadTable, ReplicalError


def test_intervals_are_all_runs_and_the_empty_one():
    rows = {tuple(row) for row in Intervals(6).predict(np.arange(6)).tolist()}
    runs = {tuple(int(a <= x <= b) for x in range(6)) for a in range(6) for b in range(a, 6)}
    assert rows == runs | {(0,) * 6}


def test_thresholds_with_cuts_and_real_features():
    C = Thresholds(cuts=[0.1, 0.5, 0.9], labels=("low", "high"))
    assert C.predict([0.05, 0.1, 0.5, 2.0]).tolist() == [
        ["low", "high", "high", "high"],
        ["low", "low", "high", "high"],
        ["low", "low", "low", "high"],
    ]
    assert C.describe(1) == "high if x >= 0.5 else low"
    assert Thresholds(3).predict([-5.0, 0.5, 1.0, 99.0]).tolist() == [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]


def test_fingerprints_tell_classes_apart():
    made = [
        Thresholds(5), Thresholds(6), Thresholds(5, labels=("a", "b")), Thresholds(5, labels=("b", "a")),
        Thresholds(cuts=[0.0, 1.0, 2.0, 3.0, 4.0]), Intervals(5), Star(5), PredictionTable(["x", "y"]),
        PredictionTable(["y", "x"]),
    ]  # fmt: skip
    assert len({C.fingerprint for C in made}) == len(made)


def test_tables_from_columns_equal_tables_from_rows():
    C = PredictionTable(["a", "b"], labels=("no", "yes"))
    rows = [["no", "yes"], ["yes", "yes"], ["no", "no"]]
    columns = {"b": ["yes", "yes", "no"], "a": ["no", "yes", "no"], "unused": [1, 2, 3]}
    assert (C.items(rows) == C.items(columns)).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Thresholds(0), "at least one hypothesis"),
        (lambda: Thresholds(-3), "got -3"),
        (lambda: Thresholds(2.5), "whole number, got 2.5"),
        (lambda: Thresholds(), "either a number"),
        (lambda: Thresholds(cuts=[1.0, 1.0]), "strictly ascending"),
        (lambda: Thresholds(cuts=[1.0, float("nan")]), "finite"),
        (lambda: Intervals(0), "got 0"),
        (lambda: Star(0), "got 0"),
        (lambda: Star(3, labels=("a",)), "2 to"),
        (lambda: Star(3, labels=("a", "a")), "distinct"),
        (lambda: Star(3, labels=(0.5, 1.5)), "texts or integers"),
        (lambda: Thresholds(3, labels=(0, 1, 2)), "tells two labels apart"),
        (lambda: PredictionTable([]), "at least one hypothesis"),
        (lambda: PredictionTable(["a", "a"]), "'a' is named twice"),
        (lambda: PredictionTable(["a", 3]), "must be texts"),
    ],
)
def test_bad_classes(make, message):
    with pytest.raises(ReplicalError, match=message):
        make()


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        ([[0, 1], [1, None]], BadTable, "row 1, column 1 is missing"),
        ([[0, 1], [1, float("nan")]], BadTable, "row 1, column 1 is missing"),
        ([[0, 1], [1, ""]], BadTable, "row 1, column 1 is missing"),
        ([[0, 1], [1]], BadTable, "unequal lengths"),
        ([[0, 1, 0]], BadTable, "needs 2 predictions an item"),
        ([0, 1], BadTable, "needs 2 predictions an item"),
        ([[0, 1], [1, 7]], BadLabel, "7 at row 1, column 1"),
        ([[0, 1], [1, 0.7]], BadLabel, "0.7 at row 1, column 1"),
        ([["0", "1"]], BadLabel, "'0' at row 0, column 0"),
        ({"a": [0]}, BadTable, "no column for the candidate 'b'"),
        ({"a": [0], "b": [1, 0]}, BadTable, "unequal lengths: 1 in 'a', 2 in 'b'"),
    ],
)
def test_bad_tables(rows, kind, message):
    with pytest.raises(kind, match=message):
        PredictionTable(["a", "b"]).items(rows)


@pytest.mark.parametrize(
    ("C", "X", "message"),
    [
        (Intervals(5), [0, 5], "got 5"),
        (Intervals(5), [-1], "got -1"),
        (Intervals(5), [0.5], "one-dimensional array of cell numbers"),
        (Star(5), [[0]], "one-dimensional"),
        (Thresholds(5), ["a"], "numbers"),
        (Thresholds(5), [0.0, float("nan")], "position 1 is missing"),
    ],
)
def test_bad_items(C, X, message):
    with pytest.raises(BadTable, match=message):
        C.items(X)

"""Packed predictions turned round, and items that nobody tells apart."""

import numpy as np

from replical import PredictionTable
from replical.classes.predictions.packed import PackedPredictions
from replical.core import bits

CODES = np.array([[0, 2, 1], [1, 1, 1], [0, 2, 1], [0, 0, 1]])  # one row an item


def test_rows_become_hypotheses():
    C = PredictionTable(["a", "b", "c"], labels=(0, 1, 2))
    planes = PackedPredictions(C, C.items(CODES)).turned(np.array([3, 1, 0]))
    digits = [bits.unpack(plane, 3).astype(int) for plane in planes]
    assert (digits[0] + 2 * digits[1] == CODES[[3, 1, 0]].T).all()


def test_items_of_one_kind():
    C = PredictionTable(["a", "b", "c"], labels=(0, 1, 2))
    first, kind = PackedPredictions(C, C.items(CODES)).kinds()
    assert sorted(first.tolist()) == [0, 1, 3]
    assert (CODES[first][kind] == CODES).all()

"""Packed predictions: what cannot fit is refused before any time is spent on it; rows turned, and items of one kind."""

import numpy as np
import pytest

from replical import Intervals, PredictionTable
from replical.classes.predictions.packed import PackedPredictions
from replical.core import bits, memory
from replical.errors import ValueOutOfRange

CODES = np.array([[0, 2, 1], [1, 1, 1], [0, 2, 1], [0, 0, 1]])  # one row an item


class Unread(Intervals):
    """A class that nobody may ask."""

    def codes(self, items, hypotheses):
        raise AssertionError("time was spent")


@pytest.mark.parametrize(
    ("free", "items", "said"),
    [
        (2**20, 100_000, "need 956.7 MiB, and 1.0 MiB of memory are free: use a smaller class or pool "
                         "(104 of the items or 64 of the hypotheses would fit)"),
        (None, 3_000_000, "need 28.0 GiB, more than 16.0 GiB: use a smaller class or pool (1,712,506 of the "
                          "items or 45,760 of the hypotheses would fit)"),
        (8, 10, "and 0.0 MiB of memory are free: use a smaller class or pool"),
    ],
)  # fmt: skip
def test_what_cannot_fit_says_what_would(monkeypatch, free, items, said):
    monkeypatch.setattr(memory, "free", lambda: free)
    with pytest.raises(ValueOutOfRange) as refused:
        PackedPredictions(Unread(400), np.zeros(items, dtype=np.int64))
    assert said in str(refused.value)


def test_free_memory_is_at_most_what_a_container_allows(monkeypatch, tmp_path):
    told, limit = tmp_path / "meminfo", tmp_path / "max"
    monkeypatch.setattr(memory, "_PROC", told)
    monkeypatch.setattr(memory, "_GROUP", limit)
    told.write_text("MemTotal: 90 kB\nMemAvailable: 50 kB\n")
    limit.write_text("max\n")
    assert memory.free() == 50 * 1024
    limit.write_text("1000\n")
    assert memory.free() == 1000
    told.unlink()
    monkeypatch.delattr("os.sysconf")
    limit.unlink()
    assert memory.free() is None


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

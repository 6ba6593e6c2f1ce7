"""Packed predictions: what cannot fit is refused before any time is spent on it; rows turned, and items of one kind."""

import numpy as np
import pytest

from replical import Boxes, Intervals, PredictionTable, SharedRandomness, Stumps, Thresholds
from replical.classes.catalogue import parse
from replical.classes.predictions.base import predictions_of
from replical.classes.predictions.packed import PackedPredictions, check_memory
from replical.core import bits, memory, randomness
from replical.core.canonical import fingerprint
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
    planes = PackedPredictions(C, C.items(CODES)).transpose(np.array([3, 1, 0]))
    digits = [bits.unpack(plane, 3).astype(int) for plane in planes]
    assert (digits[0] + 2 * digits[1] == CODES[[3, 1, 0]].T).all()


def test_items_of_one_kind():
    C = PredictionTable(["a", "b", "c"], labels=(0, 1, 2))
    first, kind = PackedPredictions(C, C.items(CODES)).kinds()
    assert sorted(first.tolist()) == [0, 1, 3]
    assert (CODES[first][kind] == CODES).all()


# ---- without a matrix ----


@pytest.mark.parametrize(
    "spec", ["thresholds:1000000000000", "intervals:1000000", "boxes:2,1000", "boxes:1,1000000", "stumps:1000,1000000"]
)
def test_what_cannot_fit_is_refused_with_the_size_that_would(spec, monkeypatch):
    monkeypatch.setattr(memory, "free", lambda: None)
    with pytest.raises(ValueOutOfRange, match=r"GiB, more than 16.0 GiB: at most 134217728 hypotheses fit"):
        parse(spec)


def test_items_may_be_too_many_too(monkeypatch):
    monkeypatch.setattr(memory, "free", lambda: None)
    check_memory(Stumps(100, 50_000), 10**6)
    check_memory(Intervals(2000), 10**9)
    with pytest.raises(
        ValueOutOfRange, match=r"10000000 hypotheses on 80000000 items need 16.1 GiB, .*at most 9217728 hyp"
    ):
        check_memory(Stumps(100, 50_000), 80_000_000)
    with pytest.raises(ValueOutOfRange, match=r"at most 2147483648 items fit"):
        check_memory(Thresholds(5), 2**32)
    with pytest.raises(ValueOutOfRange, match="a feature has at most 268435456 cuts, got 1000000000"):
        Stumps(1, 10**9)


def test_ten_million_stumps_answer_with_a_few_bytes_each():
    C = Stumps(100, 50_000)
    assert len(C) == 10**7
    predictions = predictions_of(C, np.full((3, 100), [[0.0], [0.5], [1.0]]))
    up, down = 2 * (50_000 * 7 + 25_000), 2 * (50_000 * 7 + 25_000) + 1  # cuts just above one half
    assert predictions.codes(up).tolist() == [0, 0, 1]
    assert predictions.codes(down).tolist() == [1, 1, 0]
    assert predictions.votes(np.array([up, down]), np.arange(3)).tolist() == [[1, 1]] * 3
    assert predictions.disagreement(np.array([up, up + 2]), np.arange(3)).tolist() == [False] * 3
    assert predictions.disagreement(np.array([up - 2, up]), np.arange(3)).tolist() == [False, True, False]


def test_boxes_of_many_features_count_feature_by_feature():
    C = Boxes(8, 2)  # 6,561 boxes of 256 corners
    predictions = predictions_of(C, C.items(np.full((2, 8), [[0.1], [-1.0]])))
    assert predictions.votes(np.arange(len(C)), np.arange(2)).tolist() == [[len(C) - 2**8, 2**8], [len(C), 0]]


def test_the_fingerprint_of_stumps_is_that_of_their_lists():
    lines = [[0.25, 0.5], [-0.0, 1e-7], [0.25, 0.5]]
    expected = fingerprint({"kind": "stumps", "cuts": lines, "labels": [0, 1]})
    assert Stumps(cuts=lines).fingerprint == expected
    assert Stumps(2, 3).fingerprint == Stumps(cuts=[[0.25, 0.5, 0.75]] * 2).fingerprint


def test_the_first_in_the_shared_order_is_the_same_in_blocks(monkeypatch):
    shared, everyone = SharedRandomness("blocks"), np.arange(1000)
    chosen = [everyone, everyone[::3], everyone[::-1], np.array([999, 5, 5, 40])]
    whole = [shared.first("order", indices=some) for some in chosen]
    monkeypatch.setattr(randomness, "_BLOCK", 7)
    assert [shared.first("order", indices=some) for some in chosen] == whole
    assert whole[0] == int(np.argmin(shared.words("order", count=1000)))

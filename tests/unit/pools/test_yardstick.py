"""A yardstick: what it counts, and what it refuses."""

import numpy as np
import pytest

from replical import Boxes, HalfSpaces, PredictionTable, SharedRandomness, Stumps, Thresholds, Yardstick, plan
from replical.errors import BadProtocol, BadSpec, BadTable, PlanMismatch, ValueOutOfRange
from replical.lab.schema import check_yardstick

C = Thresholds(6)
TASK = {"epsilon": 0.1, "delta": 0.1, "rho": 0.1, "pool": "finite"}


def test_distances_are_counted_with_weights():
    yardstick = Yardstick(C, [0, 1, 2, 3, 4], weights=[1, 2, 3, 4, 5])
    assert yardstick.size == 15
    assert yardstick.version_space().distances(2).tolist() == [3, 2, 0, 3, 7, 12]


def test_its_fingerprint_is_that_of_class_items_and_weights():
    made = [
        Yardstick(C, [0, 1]), Yardstick(C, [1, 0]), Yardstick(C, [0, 1], weights=[1, 2]),
        Yardstick(C, [0, 0, 1]), Yardstick(Thresholds(7), [0, 1]),
    ]  # fmt: skip
    assert len({each.fingerprint for each in made}) == len(made)
    assert Yardstick(C, np.array([0, 1])).fingerprint == made[0].fingerprint


def test_drawn_cells_are_those_of_the_string():
    one, two = (Yardstick.drawn(C, 1000, SharedRandomness(text)) for text in ("one", "two"))
    assert one.size == two.size == 1000
    assert one.fingerprint != two.fingerprint
    assert one.weights.min() > 100


@pytest.mark.parametrize(
    "C",
    [Boxes(2, 4), Stumps(cuts=[[10.0, 20.0, 50.0], [-1.0]]), HalfSpaces(3, 40, seed="net")],
    ids=["boxes", "stumps", "halfspaces"],
)
def test_items_are_drawn_where_cells_are_too_many(C):
    one, again, two = (Yardstick.drawn(C, 4000, SharedRandomness(text)) for text in ("one", "one", "two"))
    assert one.size == 4000
    assert one.fingerprint == again.fingerprint != two.fingerprint
    kinds = {len(np.unique(each)) for each in one.items.T}
    assert kinds == {Boxes: {4}, Stumps: {2, 4}, HalfSpaces: kinds}[type(C)]
    assert len(one.items) == {Boxes: 16, Stumps: 8, HalfSpaces: 4000}[type(C)]
    if isinstance(C, HalfSpaces):
        assert abs(one.items.std() - 1) < 0.05
    else:
        assert one.weights.min() > 4000 / len(one.items) / 1.5  # equal chances
    whole = one.version_space()
    assert whole.distances(0).max() <= 4000
    with pytest.raises(ValueOutOfRange, match="string:M"):
        Yardstick.cells(C)


def test_drawn_items_use_words_that_nothing_else_uses(monkeypatch):
    """Neither those of the threshold nor those of the order, nor those that half-spaces themselves are drawn from."""
    asked = []
    words = SharedRandomness.words
    C = HalfSpaces(2, 10, seed="s")
    monkeypatch.setattr(
        SharedRandomness, "words", lambda self, *name, **more: asked.append(name) or words(self, *name, **more)
    )
    for each in (C, Boxes(2, 4), Stumps(2, 3), Thresholds(9)):
        Yardstick.drawn(each, 10, SharedRandomness("s"))
    assert {name[0] for name in asked} == {"yardstick"}


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: Yardstick(C, [0, 1], weights=[1, 0]), ValueOutOfRange, "item 1 of the yardstick has weight 0"),
        (lambda: Yardstick(C, np.arange(0)), ValueOutOfRange, "at least one item"),
        (lambda: Yardstick(C, [0, 1], weights=[1, -1]), ValueOutOfRange, "non-negative"),
        (lambda: Yardstick(C, [0], weights=[2**23]), ValueOutOfRange, "add up to at most 4,194,304"),
        (lambda: Yardstick(C, ["x"]), BadTable, "numbers"),
        (lambda: Yardstick.cells(PredictionTable(["a", "b"])), ValueOutOfRange, "does not list its cells"),
        (
            lambda: Yardstick.drawn(PredictionTable(["a", "b"]), 9, SharedRandomness("s")),
            ValueOutOfRange,
            "a file of items",
        ),
        (lambda: Yardstick.drawn(C, 0, SharedRandomness("s")), ValueOutOfRange, "got 0"),
        (lambda: Yardstick.cells(Thresholds(2**40)), ValueOutOfRange, "too many cells"),
        (lambda: Yardstick.lazy(C, 0, lambda: np.arange(0)), ValueOutOfRange, "got 0"),
        (
            lambda: plan("rounded-cal", Thresholds(7), yardstick=Yardstick.cells(C), **TASK),
            PlanMismatch,
            "same candidates",
        ),
        (lambda: plan("rounded-cal", 6, yardstick=Yardstick.cells(C), **TASK), BadSpec, "give the class"),
        (lambda: plan("settled", C, yardstick=Yardstick.cells(C), **TASK), BadSpec, "settled measures nothing"),
        (lambda: check_yardstick({"source": "pool"}), BadProtocol, "one of cells, string, file"),
        (lambda: check_yardstick({"source": ["cells"]}), BadProtocol, "one of cells, string, file"),
        (lambda: check_yardstick({"source": "cells", "items": 3}), BadProtocol, "no key 'items'"),
        (lambda: check_yardstick({"source": "string"}), BadProtocol, "needs the key 'items'"),
        (lambda: check_yardstick({"source": "string", "items": "many"}), BadProtocol, "a whole number, got 'many'"),
        (lambda: check_yardstick({"source": "string", "items": -1}), BadProtocol, "got items = -1"),
    ],
)
def test_bad_input_is_one_sentence(make, error, sentence):
    with pytest.raises(error) as caught:
        make()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_range_beyond_epsilon_is_allowed_where_own_items_judge():
    assert (
        plan("rounded-cal", C, yardstick=Yardstick.cells(C), b=0.5, **TASK)["b"]
        == plan("rounded-cal", C, yardstick=Yardstick.cells(C), a=0.1, b=0.5, **TASK)["b"]
    )
    with pytest.raises(ValueOutOfRange, match="below epsilon"):
        plan("rounded-cal", C, b=0.5, **TASK)

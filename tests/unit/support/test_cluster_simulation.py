"""Laws that any cluster obeys, and that the simulation of one must."""

import importlib
import random

import pytest

from support.paths import ROOT


@pytest.fixture(scope="module")
def model():
    """The simulation, which stands beside the benchmarks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("cluster_simulation")


@pytest.fixture(scope="module")
def pieces(model):
    chance = random.Random(5)
    return [model.Piece(chance.lognormvariate(0, 1), 2000, 8000) for _ in range(300)]


def costly(model):
    return model.Network(bytes_a_second=1e6, latency=0.01), model.Driver(hand_out=0.002, hear=0.003)


COUNTS = (1, 2, 3, 4, 7, 10, 30, 100, 299, 300, 1000)


def test_one_worker_takes_the_sum(model, pieces):
    assert model.seconds(pieces, 1) == pytest.approx(sum(each.seconds for each in pieces), rel=1e-12)


def test_enough_workers_take_as_long_as_the_longest_piece(model, pieces):
    assert model.seconds(pieces, 300) == max(each.seconds for each in pieces)


def test_never_faster_than_an_even_share_or_the_longest_piece(model, pieces):
    total, longest = sum(each.seconds for each in pieces), max(each.seconds for each in pieces)
    for costs in ((), costly(model)):
        for workers in COUNTS:
            found = model.seconds(pieces, workers, *costs)
            assert found >= max(total / workers * (1 - 1e-12), longest)
            assert found <= total / workers + longest + len(pieces) * 0.05 + 1  # Graham's bound, and every message once


def test_messages_cost_what_they_must(model, pieces):
    """The driver hands out and hears every piece, and the link carries every byte: neither can be passed by."""
    slow = model.Driver(hand_out=0.5, hear=0.5)
    assert model.seconds(pieces, 1000, driver=slow) >= 300
    narrow = model.Network(bytes_a_second=8000)
    assert model.seconds(pieces, 1000, narrow) >= 300
    assert model.seconds([model.Piece(2.0, 8000, 4000)], 1, model.Network(bytes_a_second=8000, latency=0.25)) == 4.0
    assert model.seconds([model.Piece(2.0, 8, 4)], 1, driver=model.Driver(hand_out=1, hear=2, a_byte=0.25)) == 8.0
    for workers in COUNTS:
        assert model.seconds(pieces, workers, *costly(model)) > model.seconds(pieces, workers)

"""A board against brute force: bets written out item by item, and the bounds that follow (docs/claims/board.md)."""

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical.evals.board import STAKES, _sums, board, check

tables = st.tuples(st.integers(2, 5), st.integers(2, 40), st.integers(0, 2**32)).map(
    lambda at: np.random.default_rng(at[2]).integers(5, size=(at[1], at[0])) / 4
)


def wealth(sum_, square, cost):
    return sum(exp(min(700, stake * sum_ - cost(stake) * square)) for stake in STAKES) / len(STAKES)


def narrow(stake):
    return -log(1 - stake) - stake


@pytest.mark.claim("board")
@given(tables)
def test_it_is_its_twin(table):
    """Upper bounds, and who is better, from differences item by item."""
    _items, models = table.shape
    found = board([str(h) for h in range(models)], table, level=0.2)
    for h in range(models):
        Z = {g: table[:, h] - table[:, g] for g in range(models) if g != h}
        grid = np.linspace(0, 1, 401)
        least = max(
            next((x for x in grid if wealth((x - z).sum(), ((x - z) ** 2).sum(), narrow) >= 1 / 0.2), 1.0)
            for z in Z.values()
        )
        assert least - 1 / 400 - 1e-5 <= found.high[h] <= least + 1e-5
        for g, z in Z.items():
            value = wealth(-z.sum(), (z**2).sum(), narrow)
            if abs(value - 1 / 0.2) > 1e-3:
                assert bool(found.better[h, g]) == (value >= 1 / 0.2)
    assert (found.low <= found.high + 1e-5).all() or len(found.survivors) < models
    assert int(found.losses.argmin()) in found.survivors


@pytest.mark.claim("board")
@given(st.sampled_from(STAKES), st.floats(-2, 2))
def test_bets_from_sums_are_below_bets(stake, z):
    if z >= -1:
        assert stake * z - narrow(stake) * z * z <= log(1 + stake * z) + 1e-12
    assert stake * z - (-log(1 - 2 * stake) - 2 * stake) / 4 * z * z <= log(1 + stake * z) + 1e-12


def test_stakes_move_bounds_one_way():
    for stake in STAKES:
        assert stake >= 4 * narrow(stake)
        assert stake >= 2 * (-log(1 - 2 * stake) - 2 * stake) / 4


@given(tables, st.integers(0, 2**32))
def test_the_order_of_rows_moves_no_mean(table, seed):
    names = [str(h) for h in range(table.shape[1])]
    mixed = table[np.random.default_rng(seed).permutation(len(table))]
    one, two = board(names, table), board(names, mixed)
    assert np.allclose(one.losses, two.losses)
    assert np.allclose(one.high, two.high, atol=1e-6)


@given(st.floats(0, 1), st.integers(2, 6), st.integers(0, 2**32))
def test_sums_of_fine_losses_are_off_by_rounding_alone(least, models, seed):
    """Losses that are nearly alike, whose differences would drown in sums of single precision."""
    drawn = np.random.default_rng(seed).random((5000, models))
    table = check([str(h) for h in range(models)], least + (1 - least) * drawn / 1000, 0.05)
    exact, (_, squares) = table.astype(np.float64), _sums(table)
    differences = squares[0, 0] + squares[1, 1] - 2 * squares[0, 1]
    assert abs(differences - ((exact[:, 0] - exact[:, 1]) ** 2).sum()) < 1e-8

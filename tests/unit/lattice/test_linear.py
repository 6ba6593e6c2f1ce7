"""The lattice of half-spaces: cells have numbers, numbers have cells, and bad numbers are refused by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical.errors import BadTable, ReplicalError
from replical.lattice.linear import Linear, step_for


@given(st.integers(1, 6), st.floats(0.01, 1), st.integers(0, 1000), st.booleans())
def test_a_direction_has_a_cell_and_the_cell_a_number(d, step, seed, constant):
    C = Linear(d, step=step, seed=str(seed), intercept=1.0 if constant else None)
    w = np.random.default_rng(seed).normal(size=C.d)
    cell = C.cell(w)
    h = C.number(cell)
    assert C.cell_of(h) == cell == C.cell(3 * w)
    assert 0 <= h < C.size
    w /= np.linalg.norm(w)
    assert np.linalg.norm(C.normal(h) - w) <= step * np.sqrt(C.d) / 2 + 1e-5  # half a cell's diagonal


def test_rotation_is_nearly_orthogonal_and_follows_from_the_text():
    one, two, other = (Linear(20, step=0.1, seed=text) for text in ("a", "a", "b"))
    assert np.abs(one.rotation @ one.rotation.T - np.eye(20)).max() < 1e-4
    assert one.fingerprint == two.fingerprint != other.fingerprint
    assert Linear(20, step=0.1, seed="a", intercept=1.0).fingerprint != one.fingerprint


def test_an_intercept_is_one_feature_more():
    C = Linear(2, step=0.1, seed="a", intercept=2.0)
    assert C.items([[3.0, 4.0]]).tolist() == [[3.0, 4.0, 2.0]]
    w = C.normal(C.number(C.cell(np.array([0.6, 0.0, -0.8]))))
    said = C.codes(C.items([[3.0, 0.0], [2.0, 0.0]]), [C.number(C.cell(np.array([0.6, 0.0, -0.8])))])
    assert said.tolist() == [[int(3 * w[0] + 2 * w[2] >= 0), int(2 * w[0] + 2 * w[2] >= 0)]]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"dimensions": 0}, "must be positive, got 0"),
        ({"dimensions": 2000}, "at most 1000 dimensions, got 2000"),
        ({"step": 0.0}, r"must be in \[1e-6, 1\], got 0.0"),
        ({"step": float("nan")}, "got nan"),
        ({"seed": 7}, "published text, got int"),
        ({"intercept": -1.0}, "above 0, got -1.0"),
        ({"labels": ["no"]}, "label set"),
    ],
)
def test_bad_numbers_are_named(wrong, words):
    with pytest.raises(ReplicalError, match=words):
        Linear(**({"dimensions": 2, "step": 0.1, "seed": "a"} | wrong))


def test_cells_that_are_not_there_are_refused():
    C = Linear(2, step=0.1, seed="a")
    for wrong in (-1, C.size, True, 0.5):
        with pytest.raises(ReplicalError, match="cells 0 to"):
            C.cell_of(wrong)
    with pytest.raises(ReplicalError, match="an axis, got 99"):
        C.number((99, 0))
    with pytest.raises(ReplicalError, match="not all 0"):
        C.cell(np.zeros(2))
    with pytest.raises(BadTable, match="row 0, column 1 is missing or infinite"):
        C.items([[1.0, np.inf]])


def test_the_step_follows_from_the_error():
    assert step_for(0.04, 12) == pytest.approx(0.02 * np.pi)
    assert step_for(1.0, 1) == 1.0

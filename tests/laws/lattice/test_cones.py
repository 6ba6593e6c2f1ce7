"""Bounds on the unit vectors of a cone hold for all of them, whatever the solver does (docs/claims/lattice.md)."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from replical.lattice.cones import ConeCentre, Slice, extent


def a_cone(d, rows, seed):
    """Planes in random directions, each cutting what is left; the rows, their centre, and one direction inside."""
    generator = np.random.default_rng(seed)
    true = generator.normal(size=d)
    true /= np.linalg.norm(true)
    centre = ConeCentre.of_ball(d)
    for _ in range(rows):
        candidates = generator.normal(size=(50, d))
        candidates /= np.linalg.norm(candidates, axis=1)[:, None]
        scores = centre.scores(candidates) if len(centre.A) else np.zeros(50)
        a = candidates[scores.argmin()]
        if scores.min() < 1:
            centre = centre.cut(a if a @ true >= 0 else -a)
    return centre, true, np.linalg.qr(generator.normal(size=(d, d)))[0]


def inside(A, start, count, generator):
    """Directions of the cone, by a walk that turns at random and stays inside."""
    w, found = start, []
    for _ in range(count):
        step = generator.normal(size=len(w)) * 0.5 ** generator.integers(12)
        new = w + step
        new /= np.linalg.norm(new)
        if (A @ new >= 0).all():
            w = new
        found.append(w)
    return np.array(found)


def bounds(centre, Q):
    slice_ = Slice(centre.A, centre.direction)
    return extent(Q, centre.direction, [*map(slice_.reach, Q)], [*map(slice_.reach, -Q)])


@pytest.mark.claim("lattice")
@settings(deadline=None, max_examples=25)
@given(st.integers(2, 6), st.integers(0, 40), st.integers(0, 10**6))
def test_no_direction_of_the_cone_is_beyond_its_bounds(d, rows, seed):
    centre, true, Q = a_cone(d, rows, seed)
    found = bounds(centre, Q) if rows else None
    assume(found is not None)
    generator = np.random.default_rng(seed + 1)
    for w in (*inside(centre.A, centre.direction, 300, generator), *inside(centre.A, true, 100, generator)):
        assert (found.low <= Q @ w).all()
        assert (Q @ w <= found.high).all()


@pytest.mark.claim("lattice")
@pytest.mark.parametrize("off", [1e-9, 1e-6, 1e-3])
def test_a_solver_that_errs_gives_wider_bounds(monkeypatch, off):
    """Its duals are changed at random: bounds still hold, and are wider than those of a good one."""
    centre, true, Q = a_cone(4, 30, 7)
    good = bounds(centre, Q)
    solve, generator = scipy.optimize.linprog, np.random.default_rng(0)

    def errs(*given, **named):
        found = solve(*given, **named)
        found.ineqlin.marginals = found.ineqlin.marginals + off * generator.normal(size=len(centre.A))
        found.eqlin.marginals = found.eqlin.marginals - off * abs(generator.normal(size=1))
        return found

    monkeypatch.setattr(scipy.optimize, "linprog", errs)
    wide = bounds(centre, Q)
    assert (wide.high - wide.low > good.high - good.low).any()
    for w in inside(centre.A, true, 2000, generator):
        assert ((wide.low <= Q @ w) & (Q @ w <= wide.high)).all()


def test_a_cone_that_holds_a_line_has_no_bounds():
    centre, _, Q = a_cone(5, 3, 1)
    assert bounds(centre, Q) is None


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 6), st.integers(1, 60), st.integers(0, 10**6))
def test_the_centre_and_its_ellipsoid_are_inside(d, rows, seed):
    centre, _, _ = a_cone(d, rows, seed)
    assert (centre.A @ centre.w > 0).all()
    assert centre.w @ centre.w < 1
    root = np.linalg.cholesky(centre.shape)
    for x in np.random.default_rng(seed).normal(size=(50, d)):
        w = centre.w + 0.999 * root @ (x / np.linalg.norm(x))
        assert (centre.A @ w > 0).all()
        assert w @ w < 1

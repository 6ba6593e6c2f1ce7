"""The direction that fits labels of which some are wrong, and how far off it is said to be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.lattice import direction
from replical.lattice.direction import deviations, fit_direction


def world(d, count, seed, *, wrong=0.05):
    generator = np.random.default_rng(seed)
    best = generator.normal(size=d)
    best /= np.linalg.norm(best)
    rows = generator.normal(size=(count, d))
    return rows, (rows @ best >= 0) ^ (generator.random(count) < wrong), best


def least_sharp_slowly(heights, ones, d):
    """Every length and share tried, one label at a time."""
    nearest = sorted(abs(height) for height in heights)
    longest = 1 / max(nearest[min(2 * d, len(nearest) - 1)], 1e-9)
    losses = {}
    for length in np.geomspace(0.5, max(longest, 1.0), 25):
        for share in (0.005, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4):
            loss = 0.0
            for height, one in zip(heights, ones, strict=True):
                chance = 1 / (1 + np.exp(-np.clip(length * height, -35, 35)))
                says_one = share + (1 - 2 * share) * chance
                loss -= np.log(says_one if one else 1 - says_one)
            losses[length, share] = loss
    best = min(losses.values())
    length = min(length for (length, _), loss in losses.items() if loss <= best + d)
    return length, min((loss, share) for (each, share), loss in losses.items() if each == length)[1]


@settings(deadline=None, max_examples=15)
@given(d=st.integers(1, 4), count=st.integers(1, 30), seed=st.integers(0, 10**6))
def test_the_least_sharp_boundary_is_found(d, count, seed):
    rows, ones, best = world(d, count, seed, wrong=0.2)
    assert direction._least_sharp(rows @ best, ones, d) == pytest.approx(least_sharp_slowly(rows @ best, ones, d))


@settings(deadline=None, max_examples=15)
@given(d=st.integers(2, 5), seed=st.integers(0, 10**6))
def test_turning_the_world_turns_the_deviations(d, seed):
    rows, ones, best = world(d, 60, seed)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    axes = np.eye(d)
    turned = deviations(rows @ turn.T, ones, turn @ best, axes @ turn.T)
    assert turned == pytest.approx(deviations(rows, ones, best, axes), rel=1e-4)


def test_labels_that_say_nothing_about_an_axis_leave_it_open():
    rows, ones, best = world(3, 40, 1)
    rows = np.column_stack([rows, np.zeros(len(rows))])
    off = deviations(rows, ones, np.append(best, 0.0), np.eye(4))
    assert off[3] > 100 > off[:3].max()


def test_coin_flips_near_the_plane_promise_nothing():
    """Labels near a plane that are as good as coin flips: the best fit calls them sharp, and that must not be believed."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(150, 5))
    rows[30:, 0] *= 0.005
    ones = generator.random(150) < 1 / (1 + np.exp(-4 * rows[:, 0]))
    fit = fit_direction(rows, ones, 0.1, np.zeros(5))
    off = deviations(rows, ones, fit.direction, np.eye(5)[1:])
    assert off.sum() > 3 * 0.25 / np.sqrt(150)  # what four times as sharp a boundary would leave, on three axes

"""The disagreement coefficient equals brute force (docs/claims/theta.md)."""

from fractions import Fraction
from itertools import combinations, pairwise
from math import exp, lgamma, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical import (
    Boxes,
    HalfSpaces,
    Intervals,
    Pool,
    Population,
    PredictionTable,
    PrivateRandomness,
    Star,
    Stumps,
    Thresholds,
    ball,
    curve,
    theta,
    theta_bound,
)
from replical.core.kernels import backend
from replical.core.kernels import pairs as pairs_kernel
from replical.worlds.theta import _beta_quantile, _Limits
from support import reference

radii = st.sampled_from([0.0, 0.05, 0.2, 0.5])


def table(n, m, labels, seed):
    """A random table of predictions with weights, one of them positive at least."""
    generator = np.random.default_rng(seed)
    C = PredictionTable([f"c{i}" for i in range(n)], labels=tuple(range(labels)))
    items, weights = C.items(generator.integers(labels, size=(m, n))), generator.integers(0, 4, size=m)
    weights[0] += 1
    return C, items, weights


def balls_are_those_of_brute_force(C, over, codes, weights):
    for h in range(len(C)):
        found = curve(C, over, h)
        assert list(zip(found.radii, found.disputed, found.members, strict=True)) == reference.curve(codes, weights, h)
        assert found.total == sum(weights)
        assert max(1, found.ratios.max()) == pytest.approx(float(reference.theta(codes, weights, h)))
        for r in (0, 0.05, 0.2, 0.25, 1):
            assert ball(C, over, h, r).tolist() == reference.ball(codes, weights, h, Fraction(str(r)))


def brute(C, items, weights, r0):
    codes = reference.all_codes(C, items)
    return [reference.theta(codes, weights, h, Fraction(str(r0))) for h in range(len(C))]


@pytest.mark.claim("theta")
@pytest.mark.usefixtures("kernels")
@given(st.integers(1, 12), st.integers(1, 8), st.sampled_from([2, 3]), st.integers(0, 2**32), radii)
def test_tables_equal_brute_force(n, m, labels, seed, r0):
    C, items, weights = table(n, m, labels, seed)
    world = Population(C, target=0, cells=items, weights=weights)
    expected = brute(C, items, weights, r0)
    assert theta(C, world, r0=r0).value == pytest.approx(float(max(expected)))
    alone = [theta(C, world, centre=h, r0=r0) for h in range(n)]
    for h, found in enumerate(alone):
        assert found.value == pytest.approx(float(expected[h]))
        if found.radius[0]:
            ratio = Fraction(*found.disagreement) / Fraction(*found.radius)
            assert float(ratio) == pytest.approx(found.value)


@pytest.mark.claim("theta")
@pytest.mark.usefixtures("kernels")
@given(
    st.integers(1, 9), st.integers(1, 7), st.sampled_from([2, 3]), st.integers(0, 2**32), radii, st.sampled_from([1, 3])
)
def test_it_is_attained_where_brute_force_finds_it_first(n, m, labels, seed, r0, threads_used):
    """The same centre, radius and mass among equals, though balls and centres are left out and work is shared."""
    C, items, weights = table(n, m, labels, seed)
    ratio, centre, radius, disputed = reference.peak(reference.all_codes(C, items), weights, Fraction(str(r0)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "thread_count", lambda: threads_used)
        patch.setattr(pairs_kernel, "_SHARE", 1)
        if backend.trouble() is None:
            patch.setattr("replical.core.kernels.numba_pairs._SHARE", 1)
        patch.setattr(pairs_kernel, "_BLOCK", 2)
        found = theta(C, Population(C, target=0, cells=items, weights=weights), r0=r0)
    assert (found.centre, found.disagreement) == (centre, (disputed, weights.sum()))
    assert Fraction(*found.radius) == radius / int(weights.sum())
    assert found.value == pytest.approx(float(ratio))


@pytest.mark.claim("theta")
@given(st.integers(1, 15), st.lists(st.integers(-1, 15), min_size=1, max_size=12), radii)
def test_lines_equal_brute_force(n, x, r0):
    C = Thresholds(n)
    pool = Pool(C, x, PrivateRandomness.simulated("p"))
    expected = brute(C, np.array(x), np.ones(len(x), dtype=int), r0)
    assert theta(C, pool, r0=r0).value == pytest.approx(float(max(expected)))
    for h in range(n):
        assert theta(C, pool, centre=h, r0=r0).value == pytest.approx(float(expected[h]))


@pytest.mark.claim("theta")
@pytest.mark.usefixtures("kernels")
@given(st.integers(1, 8), st.integers(1, 8), st.sampled_from([2, 3]), st.integers(0, 2**32))
def test_balls_of_tables_equal_brute_force(n, m, labels, seed):
    C, items, weights = table(n, m, labels, seed)
    world = Population(C, target=0, cells=items, weights=weights)
    balls_are_those_of_brute_force(C, world, reference.all_codes(C, items), weights)


@pytest.mark.claim("theta")
@given(st.integers(1, 10), st.lists(st.integers(-1, 10), min_size=1, max_size=10))
def test_balls_on_lines_equal_brute_force(n, x):
    C = Thresholds(n)
    pool = Pool(C, x, PrivateRandomness.simulated("p"))
    balls_are_those_of_brute_force(C, pool, reference.all_codes(C, np.array(x)), np.ones(len(x), dtype=int))


@pytest.mark.usefixtures("kernels")
def test_a_sweep_of_many_goes_on_after_everything_is_disputed():
    """More hypotheses than are swept at a time; far ones are still members."""
    C, items, weights = table(700, 6, 2, 5)
    codes = reference.all_codes(C, items)
    world = Population(C, target=0, cells=items, weights=weights)
    found = curve(C, world, 3)
    assert list(zip(found.radii, found.disputed, found.members, strict=True)) == reference.curve(codes, weights, 3)
    assert found.members[-1] == 700


def worlds():
    """One of each kind: plain and merged items, many labels, weights beyond what doubles tell apart, ties."""
    lab, generator = PrivateRandomness.simulated("recorded"), np.random.default_rng(2026)
    C = HalfSpaces(2, 300, seed="recorded")
    X = generator.normal(size=(700, 2))
    yield "half-planes", C, Pool(C, X, lab)
    yield "half-planes, merged", C, Pool(C, X.round(1)[generator.integers(100, size=700)], lab)
    C = Intervals(25)
    yield "intervals", C, Pool(C, generator.integers(25, size=2000), lab)
    C = Boxes(2, 5)
    yield "boxes", C, Pool(C, generator.random((500, 2)), lab)
    C = Stumps(4, 30)
    yield "stumps", C, Pool(C, generator.random((400, 4)), lab)
    C = PredictionTable([f"c{i}" for i in range(130)], labels=tuple(range(5)))
    yield "five labels", C, Pool(C, generator.integers(5, size=(300, 130)), lab)
    cells, weights = C.items(generator.integers(5, size=(90, 130)) // 3), generator.integers(1, 2**45, size=90)
    yield "heavy weights", C, Population(C, target=0, cells=cells, weights=weights)
    C = Star(40)
    yield "star", C, Population(C, target=0)


# Found by version 0.1, which went through all distances centre by centre: everyone, then from r0 = .1 on, then centre 7;
# each time the centre, its radius and what is disputed there, by weight. Last, the bound from r0 = .05 on and its centre.
HEAVY = ((56, 508847756913280, 1440780403128790), (7, 537320387287032, 1476825281928242))
RECORDED = {
    "half-planes": [(61, 21, 87), (211, 84, 315), (7, 202, 551), (8.817065200113692, 15)],
    "half-planes, merged": [(211, 29, 120), (61, 92, 380), (7, 177, 491), (9.117067836348017, 148)],
    "intervals": [(0, 101, 2000), (0, 200, 2000), (7, 664, 2000), (20.0, 0)],
    "boxes": [(135, 33, 500), (0, 50, 500), (7, 82, 500), (20.0, 0)],
    "stumps": [(0, 50, 243), (0, 50, 243), (7, 87, 294), (12.213348356823571, 0)],
    "five labels": [(60, 220, 297), (60, 220, 297), (7, 225, 300), (1.6471754475884022, 60)],
    "heavy weights": [HEAVY[0], HEAVY[0], HEAVY[1], None],
    "star": [(0, 1, 40), (0, 4, 40), (7, 2, 40), None],
}


@pytest.mark.usefixtures("kernels")
def test_what_was_found_before_is_found_again():
    for name, C, over in worlds():
        found = [theta(C, over), theta(C, over, r0=0.1), theta(C, over, centre=7)]
        where = [(each.centre, each.radius[0], each.disagreement[0]) for each in found]
        assert where == RECORDED[name][:3], name
        if isinstance(over, Pool):
            bound = theta_bound(C, over, r0=0.05)
            assert bound.value == pytest.approx(RECORDED[name][3][0], rel=1e-9), name
            assert bound.centre == RECORDED[name][3][1], name


# ---- the upper bound ----


ITEMS = 10
C = PredictionTable([f"c{i}" for i in range(7)], labels=(0, 1))
# Four cells and what seven hypotheses say there; the last cell is not disputed.
PREDICTIONS = C.items([[0, 1, 0, 0, 1, 0, 1], [0, 0, 1, 0, 1, 1, 0], [0, 0, 0, 1, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0]])
WORLDS = {"distances decide": ((10, 10, 4, 1), 0.1), "masses decide": ((2, 2, 2, 4), 0.3)}


def counts_of(items, cells):
    """Every way in which so many items fall into the cells."""
    for bars in combinations(range(items + cells - 1), cells - 1):
        ends = (-1, *bars, items + cells - 1)
        yield [after - before - 1 for before, after in pairwise(ends)]


def how_often_it_fails(weights, r0, confidence, centre):
    """The exact probability that the bound lies below Θ of the population."""
    world = Population(C, target=0, cells=PREDICTIONS, weights=np.array(weights))
    truth, failing = theta(C, world, r0=r0, centre=centre).value, 0.0
    for counts in counts_of(ITEMS, len(weights)):
        pool = Pool(C, PREDICTIONS[np.repeat(np.arange(4), counts)], PrivateRandomness.simulated("p"))
        if theta_bound(C, pool, r0=r0, confidence=confidence, centre=centre).value < truth:
            logs = [
                count * log(weight / sum(weights)) - lgamma(count + 1)
                for count, weight in zip(counts, weights, strict=True)
            ]
            failing += exp(lgamma(ITEMS + 1) + sum(logs))
    return failing


@pytest.mark.claim("theta")
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("centre", "confidence"), [(None, 0.95), (0, 0.95), (0, 0.5)])
def test_the_bound_holds_as_often_as_it_says(world, centre, confidence):
    assert how_often_it_fails(*WORLDS[world], confidence, centre) <= 1 - confidence


@pytest.mark.claim("theta")
@pytest.mark.mutant
@pytest.mark.parametrize(("world", "broken"), [("distances decide", "distance"), ("masses decide", "mass")])
def test_the_same_test_catches_a_pool_that_is_believed(world, broken, monkeypatch):
    """Distances, or masses, taken as they are on the pool."""
    weights, r0 = WORLDS[world]
    least = r0 if broken == "distance" else 0.0
    monkeypatch.setattr(_Limits, broken, lambda limits, counts: np.maximum(counts / ITEMS, least))
    assert how_often_it_fails(weights, r0, 0.95, 0) > 0.2


@pytest.mark.claim("theta")
@pytest.mark.parametrize(("centre", "pairs", "balls"), [(None, 21, 42), (0, 6, 6)])
def test_every_pair_and_every_ball_has_its_share_of_the_failures(centre, pairs, balls, monkeypatch):
    """Half of what may fail is for distances, half for masses; seven hypotheses are 21 pairs and 42 balls."""
    seen = []
    ratio = _Limits.ratio
    monkeypatch.setattr(_Limits, "ratio", lambda limits, swept: seen.append(limits) or ratio(limits, swept))
    pool = Pool(C, PREDICTIONS[np.arange(8) % 4], PrivateRandomness.simulated("p"))
    theta_bound(C, pool, centre=centre, confidence=0.9)
    assert seen[0]._pair * pairs == pytest.approx(0.05)
    assert seen[0]._ball * balls == pytest.approx(0.05)


@pytest.mark.claim("theta")
def test_interval_ends_are_on_the_safe_side_on_huge_pools():
    """The inverse alone is off near a count of 1000 on pools of 10**8 items and more."""
    from scipy.special import betainc

    counts = np.arange(980, 1020)
    for U in (10**8, 10**9):
        x = _beta_quantile(counts, U - counts + 1, 1e-6)
        assert (betainc(counts, U - counts + 1, x) <= 1e-6).all()
        assert (x > 0.5 * counts / U).all()

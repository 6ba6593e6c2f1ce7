"""The certificate's arithmetic against its definitions (docs/claims/certificate.md)."""

from fractions import Fraction
from itertools import pairwise
from math import ceil, comb, exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from replical.bounds.gamma import COARSE, FINE, Gamma, Grid, Logs, gamma_unlimited, largest_count, lower_tail, planned

A, B = 0.1, 0.25


# --- the distribution function ----------------------------------------------------------------------------------------


def tails(U, m, p):
    at = Logs.of(np.asarray(p, dtype=np.float64))
    return tuple(lower_tail(U, np.asarray(m, dtype=np.float64), at, upper=upper) for upper in (False, True))


@given(st.integers(1, 60), st.data())
def test_tails_bracket_exact_sums(U, data):
    m, over = data.draw(st.integers(-1, U)), data.draw(st.integers(0, 2**20))
    p = Fraction(over, 2**20)
    exact = sum(comb(U, i) * p**i * (1 - p) ** (U - i) for i in range(m + 1))
    low, high = tails(U, [m], [float(p)])
    assert low[0] <= float(exact) * (1 + 1e-13)
    assert float(exact) <= high[0] * (1 + 1e-13)


@pytest.mark.parametrize("U", [1, 2, 3, 10, 100, 1000, 10**4, 10**5, 10**6, 10**7])
def test_tails_bracket_the_distribution_function(U):
    """And are one count apart at most; scipy is good to 1e-11."""
    generator = np.random.default_rng(U)
    m = np.concatenate((np.arange(-1, min(U, 30) + 1), U - np.arange(min(U, 6)), generator.integers(0, U + 1, 150)))
    p = np.concatenate((10.0 ** -np.arange(1, 16), 1 - 10.0 ** -np.arange(1, 16), generator.random(60), [0.0, 1.0]))
    far, near = np.meshgrid(m, p), generator.integers(0, U + 1, 3000)
    close = np.clip((near + generator.normal(size=3000) * 5 * np.sqrt(near + 1)) / U, 0, 1)
    m, p = np.concatenate((far[0].ravel(), near)), np.concatenate((far[1].ravel(), close))
    low, high = tails(U, m, p)
    exact, next_one = binom.cdf(m, U, p), binom.cdf(m + 1, U, p)
    slip = sqrt(U * 1e-14)
    assert (low <= exact + 1e-11).all()
    assert (exact <= high + 1e-11).all()
    assert (high <= next_one + slip + 1e-11).all()
    assert (low >= binom.cdf(m - 1, U, p) - slip - 1e-11).all()


@pytest.mark.parametrize("failure", [1e-12, 1e-7, 0.001, 0.05])
@pytest.mark.parametrize("U", [1, 7, 100, 5000, 100_000, 10**7])
def test_largest_count(U, failure):
    """Below the failure asked for, and by one count at most more careful than necessary."""
    for p in (1e-6, 0.01, 0.05, 0.4, 0.9):
        found = largest_count(U, p, failure)
        assert -1 <= found < U
        assert binom.cdf(found, U, p) <= failure * (1 + 1e-9)
        assert binom.cdf(found + 2, U, p) >= failure * (1 - 1e-5)


# --- the intervals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [1.0, 3.0, 12.0])
@pytest.mark.parametrize("U", [10, 300, 20_000])
def test_each_side_of_an_interval_fails_as_rarely_as_it_says(U, beta):
    low, high = Gamma(U=U, a=A, b=B, beta=beta).intervals(U, 0)
    counts = np.arange(U + 1)
    assert len(low) == len(high) == U + 1
    for p in np.concatenate((np.geomspace(1e-6, 0.5, 25), [0.7, 0.95, 1.0])):
        weights = binom.pmf(counts, U, p)
        assert weights[high < p].sum() <= exp(-beta) * (1 + 1e-9)
        assert weights[low > p].sum() <= exp(-beta) * (1 + 1e-9)


@given(st.integers(1, 2000), st.floats(0.1, 20), st.integers(0, 300))
def test_slack_widens_intervals(U, beta, kappa):
    """κ items more or less in the score: the interval of every score within κ is contained."""
    one = Gamma(U=U, a=A, b=B, beta=beta)
    low, high = one.intervals(U, 0)
    wide_low, wide_high = one.intervals(U, kappa)
    for count in range(0, U + 1, max(1, U // 50)):
        within = slice(max(0, count - kappa), count + kappa + 1)
        assert wide_low[count] <= low[within].min() + 1e-15
        assert wide_high[count] >= high[within].max() - 1e-15
    assert (np.diff(wide_low) >= 0).all()
    assert (np.diff(wide_high) >= 0).all()


# --- Γ̂ against its definition -----------------------------------------------------------------------------------------


def contribution(p, v, sure, maybe, *, alone, labs=2):
    """π(p, v): the chance that h at distance p matters at threshold v, from C_p(v-κ) and C_p(v+κ)."""
    if alone:
        return np.where(v >= p, 1 - sure, maybe)
    return np.where(v >= p, 1 - sure**labs, 1 - (1 - maybe) ** labs - sure**labs)


class Instance:
    """Random cells and hypotheses; the first one is h*. Scores are those of one lab, shifted by at most κ."""

    def __init__(self, seed, *, kappa=None, beta=None, labs=2):
        self.labs = labs
        self.generator = generator = np.random.default_rng(seed)
        self.U = int(generator.choice([30, 300, 1000, 3000]))
        self.n, cells = int(generator.integers(3, 50)), int(generator.integers(4, 25))
        if seed % 2:
            self.mass = generator.dirichlet(np.ones(cells) * generator.choice([0.5, 2.0]))
            self.X = (generator.random((self.n, cells)) < generator.uniform(0.02, 0.5, (self.n, 1))).astype(np.int64)
        else:  # clusters: many hypotheses at one distance
            self.mass = np.ones(cells) / cells
            self.X = (generator.random((4, cells)) < 0.18).astype(np.int64)[generator.integers(0, 4, self.n)]
        self.X[0] = 0
        self.d = self.X @ self.mass
        self.kappa = int(generator.choice([0, 1, 0.3 * sqrt(self.U), 0.03 * self.U])) if kappa is None else kappa
        self.beta = float(generator.choice([0.5, 3.0, 9.0])) if beta is None else beta
        self.masses = generator.dirichlet(np.ones(self.n) * 0.5) + 1e-6
        self.places = generator.permutation(self.n)
        moved = generator.integers(-self.kappa, self.kappa + 1, self.n)
        self.scores = np.clip(self.X @ generator.multinomial(self.U, self.mass) + moved, 0, self.U)

    def certificate(self, kind):
        chosen = {"weights": {"masses": self.masses}, "order": {"places": self.places}, "alone": {"alone": True}}
        return Gamma(U=self.U, a=A, b=B, beta=self.beta, labs=self.labs, **chosen.get(kind, {}))

    def least(self, kind):
        return float(self.masses[0]) if kind == "weights" else 1.0

    def intervals(self):
        x, spread = (self.scores + self.kappa) / self.U, self.beta / self.U
        y = np.maximum(self.scores - self.kappa, 0) / self.U
        high = np.minimum(np.minimum(x, 1) + spread + np.sqrt(spread**2 + 2 * np.minimum(x, 1) * spread), 1)
        low = np.maximum(0, y - np.sqrt(2 * y * spread))
        return low, high

    def by_definition(self, kind, points=150):
        """Σ_h μ_h max_p ∫ π(p,v)/N(v) dv: on a dense grid of p, exactly in v, with scipy's distribution function."""
        low, high = self.intervals()
        p = np.unique(np.concatenate((np.linspace(0, 2 * B, points), low, high, self.d)))
        lattice = np.arange(ceil(self.U * A), ceil(self.U * B)) / self.U
        inside = np.concatenate((lattice, p, high))
        edges = np.unique(np.concatenate(([A, B], inside[(inside > A) & (inside < B)])))
        v, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / (B - A)
        m = np.floor(self.U * v).astype(np.int64)
        counts, place = np.unique(m, return_inverse=True)
        sure = np.where(counts >= self.kappa, binom.cdf(counts - self.kappa, self.U, p[:, None]), 0)[:, place]
        maybe = binom.cdf(counts + self.kappa, self.U, p[:, None])[:, place]
        pi = contribution(p[:, None], v, sure, maybe, alone=kind == "alone", labs=self.labs)
        mass = self.masses if kind == "weights" else np.ones(self.n)
        N = np.maximum((mass[:, None] * (high[:, None] <= v)).sum(axis=0), self.least(kind))
        total, nearest = 0.0, inf
        for h in np.argsort(self.places):
            share = width * (v < nearest) if kind == "order" else width * mass[h] / N
            here = (p >= low[h]) & (p <= high[h])
            total += float((pi[here] @ share).max())
            nearest = min(nearest, high[h])
        return total


def inside_and_perhaps(p, v, U, kappa):
    """C_p(v-κ) and C_p(v+κ)."""
    m = np.floor(U * v)
    return np.where(m >= kappa, binom.cdf(m - kappa, U, p), 0), binom.cdf(m + kappa, U, p)


@pytest.mark.parametrize(("alone", "labs"), [(False, 2), (True, 2), (False, 9), (True, 9)])
@pytest.mark.parametrize("step", [0.3, 1.0, 3.0])
@pytest.mark.parametrize(("U", "kappa"), [(12, 0), (12, 1), (80, 0), (80, 3), (600, 0), (600, 20)])
def test_every_rectangle_is_bounded_inside(U, kappa, step, alone, labs):
    """Cells of p and bins of v, and what lies beyond them, at 8 by 8 points each."""
    grid, unit = Grid(U, A, B, kappa, step, alone=alone, labs=labs), step / (2 * sqrt(U))
    parts = np.linspace(0, 1 - 1e-9, 8)
    v = grid.bin_low[:, None] + grid.widths[:, None] * parts
    bins, near = grid._worst.shape
    cells = grid._first + np.arange(bins)[:, None] + np.arange(near)
    edges = np.minimum((np.maximum(cells, 0) * unit) ** 2, 1)
    ends = np.minimum((np.maximum(cells + 1, 0) * unit) ** 2, 1)
    p = edges[..., None] + (ends - edges)[..., None] * np.linspace(0, 1, 8)
    p, v = p[:, :, :, None], v[:, None, None, :]
    tails = inside_and_perhaps(p, v, U, kappa)
    found = contribution(p, v, *tails, alone=alone, labs=labs).max(axis=(2, 3))
    assert (found <= grid._worst + 1e-9).all()
    for beyond in (edges[:, :1] * parts, ends[:, -1:] + (1 - ends[:, -1:]) * parts):
        p = beyond[:, None, :, None]
        tails = inside_and_perhaps(p, v, U, kappa)
        found = contribution(p, v, *tails, alone=alone, labs=labs).max(axis=(1, 2, 3))
        assert (found <= grid._outside + 1e-9).all()


@pytest.mark.claim("certificate", "many_labs")
@pytest.mark.parametrize("kind", ["uniform", "weights", "order", "alone"])
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 10, 30]))
def test_gamma_is_above_its_definition(kind, seed, labs):
    """Never below, on any grid; a fine one is near it where a count more or less is little."""
    one = Instance(seed, labs=labs)
    expected = one.by_definition(kind)
    cap = 1.0 if kind == "order" else inf  # beyond that a strict order is not followed
    for step in (0.05, 0.5, 2.0):
        found = one.certificate(kind).bound(one.scores, one.kappa, one.least(kind), step=step)
        assert min(found, cap) >= min(expected, cap) * (1 - 1e-9) - 1e-9
        if step == 0.05 and expected > 0.02 and one.U >= 300:
            assert min(found, cap) <= 1.6 * min(expected, cap)


@pytest.mark.parametrize("kind", ["uniform", "weights", "order", "alone"])
@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_gamma_grows_with_slack_and_falls_with_the_step(kind, seed):
    one = Instance(seed, kappa=0)
    certificate, least = one.certificate(kind), one.least(kind)
    bounds = [certificate.bound(one.scores, kappa, least) for kappa in sorted({0, 1, one.U // 50, one.U // 12})]
    assert all(low <= high + 1e-9 for low, high in pairwise(bounds) if low < 1)
    for kappa in (0, one.U // 100):
        steps = [certificate.bound(one.scores, kappa, least, step=step) for step in (0.1, 0.2, 0.4, 0.8)]
        assert all(fine <= coarse + 1e-9 for fine, coarse in pairwise(steps) if fine < 1)


@pytest.mark.claim("many_labs")
@pytest.mark.parametrize("kind", ["uniform", "weights", "order", "alone"])
@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_gamma_grows_with_labs(kind, seed):
    """Alone a lab is compared with the ideal answer: there the number of labs changes nothing."""
    one = Instance(seed)

    def bound(labs):
        one.labs = labs
        return one.certificate(kind).bound(one.scores, one.kappa, one.least(kind))

    bounds = [bound(labs) for labs in (2, 3, 10, 100)]
    assert all(low <= high + 1e-9 for low, high in pairwise(bounds) if low < 1)
    if kind == "alone":
        assert bound(2) == bound(50)


OLD = [
    (False, 0, "0x1.52dd8802bb3adp-5"),
    (False, 200, "0x1.7d6bc3974e120p-2"),
    (True, 0, "0x1.aac48eceb9d8ap-6"),
    (True, 200, "0x1.53df294515bf8p-2"),
]


def test_two_labs_of_one_population_have_the_bound_they_always_had():
    """Published certificates are checked by it."""
    scores = np.rint(np.abs(np.arange(-500, 500)) / 1000 * 20_000).astype(np.int64)
    for alone, kappa, known in OLD:
        one = Gamma(U=20_000, a=0.09, b=0.18, beta=log(2000 / 0.0005), alone=alone, labs=2)
        assert one.bound(scores, kappa) == pytest.approx(float.fromhex(known), rel=1e-12)


def test_slack_that_reaches_a_proves_nothing():
    scores, one = np.arange(1000), Gamma(U=1000, a=0.1, b=0.2, beta=5.0)
    assert one.bound(scores, 100) == one.bound(scores, 5000) == inf
    assert one.bound(scores, 99) < inf
    assert gamma_unlimited(scores / 1000, 0.1, 0.1, 0.2, None, 1.0) == inf
    assert gamma_unlimited(scores / 1000, 0.0999, 0.1, 0.2, None, 1.0) < inf


@pytest.mark.parametrize("kind", ["uniform", "weights"])
def test_the_unit_of_masses_does_not_matter(kind):
    one = Instance(5, kappa=3, beta=3.0)
    mass = one.masses if kind == "weights" else np.ones(one.n)
    bounds = [
        Gamma(U=one.U, a=A, b=B, beta=3.0, masses=mass * unit).bound(one.scores, 3, float(mass[0]) * unit)
        for unit in (1.0, 1e-6, 1e5)
    ]
    assert bounds[1:] == pytest.approx(bounds[:-1], rel=1e-9)
    if kind == "uniform":
        assert bounds[0] == pytest.approx(one.certificate("uniform").bound(one.scores, 3), rel=1e-12)


# --- Γ̂ against what happens -------------------------------------------------------------------------------------------


def overlaps(one, kind, runs):
    """1 - μ(A)/μ(B) for `runs` groups of pools and thresholds: what labs with slack κ can lose at worst."""
    generator = one.generator
    pools = [generator.multinomial(one.U, one.mass, runs) for _ in range(one.labs)]
    D = np.stack([pool @ one.X.T for pool in pools], axis=1)
    v = generator.uniform(A, B, runs)[:, None]
    m = np.floor(one.U * v)
    ideal = one.d <= v
    if kind == "alone":
        everyone, both = ideal | (D[:, 0] - one.kappa <= m), ideal & (D[:, 0] + one.kappa <= m)
    else:
        everyone, both = ideal | (D.min(axis=1) - one.kappa <= m), D.max(axis=1) + one.kappa <= m
    if kind == "order":
        preferred = np.argsort(one.places)
        first = everyone[:, preferred].argmax(axis=1)
        return 1.0 - both[:, preferred][np.arange(runs), first]
    mass = one.masses if kind == "weights" else np.ones(one.n)
    return 1 - (both @ mass) / (everyone @ mass)


def not_above(values, bound, alarm):
    """Is a mean of `bound` or less compatible with these values? They are bounded by one, so the tail is normal enough."""
    error = max(float(values.std()), sqrt(bound / len(values))) / sqrt(len(values))
    return float(values.mean()) <= bound + float(norm.isf(alarm)) * error


WORLDS = 20


@pytest.mark.claim("certificate", "many_labs")
@pytest.mark.parametrize("labs", [2, 6])
@pytest.mark.parametrize("kind", ["uniform", "weights", "order", "alone"])
def test_gamma_is_above_what_happens(kind, labs, alarm):
    """Where every interval holds its distance, Γ̂ bounds the loss of labs whose scores are moved by ±κ in the worst way.

    Scores are the expected ones, moved by κ away from or towards the range of the threshold; β leaves room for little more.
    """
    closest, tried = 0.0, 0
    for seed in range(WORLDS):
        one = Instance(seed, beta=0.01, labs=labs)
        for worst in (-1, 1):
            away = np.where(one.d < (A + B) / 2, -worst, worst) * one.kappa
            one.scores = np.clip(np.rint(one.U * one.d).astype(np.int64) + away, 0, one.U)
            low, high = one.intervals()
            if not ((low <= one.d) & (one.d <= high)).all():
                continue
            tried += 1
            found = one.certificate(kind).bound(one.scores, one.kappa, one.least(kind))
            values = overlaps(one, kind, 2000)
            assert not_above(values, min(found, 1.0), alarm / (2 * WORLDS))
            closest = max(closest, float(values.mean()) / found) if found > 0.02 else closest
    assert tried >= WORLDS
    assert closest > 0.5  # nothing is shown by a bound that is far away


# --- pools without end, and before any label --------------------------------------------------------------------------


def unlimited_by_definition(scores, kappa, a, b, mass, least, points=41):
    """h matters for thresholds within κ of its distance p, any p within κ of its score."""
    total = 0.0
    for score, weight in zip(scores, mass, strict=True):
        best = 0.0
        for p in np.concatenate(
            (np.linspace(score - kappa, score + kappa, points), [np.clip(a + kappa, score - kappa, score + kappa)])
        ):
            ends = np.concatenate(([p - kappa, p + kappa], scores + kappa))
            edges = np.unique(np.clip(ends, max(a, p - kappa), max(a, min(b, p + kappa))))
            edges = np.clip(edges, a, b)
            middle = (edges[1:] + edges[:-1]) / 2
            N = np.maximum((mass[:, None] * (scores[:, None] + kappa <= middle)).sum(axis=0), least)
            best = max(best, float((np.diff(edges) / N).sum()))
        total += weight * best
    return total / (b - a)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.001, 0.01, 0.05]), st.booleans())
def test_unlimited_pools_equal_the_definition(seed, kappa, weighted):
    generator = np.random.default_rng(seed)
    scores = np.concatenate(([0.0], generator.integers(0, 40, int(generator.integers(1, 15))) / 100))
    mass = generator.choice([0.5, 1.0, 4.0], size=len(scores)) if weighted else np.ones(len(scores))
    found = gamma_unlimited(scores, kappa, A, B, mass if weighted else None, float(mass.min()))
    expected = unlimited_by_definition(scores, kappa, A, B, mass, float(mass.min()))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kappa", [0.002, 0.01])
def test_large_pools_approach_unlimited_ones(kappa):
    scores = np.abs(np.arange(-500, 501)) / 1001
    limit = gamma_unlimited(scores, kappa, A, B, None, 1.0)
    bounds = []
    for U in (10**5, 10**6, 10**7):
        counts = np.rint(scores * U).astype(np.int64)
        bounds.append(Gamma(U=U, a=A, b=B, beta=log(1e6)).bound(counts, round(kappa * U), step=COARSE))
    assert bounds[0] > bounds[1] > bounds[2] > limit
    assert bounds[2] < 1.1 * limit


def planned_by_definition(d, U, kappa, a, b, failure):
    lam = log(4 * len(d) / failure)
    reach = sqrt(2 * (b + kappa) * lam / U) + 3 * lam / U + kappa
    if reach > a:
        return inf

    def N(x):
        return max(1, int((d <= x + 1e-12).sum()))

    growth = max(
        N(x + reach) / N(x - 2e-12) for x in np.concatenate(([a, b], d[(d >= a) & (d <= b)], d - reach)) if a <= x <= b
    )
    g = 1 - (d <= a - reach).sum() / N(a) + growth * log(N(b + reach) / N(a))
    return g / (b - a) * (2 * kappa + 1.92 * sqrt((b + reach) / U)) + failure


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0, 0.001]), st.booleans())
def test_planned_equals_the_formula(seed, kappa, clusters):
    generator, U = np.random.default_rng(seed), 20_000
    d = generator.random(60) * 0.6
    if clusters:
        d = d[generator.integers(0, 8, 60)]
    d[0] = 0.0
    found = planned(d, U=U, kappa=kappa, a=0.1, b=0.25, failure=0.001)
    assert found == pytest.approx(planned_by_definition(d, U, kappa, 0.1, 0.25, 0.001), rel=1e-6)


@pytest.mark.parametrize("distance", [0.11, 0.12218096775356278, 0.2])
def test_planned_does_not_hang_on_a_last_bit(distance):
    """58 hypotheses at one distance, and at the numbers next to it."""
    beside = [distance, np.nextafter(distance, 0), np.nextafter(distance, 1)]
    bounds = [planned(np.array([0.0, 0.0] + [d] * 58), U=20_000, kappa=0, a=0.1, b=0.25, failure=0.001) for d in beside]
    assert bounds[1:] == pytest.approx(bounds[:1] * 2, rel=1e-9)


@pytest.mark.parametrize(("middle", "kappa"), [(True, 0.0), (True, 0.002), (False, 0.0), (False, 0.002)])
def test_planned_is_above_what_happens_to_thresholds(middle, kappa, alarm):
    """Λ(κ) of a line of 2000 cells seen from its middle or its end: each pair of pools with 40 thresholds."""
    n, U, a, b, runs = 2000, 100_000, 0.09, 0.18, 150
    generator, slack = np.random.default_rng([n, middle]), int(kappa * U)
    reach = int(0.3 * n)
    sides = [np.arange(1, reach + 1) / n] * (1 + middle)
    distances = np.concatenate(([0.0], *sides, np.ones(n - 1 - reach * len(sides))))
    bound = planned(distances, U=U, kappa=kappa, a=a, b=b, failure=0.001)
    means = np.empty(runs)
    for run in range(runs):
        m = np.floor(U * (v := generator.uniform(a, b, 40)))
        pools = generator.multinomial(U, [1 / n] * (reach * len(sides)) + [1 - reach * len(sides) / n], 2)
        both, everyone = np.ones(40), np.ones(40)  # h* itself
        for side, d in enumerate(sides):
            D = np.cumsum(pools[:, side * reach : (side + 1) * reach], axis=1)
            both += np.searchsorted(D.max(axis=0), m - slack, side="right")
            nearest = np.searchsorted(D.min(axis=0), m + slack, side="right")
            everyone += np.maximum(nearest, np.searchsorted(d, v, side="right"))
        means[run] = (1 - both / everyone).mean()
    assert not_above(means, bound, alarm)
    assert bound < 4 * means.mean()


def test_a_finer_grid_costs_less():
    """On a line seen from its middle: what the two grids in use add to the sampling part."""
    U = 100_000
    scores, one = np.abs(np.arange(-50_000, 50_000)), Gamma(U=U, a=0.0225, b=0.045, beta=log(2 * U / 0.0005))
    best, fine, coarse = (one.bound(scores, 0, step=step) for step in (0.02, FINE, COARSE))
    assert best < fine < 1.2 * best
    assert fine < coarse < 1.45 * best

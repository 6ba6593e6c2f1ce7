"""Handicap against a second implementation in plain fractions, and its parts against their definitions."""

from decimal import Decimal
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import (
    Handicaps,
    KnownLabels,
    Pool,
    PredictionTable,
    Prior,
    PrivateRandomness,
    SharedRandomness,
    Stumps,
    Thresholds,
    learn,
    learner_for,
    plan,
)
from replical.learners.handicap import handicaps as handicaps_module
from replical.learners.handicap import learner as learner_module
from replical.learners.handicap.handicaps import UNIT, best_slope, by_exponentials, by_order, separate
from support import reference
from support.predictions import tables


def together(run, batch, most, until=None, **options):
    """A run, and what its twin makes of it."""
    labels, codes, truth, seed = run
    C = PredictionTable([f"m{i}" for i in range(len(codes))], labels=labels)
    prior = options.pop("prior", None)
    options |= {} if prior is None else {"prior": prior(C)}
    made = plan("handicap", C, epsilon=0.3, delta=0.1, rho=0.4, batch=batch, max_labels=most, pool="finite", **options)
    shared = SharedRandomness(f"twin {seed}")
    pool = Pool(C, np.array(labels)[codes].T, PrivateRandomness.simulated("twin", seed))
    made = made if until is None else made.spending(until)
    result = learn(learner_for(made), pool, KnownLabels(C, np.array(labels)[truth]), shared)
    members, units, places = made.terms(shared)
    first = None if made.favourite is None else members.tolist().index(made.favourite)
    S, m, asked, scanned, largest, U = reference.handicap(
        codes[members], pool.order.tolist(), truth, [Fraction(int(c), UNIT) for c in units], places.tolist(), Fraction(1, 10),
        batch=batch, most=most, first=first, noiseless=made.noiseless, until=until,
    )  # fmt: skip
    twin = (members[S].tolist(), members[m], asked, scanned, {members[g]: wealth for g, wealth in largest.items()}, U)
    return result, twin


def agree(result, twin):
    S, m, asked, scanned, largest, tolerance = twin
    assert result.survivors.indices.tolist() == S
    assert (result.hypothesis, result.labels, result.proof.scanned) == (m, asked, scanned)
    assert result.proof.certified == (len(S) == 1)
    if tolerance is not None:
        assert result.proof.tolerance == pytest.approx(float(tolerance), abs=2e-6)
    doubt = max([Fraction(1, 10)] + [1 / largest[g] for g in S if g != m])
    assert float(doubt) - 1e-9 <= result.proof.doubt <= float(min(doubt, 1)) + 2e-6


@pytest.mark.claim("handicap")
@given(tables(), st.sampled_from([1, 3]), st.sampled_from([None, 25]), st.booleans())
@settings(max_examples=60)
def test_it_is_its_twin(run, batch, most, ordered):
    prior = (lambda C: Prior.order(C, list(range(len(C)))[::-1])) if ordered else None
    agree(*together(run, batch, most, prior=prior))


@pytest.mark.claim("handicap")
@given(tables(), st.sampled_from([1, 3]), st.sampled_from([None, 25]), st.sampled_from([20, 500]))
@settings(max_examples=40)
def test_with_labels_to_spend_it_is_its_twin(run, batch, most, until):
    agree(*together(run, batch, most, until=until, prior=lambda C: Prior.order(C, list(range(len(C)))[::-1])))


@pytest.mark.claim("handicap")
@given(tables().filter(lambda run: len(run[1]) > 1), st.sampled_from([1, 3]), st.data())
@settings(max_examples=60)
def test_with_a_shortlist_it_is_the_twin_of_those_on_it(run, batch, data):
    """The twin never hears of the others."""
    n = len(run[1])
    order, size = data.draw(st.permutations(range(n))), data.draw(st.integers(2, n))
    result, twin = together(run, batch, None, prior=lambda C: Prior.order(C, order), shortlist=size)
    agree(result, twin)
    assert set(result.survivors.indices.tolist()) <= set(order[:size])
    assert len(result.proof.counts) == size


@pytest.mark.claim("handicap")
@given(tables(), st.sampled_from([1, 3]), st.data())
@settings(max_examples=40)
def test_with_inferred_labels_it_is_its_twin(run, batch, data):
    labels, codes, _, seed = run
    right = data.draw(st.integers(0, len(codes) - 1))
    agree(*together((labels, codes, codes[right], seed), batch, None, nu=0))


@pytest.mark.claim("handicap")
@given(st.integers(1, 60), st.integers(0, 2**32), st.sampled_from([0.02, 0.1, 0.9]))
def test_handicaps_lie_between_nothing_and_epsilon_and_no_two_are_equal(n, seed, epsilon):
    C = Thresholds(n + 1)
    prior = Prior.weights(C, np.random.default_rng(seed).uniform(0.1, 10, n + 1))
    order = Prior.order(C, np.random.default_rng(seed).permutation(n + 1).tolist())
    for each in (Prior(), prior, order):
        made = plan("handicap", C, epsilon=epsilon, delta=0.1, rho=0.2, pool="finite", prior=each)
        members, units, _ = made.terms(SharedRandomness(str(seed)))
        assert members.tolist() == list(range(n + 1))
        assert len(set(units.tolist())) == n + 1
        assert 0 <= units.min() <= units.max() <= epsilon * UNIT + 1
        if each is order:
            assert np.array_equal(np.argsort(units), np.argsort(order.places))
            assert units.min() == 0


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8))
def test_equal_handicaps_are_moved_apart_as_little_as_possible(units):
    moved = separate(np.array(units), np.arange(len(units)), 10)
    assert len(set(moved.tolist())) == len(units)
    assert sorted(range(len(units)), key=lambda i: (units[i], i)) == np.argsort(moved).tolist()
    assert moved.min() >= 0
    assert moved.max() <= 10


def test_truncated_exponentials_have_their_law():
    n, L = 200_000, Fraction(4)
    words = SharedRandomness("law").words("handicap", count=n)
    X = 1 - by_exponentials(words, L, Fraction(1), Fraction(1)) / UNIT
    for x in (0.1, 0.25, 0.5, 0.9):
        expected = (1 - exp(-4 * x)) / (1 - exp(-4))
        assert abs((x >= X).mean() - expected) < 5 * (expected * (1 - expected) / n) ** 0.5


@pytest.mark.claim("handicap")
@pytest.mark.parametrize("n", [2, 8, 100])
def test_margins_are_as_seldom_small_as_lemma_g_says(n):
    """Equal errors are the worst case, and meet the bound nearly."""
    L, x, trials = best_slope(n), 0.02, 4000
    small = 0
    for trial in range(trials):
        words = SharedRandomness(f"margin {trial}").words("handicap", count=n)
        least, second = np.sort(by_exponentials(words, L, Fraction(1), Fraction(1)))[:2]
        small += (second - least) / UNIT < x
    bound = x * float(L) * (1 + n / (exp(float(L)) - 1))
    assert small / trials <= bound + 5 * (bound / trials) ** 0.5
    assert small / trials >= bound / 3


def test_the_best_slope_is_the_best():
    for n in (2, 10, 1000):
        best = float(best_slope(n))
        assert all(
            best * (1 + n / (exp(best) - 1)) <= L / 10 * (1 + n / (exp(L / 10) - 1)) + 1e-12 for L in range(1, 200)
        )


def test_an_order_leaves_a_step_after_the_first():
    units = by_order(np.array([1, 0, 3, 2]), Fraction(1, 20))
    assert units[1] == 0
    assert (np.diff(units[[1, 0, 3, 2]]) > 0).all()
    assert float(Decimal(int(units[0])) / UNIT) == pytest.approx(0.045, abs=1e-9)


def test_a_cover_covers():
    C, items = Thresholds(200), np.arange(199)
    shared = SharedRandomness("cover")
    made = Handicaps.cover(C, items, radius=0.1, shared=shared)
    far = [min(abs(h - int(member)) for member in made.values) for h in range(200)]
    assert max(far) <= 0.1 * 199
    assert len(made.values) <= 12


def farthest(C, items, members):
    """The share of items on which whoever is farthest from a cover differs from its nearest member, by brute force."""
    codes = C.codes(items, np.arange(len(C)))
    return max(min((codes[h] != codes[member]).mean() for member in members) for h in range(len(C)))


@given(st.integers(2, 40), st.integers(1, 60), st.integers(0, 2**32), st.sampled_from([0.0, 0.04, 0.1, 0.3]))
def test_a_cover_of_thresholds_covers_everyone(n, count, seed, radius):
    C, items = Thresholds(n), np.random.default_rng(seed).integers(-1, n, count)
    made, again = (Handicaps.cover(C, items, radius=radius, shared=SharedRandomness(str(seed))) for _ in range(2))
    assert made.values.tolist() == again.values.tolist()
    assert farthest(C, items, made.values) <= radius


@given(
    st.integers(1, 4), st.integers(1, 6), st.integers(1, 40), st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.3])
)
@settings(max_examples=60)
def test_a_cover_of_stumps_covers_everyone_however_few_are_drawn(d, bins, count, seed, radius):
    C = Stumps(d, bins)
    items = C.items(np.random.default_rng(seed).random((count, d)))
    for drawn in (3, 2000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(handicaps_module, "_DRAWN", drawn)
            made, again = (Handicaps.cover(C, items, radius=radius, shared=SharedRandomness(str(seed))) for _ in "ab")
        assert made.values.tolist() == again.values.tolist()
        assert farthest(C, items, made.values) <= radius


def test_a_cover_of_thresholds_takes_the_longest_steps():
    C, items = Thresholds(1001), np.arange(1000)
    for seed in range(20):
        members = Handicaps.cover(C, items, radius=0.04, shared=SharedRandomness(f"steps {seed}")).values
        assert set(np.diff(members)[1:-1].tolist()) == {81}
        assert len(members) <= 14


@given(tables(), st.booleans(), st.data())
@settings(max_examples=60)
def test_differences_are_those_on_every_item_for_which_both_were_in_the_set(run, noiseless, data):
    """Whoever left together is counted at once, errors and what nobody can label; here it is done item by item."""
    labels, codes, truth, seed = run
    seen = []

    class Seeing(learner_module.History):
        def add(self, S, block, observation):
            super().add(S, block, observation)
            seen.append((self, S, block))

    C = PredictionTable([f"m{i}" for i in range(len(codes))], labels=labels)
    if noiseless:
        truth = codes[data.draw(st.integers(0, len(codes) - 1))]
    skipped = np.flatnonzero(np.random.default_rng(seed).random(len(truth)) < 0.2)
    pool = Pool(C, np.array(labels)[codes].T, PrivateRandomness.simulated("counts", seed)).without(skipped)
    made = plan("handicap", C, epsilon=0.3, delta=0.1, rho=0.4, pool="finite", **({"nu": 0} if noiseless else {}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learner_module, "History", Seeing)
        result = learn(learner_for(made), pool, KnownLabels(C, np.array(labels)[truth]), SharedRandomness(f"{seed}"))
    for h in [result.hypothesis] if seen else []:
        counts = {g: [0, 0, 0] for g in range(len(codes))}
        for _, S, block in seen:
            at = S.indices.tolist().index(h)
            Z = [row[at] - row for row in block.losses] + [1 * (says != says[at]) for says in block.disputed]
            for place, g in enumerate(S.indices.tolist()):
                for each in [int(z[place]) for z in Z] + [0] * block.quiet[0][1]:
                    counts[g][each] += 1
        found = seen[-1][0].against(h, np.arange(len(codes))).counts
        assert found.T.tolist() == list(counts.values())

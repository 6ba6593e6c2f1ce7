"""Candidates that share a record have one history: runs with groups are runs in which everyone stands alone."""

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import (
    Intervals,
    KnownLabels,
    Pool,
    Population,
    PredictionTable,
    Prior,
    PrivateRandomness,
    SharedRandomness,
    Thresholds,
    learn,
    learner_for,
    plan,
)
from replical.learners.settled import learner as learners_settled
from replical.learners.settled.bets import Charges
from replical.learners.settled.candidates import Everyone, Line, first, groups_of
from support import reference

ENDS = [(0.3, 0.3), (0.1, 0.2), (0.6, 0.9), (0.04, 0.05)]


def figures(result):
    """Every figure of a result."""
    return (
        result.hypothesis,
        result.unrounded,
        result.labels,
        result.rounds,
        result.conditions,
        result.settling,
        result.V.indices.tolist(),
    )


def both(learner, pool, labels, shared, groups=Line):
    """A run with groups, and the same with everyone alone."""
    assert isinstance(groups_of(pool.version_space(), np.arange(len(pool.C)), lambda new, head: None), Line)
    found = []
    for made in (groups, lambda whole, order, positions, copy: Everyone(whole, order)):
        with patch("replical.learners.settled.candidates.Line", made):
            found.append(figures(learn(learner, pool, labels, shared)))
    return found


def world(n, U, noise, seed):
    """Items on a line of cuts, some beyond both of its ends, and their labels."""
    generator = np.random.default_rng(seed)
    x = generator.integers(-1, n + 1, size=U)
    truth = (x >= generator.integers(n)) ^ (generator.random(U) < noise)
    return Thresholds(n), x, truth.astype(int), generator


def lab(n, U, noise, seed, *, ends=(0.1, 0.2), batch=1, most=None, order=None, unasked=0.0):
    """A learner, a pool, labels, a string."""
    C, x, truth, generator = world(n, U, noise, seed)
    prior = {} if order is None else {"prior": Prior.order(C, order(generator, n).tolist())}
    a, b = ends
    made = plan(
        "settled", C, epsilon=b, delta=0.1, rho=0.4, a=a, b=b, batch=batch, max_labels=most, pool="finite", **prior
    )
    pool = Pool(C, x, PrivateRandomness.simulated("groups", seed)).without(
        np.flatnonzero(generator.random(U) < unasked)
    )
    return learner_for(made), pool, KnownLabels(C, truth), SharedRandomness(f"groups {seed}")


ORDERS = [None, lambda generator, n: np.arange(n), lambda generator, n: generator.permutation(n)]


@pytest.mark.slow
@pytest.mark.claim("settled")
@settings(max_examples=60)
@given(
    n=st.sampled_from([1, 2, 3, 8, 40, 300]),
    U=st.integers(1, 500),
    noise=st.sampled_from([0.0, 0.05, 0.2, 0.5]),
    seed=st.integers(0, 2**32),
    ends=st.sampled_from(ENDS),
    batch=st.sampled_from([1, 3]),
    most=st.sampled_from([None, 25]),
    order=st.sampled_from(ORDERS),
    unasked=st.sampled_from([0.0, 0.3]),
)
def test_groups_on_a_line_change_nothing(n, U, noise, seed, **rest):
    grouped, alone = both(*lab(n, U, noise, seed, **rest))
    assert grouped == alone


@pytest.mark.claim("settled")
@settings(max_examples=20)
@given(
    n=st.sampled_from([2, 5, 12]), U=st.integers(1, 200), noise=st.sampled_from([0.05, 0.3]), seed=st.integers(0, 2**32)
)
def test_groups_on_a_line_are_the_twin(n, U, noise, seed):
    learner, pool, labels, shared = lab(n, U, noise, seed, ends=(0.3, 0.3))
    result = learn(learner, pool, labels, shared)
    order = sorted(range(n), key=lambda h: (shared.word("order", index=h), h))
    C, x, truth, _ = world(n, U, noise, seed)
    levels = {name: learner.plan[name] for name in ("delta_A", "delta_I")}
    twin = reference.settled(C.predict(x), order, pool.order.tolist(), truth, Fraction(3, 10), **levels)
    assert (result.hypothesis, result.settling.certified, result.labels, result.settling.scanned) == twin


def test_groups_change_nothing_on_a_known_distribution():
    C = Thresholds(500)
    learner = learner_for(plan("settled", C, epsilon=0.1, delta=0.1, rho=0.4, max_labels=150, pool="exact"))
    for seed in range(4):
        world, private = Population(C, target=97 * seed), PrivateRandomness.simulated("groups", seed)
        pool = world.pool("exact", private)
        grouped, alone = both(learner, pool, world.labels(pool, private), SharedRandomness(f"groups {seed}"))
        assert grouped == alone


class OneSided(Line):
    """Nobody is parted by a favourite that comes to stand between."""

    def choose(self, favourite, opponent):
        self._single(favourite, favourite)
        self._single(opponent, opponent)


class Inseparable(Line):
    """Favourites and opponents keep their company."""

    def _single(self, place, head):
        pass


@pytest.mark.claim("settled")
@pytest.mark.mutant
@pytest.mark.parametrize("mutant", [OneSided, Inseparable])
def test_groups_that_part_too_rarely_are_noticed(mutant):
    different = 0
    for seed in range(10):
        grouped, alone = both(*lab(40, 400, 0.2, seed, ends=(0.04, 0.05)), groups=mutant)
        different += grouped != alone
    assert different


def test_any_choice_by_errors_changes_nothing(monkeypatch):
    """Favourites that come and go, opponents that are good or bad: far more turns than the rules of choice take."""
    for seed in range(6):

        def favourite(plan_, tally, heads, v, is_open, m, seed=seed):
            turn, most = np.random.default_rng([seed, tally.t]).random(2)
            stays = turn < 0.8 and is_open[m]
            return m if stays else first(tally, heads, is_open, most * np.ptp(tally.E[heads]))

        def opponent(plan_, tally, heads, o, seed=seed):
            E, best = tally.E[heads], np.random.default_rng([seed, tally.t, 1]).random() < 0.5
            return int(heads[np.argmin(E) if best else np.argmax(E)])

        monkeypatch.setattr(learners_settled, "favourite", favourite)
        monkeypatch.setattr(learners_settled, "opponent", opponent)
        grouped, alone = both(*lab(30, 300, 0.2, seed, ends=(0.04, 0.05)))
        assert grouped == alone


class Harsh(Charges):
    """Everybody who is charged is rejected, time and again."""

    def reject(self, o, among, block):
        super().reject(o, among, block)
        return block.places[among]


def test_the_last_open_candidate_is_the_same(monkeypatch):
    monkeypatch.setattr(learners_settled, "Charges", Harsh)
    with patch.object(Line, "spare", autospec=True, side_effect=Line.spare) as spare:
        for seed in range(4):
            learner, pool, labels, shared = lab(30, 60, 0.2, seed, batch=1 + seed)
            grouped, alone = both(learner, pool, labels, shared)
            assert grouped == alone
            assert len(grouped[-1]) == 1
    assert spare.called


def test_tables_and_intervals_have_no_groups():
    for C, items in ((Intervals(5), np.arange(4)), (PredictionTable(["a", "b"]), np.zeros((3, 2), dtype=int))):
        whole = Pool(C, items, PrivateRandomness.simulated("groups")).version_space()
        assert type(groups_of(whole, np.arange(len(C)), lambda new, head: None)) is Everyone


def test_the_last_of_several_groups_stands_alone():
    C = Thresholds(6)
    whole = Pool(C, np.arange(5), PrivateRandomness.simulated("groups")).version_space()
    copied = []
    groups = Line(whole, np.array([3, 0, 5, 1, 2, 4]), np.arange(1, 6), lambda new, head: copied.append((new, head)))
    groups.hear(groups.heads, np.array([2]))  # cuts 0, 1, 2 stand at places 1, 3, 4 and cuts 3, 4, 5 at places 0, 5, 2
    assert groups.heads.tolist() == [0, 1]
    assert groups.spare(groups.heads) == 5
    assert (groups.heads.tolist(), copied) == ([0, 1, 5], [(1, 0), (5, 0)])
    assert sorted(groups.hypotheses(np.array([0])).tolist()) == [3, 5]
    assert groups.size(groups.heads) == 6

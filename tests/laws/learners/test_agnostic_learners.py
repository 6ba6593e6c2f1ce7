"""The agnostic learners against their brute-force twins, on finite pools with noisy labels."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import (
    A2,
    A2Rounds,
    Intervals,
    KnownLabels,
    Pool,
    PredictionTable,
    PrivateRandomness,
    ReplicA2,
    ReplicableERM,
    SharedRandomness,
    Thresholds,
    learn,
    plan,
)
from replical.errors import EmptyVersionSpace
from support import reference
from support.mutants import scaled

TABLE = PredictionTable([f"c{i}" for i in range(12)], labels=("a", "b", "c"))
CLASSES = [Thresholds(20), Intervals(5), TABLE]
worlds = st.tuples(st.sampled_from(CLASSES), st.integers(0, 10**6), st.sampled_from(["x", "published"]))


def lab(C, number, size, noise=0.1):
    """A pool with fixed noisy labels: hypothesis `target`'s, some replaced at random."""
    generator = np.random.default_rng(number)
    if C is TABLE:
        rows = generator.integers(3, size=(20, 12))[generator.integers(20, size=size)]
        X = np.array(C.labels)[rows]
    else:
        X = generator.integers(len(C.cells()), size=size)
    items = C.items(X)
    truth = C.codes(items, np.array([int(generator.integers(len(C)))]))[0].astype(int)
    flip = generator.random(size) < noise
    truth[flip] = (truth[flip] + generator.integers(1, len(C.labels), size=size)[flip]) % len(C.labels)
    private = PrivateRandomness.simulated("lab", number)
    column = KnownLabels(C, np.array(C.labels, dtype=object)[truth])
    order = private.permutation(size).tolist()
    return Pool(C, X, private), column, reference.all_codes(C, items), order, truth.tolist()


def same(result, expected):
    hypothesis, asked, alive = expected
    assert result.V.indices.tolist() == alive
    assert result.labels == len(asked)
    assert result.hypothesis == hypothesis


def uniform(seed):
    return Fraction((reference.shared_word(seed, ("threshold",), 0) >> 11) * 2.0**-53)


@pytest.mark.claim("a2")
@settings(max_examples=30)
@given(worlds, st.sampled_from([1, 5]))
def test_betting(world, batch):
    C, number, seed = world
    pool, labels, codes, order, truth = lab(C, number, 300)
    made = plan("a2", C, epsilon=0.2, delta=0.2, pool="finite", batch=batch)
    expected = reference.a2_betting(codes, order, truth, made.epsilon, Fraction(1, 5), batch, seed)
    same(learn(A2(made), pool, labels, SharedRandomness(seed)), expected)


@pytest.mark.claim("a2")
@settings(max_examples=30)
@given(worlds)
def test_rounds(world):
    C, number, seed = world
    pool, labels, codes, order, truth = lab(C, number, 800)
    made = plan("a2-rounds", C, epsilon=0.05, delta=0.2, theta=1.0, nu=0.05, k_loop=40, k_final=30)
    try:
        expected = reference.a2_rounds(
            codes, order, truth, made.stop_mass, made.rounds_most, 40, made["width"], 30, seed
        )
    except IndexError:
        return  # the reference ran out of items
    same(learn(A2Rounds(made), pool, labels, SharedRandomness(seed)), expected)


@pytest.mark.claim("replica2")
@settings(max_examples=30)
@given(worlds, st.sampled_from([5, 25]))
def test_replica2(world, percent):
    """Algorithm 4 with sizes of one's own, masses as the pool has them; with a large ε several survive, without rounds."""
    C, number, seed = world
    pool, labels, codes, order, truth = lab(C, number, 900, noise=0.03)
    task = {"epsilon": percent / 100, "delta": 0.2, "rho": 0.3, "theta": 1.0, "nu": 0.08}
    made = plan("replica2", C, **task, name="paper", pool="finite", k_loop=60, k_final=50)
    epsilon, nu_bar, m = Fraction(percent, 100), Fraction(max(percent, 8), 100), made.integer("m")
    i = reference.shared_word(seed, ("threshold",), 0) % m
    tau, pi = Fraction(1, 8 * m), epsilon / (3 * m)
    offset, excess = Fraction(1, 16) + Fraction(2 * i + 1, 2) * tau, epsilon / 3 + Fraction(2 * i + 1, 2) * pi
    try:
        expected = reference.replica2(
            codes, order, truth, 8 * nu_bar, made.rounds_most, 60, offset, nu_bar, 50, excess, seed
        )
    except IndexError:
        return  # the reference ran out of items
    if expected[2]:
        same(learn(ReplicA2(made), pool, labels, SharedRandomness(seed)), expected)


@pytest.mark.claim("replica2")
@settings(max_examples=40)
@given(worlds, st.sampled_from([0.001, 0.02, 0.1]), st.sampled_from([40, 200]))
def test_replica2_on_a_pool(world, nu, M):
    """The numbers of a plan, cut down to fit a pool of 1,500: no round where 8Θν̄ is 1 or more, otherwise up to two."""
    C, number, seed = world
    pool, labels, codes, order, truth = lab(C, number, 1_500, noise=0.02)
    made = plan("replica2", C, epsilon=0.01, delta=0.2, rho=0.3, theta=1.5, nu=nu, pool="finite", k_final=M)
    for name, value in (("measuring", 300), ("k_loop", 6)):
        made = scaled(made, name, Fraction(value) / made[name])
    nu_bar, theta = max(Fraction(str(nu)), Fraction(1, 100)), Fraction(3, 2)
    stop, halvings = min(Fraction(1), 8 * theta * nu_bar), 1
    while 2**halvings * stop < Fraction(105, 100):
        halvings += 1
    try:
        expected = reference.replica2_on_a_pool(
            codes, order, truth, 300, stop, halvings, 6, theta, nu_bar, M, Fraction(2, 300) * uniform(seed), seed
        )
    except StopIteration:
        return  # the reference ran out of items
    if expected[2]:
        same(learn(ReplicA2(made), pool, labels, SharedRandomness(seed)), expected)
    else:
        with pytest.raises(EmptyVersionSpace):
            learn(ReplicA2(made), pool, labels, SharedRandomness(seed))


@pytest.mark.claim("replicable_erm")
@settings(max_examples=30)
@given(worlds, st.sampled_from(["paper", "tight"]), st.booleans())
def test_replicable_erm(world, name, agnostic):
    C, number, seed = world
    pool, labels, codes, order, truth = lab(C, number, 200, noise=0.1 if agnostic else 0.0)
    task = {"epsilon": 0.3, "delta": 0.2, "rho": 0.3, "nu": 0.1 if agnostic else 0.0}
    made = plan("replicable-erm", C, **task, name=name, k_final=120)
    low = Fraction(1, 3) if agnostic and name == "paper" else Fraction(0)
    high = Fraction(2, 3) if agnostic else Fraction(1, 2)
    m = made.integer("m") if name == "paper" else 1
    i = reference.shared_word(seed, ("threshold",), 0) % m
    position = Fraction(2 * i + 1, 2 * m) if name == "paper" else uniform(seed)
    threshold = (low + (high - low) * position) * Fraction(3, 10)
    same(
        learn(ReplicableERM(made), pool, labels, SharedRandomness(seed)),
        reference.replicable_erm(codes, order, truth, 120, threshold, agnostic, seed),
    )

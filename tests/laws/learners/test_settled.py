"""Settled against a second implementation in plain fractions, and its parts against their definitions."""

from decimal import Decimal
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import (
    KnownLabels,
    Pool,
    PredictionTable,
    Prior,
    PrivateRandomness,
    SharedRandomness,
    learn,
    learner_for,
    plan,
)
from replical.bounds.betting import accepting, rejecting
from replical.learners.settled.bets import Purses
from replical.learners.settled.candidates import Tally
from replical.learners.settled.plan import STAKES
from support import reference
from support.predictions import tables


@pytest.mark.claim("settled")
@given(
    tables(),
    st.sampled_from([(0.3, 0.3), (0.1, 0.2), (0.6, 0.9)]),
    st.sampled_from([1, 3]),
    st.sampled_from([None, 25]),
)
@settings(max_examples=60)
def test_it_is_its_twin(run, ends, batch, most):
    (labels, codes, truth, seed), n = run, len(run[1])
    C = PredictionTable([f"m{i}" for i in range(n)], labels=labels)
    a, b = ends
    made = plan("settled", C, epsilon=b, delta=0.1, rho=0.4, a=a, b=b, batch=batch, max_labels=most, pool="finite")
    shared = SharedRandomness(f"twin {seed}")
    pool = Pool(C, np.array(labels)[codes].T, PrivateRandomness.simulated("twin", seed))
    result = learn(learner_for(made), pool, KnownLabels(C, np.array(labels)[truth]), shared)
    order = sorted(range(n), key=lambda h: (shared.word("order", index=h), h))
    twin = reference.settled(
        codes, order, pool.order.tolist(), truth, made.threshold(shared), delta_A=Fraction(3, 50), delta_I=Fraction(1, 25),
        batch=batch, most=most,
    )  # fmt: skip
    assert (result.hypothesis, result.settling.certified, result.labels, result.settling.scanned) == twin
    assert (result.settling.doubt == 0.1) == result.settling.certified


@pytest.mark.claim("settled")
@given(st.integers(0, 300), st.integers(0, 40), st.integers(0, 40), st.sampled_from(["0.05", "0.3", "0.9"]))
def test_wealth_is_the_mean_of_products_and_never_too_large(zeros, plus, minus, v):
    stakes = [Decimal("0.8"), Decimal("0.1")]
    for bets, factors in (
        (accepting, lambda s, x: (1 + s * x, 1 - s * (1 - x), 1 + s * (1 + x))),
        (rejecting, lambda s, x: (1 - s * x / (1 + x), 1 + s * (1 - x) / (1 + x), 1 - s)),
    ):
        made, x = bets(Decimal(v), stakes), Fraction(v)
        exact = (
            sum(a**zeros * b**plus * c**minus for a, b, c in (factors(Fraction(stake), x) for stake in ("4/5", "1/10")))
            / 2
        )
        wealth = Fraction(made.wealth(zeros, plus, minus))
        assert exact * (1 - Fraction(1, 10**29)) <= wealth <= exact
        (about,) = made.about(np.array([[zeros], [plus], [minus]]))
        assert about == pytest.approx(float(made.wealth(zeros, plus, minus).ln()), abs=1e-9)


@pytest.mark.parametrize("totals", [1, 3, 10**5])
@pytest.mark.parametrize("most", [1, 5])
def test_wealth_of_many_bets_is_that_of_each(totals, most):
    """Of few kinds it is computed once for each kind; where totals differ widely, for every bet."""
    generator, made = np.random.default_rng([totals, most]), accepting(Decimal("0.03"), STAKES)
    plus, minus, total = (generator.integers(size, size=400) for size in (most, most, totals))
    counts = np.stack([50 + total, plus, minus])
    expected = [float(made.wealth(*each).ln()) for each in counts.T.tolist()]
    assert made.about(counts) == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.claim("settled")
@pytest.mark.mutant
def test_a_stake_that_may_lose_everything_is_no_bet():
    """Stakes of .8 are too large for charges at v = .9 unless they are scaled."""
    stakes = [Decimal("0.8")]
    rejecting(Decimal("0.9"), stakes)
    with pytest.raises(AssertionError, match="a stake that can lose everything is no bet"):
        rejecting(Decimal("0.9"), [stake * (1 + Decimal("0.9")) for stake in stakes])


def test_equal_counts_are_decided_once():
    """Two thousand copies of two models: decimals for a few of them, not for each."""
    C, wrong = PredictionTable([f"m{i}" for i in range(2000)]), np.random.default_rng(1).random((400, 2)) < [0.02, 0.4]
    pool = Pool(C, np.repeat(wrong, 1000, axis=1).astype(int), PrivateRandomness.simulated("copies"))
    learner = learner_for(plan("settled", C, epsilon=0.1, delta=0.05, rho=0.1, pool="finite"))
    with patch.object(Purses, "_suffices", autospec=True, side_effect=Purses._suffices) as decided:
        result = learn(learner, pool, KnownLabels(C, np.zeros(400, dtype=int)), SharedRandomness("copies"))
    assert result.settling.certified
    assert 0 < decided.call_count < 20


def test_whoever_is_no_longer_compared_goes_on_erring():
    tally, everyone = Tally(3), np.arange(3)
    tally.add(everyone, everyone, np.array([2, 5, 40]), 100, 0)
    tally.add(everyone, everyone[:2], np.array([1, 1]), 100, 0)
    assert tally.E.tolist() == [3.0, 6.0, 3.0 + 2 * 38.0]


def test_the_order_of_a_prior_is_the_order_it_chooses_by():
    C, shared = PredictionTable([f"m{i}" for i in range(40)]), SharedRandomness("order")
    for prior in (Prior(), Prior.weights(C, 1 + np.arange(40) % 5), Prior.order(C, list(range(39, -1, -1)))):
        rest, listed = np.arange(40), []
        while len(rest):
            listed.append(prior.first(shared, "order", indices=rest))
            rest = rest[rest != listed[-1]]
        assert prior.order_of(shared, "order", n=40).tolist() == listed

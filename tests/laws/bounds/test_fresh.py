"""How often these labs would agree with a fresh string is what going through every threshold and order finds."""

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical.bounds.ranks import LabScores, one_answer
from replical.classes.prior import Prior
from replical.classes.table import PredictionTable
from replical.errors import ValueOutOfRange
from support import reference

CLOSE = 1e-9


@st.composite
def groups(draw):
    """Two to four labs with scores on different numbers of items, a range, an order."""
    n, count = draw(st.integers(1, 5)), draw(st.integers(2, 4))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    labs = []
    for _ in range(count):
        items = int(generator.integers(1, 13))
        low = int(generator.integers(0, 1 + items // 2))
        labs.append(
            LabScores(
                scores=generator.integers(low, items + 1, n),
                items=items,
                survivors=np.flatnonzero(np.arange(n) % (1 + generator.integers(3)) == 0),
            )
        )
    ends = sorted(draw(st.lists(st.integers(1, 99), min_size=2, max_size=2, unique=True)))
    kind = draw(st.sampled_from(["uniform", "weights", "order"]))
    masses = [int(mass) for mass in generator.integers(1, 6, n)] if kind == "weights" else None
    places = [int(place) for place in generator.permutation(n)] if kind == "order" else None
    return labs, Fraction(ends[0], 100), Fraction(ends[1], 100), masses, places


def prior_of(n, masses, places):
    C = PredictionTable([f"m{h}" for h in range(n)])
    if masses is not None:
        return Prior.weights(C, masses)
    return Prior() if places is None else Prior.order(C, np.argsort(places).tolist())


def brute(labs, a, b, masses, places):
    """Between two neighbours of all k/U nothing changes; each lab does there what a lab does, with every order."""
    n, total = len(labs[0].scores), Fraction(0)
    points = {Fraction(k, lab.items) for lab in labs for k in range(lab.items + 1)}
    ends = sorted({a, b} | {point for point in points if a < point < b})
    for low, high in pairwise(ends):
        v, share = (low + high) / 2, (high - low) / (b - a)
        kept = []
        for lab in labs:
            within = [h for h in range(n) if lab.scores[h] <= int(lab.items * v)]
            kept.append(within or lab.survivors.tolist())
        for order, chance in reference.orders(n, masses, places):
            answers = {min(each, key=order.index) for each in kept}
            total += share * chance * (len(answers) == 1)
    return total


@pytest.mark.claim("fresh")
@settings(max_examples=150, deadline=None)
@given(groups())
def test_it_is_what_every_threshold_and_order_give(group):
    labs, a, b, masses, places = group
    found = one_answer(labs, (float(a), float(b)), prior_of(len(labs[0].scores), masses, places))
    assert abs(found - float(brute(labs, a, b, masses, places))) < CLOSE


@pytest.mark.claim("fresh")
@pytest.mark.mutant
def test_pairs_alone_promise_too_much():
    """Three labs, each of which keeps another border case: the worst pair agrees more often than all three at once."""
    n = 4
    labs = [
        LabScores(scores=np.array([0, *(3 if h == own else 0 for h in range(n - 1))]), items=4, survivors=np.array([0]))
        for own in range(3)
    ]
    a, b = Fraction(1, 4), Fraction(3, 4)
    exact = brute(labs, a, b, None, None)
    assert exact == Fraction(1, 4)  # the first of four is kept by all of them
    assert abs(one_answer(labs, (0.25, 0.75)) - 0.25) < CLOSE
    by_pairs = min(one_answer(pair, (0.25, 0.75)) for pair in combinations(labs, 2))
    assert by_pairs > float(exact) + 0.2


@pytest.mark.claim("fresh")
@pytest.mark.mutant
def test_labs_without_anybody_near_choose_among_their_survivors():
    """Whoever forgets that takes two labs with other survivors for one."""
    labs = [LabScores(scores=np.array([3, 3]), items=4, survivors=np.array([h])) for h in range(2)]
    assert one_answer(labs, (0.25, 0.75)) == 0.0
    forgetful = [LabScores(scores=lab.scores, items=4, survivors=np.array([0, 1])) for lab in labs]
    assert one_answer(forgetful, (0.25, 0.75)) == 1.0


def test_one_lab_is_no_group():
    lab = LabScores(scores=np.array([0]), items=4, survivors=np.array([0]))
    with pytest.raises(ValueOutOfRange, match="two or more labs, got 1"):
        one_answer([lab], (0.1, 0.2))

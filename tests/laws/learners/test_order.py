"""A public order from labels that are asked for: it is its twin, and nothing but what was asked and said decides."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import Losses, PredictionTable, Thresholds
from replical.learners.handicap import order as module
from replical.learners.handicap.order import Inquiry
from support import reference


@st.composite
def tables(draw):
    """A class, what it says about some items, a walk, and an answer for each item; None where nobody can say."""
    labels = draw(st.integers(2, 3))
    items = draw(st.integers(1, 30))
    if draw(st.booleans()):
        C = Thresholds(draw(st.integers(2, 12)))
        X, labels = C.items(draw(st.lists(st.integers(0, 11), min_size=items, max_size=items))), 2
    else:
        names = draw(st.permutations([f"m{h}" for h in range(draw(st.integers(1, 8)))]))
        C = PredictionTable(names, labels=range(labels))
        row = st.lists(st.integers(0, labels - 1), min_size=len(names), max_size=len(names))
        X = C.items(np.array(draw(st.lists(row, min_size=items, max_size=items))))
    walk = np.array(draw(st.permutations(range(items))))
    answers = draw(st.lists(st.sampled_from([*range(labels), None]), min_size=items, max_size=items))
    return C, X, walk, answers


def ordered(C, X, walk, answers, losses=None):
    """The order, and what was asked for it."""
    inquiry = Inquiry(C=C, items=X, walk=walk, losses=losses)
    for item in inquiry.rows():
        inquiry.hear(item, answers[item])
    return inquiry.prior.places.argsort().tolist(), [tuple(each) for each in inquiry.asked]


def names_of(C):
    return C.candidates if isinstance(C, PredictionTable) else range(len(C))


@pytest.mark.claim("handicap")
@settings(max_examples=150, deadline=None)
@given(tables(), st.sampled_from([1, 4, 100]))
def test_it_is_its_twin(drawn, most):
    C, X, walk, answers = drawn
    codes = C.codes(X, np.arange(len(C)))
    expected, asked = reference.public_order(codes, walk.tolist(), answers.__getitem__, names_of(C), most)
    with mock.patch.object(module, "MOST", most):
        assert ordered(C, X, walk, answers) == (expected, asked)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_with_losses_it_is_its_twin(data):
    """Being in play is counted in costliest errors; a candidate may abstain, a label cannot."""
    losses = Losses.of([0, 1], weights={0: 1.0, 1: data.draw(st.sampled_from([2.0, 4.0]))}, abstain=2, price=0.25)
    names, items = [f"m{h}" for h in range(5)], 25
    C = PredictionTable(names, labels=range(3))
    row = st.lists(st.integers(0, 2), min_size=5, max_size=5)
    X = C.items(np.array(data.draw(st.lists(row, min_size=items, max_size=items))))
    answers = data.draw(st.lists(st.sampled_from([0, 1, None]), min_size=items, max_size=items))
    walk = np.array(data.draw(st.permutations(range(items))))

    def cost(said, label):
        return int(losses.table[label][said]) / losses.unit

    expected, asked = reference.public_order(
        C.codes(X, np.arange(5)), walk.tolist(), answers.__getitem__, names, 100, cost
    )
    assert ordered(C, X, walk, answers, losses) == (expected, asked)


@pytest.mark.claim("handicap")
@settings(max_examples=80, deadline=None)
@given(tables(), st.data())
def test_labels_of_items_that_were_not_asked_never_matter(drawn, data):
    C, X, walk, answers = drawn
    order, asked = ordered(C, X, walk, answers)
    known = {item for item, _ in asked}
    other = data.draw(st.sampled_from([0, 1, None]))
    changed = [answer if item in known else other for item, answer in enumerate(answers)]
    assert ordered(C, X, walk, changed) == (order, asked)

"""Stumps, intervals and boxes without a matrix say what the packed matrix says, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replical import Boxes, Intervals, Population, PrivateRandomness, SharedRandomness, Stumps, learn, plan
from replical.classes.predictions.base import predictions_of
from replical.classes.predictions.packed import PackedPredictions
from replical.learners.planning import learner_for

NUMBERS = [-1e300, -1.0, -0.25, 0.0, 1e-9, 0.1, 0.2, 0.25, 1 / 3, 0.5, 0.75, 1 - 1e-16, 1.0, 1.5, 1e300]


@st.composite
def worlds(draw):
    """A class, and items of which some lie on cuts, some outside all of them, and some are equal."""
    kind, m = draw(st.sampled_from(["stumps", "cuts", "intervals", "boxes"])), draw(st.integers(1, 12))
    if kind == "intervals":
        C = Intervals(draw(st.integers(1, 9)))
        return C, C.items(np.array(draw(st.lists(st.integers(0, C.grid - 1), min_size=m, max_size=m))))
    d = draw(st.integers(1, 3))
    if kind == "stumps":
        C = Stumps(d, draw(st.integers(1, 7)))
        cuts = C.cuts[0].tolist()
    elif kind == "cuts":
        lines = [sorted(draw(st.sets(st.sampled_from(NUMBERS), min_size=1, max_size=6))) for _ in range(d)]
        C, cuts = Stumps(cuts=lines), lines[0]
    else:
        C = Boxes(d, draw(st.integers(1, 4 if d < 3 else 3)))
        cuts = [k / C.bins for k in range(C.bins + 1)]
    numbers = st.sampled_from(NUMBERS + cuts)
    return C, C.items(np.array([draw(st.lists(numbers, min_size=d, max_size=d)) for _ in range(m)]))


def subset(data, size, **kinds):
    return np.array(sorted(data.draw(st.sets(st.integers(0, size - 1), **kinds))), dtype=np.int64)


def survivors(data, n):
    """Any subset: a few, all but a few, or everybody."""
    chosen = subset(data, n, min_size=1, max_size=12)
    rest = np.setdiff1d(np.arange(n), chosen)
    return data.draw(st.sampled_from([each for each in (chosen, rest, np.arange(n)) if len(each)]))


@settings(max_examples=300)
@given(worlds(), st.data())
def test_a_structured_form_equals_the_packed_matrix(world, data):
    C, items = world
    ours, packed = predictions_of(C, items), PackedPredictions(C, items)
    assert type(ours) is not PackedPredictions
    places = st.integers(0, len(items) - 1)
    if data.draw(st.booleans()):
        taken = np.array(data.draw(st.lists(places, min_size=1, max_size=9)))
        ours, packed, items = ours.take(taken), packed.take(taken), items[taken]
    alive, everything = survivors(data, len(C)), np.arange(len(items))
    for within in (everything, subset(data, len(items))):
        assert ours.disagreement(alive, within).tolist() == packed.disagreement(alive, within).tolist()
        assert ours.votes(alive, within).tolist() == packed.votes(alive, within).tolist()
    asked = np.array(data.draw(st.lists(st.integers(0, len(items) - 1), max_size=6)), dtype=np.int64)
    for some in (asked, everything):
        most = data.draw(st.sampled_from([1, 9, 2**55]))
        cells = st.lists(st.integers(0, most), min_size=2 * len(some), max_size=2 * len(some))
        counts = np.array(data.draw(cells), dtype=np.int64).reshape(-1, 2)
        assert ours.errors(some, counts, alive).tolist() == packed.errors(some, counts, alive).tolist()
    for h in {0, len(C) - 1, data.draw(st.integers(0, len(C) - 1))}:
        assert ours.codes(h).tolist() == packed.codes(h).tolist()
        assert ours.codes(h, everything[::2]).tolist() == packed.codes(h, everything[::2]).tolist()
    for item in everything.tolist():
        assert ours.codes_of_item(item, alive).tolist() == packed.codes_of_item(item, alive).tolist()


@settings(max_examples=200)
@given(worlds(), st.data())
def test_structured_nearness_equals_packed_nearness(world, data):
    C, items = world
    measured = np.array(data.draw(st.lists(st.integers(0, len(items) - 1), max_size=15)), dtype=np.int64)
    ours, packed = (form.nearness(measured) for form in (predictions_of(C, items), PackedPredictions(C, items)))
    for _ in range(2):  # the second time distances are known
        alive = survivors(data, len(C))
        among = subset(data, len(alive), min_size=1, max_size=100)
        nearest = ours.nearest(alive, among)
        marks = np.isin(np.arange(len(alive)), subset(data, len(alive)))
        for form in (ours, packed):
            assert form.nearest_marks(alive, among, marks).tolist() == marks[nearest].tolist()


def test_nearness_is_the_same_beyond_the_items_and_rivals_that_are_looked_at():
    generator = np.random.default_rng(3)
    for C in (Stumps(3, 60), Intervals(40), Boxes(2, 6)):
        items = C.items(
            generator.random((3000, C.dimensions)) if not isinstance(C, Intervals) else np.arange(3000) % 40
        )
        measured = generator.permutation(3000)
        ours, packed = (form.nearness(measured) for form in (predictions_of(C, items), PackedPredictions(C, items)))
        for alive in (np.arange(len(C)), np.arange(1, len(C), 2)):
            for among in (np.arange(len(alive)), np.arange(5, len(alive), 3)):
                nearest = ours.nearest(alive, among)
                for marks in (np.arange(len(alive)) % 7 == 0, np.isin(np.arange(len(alive)), among)):
                    for form in (ours, packed):
                        assert form.nearest_marks(alive, among, marks).tolist() == marks[nearest].tolist()


SMALL = {
    "cal": (0.0, {}),
    "a2": (0.1, {}),
    "handicap": (0.1, {"max_labels": 80}),
    "handicap without errors": (0.0, {"nu": 0.0}),
}


@pytest.mark.parametrize("learner", SMALL)
@pytest.mark.parametrize("C", [Stumps(3, 20), Intervals(12), Boxes(2, 4)], ids=["stumps", "intervals", "boxes"])
def test_whole_runs_are_the_same_on_a_structured_form_and_on_the_matrix(C, learner):
    noise, options = SMALL[learner]
    cells = C.cells() if C.cells() is not None else np.random.default_rng(5).random((400, C.dimensions))
    made = learner_for(plan(learner.split()[0], C, epsilon=0.1, delta=0.1, rho=0.3, pool="finite", **options))
    for number in range(2):
        target, results = (37 * number + 5) % len(C), []
        for form in (predictions_of, PackedPredictions):
            population = Population(C, target=target, cells=cells, noise=noise, predictions=form(C, cells))
            private = PrivateRandomness.simulated("structured", number)
            pool = population.pool(3000, private)
            results.append(learn(made, pool, population.labels(pool, private), SharedRandomness(f"s{number}")))
        same(*results)


def same(one, two):
    for name in ("hypothesis", "unrounded", "labels", "rounds", "conditions", "verdict", "proof"):
        assert getattr(one, name) == getattr(two, name), name
    assert np.array_equal(one.V.indices, two.V.indices)
